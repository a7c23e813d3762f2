/** Bulk issuing: results per row, people, reading ahead, and what ends a run. */
import { issueCards } from "@loyalty-cards/issuing-client/bulk";
import { describe, expect, it } from "vitest";
import type { BulkResult } from "../src/bulk/issue-cards.ts";
import { createIssuingClient, defineTemplate, type IssuingClient } from "../src/index.ts";
import { createBulkService, type TestRow, toRow, toRows } from "./bulk-service.ts";
import { apiKey, card, json, networkError } from "./scripted.ts";

describe("results", () => {
  it("yields the card of each row, with the row, its index and its key", async () => {
    const { run } = createBulkService();
    const rows = toRows(100);
    const { results } = await run(rows);
    expect(results.map(({ index }) => index).sort((a, b) => a - b)).toEqual(rows.map((_, index) => index));
    for (const result of results) {
      expect(result.row).toBe(rows[result.index]);
      expect(result).toMatchObject({ status: "issued", card: { id: `card_of_${result.idempotencyKey}` } });
    }
  });

  it("derives the same keys as issueCard", async () => {
    const { run, sent, client, clock } = createBulkService();
    await run([toRow(1, {}, { keySuffix: "2" })]);
    const { request } = toRow(1);
    await clock.runUntilEnd(client.issueCard("tpl_club", request, { userId: 1, keySuffix: "2" }));
    expect(sent[0]?.key).toBe(sent[1]?.key);
  });

  it("sends the row again with the same key after failures of the network", async () => {
    let failures = 3;
    const { run, sent } = createBulkService({
      respond: () => (failures-- > 0 ? networkError("ECONNRESET") : undefined),
    });
    const { statuses } = await run([toRow(1)]);
    expect(statuses).toEqual({ issued: 1 });
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
    expect(sent).toHaveLength(4);
  });

  it("sends the row again after a response that is not a card", async () => {
    let count = 0;
    const { run } = createBulkService({
      respond: () => (count++ === 0 ? new Response("<html>", { status: 200 }) : undefined),
    });
    expect((await run([toRow(1)])).statuses).toEqual({ issued: 1 });
  });

  it("rejects a row that the service rejects, and continues", async () => {
    const { run } = createBulkService({
      respond: (_request, { customer }) =>
        customer.email === "user1@example.com" ? json({ detail: "Not an e-mail." }, 422) : undefined,
    });
    const { results, statuses } = await run(toRows(3));
    expect(statuses).toEqual({ issued: 2, rejected: 1 });
    const rejected = results.find(({ status }) => status === "rejected");
    expect(rejected).toMatchObject({
      index: 1,
      error: { code: "validation", userMessage: "Not an e-mail." },
    });
  });

  it.each([
    ["a refused connection", 404, "rejected", () => networkError("ECONNREFUSED")],
    ["too many requests", 404, "rejected", () => json({}, 429)],
    ["a lost response", 404, "unknown", () => networkError("ECONNRESET")],
    ["an error of the service", 400, "unknown", () => json({}, 500)],
    ["an error of the service", 422, "rejected", () => json({}, 500)],
  ])("after %s, a row that gets %i is %s", async (_name, status, expected, fail) => {
    let count = 0;
    const { run, sent } = createBulkService({ respond: () => (count++ === 0 ? fail() : json({}, status)) });
    expect((await run([toRow(1)])).results).toMatchObject([{ status: expected, error: { status } }]);
    expect(sent).toHaveLength(2);
  });

  it.each([400, 404, 409, 422])(
    "a row that is refused in its first attempt is rejected: %i",
    async (status) => {
      const { run, sent } = createBulkService({ respond: () => json({}, status) });
      expect((await run([toRow(1)])).results).toMatchObject([{ status: "rejected", error: { status } }]);
      expect(sent).toHaveLength(1);
    },
  );

  it("waits when the service is still working on an earlier attempt", async () => {
    const responses = [networkError("ECONNRESET"), json({}, 409), undefined];
    const { run } = createBulkService({ respond: () => responses.shift() });
    expect((await run([toRow(1)])).statuses).toEqual({ issued: 1 });
  });

  it("reports the id of a card whose other members are invalid, and does not send the row again", async () => {
    const { run, sent } = createBulkService({
      respond: () => json({ ...card, loyaltyBalance: "0" }, 201),
    });
    expect((await run([toRow(1)])).results[0]).toMatchObject({
      status: "unknown",
      error: { cardId: "card_1" },
    });
    expect(sent).toHaveLength(1);
  });

  it("rejects invalid rows without sending them", async () => {
    const { run, sent } = createBulkService();
    const { request } = toRow(1);
    const rows: unknown[] = [
      null,
      { request },
      { request, userId: undefined },
      { request: {}, userId: 1 },
      { request: { customer: { consents: {} } }, userId: 1 },
      { request, userId: 1, keySuffix: "" },
      { request: { customer: { ...request.customer, phone: 48600100200 } }, userId: 2 },
    ];
    const { results, statuses } = await run(rows as TestRow[]);
    expect(statuses).toEqual({ rejected: rows.length });
    for (const result of results) expect(result).toMatchObject({ error: { code: "configuration" } });
    expect(results[1]).toMatchObject({ error: { message: expect.stringContaining("neither userId nor") } });
    expect(sent).toHaveLength(0);
  });

  it("validates the fields of each row with the schema of the template", async () => {
    const { run } = createBulkService();
    const template = defineTemplate<{ name: string }>("tpl_club", {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (values) => {
          const { name } = values as { name: string };
          if (name === "throws") throw new Error("a bug of the schema");
          return name === "" ? { issues: [{ message: "empty", path: ["name"] }] } : { value: { name } };
        },
      },
    });
    const rows = ["Anna", "", "throws"].map((name, userId) => {
      const { request } = toRow(userId);
      return { userId, request: { ...request, fieldValues: { name } } };
    });
    const { results } = await run(rows, { template });
    const byIndex = [...results].sort((a, b) => a.index - b.index);
    expect(byIndex).toMatchObject([
      { status: "issued" },
      { status: "rejected", error: { code: "validation" } },
      { status: "rejected", error: { code: "configuration" } },
    ]);
  });
});

