/** What the end of an attempt means, case by case. */
import { IssuingError } from "@loyalty-cards/issuing-client";
import { describe, expect, it } from "vitest";
import { type AttemptFacts, type AttemptVerdict, judge, toFailure } from "../src/verdict.ts";

const minuteMs = 60_000;
const nowMs = Date.UTC(2026, 2, 1);

/** The columns of the table: which attempt it is, and how the one before ended. */
const jobs = {
  first: { isFirstAttempt: true, error: undefined },
  again: { isFirstAttempt: false, error: { code: "server" } },
  "after a conflict": {
    isFirstAttempt: false,
    error: { code: "conflict", firstConflictAtMs: nowMs - 10 * minuteMs + 1 },
  },
  "after ten minutes of conflicts": {
    isFirstAttempt: false,
    error: { code: "conflict", firstConflictAtMs: nowMs - 10 * minuteMs },
  },
} satisfies Record<string, Partial<AttemptFacts["job"]>>;
type Column = keyof typeof jobs;

type Facts = ConstructorParameters<typeof IssuingError>[1];
const createError = (facts: Partial<Facts>) =>
  new IssuingError("It failed.", { code: "server", outcome: "unknown", ...facts } as Facts);

function judgeError(
  error: unknown,
  column: Column = "first",
  { isVisitor = false, attempts = 1, random = () => 1 } = {},
): AttemptVerdict {
  const job = { ...jobs[column], leasedAtMs: nowMs, attempts };
  return judge({ failure: toFailure(error) }, { job, isVisitor }, random);
}

const effects = { "ruled-out": ["no effect"], uncertain: [], unchanged: ["of an earlier attempt"] };

/**
 * A verdict in words: the state, what it says of the service, and whether a card may come of this
 * attempt.
 */
function format({ state, topicResult, effect }: AttemptVerdict): string {
  const words = [state as string];
  if (topicResult === "works") words.push("works");
  if (typeof topicResult === "object") words.push(`fails with ${topicResult.reason}`);
  if (state !== "issued") words.push(...effects[effect]);
  return words.join(", ");
}

const laterColumns = (Object.keys(jobs) as Column[]).slice(1);
const problem = { type: "about:blank", status: 400 };
const rejected = "rejected, works, no effect";
/** The attempt has issued no card. */
const nothing = "waiting, works, no effect";
const undecidable = "unknown, of an earlier attempt";

