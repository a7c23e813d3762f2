/**
 * What can happen in a history: how often, with which details, and what it does; and histories,
 * drawn from a seed.
 */
import {
  deliver,
  forge,
  forgeries,
  type PhoneKind,
  sendForm,
  sendGarbage,
  signUpAtTill,
  trade,
} from "./people.ts";
import type { Process } from "./process.ts";
import type { Action, History, Stage } from "./stage.ts";
import { createRandom, type Random, type World } from "./world.ts";

interface ActionType<Details> {
  /** How many of them a history has. Few histories are long. */
  count(random: Random, isLong: boolean): number;
  draw(random: Random, visitors: number): Details;
  act(stage: Stage, details: Details, random: Random): unknown;
}

const hour = 3_600_000;
const upTo =
  (most: number, probability = 0.5) =>
  (random: Random) =>
    random.chance(probability) ? random.integer(1, most) : 0;
const drawMs = (min: number, max: number) => (random: Random) => ({ ms: random.integer(min, max) });
const drawNothing = () => ({});
const drawIndex = (random: Random) => ({ index: random.integer(0, 9) });
const drawForm = (random: Random, visitors: number) => ({
  visitor: random.integer(1, visitors),
  phone: random.pick<PhoneKind>(["first", "second", "wrong"]),
});
const drawTrade = (most: number) => (random: Random, visitors: number) => ({
  visitor: random.integer(1, visitors),
  points: random.integer(1, most),
});
const garbage = [
  '{"name":Visitor 1',
  '{"name":{"toString":1},"email":[1]}',
  "[]",
  "null",
  '"Visitor 1"',
  "a=1",
];
const drawGarbage = (random: Random) => ({ body: random.pick(garbage) });

/** A row of the table, whose compiler compares what `draw` returns with what `act` takes. */
const row = <Details extends object>(
  count: ActionType<Details>["count"],
  draw: ActionType<Details>["draw"],
  act: ActionType<Details>["act"],
) => ({ count, draw, act }) as ActionType<object>;