describe("rows of one person", () => {
  it("sends them one after another, in the order of the source, and names the first", async () => {
    const { run, sent } = createBulkService();
    const rows = [
      toRow(0, { phone: "+48 600-100-200", email: "" }),
      toRow(1, { phone: "0048 (0)600 100 200", email: "anna@example.com" }),
      toRow(2),
      toRow(3, { email: " Anna@Example.com" }),
      toRow(4, { phone: "+48600100200", email: "" }),
    ];
    const { results } = await run(rows);
    const same = Object.fromEntries(results.map(({ index, samePersonAs }) => [index, samePersonAs]));
    expect(same).toEqual({ 0: undefined, 1: 0, 2: undefined, 3: 0, 4: 0 });
    const sentAt = results.map(({ index, idempotencyKey }) => [
      index,
      sent.find(({ key }) => key === idempotencyKey)?.atMs,
    ]);
    const times = Object.fromEntries(sentAt);
    expect([times[0], times[1], times[3]]).toEqual([0, 100, 200]);
    expect(times[4]).toBe(200);
    expect(times[2]).toBe(0);
  });

  it("keeps the order of the lane while its first row fails and is sent again", async () => {
    let failures = 2;
    const { run, sent } = createBulkService({ respond: () => (failures-- > 0 ? json({}, 500) : undefined) });
    const { results } = await run([toRow(0, { phone: "+48600100200" }), toRow(1, { phone: "+48600100200" })]);
    expect(results.map(({ index }) => index)).toEqual([0, 1]);
    expect(new Set(sent.slice(0, 3).map(({ key }) => key)).size).toBe(1);
  });
});

/** Counts what is read from it, and whether it was closed. */
function createSource(count: number) {
  const state = { read: 0, isClosed: false };
  async function* read() {
    try {
      for (; state.read < count; state.read++) yield toRow(state.read);
    } finally {
      state.isClosed = true;
    }
  }
  return { state, source: read() };
}

describe("the source", () => {
  it("is read at most sixteen rows per request ahead of the consumer", async () => {
    const { start, clock } = createBulkService();
    const { state, source } = createSource(10_000);
    const results = start(source, { concurrency: 2 });
    for (let consumed = 1; consumed <= 200; consumed++) {
      await clock.runUntilEnd(results.next());
      expect(state.read).toBeLessThanOrEqual(consumed + 33);
    }
    await clock.runUntilEnd(results.return());
    expect(state.isClosed).toBe(true);
  });

  it("ends the run when it throws, after the rows before it have ended", async () => {
    const { run } = createBulkService();
    function* read() {
      yield* toRows(50);
      throw new Error("line 51 is broken");
    }
    const { statuses, thrown } = await run(read());
    expect(statuses).toEqual({ issued: 50 });
    expect(thrown).toEqual(new Error("line 51 is broken"));
  });

  it.each(["text", 5, null, {}])("must be an iterable of rows, not %j", (source) => {
    const { start } = createBulkService();
    expect(() => start(source as never)).toThrow(/must be an iterable/);
  });
});