describe.each(["worker", "visitor"])("judges for a %s", (who) => {
  const isVisitor = who === "visitor";

  it.each<[name: string, facts: Partial<Facts>, first: string, later: string]>([
    // what the visitor can correct
    ["422", { code: "validation", status: 422, outcome: "rejected" }, rejected, rejected],
    // a proxy says it, too, and nothing of an earlier attempt
    ["413", { code: "rejected", status: 413, outcome: "rejected" }, rejected, nothing],
    ["414", { code: "rejected", status: 414, outcome: "rejected" }, rejected, nothing],
    [
      "400 as problem details",
      {
        code: "rejected",
        status: 400,
        outcome: "rejected",
        problem: { ...problem, title: "Bad Request" },
      },
      rejected,
      nothing,
    ],
    [
      "400 as problem details without a title",
      {
        code: "rejected",
        status: 400,
        outcome: "rejected",
        problem: { ...problem, detail: "No phone." },
      },
      rejected,
      nothing,
    ],
    [
      "400 without a body",
      { code: "rejected", status: 400, outcome: "rejected" },
      nothing,
      nothing,
    ],
    [
      "400 of a proxy",
      { code: "rejected", status: 400, outcome: "rejected", problem },
      nothing,
      nothing,
    ],
    // spec 8: 24 hours
    ["an old key", { code: "idempotency-expired", outcome: "not-sent" }, undecidable, undecidable],
    // the service works
    [
      "202 without a card",
      { code: "invalid-response", status: 202 },
      "waiting, works",
      "waiting, works",
    ],
    // it fails, and has done nothing
    [
      "a refused connection",
      { code: "network", outcome: "not-sent", retryable: true },
      "waiting, fails with network, no effect",
      "waiting, fails with network, no effect",
    ],
    [
      "429",
      { code: "rate-limited", status: 429, outcome: "rejected", retryable: true },
      "waiting, fails with rate-limited, no effect",
      "waiting, fails with rate-limited, no effect",
    ],
    ...(["unauthorized", "forbidden", "not-found"] as const).map(
      (code): [string, Partial<Facts>, string, string] => [
        code,
        { code, outcome: "rejected" },
        `waiting, fails with ${code}, no effect`,
        `waiting, fails with ${code}, no effect`,
      ],
    ),
    ...[402, 405, 410, 415, 421, 425, 431, 451].map(
      (status): [string, Partial<Facts>, string, string] => [
        `${status}`,
        { code: "rejected", status, outcome: "rejected" },
        "waiting, fails with rejected, no effect",
        "waiting, fails with rejected, no effect",
      ],
    ),
    // the program: another process may have the right options
    [
      "no API key",
      { code: "configuration", outcome: "not-sent" },
      "waiting, no effect",
      "waiting, no effect",
    ],
    [
      "an apiKey function that fails",
      { code: "configuration", outcome: "not-sent", retryable: true },
      "waiting, fails with configuration, no effect",
      "waiting, fails with configuration, no effect",
    ],
    [
      "a code of a newer client",
      { code: "teapot" as "server", outcome: "not-sent" },
      "waiting, fails with teapot, no effect",
      "waiting, fails with teapot, no effect",
    ],
    // it fails, and may have issued the card
    [
      "a lost response",
      { code: "network", retryable: true },
      "waiting, fails with network",
      "waiting, fails with network",
    ],
    [
      "a timeout",
      { code: "timeout", retryable: true },
      "waiting, fails with timeout",
      "waiting, fails with timeout",
    ],
    ...[500, 503].map((status): [string, Partial<Facts>, string, string] => [
      `${status}`,
      { code: "server", status, retryable: true },
      "waiting, fails with server",
      "waiting, fails with server",
    ]),
    [
      "408",
      { code: "rejected", status: 408, retryable: true },
      "waiting, fails with rejected",
      "waiting, fails with rejected",
    ],
    [
      "a page of a proxy",
      { code: "invalid-response", status: 200, retryable: true },
      "waiting, fails with invalid-response",
      "waiting, fails with invalid-response",
    ],
  ])("%s", (_name, facts, first, later) => {
    const error = createError(facts);
    expect(format(judgeError(error, "first", { isVisitor }))).toBe(first);
    for (const column of laterColumns)
      expect(format(judgeError(error, column, { isVisitor })), column).toBe(later);
  });

  // the assumption `concurrent-key`
  it.each<[Column, string]>([
    ["first", "waiting, works, of an earlier attempt"],
    ["again", "waiting, works, of an earlier attempt"],
    ["after a conflict", "waiting, works, of an earlier attempt"],
    ["after ten minutes of conflicts", undecidable],
  ])("409 and 423: %s", (column, expected) => {
    for (const status of [409, 423]) {
      const error = createError({ code: "conflict", status, outcome: "rejected" });
      expect(format(judgeError(error, column, { isVisitor })), `${status}`).toBe(expected);
    }
  });

  it.each([
    ["the end of the worker", new Error("The worker stops.")],
    ["an abort with text", "stopped"],
    ["an abort with null", null],
    ["an abort with undefined", undefined],
  ])("%s", (_name, reason) => {
    for (const column of Object.keys(jobs) as Column[])
      expect(format(judgeError(reason, column, { isVisitor }))).toBe("waiting");
  });
});

