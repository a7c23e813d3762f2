/** Histories: what happens to the shop, drawn from a seed. */
import { actionTypes } from "./actions.ts";
import { createRandom } from "./random.ts";
import type { Action, History } from "./stage.ts";

/** What a service may do instead of what the mock service does. Each belongs to a row of docs/assumptions.md. */
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
    for (let left = count(random, isLong); left > 0; left--) add(type, () => draw(random, visitors));
  const isLate = actions.some(({ type }) => type === "late requests");
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
