/** Vectors of signature times in the past and in the future, with the boundary values. */
import { body, signed, t, type Verdict, vector } from "./vector.ts";

const year = 365 * 86_400;
const offsets: [seconds: number, verdict: Verdict][] = [
  [1, "valid"],
  [299, "valid"],
  [300, "valid"],
];

const signedAt = (timestamp: string) => `t=${timestamp},v1=${signed(body, timestamp)}`;

export const times = [
  ...offsets.flatMap(([seconds, verdict]) => [
    vector(`signed ${seconds} s ago`, verdict, { now: t + seconds }),
    vector(`signed ${seconds} s in the future`, verdict, { now: t - seconds }),
  ]),
  ...[301, 3600, 86_400, year, 10 * year].flatMap((seconds) => [
    vector(`signed ${seconds} s ago`, "stale", { now: t + seconds }),
    vector(`signed ${seconds} s in the future`, "future", { now: t - seconds }),
  ]),
  vector("a tolerance of 0, exactly now", "valid", { tolerance: 0 }),
  vector("a tolerance of 0, a second ago", "stale", { tolerance: 0, now: t + 1 }),
  vector("a tolerance of 0, a second in the future", "future", { tolerance: 0, now: t - 1 }),
  vector("a tolerance of half a second, exactly now", "valid", { tolerance: 0.5 }),
  vector("a tolerance of half a second, a second ago", "stale", { tolerance: 0.5, now: t + 1 }),
  vector("a tolerance of an hour, at its limit", "valid", { tolerance: 3600, now: t + 3600 }),
  vector("a tolerance of an hour, past its limit", "stale", { tolerance: 3600, now: t + 3601 }),
  vector("a tolerance of the whole retry schedule", "valid", { tolerance: 31_000, now: t + 30_960 }),
  vector("a t of 0", "stale", { header: signedAt("0") }),
  vector("a t of 1", "stale", { header: signedAt("1") }),
  vector("the largest t of twelve digits", "future", { header: signedAt("999999999999") }),
  vector("stale and forged is stale", "stale", { header: `t=${t},v1=${"0".repeat(64)}`, now: t + 301 }),
  vector("future and forged is future", "future", { header: `t=${t},v1=${"0".repeat(64)}`, now: t - 301 }),
  vector("stale and not an event is stale", "stale", { body: "[]", now: t + 301 }),
  vector("forged and not an event is a mismatch", "mismatch", {
    body: "[]",
    header: `t=${t},v1=${"0".repeat(64)}`,
  }),
];
