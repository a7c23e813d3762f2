/** What follows an attempt: each kind of result, in each state of a call. */
import { describe, expect, it } from "vitest";
import type { AttemptResult } from "../src/response.ts";
import { type CallState, decideNext } from "../src/retry.ts";

const nowMs = 1_000_000;

/** A POST with a key, whose first attempt has just ended. */
const first: CallState = {
  isIdempotent: true,
  hasKey: true,
  earlier: "none",
  maxRetries: 2,
  endsAtMs: nowMs + 30_000,
  random: () => 1, // each backoff is the longest one: 300, 600, 1200 ms
  attempts: 1,
  countedAttempts: 0,
  outcome: "not-sent",
};

const respond = (status: number, retryAfterMs?: number): AttemptResult => ({
  value: {
    status,
    header: () => null,
    headers: () => new Headers(),
    text: "",
    json: undefined,
    retryAfterMs,
  },
});

const fail = (wasSent: boolean, retryable: boolean): AttemptResult => ({
  failure: { code: "network", message: "", wasSent, retryable },
});

/** The decision, and the outcome of the call until now: `300 unknown` is a retry after 300 ms. */
function decide(changes: Partial<CallState>, result: AttemptResult): string {
  const { end, delayMs, state } = decideNext({ ...first, ...changes }, result, nowMs);
  return `${end ?? delayMs} ${state.outcome}`;
}

const states: Record<string, Partial<CallState>> = {
  "first attempt": {},
  "after a lost one": { attempts: 2, countedAttempts: 1, outcome: "unknown" },
  "after two 429": { attempts: 3, countedAttempts: 2, outcome: "rejected" },
  "300 ms left": { endsAtMs: nowMs + 300 },
  "POST without key": { isIdempotent: false, hasKey: false },
  "GET after a 429": { hasKey: false, attempts: 2, countedAttempts: 1, outcome: "rejected" },
};

const failures: Record<string, AttemptResult> = {
  refused: fail(false, true),
  lost: fail(true, true),
  "no TLS": fail(false, false),
  "no card": fail(true, false),
};

const decisions = `
         | first attempt   | after a lost one | after two 429            | 300 ms left       | POST without key        | GET after a 429
201      | success unknown | success unknown  | success unknown          | success unknown   | success unknown         | success unknown
400      | final rejected  | final unknown    | final rejected           | final rejected    | final rejected          | final rejected
401      | final rejected  | final unknown    | final rejected           | final rejected    | final rejected          | final rejected
404      | final rejected  | final unknown    | final rejected           | final rejected    | final rejected          | final rejected
408      | 300 unknown     | 600 unknown      | no-retries-left unknown  | deadline unknown  | not-idempotent unknown  | 600 unknown
409      | 300 rejected    | 600 unknown      | 1000 rejected            | deadline rejected | final rejected          | final rejected
422      | final rejected  | final rejected   | final rejected           | final rejected    | final rejected          | final rejected
423      | 300 rejected    | 600 unknown      | 1000 rejected            | deadline rejected | final rejected          | final rejected
425      | 300 rejected    | 600 unknown      | no-retries-left rejected | deadline rejected | not-idempotent rejected | 600 rejected
429      | 300 rejected    | 600 unknown      | no-retries-left rejected | deadline rejected | not-idempotent rejected | 600 rejected
499      | final rejected  | final unknown    | final rejected           | final rejected    | final rejected          | final rejected
500      | 300 unknown     | 600 unknown      | no-retries-left unknown  | deadline unknown  | not-idempotent unknown  | 600 unknown
503      | 300 unknown     | 600 unknown      | no-retries-left unknown  | deadline unknown  | not-idempotent unknown  | 600 unknown
599      | 300 unknown     | 600 unknown      | no-retries-left unknown  | deadline unknown  | not-idempotent unknown  | 600 unknown
refused  | 300 not-sent    | 600 unknown      | no-retries-left rejected | deadline not-sent | not-idempotent not-sent | 600 rejected
lost     | 300 unknown     | 600 unknown      | no-retries-left unknown  | deadline unknown  | not-idempotent unknown  | 600 unknown
no TLS   | final not-sent  | final unknown    | final rejected           | final not-sent    | final not-sent          | final rejected
no card  | final unknown   | final unknown    | final unknown            | final unknown     | final unknown           | final unknown
`;

const [columns = [], ...rows] = decisions
  .trimEnd()
  .split("\n")
  .slice(1)
  .map((line) => line.split("|").map((cell) => cell.trim()));

it.each(rows)("decides what follows %s", (name = "", ...expected) => {
  const result = failures[name] ?? respond(Number(name));
  const decided = columns.slice(1).map((column) => decide(states[column] ?? {}, result));
  expect(decided).toEqual(expected);
});

describe("a conflict", () => {
  const last = (ms: number) => ({ firstConflictAtMs: nowMs - ms });

  it.each<[string, Partial<CallState>, number | undefined, string]>([
    ["the first one", {}, undefined, "300 rejected"],
    ["a Retry-After of 0", {}, 0, "300 rejected"],
    ["a Retry-After of 2 s", {}, 2_000, "2000 rejected"],
    ["5 s after the first one", last(4_700), undefined, "300 rejected"],
    ["more than 5 s after the first one", last(4_701), undefined, "lasting-conflict rejected"],
    ["a Retry-After of more than 5 s", {}, 5_001, "lasting-conflict rejected"],
    ["no retries at all", { maxRetries: 0 }, undefined, "no-retries-left rejected"],
    [
      "an earlier attempt",
      { earlier: "judged-by-caller", ...last(9_000) },
      undefined,
      "300 unknown",
    ],
    ["a lost attempt", { outcome: "unknown", ...last(9_000) }, undefined, "300 unknown"],
    [
      "an earlier attempt, and no retries at all",
      { earlier: "judged-by-caller", maxRetries: 0 },
      undefined,
      "no-retries-left unknown",
    ],
    [
      "an earlier attempt, and a Retry-After at the deadline",
      { earlier: "judged-by-caller" },
      30_000,
      "deadline unknown",
    ],
  ])("with %s", (_name, changes, retryAfterMs, expected) => {
    expect(decide(changes, respond(409, retryAfterMs))).toBe(expected);
  });

  it("begins the five seconds, and counts as no failure; another failure does", () => {
    const { state } = decideNext(first, respond(409), nowMs);
    expect(state).toEqual({ ...first, firstConflictAtMs: nowMs, outcome: "rejected" });
    const later = decideNext(state, respond(503), nowMs + 300);
    expect(later.state).toEqual({ ...state, countedAttempts: 1, outcome: "unknown" });
  });
});

it.each([
  [undefined, 299, "deadline unknown"],
  [undefined, 300, "deadline unknown"],
  [undefined, 301, "300 unknown"],
  [2_000, 2_000, "deadline unknown"],
  [2_000, 2_001, "2000 unknown"],
  [0, 300, "deadline unknown"],
  [0, 301, "300 unknown"],
])("retries before the deadline only: Retry-After %s ms, %i ms left", (asked, leftMs, expected) => {
  expect(decide({ endsAtMs: nowMs + leftMs }, respond(503, asked))).toBe(expected);
});

it.each([
  [0, "no-retries-left unknown"],
  [1, "300 unknown"],
])("makes at most maxRetries retries: %i", (maxRetries, expected) => {
  expect(decide({ maxRetries }, respond(503))).toBe(expected);
});
