/**
 * 409 and 423: retried while an earlier attempt with the same key may still be running, and final
 * otherwise.
 */

import { readIssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { createMockService } from "@loyalty-cards/mock-server";
import {
  card,
  catchIssuingError,
  issueScripted,
  json,
  networkError,
  type Script,
  scripted,
  signUp,
  template,
} from "@loyalty-cards/testing/scripted-client";
import { createVirtualClock } from "@loyalty-cards/testing/virtual-clock";
import { describe, expect, it } from "vitest";
import { createIssuingClient } from "../src/index.ts";

const statuses = [409, 423] as const;
const issued = () => json(card, 201);
const times = (count: number, script: () => Script) => Array.from({ length: count }, script);
const lost = () => networkError("ECONNRESET");
const toText = ({ outcome, retryable }: { outcome: string; retryable: boolean }) =>
  `${outcome} ${retryable}`;

describe.each(statuses)("a %i", (status) => {
  const conflict = (headers = {}) => json({}, status, headers);

  it("is retried for five seconds when no earlier attempt is known: a request of another process may still run", async () => {
    const { result, requests } = issueScripted([...times(5, conflict), issued()]);
    expect((await result).id).toBe(card.id);
    expect(requests).toHaveLength(6);
  });

  it.each<[string, () => Script[]]>([
    ["without an earlier attempt", () => []],
    ["after a connection that was refused", () => [networkError("ECONNREFUSED")]],
    ["after a 429", () => [json({}, 429)]],
  ])(
    "ends a call %s after five seconds at most, as a conflict of the business",
    async (_name, first) => {
      const clock = createVirtualClock();
      const { client, requests } = scripted([...first(), ...times(100, conflict)], {
        testing: { clock, random: () => 0.5 },
        onEvent: undefined,
      });
      clock.block(60_000); // before the call
      const call = client.issueCard(template.id, signUp, { userId: 1 });
      const error = await clock.run(catchIssuingError(call));
      expect(error).toMatchObject({ code: "conflict", outcome: "rejected", retryable: false });
      expect(clock.monotonicMs()).toBeGreaterThan(64_000);
      expect(clock.monotonicMs()).toBeLessThanOrEqual(65_500);
      expect(requests.length).toBeGreaterThan(5);
    },
  );

  it.each<[string, () => Script]>([
    ["a connection that was lost", lost],
    ["a 504 of a proxy", () => json({}, 504)],
    ["half a body", () => new Response('{"id":"card_', { status: 201 })],
  ])("is retried after %s, more often than maxRetries", async (_name, first) => {
    const { result, requests } = issueScripted([first(), ...times(5, conflict), issued()]);
    expect((await result).id).toBe(card.id);
    expect(new Set(requests.map(({ headers }) => headers.get("idempotency-key")))).toEqual(
      new Set(["order-1"]),
    );
    expect(requests).toHaveLength(7);
  });

  it("is retried until the deadline with firstAttemptAt, also when that is now, and otherwise for five seconds", async () => {
    for (const [earlierMs, outcome, endMs] of [
      [1, "unknown", 25_000],
      [0, "unknown", 25_000],
      [-5_000, "unknown", 25_000], // by a clock that is ahead
      [undefined, "rejected", 4_000],
    ] as const) {
      const clock = createVirtualClock();
      const testing = { clock, random: () => 1 };
      const { client } = scripted(times(200, conflict), { testing, onEvent: undefined });
      const first = earlierMs === undefined ? {} : { firstAttemptAt: clock.now() - earlierMs };
      const call = client.issueCard(template.id, signUp, { userId: 1, ...first });
      const error = await clock.run(catchIssuingError(call));
      expect(error).toMatchObject({ code: "conflict", outcome, retryable: outcome === "unknown" });
      expect(clock.monotonicMs()).toBeGreaterThan(endMs);
    }
  });

  it("is unknown and retryable at the deadline", async () => {
    const clock = createVirtualClock();
    const { client } = scripted([lost(), ...times(100, conflict)], {
      testing: { clock, random: () => 0.5 },
      onEvent: undefined,
    });
    const call = client.issueCard(template.id, signUp, { userId: 1, deadlineMs: 8_000 });
    const error = await clock.run(catchIssuingError(call));
    expect(error).toMatchObject({ code: "conflict", outcome: "unknown", retryable: true });
    // 150 (the first retry), 150, 300, and then 500 and 1 000 ms at most between two attempts.
    expect(clock.monotonicMs()).toBeGreaterThan(7_000);
    expect(error.attempts).toBeGreaterThan(8);
  });

  it("is retried after the time of Retry-After, and after at least 100 ms", async () => {
    const { events, result } = issueScripted([
      lost(),
      conflict({ "retry-after": "2" }),
      conflict({ "retry-after": "0" }),
      conflict(),
      issued(),
    ]);
    await result;
    const pauses = events.flatMap((event) => (event.type === "retry" ? event.delayMs : []));
    expect(pauses).toEqual([0, 2_000, 100, 100]);
  });

  it("ends the call when Retry-After passes the deadline", async () => {
    const { result } = issueScripted([lost(), conflict({ "retry-after": "60" }), issued()]);
    const ended = { code: "conflict", outcome: "unknown", retryable: true, retryAfterMs: 60_000 };
    expect(await catchIssuingError(result)).toMatchObject(ended);
  });

  it("ends a call without an idempotency key", async () => {
    const { client } = scripted([lost(), conflict(), json({}, 200)]);
    const error = await catchIssuingError(client.setConsent("card_1", { marketing: true }));
    expect(error).toMatchObject({ code: "conflict", retryable: false, attempts: 2 });
  });

  it("has the same outcome in the step of the outbox as in issueCard", async () => {
    const ends: string[] = [];
    for (const earlierMs of [undefined, 0, 1]) {
      const { client, clock } = scripted([conflict(), conflict()], { maxRetries: 0 });
      const first = earlierMs === undefined ? {} : { firstAttemptAt: clock.now() - earlierMs };
      const { send, prepare } = readIssuingSteps(client);
      const prepared = await prepare(template.id, signUp);
      const keyed = { ...prepared, idempotencyKey: "k", sinceFirstUseMs: earlierMs };
      const sent = await catchIssuingError(send(keyed));
      const issuedOne = client.issueCard(template.id, signUp, { userId: 1, ...first });
      expect(toText(sent)).toBe(toText(await catchIssuingError(issuedOne)));
      ends.push(toText(sent));
    }
    expect(ends).toEqual(["rejected false", "unknown true", "unknown true"]);
  });
});

// G1
it.each([
  ["loses the connection", "reset"],
  ["does not respond", "hang"],
] as const)(
  "issues 200 cards for 200 sign-ups when the service %s, works for three seconds and responds 409 meanwhile",
  async (_name, kind) => {
    const clock = createVirtualClock();
    const service = createMockService({
      templates: [template],
      clock: { now: clock.now },
      log() {}, // a warning for each card: all sign-ups are of one customer
    });
    service.faults.add({ phase: "before", kind: "in-progress", durationMs: 3_000 });
    const conflicts = { count: 0 };
    const client = createIssuingClient({
      baseUrl: service.baseUrl,
      apiKey: service.apiKeys.website,
      testing: { clock },
      fetch: (input, init) => service.fetch(new Request(input, init)),
      timeoutMs: 1_000,
      deadlineMs: 8_000,
      onEvent(event) {
        if (event.type === "retry" && event.status === 409) conflicts.count += 1;
      },
    });
    const join = async (user: number) => {
      await new Promise<void>((resolve) => clock.after(user * 500, resolve));
      const idempotencyKey = `user-${user}`;
      service.faults.add({ phase: "after-commit", kind, times: 1, match: { idempotencyKey } });
      return client.issueCard(template.id, signUp, { idempotencyKey });
    };
    const joins = Array.from({ length: 200 }, (_, user) => join(user));
    const cards = await clock.run(Promise.all(joins));
    const all = await service.fetch(new Request(`${service.baseUrl}/_mock/cards`));
    expect([
      new Set(cards.map(({ id }) => id)).size,
      ((await all.json()) as { total: number }).total,
    ]).toEqual([200, 200]);
    expect(conflicts.count).toBeGreaterThan(200);
  },
);