describe("what ends a run", () => {
  it.each([401, 403])("a %i ends it at once: no row is sent again or lost", async (status) => {
    let count = 0;
    const { run, sent } = createBulkService({ respond: () => (++count > 20 ? json({}, status) : undefined) });
    const { statuses, thrown } = await run(toRows(1_000), { concurrency: 4 });
    expect(thrown).toMatchObject({ code: status === 401 ? "unauthorized" : "forbidden" });
    expect(statuses).toEqual({ issued: 20 });
    expect(sent.length).toBeLessThanOrEqual(24);
  });

  it("an apiKey function that fails ends it, and rejects no row", async () => {
    const clock = createBulkService().clock;
    const client = createIssuingClient({
      baseUrl: "https://cards.test",
      clock,
      apiKey: () => Promise.reject(new Error("the vault is closed")),
    });
    const first = issueCards(client, toRows(10), { template: "tpl_club", clock }).next();
    await expect(clock.runUntilEnd(first)).rejects.toMatchObject({ code: "configuration" });
  });

  it("an abort ends it with the reason, after the results of running requests", async () => {
    const controller = new AbortController();
    const { run, sent } = createBulkService({
      respond: () => {
        if (sent.length === 40) controller.abort("Ctrl-C");
        return undefined;
      },
    });
    const { source, state } = createSource(1_000);
    const { results, thrown } = await run(source, { concurrency: 4, signal: controller.signal });
    expect(thrown).toBe("Ctrl-C");
    expect(results).toHaveLength(sent.length);
    expect(sent.length).toBeLessThanOrEqual(44);
    expect(state.isClosed).toBe(true);
  });

  it("an abort ends it while the source has no row, or the run is paused", async () => {
    const waiting = new AbortController();
    const { run, clock } = createBulkService();
    const silence = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    clock.after(1_000, () => waiting.abort("enough"));
    expect(await run(silence, { signal: waiting.signal })).toMatchObject({ thrown: "enough", results: [] });

    const paused = new AbortController();
    const other = createBulkService({ respond: () => json({}, 503, { "retry-after": "86400" }) });
    other.clock.after(1_000, () => paused.abort("enough"));
    expect(await other.run(toRows(10), { signal: paused.signal })).toMatchObject({
      thrown: "enough",
      results: [],
    });
    expect(other.clock.monotonicMs()).toBe(1_000);
  });

  it("a signal that is aborted already sends nothing", async () => {
    const { run, sent } = createBulkService();
    expect((await run(toRows(3), { signal: AbortSignal.abort("before") })).thrown).toBe("before");
    expect(sent).toHaveLength(0);
  });
});

describe("options", () => {
  it.each([
    [{ concurrency: 0 }, /concurrency must be/],
    [{ concurrency: 1.5 }, /concurrency must be/],
    [{ maxPerSecond: 0 }, /maxPerSecond must be/],
    [{ maxPerSecond: Number.NaN }, /maxPerSecond must be/],
    [{ template: "" }, /template id/],
    [{ description: 5 }, /description must be/],
  ])("%j is refused where it is given", (options, message) => {
    const { start } = createBulkService();
    expect(() => start([], options as object)).toThrow(message);
  });

  it("refuses a client that createIssuingClient did not return", () => {
    const { client } = createBulkService();
    const copy = { ...client } as IssuingClient;
    expect(() => issueCards(copy, [], { template: "t" })).toThrow(
      /the client that createIssuingClient returned/,
    );
  });

  it("reads the settings of the client without the API key", () => {
    const { client } = createBulkService();
    const symbols = Object.getOwnPropertySymbols(client);
    expect(symbols.map((symbol) => JSON.stringify((client as never)[symbol])).join()).not.toContain(apiKey);
    expect(Object.keys(client)).not.toContain(symbols[0]);
  });
});

it("types the fields of a template", () => {
  const { client } = createBulkService();
  const template = defineTemplate<{ name: string }>("tpl_club");
  const { request } = toRow(1);
  const results: AsyncGenerator<BulkResult<{ userId: number; line: number; request: typeof request }>> =
    issueCards(client, [{ userId: 1, line: 7, request }], { template });
  expect(results).toBeDefined();
  // @ts-expect-error the template has no field `nom`
  issueCards(client, [{ userId: 1, request: { ...request, fieldValues: { nom: "Anna" } } }], { template });
});