it.each([400, 413, 414])("asks the visitor to check a form that a %s rejects", (status) => {
  const problem = { type: "about:blank", status, title: "No" };
  const error = createError({ code: "rejected", status, outcome: "rejected", problem });
  expect(judgeError(error)).toMatchObject({
    state: "rejected",
    error: { code: "rejected", userMessage: "Please check your details." },
  });
});

it("counts a deadline as a failure of the service, unless it is that of a visitor", () => {
  const error = createError({ code: "deadline", retryable: true });
  for (const column of Object.keys(jobs) as Column[]) {
    expect(format(judgeError(error, column))).toBe("waiting, fails with deadline");
    expect(format(judgeError(error, column, { isVisitor: true }))).toBe("waiting");
  }
});

describe("a card", () => {
  const judgeCard = (id: string, publicUrl = "https://cards.test/1") => {
    const job = { ...jobs.first, leasedAtMs: nowMs, attempts: 1 };
    return judge({ value: { id, publicUrl } }, { job, isVisitor: false }, Math.random);
  };

  // spec 4.1
  it("is stored with its page", () => {
    const result = { cardId: "card_1", publicUrl: "https://cards.test/1" };
    expect(judgeCard("card_1")).toEqual({
      state: "issued",
      effect: "unchanged",
      result,
      isErased: true,
      topicResult: "works",
    });
  });

  it("is stored without a page when the response is invalid", () => {
    const verdict = judgeError(createError({ code: "invalid-response", cardId: "card_1" }));
    expect(verdict).toMatchObject({ state: "issued", result: { cardId: "card_1" } });
    expect(verdict.result).not.toHaveProperty("publicUrl");
  });

  it("is requested again when no database stores its id or its address", () => {
    const error = {
      code: "invalid-response",
      message: expect.stringContaining("cannot be stored"),
    };
    for (const verdict of [
      judgeCard("card_\0"),
      judgeCard("card_1", `https://${"a".repeat(2_000)}`),
    ]) {
      expect(format(verdict)).toBe("waiting, works");
      expect(verdict.error).toMatchObject(error);
    }
    const named = judgeError(createError({ code: "invalid-response", cardId: "card_\0" }));
    expect(format(named)).toBe("waiting, fails with invalid-response");
  });
});

describe("the delay of the next attempt", () => {
  const getDelayMs = (facts: Partial<Facts>, attempts = 1) =>
    judgeError(createError(facts), "first", { attempts, random: () => 1 }).delayMs;

  it("doubles with each attempt, up to 15 minutes", () => {
    expect([1, 2, 3, 11].map((attempts) => getDelayMs({}, attempts))).toEqual([
      1_000,
      2_000,
      4_000,
      15 * minuteMs,
    ]);
  });

  it("is that of Retry-After when it is longer, up to 15 minutes", () => {
    expect(getDelayMs({ retryAfterMs: 30_000 })).toBe(30_000);
    expect(getDelayMs({ retryAfterMs: 0 })).toBe(1_000);
    expect(getDelayMs({ retryAfterMs: 60 * minuteMs })).toBe(15 * minuteMs);
  });
});

it("stores when the first of the conflicts in a row began, until another failure", () => {
  const conflict = createError({ code: "conflict", status: 409 });
  const firstConflictAtMs = nowMs - 10 * minuteMs + 1;
  expect(judgeError(conflict).error).toMatchObject({ firstConflictAtMs: nowMs });
  expect(judgeError(conflict, "after a conflict").error).toMatchObject({ firstConflictAtMs });
  expect(judgeError(createError({}), "after a conflict").error).not.toHaveProperty(
    "firstConflictAtMs",
  );
});

it("stores an error without NUL, and a general message for an error that is not the client's", () => {
  const error = createError({ code: "validation", userMessage: "The phone\0 is not valid." });
  expect(judgeError(error).error).toMatchObject({ userMessage: "The phone is not valid." });
  expect(judgeError(new Error("anna@example.com")).error).toMatchObject({
    code: "aborted",
    message: "The attempt was aborted.",
    fields: [],
  });
});
