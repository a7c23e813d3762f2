/** Plays a history: visitors, attackers, failures and staff act; then the troubles end, and the guarantees are checked. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MockService } from "@loyalty-cards/mock-server";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import { check, type Violation } from "./checks.ts";
import { cutPower, readRows } from "./files.ts";
import {
  type Action,
  describeAction,
  type ForgeryKind,
  type History,
  hour,
  type PhoneKind,
  toPhone,
} from "./history.ts";
import type { Images } from "./image.ts";
import { shopPort, tillPort } from "./network.ts";
import type { Message, Process } from "./process.ts";
import type { Random } from "./random.ts";
import { type Evidence, type Stage, setUp, type Visit } from "./stage.ts";
import { frameworkLines, startMs, type World } from "./world.ts";

export interface Run {
  history: History;
  world: World;
  violations: Violation[];
}

const folders = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export async function runHistory(history: History, images: Images): Promise<Run> {
  const folder = mkdtempSync(join(folders, "simulation-"));
  try {
    const evidence = await play(await setUp(history, images, folder));
    return { history, world: evidence.world, violations: check(evidence) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function play(stage: Stage): Promise<Evidence> {
  const { evidence, world, network, service, serviceProcess, shopMachine, shops, books } = stage;
  const { secrets, captured, state } = stage;
  const { history, shopFile, booksFile } = evidence;
  const { seed, endMs } = history;
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

  /** The cashier repeats the sign-up with the time of the first attempt. */
  async function signUpAtTill(customer: number): Promise<void> {
    let firstAttemptAt = 0;
    for (let attempt = 1; attempt <= 5; attempt++) {
      const message = {
        method: "POST",
        url: `http://localhost:${tillPort}/`,
        headers: {},
        body: JSON.stringify({ name: `Customer ${customer} of the till, ${seed}`, firstAttemptAt }),
      };
      firstAttemptAt ||= startMs + world.nowMs;
      const { reply } = await network.send("cashier", message).catch(() => ({ reply: undefined }));
      if (reply?.status === 201) return;
      await new Promise<void>((resolve) => world.after(3_000, resolve));
    }
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
      case "till":
        void signUpAtTill(action.customer);
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
        void visit(9, "none", false);
        world.after(20_000, () => act({ ...action, type: "machines sleep" }));
        world.after(action.ms + 50_000, () => act({ ...action, type: "machines sleep" }));
        world.after(action.ms + 60_000, () => {
          network.isResponseLost = false;
        });
        break;
      case "late requests":
        network.lateMs = action.ms;
        void visit(8, "first", false);
        world.after(15_000, () => void visit(8, "second", true));
        world.after(20_000, () => {
          network.lateMs = 0;
        });
        break;
      case "machines sleep":
        state.awakeAtMs = world.nowMs + action.ms;
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
  Object.assign(shopMachine, { isDiskFull: false, isFileLocked: false });
  // A clock that was set back stays wrong for an hour: nothing may wait for it.
  if (shopMachine.clockErrorMs > 0) shopMachine.clockErrorMs = 0;
  const endedMs = world.nowMs;
  for (const process of [...shops, ...books]) process.effectsToLive = Number.POSITIVE_INFINITY;
  const frozenMs = Math.max(...[...network.processes].map(({ frozenMs }) => frozenMs));
  await world.runUntil(world.nowMs + frozenMs);
  const lastMs = world.nowMs + 14 * 24 * hour; // what is due later is never done
  for (let round = 0; round < 400 && !evidence.isSettled && world.nowMs < lastMs; round++) {
    await world.runUntil(Math.max(world.nowMs + 3_000, state.awakeAtMs));
    if (world.nowMs > endedMs + hour) shopMachine.clockErrorMs = 0;
    const dueMs = findNextDue(service, shopFile, booksFile, world.nowMs);
    evidence.isSettled =
      dueMs === undefined && world.nowMs > network.lastArrivalMs && shops.every(({ isAlive }) => isAlive);
    // Nothing happens until then, except that the processes look for work each second: they are stopped meanwhile.
    const pauseMs = Math.min(dueMs ?? 0, lastMs) - world.nowMs - 1_000;
    if (pauseMs > 3_000) {
      for (const process of network.processes) if (process !== serviceProcess) process.freeze(pauseMs);
      await world.runUntil(world.nowMs + pauseMs);
    }
  }
  state.isOver = true;
  evidence.lines.push(...frameworkLines.splice(0));
  for (const process of [...network.processes]) {
    process.end("ends with the history");
  }
  return evidence;
}

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