/** They are drawn in this order. */
const actionTypes: Record<string, ActionType<object>> = {
  "sign-up": row(upTo(3), drawForm, (stage, { visitor, phone }) => sendForm(stage, visitor, phone)),
  correct: row(upTo(3), drawForm, (stage, { visitor, phone }) =>
    sendForm(stage, visitor, phone, true),
  ),
  purchase: row(
    (random) => random.integer(0, 6),
    drawTrade(200),
    (stage, details) => trade(stage, "purchase", details),
  ),
  "two purchases": row(upTo(2), drawTrade(50), (stage, details) =>
    trade(stage, "purchase", details, true),
  ),
  redeem: row(upTo(2), drawTrade(20), (stage, details) => trade(stage, "redeem", details)),
  kill: row(
    upTo(4),
    (random) => ({ process: random.integer(0, 3), effects: random.integer(0, 120) }),
    (stage, { process, effects }) => {
      getProcess(stage, process).effectsToLive = effects;
    },
  ),
  "power failure": row(upTo(2, 0.2), drawNothing, ({ shops, shopMachine }, _, random) => {
    shopMachine.cutPower(random, () => {
      for (const shop of shops) shop.closeFiles();
    });
    for (const shop of shops) shop.end("loses its power");
  }),
  freeze: row(
    upTo(2, 0.3),
    (random) => ({ process: random.integer(0, 3), ms: random.integer(100, 90_000) }),
    (stage, { process, ms }) => getProcess(stage, process).freeze(ms),
  ),
  clock: row(upTo(2, 0.3), drawMs(-2 * hour, 2 * hour), ({ shopMachine }, { ms }) => {
    shopMachine.clockErrorMs += ms;
  }),
  "disk full": row(upTo(1, 0.15), drawMs(500, 60_000), ({ world, shopMachine }, { ms }) =>
    setFor(world, ms, shopMachine, "isDiskFull"),
  ),
  /** Another program, such as a backup, locks the file. */
  "file locked": row(upTo(2, 0.2), drawMs(10, 8_000), ({ world, shopMachine }, { ms }) =>
    setFor(world, ms, shopMachine, "isFileLocked"),
  ),
  "service down": row(upTo(2, 0.4), drawMs(1_000, 60_000), ({ world, shown }, { ms }) =>
    setFor(world, ms, shown, "isDown"),
  ),
  "new secret": row(upTo(1, 0.2), drawNothing, ({ service, shopSecrets, shops }) => {
    shopSecrets.push(service.webhooks.newSecret(service.endpoints[0]?.id ?? "").secret);
    for (const shop of shops) shop.end("is restarted with the new secret");
  }),
  resend: row(upTo(2, 0.3), drawIndex, ({ service }, { index }) => {
    const ended = service.webhooks.deliveries().filter(({ state }) => state !== "pending");
    const delivery = ended[index % ended.length];
    if (delivery !== undefined) service.webhooks.resend(delivery.id);
  }),
  replay: row(upTo(2, 0.3), drawIndex, (stage, { index }) => {
    const { deliveries } = stage.network;
    const message = deliveries[index % deliveries.length];
    if (message !== undefined) void deliver(stage, message);
  }),
  forge: row(
    upTo(2, 0.3),
    (random) => ({ kind: random.pick(forgeries) }),
    (stage, { kind }, random) => forge(stage, kind, random),
  ),
  /** What a program that is not a form may send to the sign-up. */
  garbage: row(upTo(1, 0.3), drawGarbage, (stage, { body }) => sendGarbage(stage, body)),
  "machines sleep": row(
    () => 0, // see "two nights"
    drawMs(hour, 30 * hour),
    (stage, { ms }) => {
      stage.awakeAtMs = stage.world.nowMs + ms;
      for (const process of [...stage.shops, ...stage.books]) process.freeze(ms);
    },
  ),
  /**
   * Somebody signs up, the machines sleep twice, and no response of the service arrives before and
   * between.
   */
  "two nights": row(
    (_, isLong) => (isLong ? 1 : 0),
    (random) => ({
      type: random.pick(["machines sleep", "two nights", "two nights"]),
      ms: random.integer(1, 30) * hour,
    }),
    (stage, { ms }) => {
      const { world } = stage;
      const sleep = () => act(stage, { atMs: world.nowMs, type: "machines sleep", ms });
      setFor(world, ms + 60_000, stage.network, "isResponseLost");
      void sendForm(stage, 9, "none");
      world.after(20_000, sleep);
      world.after(ms + 50_000, sleep);
    },
  ),
  /**
   * Somebody signs up, the requests of the next seconds arrive later, and the form is corrected
   * meanwhile: while they run, and when a later request may have been rejected.
   */
  "late requests": row(
    (random) => (random.chance(0.1) ? 1 : 0),
    (random) => ({ ms: random.integer(60, 500) * 1_000 }),
    (stage, { ms }) => {
      const { network, world } = stage;
      network.lateMs = ms;
      void sendForm(stage, 8, "first");
      for (const afterMs of [15_000, 45_000])
        world.after(afterMs, () => sendForm(stage, 8, "second", true));
      world.after(20_000, () => {
        network.lateMs = 0;
      });
    },
  ),
  /** A cashier signs a customer up at a till, which calls the client without an outbox. */
  till: row(
    upTo(2, 0.3),
    (random) => ({ customer: random.integer(1, 1e6) }),
    (stage, { customer }) => signUpAtTill(stage, customer),
  ),
  /** A bookkeeper stops while it handles an event, until the other one has handled it. */
  "frozen bookkeeper": row(
    (random) => (random.chance(0.15) ? 1 : 0),
    (random, visitors) => ({
      visitor: random.integer(1, visitors),
      points: random.integer(1, 200),
      ms: random.integer(35_000, 90_000), // longer than its lease
    }),
    (stage, { ms, visitor, points }) => {
      trade(stage, "purchase", { visitor, points });
      stage.world.after(150, () => stage.books[0]?.freeze(ms));
    },
  ),
};

export function act(stage: Stage, action: Action): void {
  const { atMs, type, ...details } = action;
  const texts = Object.entries(details).map(([name, value]) => `${name} ${value}`);
  if (type !== "sign-up" && type !== "correct")
    stage.world.log("world", texts.length === 0 ? type : `${type} (${texts.join(", ")})`);
  actionTypes[type]?.act(stage, details, stage.world.random(`action ${atMs} ${type}`));
}

function setFor<Flag extends string>(
  world: World,
  ms: number,
  target: Record<Flag, boolean>,
  flag: Flag,
) {
  target[flag] = true;
  world.after(ms, () => {
    target[flag] = false;
  });
}

function getProcess({ shops, books }: Stage, index: number): Process {
  const processes = [...shops, ...books];
  return processes[index % processes.length] as Process;
}

/**
 * What a service may do instead of what the mock service does. Each belongs to a row of
 * docs/assumptions.md.
 */
const alternatives = [
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
  const add = (type: string, drawDetails: () => object) =>
    actions.push({ atMs: random.integer(1_000, endMs), type, ...drawDetails() });
  for (let visitor = 1; visitor <= visitors; visitor++)
    add("sign-up", () => ({ visitor, phone: random.pick(["wrong", "first", "first", "none"]) }));
  for (const [type, { count, draw }] of Object.entries(actionTypes))
    for (let left = count(random, isLong); left > 0; left--)
      add(type, () => draw(random, visitors));
  const isLate = actions.some(({ type }) => type === "late requests");
  return {
    seed,
    shop: random.chance(0.7) ? "express" : "fastify",
    processes: random.pick([1, 1, 2, 2, 3]),
    alternatives: alternatives.filter((name) =>
      random.chance(isLate && name === "fickle 422" ? 0.5 : 0.12),
    ),
    badness: random.pick([0, 0.05, 0.2, 0.4]),
    actions: actions.sort((a, b) => a.atMs - b.atMs),
    endMs,
  };
}
