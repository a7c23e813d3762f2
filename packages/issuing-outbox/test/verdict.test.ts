/** What the end of an attempt means, case by case. */
import type { LeasedJob } from "@loyalty-cards/internal/jobs/jobs";
import { IssuingError } from "@loyalty-cards/issuing-client";
import { expect, it } from "vitest";
import { judge } from "../src/verdict.ts";

const minute = 60_000;
const nowMs = Date.UTC(2026, 2, 1);

const first = { isFirstAttempt: true, startedAtMs: nowMs, leasedAtMs: nowMs } as LeasedJob;
/** An earlier attempt got no response. */
const later = { ...first, isFirstAttempt: false, startedAtMs: nowMs - minute, lostAtMs: nowMs - minute };
const muchLater = { ...later, lostAtMs: nowMs - 10 * minute };

type Facts = ConstructorParameters<typeof IssuingError>[1];
const failure = (facts: Partial<Facts>) =>
  new IssuingError("It failed.", { code: "server", outcome: "unknown", ...facts } as Facts);

const again = (hasNoEffect: boolean, service?: "fails" | "works") => ({
  state: "waiting",
  hasNoEffect,
  finding: service === "fails" ? { reason: expect.any(String) } : service,
});
const issued = (publicUrl?: string) => ({
  state: "issued",
  result: { cardId: "card_1", ...(publicUrl && { publicUrl }) },
});
/** No card comes from the attempt, and the service works. */
const final = { state: "rejected", hasNoEffect: true, finding: "works" };
const notSent = { outcome: "not-sent", retryable: true } as const;
const rejected = { outcome: "rejected" } as const;
const unknown = { outcome: "unknown", retryable: true } as const;

it.each<[string, unknown, LeasedJob, object]>([
  // spec 4.1: the card
  ["a card", { id: "card_1", publicUrl: "https://cards.test/1" }, first, issued("https://cards.test/1")],
  [
    "a card whose id cannot be stored",
    { id: "card_\0", publicUrl: "https://cards.test/1" },
    first,
    {
      ...again(false, "works"),
      error: { code: "invalid-response", message: expect.stringContaining("cannot be stored") },
    },
  ],
  ["a card without a page", failure({ code: "invalid-response", cardId: "card_1" }), first, issued()],
  // spec 7: what the service rejects
  ["422", failure({ code: "validation", status: 422, ...rejected }), first, final],
  ["422 after a lost response", failure({ code: "validation", status: 422, ...rejected }), later, final],
  ["another 4xx", failure({ code: "rejected", status: 400, ...rejected }), first, final],
  [
    "another 4xx after a lost response",
    failure({ code: "rejected", status: 400, ...rejected }),
    later,
    again(true, "works"),
  ],
  // the assumption `concurrent-key`
  ["a 409 of the business", failure({ code: "conflict", status: 409, ...rejected }), first, final],
  [
    "409 while an earlier request may run",
    failure({ code: "conflict", status: 409, ...unknown }),
    later,
    again(true, "works"),
  ],
  [
    "409 after ten minutes",
    failure({ code: "conflict", status: 409, ...unknown }),
    muchLater,
    { state: "unknown" },
  ],
  // spec 8: 24 hours
  [
    "a key that has expired",
    failure({ code: "idempotency-expired", outcome: "not-sent" }),
    later,
    { state: "unknown" },
  ],
  // failures of the service, or of the way to it
  ["a refused connection", failure({ code: "network", ...notSent }), first, again(true, "fails")],
  ["a lost response", failure({ code: "network", ...unknown }), first, again(false, "fails")],
  ["a timeout", failure({ code: "timeout", ...unknown }), first, again(false, "fails")],
  ["503", failure({ code: "server", status: 503, ...unknown }), first, again(false, "fails")],
  [
    "429",
    failure({ code: "rate-limited", status: 429, outcome: "rejected", retryable: true }),
    first,
    again(true, "fails"),
  ],
  ["408", failure({ code: "rejected", status: 408, ...unknown }), first, again(false, "fails")],
  ["401", failure({ code: "unauthorized", status: 401, ...rejected }), first, again(true, "fails")],
  ["403", failure({ code: "forbidden", status: 403, ...rejected }), first, again(true, "fails")],
  ["404", failure({ code: "not-found", status: 404, ...rejected }), first, again(true, "fails")],
  ["no API key", failure({ code: "configuration", outcome: "not-sent" }), first, again(true, "fails")],
  [
    "a page of a proxy",
    failure({ code: "invalid-response", status: 200, ...unknown }),
    first,
    again(false, "fails"),
  ],
  // responses of a service that works
  ["202", failure({ code: "invalid-response", status: 202, ...unknown }), first, again(false, "works")],
  [
    "425",
    failure({ code: "rejected", status: 425, outcome: "rejected", retryable: true }),
    first,
    again(true, "works"),
  ],
  ["the end of the worker", new Error("The worker stops."), first, again(false)],
])("judges %s", (_name, end, job, expected) => {
  const attemptEnd = end instanceof Error ? { error: end } : { card: end as never };
  expect(judge(attemptEnd, job, false, Math.random)).toMatchObject(expected);
});

it.each(["stopped", null, undefined])(
  "takes %s, which is not an error, for the end of the worker",
  (error) => {
    expect(judge({ error }, first, false, Math.random)).toMatchObject(again(false));
  },
);

it("counts a deadline as a failure of the service, unless it is that of a visitor", () => {
  const end = { error: failure({ code: "deadline", ...unknown }) };
  expect(judge(end, first, false, Math.random)).toMatchObject(again(false, "fails"));
  expect(judge(end, first, true, Math.random)).toMatchObject(again(false));
  expect(judge({ error: failure({}) }, first, true, Math.random)).toMatchObject(again(false, "fails"));
});

it("stores an error without NUL, and a general message for an error that is not the client's", () => {
  const error = failure({ code: "validation", userMessage: "The phone\0 is not valid." });
  expect(judge({ error }, first, false, Math.random)).toMatchObject({
    error: { userMessage: "The phone is not valid." },
  });
  expect(judge({ error: new Error("anna@example.com") }, first, false, Math.random)).toMatchObject({
    error: { code: "aborted", message: "The attempt was aborted.", fields: [] },
  });
});
