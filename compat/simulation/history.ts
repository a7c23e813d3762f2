/** Histories: what happens to the shop, drawn from a seed. */
import { createRandom } from "./random.ts";

export const hour = 3_600_000;

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
  /** A cashier signs somebody up at a till, which calls the client without an outbox. */
  | { type: "till"; customer: number }
  | { type: "purchase" | "two purchases" | "redeem"; visitor: number; points: number }
  | { type: "kill"; process: number; effects: number }
  | { type: "power failure" }
  | { type: "freeze"; process: number; ms: number }
  | { type: "clock"; ms: number }
  | { type: "disk full" | "file locked"; ms: number }
  | { type: "service down"; ms: number }
  | { type: "machines sleep"; ms: number }
  /** Somebody signs up, the machines sleep twice, and no response of the service arrives before and between. */
  | { type: "two nights"; ms: number }
  /** Somebody signs up, the requests of the next seconds arrive later, and the form is corrected meanwhile. */
  | { type: "late requests"; ms: number }
  | { type: "new secret" }
  | { type: "resend"; index: number }
  | { type: "replay"; index: number }
  | { type: "forge"; kind: ForgeryKind }
  | { type: "garbage"; body: string }
);

/** `wrong`: the service rejects it. The others are different numbers of one person. */
export type PhoneKind = "wrong" | "first" | "second" | "none";

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
export type ForgeryKind = (typeof forgeries)[number];

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
  const isLate = random.chance(0.1);
  if (isLate) add(1, () => ({ type: "late requests", ms: random.integer(60, 500) * 1_000 }));
  add(upTo(2, 0.3), () => ({ type: "till", customer: random.integer(1, 1e6) }));
  return {
    seed,
    shop: random.chance(0.7) ? "express" : "fastify",
    processes: random.pick([1, 1, 2, 2, 3]),
    alternatives: alternatives.filter((name) => random.chance(isLate && name === "fickle 422" ? 0.5 : 0.12)),
    badness: random.pick([0, 0.05, 0.2, 0.4]),
    actions: actions.sort((a, b) => a.atMs - b.atMs),
    endMs,
  };
}

/** Each visitor has two numbers, and types a wrong one now and then. */
export function toPhone(visitor: number, kind: PhoneKind): string {
  if (kind === "none") return "";
  if (kind === "wrong") return "12";
  return `60010${kind === "first" ? "1" : "2"}${String(visitor).padStart(3, "0")}`;
}

export function describeAction({ atMs: _at, type, ...details }: Action): string {
  const text = Object.entries(details).map(([name, value]) => `${name} ${value}`);
  return text.length === 0 ? type : `${type} (${text.join(", ")})`;
}
