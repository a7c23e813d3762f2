/** Histories: what happens to the shop, drawn from a seed, and how one is run. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MockService } from "@loyalty-cards/mock-server";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import { check, type Violation } from "./checks.ts";
import { cutPower, readRows } from "./files.ts";
import type { Images } from "./image.ts";
import { bookkeeperPort, Network, servicePort, shopPort } from "./network.ts";
import { type Machine, type Message, Process, type Reply, resetProcessIds } from "./process.ts";
import { createRandom, type Random } from "./random.ts";
import { frameworkLines, startMs, World } from "./world.ts";

const hour = 3_600_000;

/** What a history consists of. It is JSON, so a failing one is kept as a file. */
export interface History {
  seed: number;
  shop: "express" | "fastify";
  /** Processes of the shop on one machine, with one file. */
  processes: number;
  /** What the service does differently from the mock service. */
  alternatives: string[];
  /** The probability that a message is lost, late, cut, repeated or refused, before the end. */
  badness: number;
  actions: Action[];
  /** When the troubles end. What happens then must lead to the promised state. */
  endMs: number;
}

export type Action = { atMs: number } & (
  | { type: "sign-up"; visitor: number; phone: PhoneKind }
  | { type: "correct"; visitor: number; phone: PhoneKind }
  | { type: "purchase" | "two purchases" | "redeem"; visitor: number; points: number }
  | { type: "kill"; process: number; effects: number }
  | { type: "power failure" }
  | { type: "freeze"; process: number; ms: number }
  | { type: "clock"; ms: number }
  | { type: "disk full" | "file locked"; ms: number }
  | { type: "service down"; ms: number }
  | { type: "machines sleep"; ms: number }
  /** The machines sleep twice, and no response of the service arrives before and between. */
  | { type: "two nights"; ms: number }
  | { type: "new secret" }
  | { type: "resend"; index: number }
  | { type: "replay"; index: number }
  | { type: "forge"; kind: ForgeryKind }
  | { type: "garbage"; body: string }
);

/** `wrong`: the service rejects it. The others are different numbers of one person. */
type PhoneKind = "wrong" | "first" | "second" | "none";

const forgeries = [
  "other secret",
  "other body",
  "no signature",
  "stale",
  "future",
  "not signed for this shop",
] as const;
/** What a program that is not a form may send to the sign-up. */
const garbage = [
  '{"name":Visitor 1',
  '{"name":{"toString":1},"email":[1]}',
  "[]",
  "null",
  '"Visitor 1"',
  "a=1",
];
type ForgeryKind = (typeof forgeries)[number];

/** What a service may do instead of what the mock service does. Each belongs to a row of docs/assumptions.md. */
export const alternatives = [
  "stored refusals", // a 404 or 422 is repeated for 24 hours
  "409 in flight", // for a request whose key is being processed
  "423 in flight",
  "fickle 422", // the same form is rejected now and accepted later
  "400 for 422",
  "200 for 201",
  "410 for 404",
  "403 for 404",
  "plain errors", // without problem details
  "quoted forms", // the detail of a 422 repeats what it rejects
  "relative addresses", // `publicUrl` without its origin
];

export function drawHistory(seed: number): History {
  const random = createRandom(seed, "history");
  const visitors = random.integer(1, 4);
  const endMs = random.integer(10, 70) * 1_000;
  const isLong = random.chance(0.1);
  const actions: Action[] = [];
  const add = (count: number, draw: () => Record<string, unknown>) => {
    for (let index = 0; index < count; index++)
      actions.push({ atMs: random.integer(1_000, endMs), ...draw() } as unknown as Action);
  };
  const visitor = () => random.integer(1, visitors);
  const process = () => random.integer(0, 3);
  const upTo = (most: number, probability = 0.5) =>
    random.chance(probability) ? random.integer(1, most) : 0;
  for (let number = 1; number <= visitors; number++)
    add(1, () => ({
      type: "sign-up",
      visitor: number,
      phone: random.pick(["wrong", "first", "first", "none"]),
    }));
  add(upTo(3), () => ({
    type: "sign-up",
    visitor: visitor(),
    phone: random.pick(["first", "second", "wrong"]),
  }));
  add(upTo(3), () => ({
    type: "correct",
    visitor: visitor(),
    phone: random.pick(["first", "second", "wrong"]),
  }));
  add(random.integer(0, 6), () => ({ type: "purchase", visitor: visitor(), points: random.integer(1, 200) }));
  add(upTo(2), () => ({ type: "two purchases", visitor: visitor(), points: random.integer(1, 50) }));
  add(upTo(2), () => ({ type: "redeem", visitor: visitor(), points: random.integer(1, 20) }));
  add(upTo(4), () => ({ type: "kill", process: process(), effects: random.integer(0, 120) }));
  add(upTo(2, 0.2), () => ({ type: "power failure" }));
  add(upTo(2, 0.3), () => ({ type: "freeze", process: process(), ms: random.integer(100, 90_000) }));
  add(upTo(2, 0.3), () => ({ type: "clock", ms: random.integer(-2 * hour, 2 * hour) }));
  add(upTo(1, 0.15), () => ({ type: "disk full", ms: random.integer(500, 60_000) }));
  add(upTo(2, 0.2), () => ({ type: "file locked", ms: random.integer(10, 8_000) }));
  add(upTo(2, 0.4), () => ({ type: "service down", ms: random.integer(1_000, 60_000) }));
  add(upTo(1, 0.2), () => ({ type: "new secret" }));
  add(upTo(2, 0.3), () => ({ type: "resend", index: random.integer(0, 9) }));
  add(upTo(2, 0.3), () => ({ type: "replay", index: random.integer(0, 9) }));
  add(upTo(2, 0.3), () => ({ type: "forge", kind: random.pick(forgeries) }));
  add(upTo(1, 0.3), () => ({ type: "garbage", body: random.pick(garbage) }));
  if (isLong)
    add(1, () => ({
      type: random.pick(["machines sleep", "two nights", "two nights"]),
      ms: random.integer(1, 30) * hour,
    }));
  return {
    seed,
    shop: random.chance(0.7) ? "express" : "fastify",
    processes: random.pick([1, 1, 2, 2, 3]),
    alternatives: alternatives.filter(() => random.chance(0.12)),
    badness: random.pick([0, 0.05, 0.2, 0.4]),
    actions: actions.sort((a, b) => a.atMs - b.atMs),
    endMs,
  };
}

/** What a visitor sent and got. */
export interface Visit {
  visitor: number;
  path: string;
  form: { name: string; email: string; phone: string };
  status: number | undefined;
  body: { userId?: string; message?: string; cardId?: string };
}

export interface Run {
  history: History;
  world: World;
  violations: Violation[];
}

/** Everything that the checks look at. */
export interface Evidence {
  history: History;
  world: World;
  network: Network;
  service: MockService;
  issued: Map<string, { name: string; phone: string; key: string }>;
  visits: Visit[];
  /** The responses to deliveries that were not genuine. */
  forged: { kind: string; status: number; eventId: string }[];
  /** All lines that processes wrote. */
  lines: string[];
  secrets: string[];
  shopFile: string;
  booksFile: string;
  /** How long each request of a visitor took in the process of the shop, without the time in which it was frozen. */
  durationsMs: number[];
  /** Whether everything came to an end after the troubles. */
  isSettled: boolean;
  crashes: string[];
}

const folders = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export async function runHistory(history: History, images: Images): Promise<Run> {
  const folder = mkdtempSync(join(folders, "simulation-"));
  try {
    mkdirSync(folder, { recursive: true });
    const evidence = await play(history, images, folder);
    return { history, world: evidence.world, violations: check(evidence) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function play(history: History, images: Images, folder: string): Promise<Evidence> {
  resetProcessIds();
  const { seed, endMs } = history;
  const world = new World(seed);
  const network = new Network(world);
  const shopMachine = createMachine("shop");
  const booksMachine = createMachine("books");
  const shopFile = join(folder, "shop.db");
  const booksFile = join(folder, "books.db");
  const url = `http://localhost:${servicePort}`;
  const secrets = ["whsec_of_the_shop", "whsec_of_the_books"];
  const evidence: Evidence = {
    ...{ history, world, network, shopFile, booksFile, secrets: [...secrets] },
    ...{ visits: [], forged: [], lines: [], durationsMs: [], crashes: [], isSettled: false },
    ...({} as { service: MockService; issued: Evidence["issued"] }),
  };
  /** Genuine deliveries as they were sent, for attackers who repeat them. */
  const captured: Message[] = [];
  let isOver = false;
  /** Until then the machines of the shop sleep. */
  let awakeAtMs = 0;

  const start = (
    name: string,
    machine: Machine,
    program: keyof Images,
    env: Record<string, string>,
    restart?: () => void,
  ) => {
    const onEnd = (ended: Process) => {
      network.processes.delete(ended);
      evidence.lines.push(...ended.lines);
      if (machine === shopMachine) evidence.durationsMs.push(...ended.durationsMs);
      for (const line of ended.lines)
        if (line.startsWith("uncaught:")) evidence.crashes.push(`${name}: ${line}`);
      const delayMs = Math.max(0, awakeAtMs - world.nowMs) + world.random("restarts").integer(500, 10_000);
      if (restart !== undefined && !isOver) world.after(delayMs, restart);
    };
    const process = new Process(world, network, { name, machine, onEnd });
    network.processes.add(process);
    process.start(images[program], { NODE_ENV: "test", LOYALTY_URL: url, ...env });
    return process;
  };

  const endpoints = [
    {
      url: `http://localhost:${shopPort}/webhooks/loyalty`,
      secret: secrets[0],
      events: ["balance.changed", "card.added", "tier.changed"],
    },
    { url: `http://localhost:${bookkeeperPort}/`, secret: secrets[1], events: ["balance.changed"] },
  ];
  const serviceProcess = start("service", createMachine("service"), "service", {
    ENDPOINTS: JSON.stringify(endpoints),
    ALTERNATIVES: history.alternatives.join(),
  });
  await world.runUntil(1);
  const { service, issued } = serviceProcess.handles as unknown as Pick<Evidence, "service" | "issued">;
  Object.assign(evidence, { service, issued });
  network.apiKey = service.apiKeys.website;
  network.onDelivery = (message) => captured.push(message);

  const shops: Process[] = [];
  const startShop = (index: number) => {
    shops[index] = start(
      `shop ${index + 1}`,
      shopMachine,
      history.shop,
      {
        LOYALTY_API_KEY: service.apiKeys.website,
        LOYALTY_TEMPLATE_ID: service.templateId,
        LOYALTY_SIGNING_SECRET: secrets[0] as string,
        SHOP_FILE: shopFile,
        PORT: String(3000 + index),
      },
      () => startShop(index),
    );
  };
  const books: Process[] = [];
  const startBooks = (index: number) => {
    books[index] = start(
      `books ${index + 1}`,
      booksMachine,
      "bookkeeper",
      { SECRET: secrets[1] as string, BOOKS_FILE: booksFile },
      () => startBooks(index),
    );
  };
  for (let index = 0; index < history.processes; index++) startShop(index);
  for (const index of [0, 1]) startBooks(index);

  const killable = (index: number) => [...shops, ...books][index % (shops.length + books.length)] as Process;
  const userIds = new Map<number, string>();

  async function visit(visitor: number, phone: PhoneKind, isCorrection: boolean): Promise<void> {
    const form = {
      name: `Visitor ${visitor} of ${seed}`,
      email: visitor >= 3 ? "" : `visitor${visitor}@example.com`, // not everybody has one

      phone: toPhone(visitor, phone),
    };
    const isKnown = evidence.visits.some((visit) => visit.visitor === visitor);
    if (form.email === "" && isKnown && !isCorrection) return; // the shop would take a second form for another person
    const userId = userIds.get(visitor);
    if (isCorrection && (userId === undefined || history.shop === "fastify")) return;
    const path = isCorrection ? `/users/${userId}` : "/sign-up";
    const result: Visit = { visitor, path, form, status: undefined, body: {} };
    evidence.visits.push(result);
    const message = {
      method: isCorrection ? "PUT" : "POST",
      url: `http://localhost:${shopPort}${path}`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(form),
    };
    const { reply, isCut } = await network
      .send(`visitor ${visitor}`, message)
      .catch(() => ({ reply: undefined, isCut: true }));
    if (reply === undefined || isCut || !reply.headers["content-type"]?.includes("json")) return;
    result.status = reply.status;
    result.body = JSON.parse(reply.body);
    if (result.body.userId !== undefined) userIds.set(visitor, result.body.userId);
  }

  const findCard = (visitor: number) =>
    [...evidence.issued].find(([, { name }]) => name === `Visitor ${visitor} of ${seed}`)?.[0];

  async function forge(kind: ForgeryKind, random: Random): Promise<void> {
    const eventId = `evt_forged_${evidence.forged.length}_${random.integer(0, 1e6)}`;
    const cardId = [...evidence.issued.keys()][0] ?? "card_unknown";
    const createdAt = new Date(startMs + world.nowMs + hour).toISOString();
    const data = {
      passId: cardId,
      balance: 9_999,
      change: 9_999,
      operation: "correction",
      operationId: "op_1",
    };
    const rawBody = JSON.stringify({ id: eventId, type: "balance.changed", createdAt, data });
    const nowSeconds = Math.floor((startMs + world.nowMs + shopMachine.clockErrorMs) / 1000);
    const timestamp = nowSeconds + (kind === "stale" ? -301 : kind === "future" ? 302 : 0);
    const secret =
      kind === "other secret" ? "whsec_guess" : kind === "not signed for this shop" ? secrets[1] : secrets[0];
    const signature = signWebhookSync({ rawBody, secret: secret as string, timestamp });
    const status = await deliver({
      method: "POST",
      url: `http://localhost:${shopPort}/webhooks/loyalty`,
      headers: {
        "content-type": "application/json",
        ...(kind !== "no signature" && { "service-signature": signature }),
      },
      body: kind === "other body" ? rawBody.replace("9999", "8888") : rawBody,
    });
    if (status !== undefined) evidence.forged.push({ kind, status, eventId });
  }

  /** Sends what an attacker sends: the network does not help or hinder. */
  async function deliver(message: Message): Promise<number | undefined> {
    const shop = shops.find(
      ({ isAlive, listeners, frozenMs }) => isAlive && listeners.size > 0 && frozenMs === 0,
    );
    const port = [...(shop?.listeners.keys() ?? [])][0];
    if (shop === undefined || port === undefined) return undefined;
    world.log("attacker", message.headers["service-signature"]?.slice(0, 12) ?? "without a signature");
    return (await shop.receive(port, message)).status;
  }

  function act(action: Action): void {
    const { type } = action;
    const random = world.random(`action ${action.atMs} ${type}`);
    if (type !== "sign-up" && type !== "correct") world.log("world", describeAction(action));
    switch (type) {
      case "sign-up":
      case "correct":
        void visit(action.visitor, action.phone, type === "correct");
        break;
      case "purchase":
      case "two purchases":
      case "redeem": {
        const card = findCard(action.visitor);
        if (card === undefined) break;
        try {
          if (type === "two purchases") {
            service.cards.purchase(card, { points: action.points });
            world.after(300, () => service.cards.purchase(card, { points: action.points }));
          } else service.cards[type](card, { points: action.points });
        } catch {} // more points than the card has
        break;
      }
      case "kill":
        killable(action.process).effectsToLive = action.effects;
        break;
      case "power failure":
        failPower(random);
        break;
      case "freeze":
        killable(action.process).freeze(action.ms);
        break;
      case "clock":
        shopMachine.clockErrorMs += action.ms;
        break;
      case "disk full":
        during(action.ms, (isOn) => (shopMachine.isDiskFull = isOn));
        break;
      case "file locked":
        during(action.ms, (isOn) => (shopMachine.isFileLocked = isOn));
        break;
      case "service down":
        during(action.ms, (isOn) => (serviceProcess.handles["isDown"] = isOn));
        break;
      case "two nights":
        network.isResponseLost = true;
        world.after(20_000, () => act({ ...action, type: "machines sleep" }));
        world.after(action.ms + 50_000, () => act({ ...action, type: "machines sleep" }));
        world.after(action.ms + 60_000, () => {
          network.isResponseLost = false;
        });
        break;
      case "machines sleep":
        awakeAtMs = world.nowMs + action.ms;
        for (const process of [...shops, ...books]) process.freeze(action.ms);
        break;
      case "new secret": {
        const [endpoint] = service.endpoints;
        secrets[0] = service.webhooks.newSecret(endpoint?.id ?? "").secret;
        evidence.secrets.push(secrets[0]);
        for (const shop of shops) shop.end("is restarted with the new secret");
        break;
      }
      case "resend": {
        const ended = service.webhooks.deliveries().filter(({ state }) => state !== "pending");
        const delivery = ended[action.index % Math.max(1, ended.length)];
        if (delivery !== undefined) service.webhooks.resend(delivery.id);
        break;
      }
      case "replay": {
        const message = captured[action.index % Math.max(1, captured.length)];
        if (message !== undefined) void deliver(message);
        break;
      }
      case "forge":
        void forge(action.kind, random);
        break;
      case "garbage": {
        const headers = { "content-type": "application/json" };
        const url = `http://localhost:${shopPort}/sign-up`;
        void deliver({ method: "POST", url, headers, body: action.body });
      }
    }
  }

  function during(ms: number, set: (isOn: boolean) => void): void {
    set(true);
    world.after(ms, () => set(false));
  }

  function failPower(random: Random): void {
    for (const shop of shops) shop.isAlive = false;
    const closeFiles = () => {
      for (const shop of shops) shop.closeFiles();
    };
    if (existsSync(shopFile)) cutPower(shopFile, random, closeFiles);
    shopMachine.boot += 1;
    for (const shop of shops) {
      shop.isAlive = true;
      shop.end("loses its power");
    }
  }

  for (const action of history.actions) world.after(action.atMs, () => act(action));
  world.after(1, () => {
    network.badness = history.badness;
  });
  await world.runUntil(endMs);

  // The troubles end.
  world.log("world", "the troubles end");
  network.badness = 0;
  serviceProcess.handles["isDown"] = false;
  Object.assign(shopMachine, { clockErrorMs: 0, isDiskFull: false, isFileLocked: false });
  for (const process of [...shops, ...books]) process.effectsToLive = Number.POSITIVE_INFINITY;
  const frozenMs = Math.max(...[...network.processes].map(({ frozenMs }) => frozenMs));
  await world.runUntil(world.nowMs + frozenMs);
  for (let round = 0; round < 400 && !evidence.isSettled; round++) {
    await world.runUntil(Math.max(world.nowMs + 3_000, awakeAtMs));
    const dueMs = findNextDue(service, shopFile, booksFile, world.nowMs);
    evidence.isSettled = dueMs === undefined && shops.every(({ isAlive }) => isAlive);
    // Nothing happens until then, except that the processes look for work each second: they are stopped meanwhile.
    const pauseMs = (dueMs ?? 0) - world.nowMs - 1_000;
    if (pauseMs > 3_000) {
      for (const process of network.processes) if (process !== serviceProcess) process.freeze(pauseMs);
      await world.runUntil(world.nowMs + pauseMs);
    }
  }
  isOver = true;
  evidence.lines.push(...frameworkLines.splice(0));
  for (const process of [...network.processes]) {
    process.end("ends with the history");
  }
  return evidence;
}

const createMachine = (name: string): Machine => ({
  ...{ name, clockErrorMs: 0, boot: 1, isDiskFull: false, isFileLocked: false, databases: new Set() },
});

/** When the next delivery, event or card is due, in the time of the world; undefined when nothing is left to do. */
function findNextDue(
  service: MockService,
  shopFile: string,
  booksFile: string,
  nowMs: number,
): number | undefined {
  const pending = service.webhooks.deliveries({ state: "pending" });
  const dueAt = [
    ...pending.map(({ nextAttemptAt = "" }) => Date.parse(nextAttemptAt)),
    ...readRows(
      shopFile,
      `SELECT max(due_at, coalesce((SELECT max(until_at) FROM issuing_outbox_scopes), 0)) AS due_at
       FROM issuing_outbox_entries WHERE work IS NOT NULL`,
    ),
    ...readRows(shopFile, "SELECT due_at FROM webhook_inbox_events WHERE state = 'waiting'"),
    ...readRows(booksFile, "SELECT due_at FROM webhook_inbox_events WHERE state = 'waiting'"),
  ].map((due) => Number(typeof due === "object" ? due["due_at"] : due) - startMs);
  return dueAt.length === 0 ? undefined : Math.max(nowMs, Math.min(...dueAt));
}

/** Each visitor has two numbers, and types a wrong one now and then. */
function toPhone(visitor: number, kind: PhoneKind): string {
  if (kind === "none") return "";
  if (kind === "wrong") return "12";
  return `60010${kind === "first" ? "1" : "2"}${String(visitor).padStart(3, "0")}`;
}

export function describeAction({ atMs: _at, type, ...details }: Action): string {
  const text = Object.entries(details).map(([name, value]) => `${name} ${value}`);
  return text.length === 0 ? type : `${type} (${text.join(", ")})`;
}

export type { Reply };
