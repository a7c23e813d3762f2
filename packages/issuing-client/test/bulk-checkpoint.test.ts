/** Checkpoints of bulk issuing: what is recorded when, and what a run that is resumed does with each row. */
import { issueCards } from "@loyalty-cards/issuing-client/bulk";
import { describe, expect, it } from "vitest";
import { createBulkService, memoryCheckpoint, toRow, toRows } from "./bulk-service.ts";
import { card, json } from "./scripted.ts";

const hour = 3_600_000;

describe("the records of a row", () => {
  it("are stored before it is sent, and before its result is yielded", async () => {
    const { checkpoint, state } = memoryCheckpoint();
    const stored: number[] = [];
    const { start, clock } = createBulkService({
      latencyMs: (request) => {
        stored.push(state.records.filter(({ outcome }) => outcome === undefined).length);
        return request.running;
      },
    });
    const results = start(toRows(20), { checkpoint, concurrency: 1 });
    for (let consumed = 1; consumed <= 20; consumed++) {
      await clock.runUntilEnd(results.next());
      expect(state.records.filter(({ outcome }) => outcome === "issued").length).toBeGreaterThanOrEqual(
        consumed,
      );
    }
    for (const [index, count] of stored.entries()) expect(count).toBeGreaterThan(index);
    await clock.runUntilEnd(results.return());
    expect(state.isOpen).toBe(false);
  });

  it("have hashes and the id of the card, and nothing of the customer", async () => {
    const { checkpoint, state } = memoryCheckpoint();
    const { run, clock } = createBulkService();
    const { results } = await run([toRow(1, { phone: "+48600100200" })], { checkpoint });
    const hash = expect.stringMatching(/^[\w-]{22}$/);
    const firstAttemptAt = clock.now() - 100;
    const begun = { keyHash: hash, rowHash: hash, firstAttemptAt };
    const cardId = `card_of_${results[0]?.idempotencyKey}`;
    expect(state.records).toEqual([begun, { ...begun, outcome: "issued", cardId }]);
  });
});

describe("a run that is resumed", () => {
  it("replays what was issued, in any order of the source, and issues the rest", async () => {
    const { checkpoint } = memoryCheckpoint();
    const { run, sent } = createBulkService();
    await run(toRows(50), { checkpoint });
    const { results, statuses } = await run(toRows(100).reverse(), { checkpoint });
    expect(statuses).toEqual({ replayed: 50, issued: 50 });
    expect(sent).toHaveLength(100);
    for (const result of results) {
      if (result.status === "replayed") expect(result.cardId).toBe(`card_of_${result.idempotencyKey}`);
    }
  });

  it("sends a row again with the same key whose outcome is unknown", async () => {
    const { checkpoint, state } = memoryCheckpoint();
    const controller = new AbortController();
    const { run, sent } = createBulkService({
      respond: () => {
        if (sent.length > 1) return undefined;
        controller.abort();
        return json({}, 500);
      },
    });
    expect((await run([toRow(1)], { checkpoint, signal: controller.signal })).results).toEqual([]);
    expect(state.records).toHaveLength(1);
    expect((await run([toRow(1)], { checkpoint })).statuses).toEqual({ issued: 1 });
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
  });

  it.each([
    [23, "issued"],
    [24, "unknown"],
  ])("%i hours after an attempt without a known outcome the row is %s", async (hours, status) => {
    const first = createBulkService();
    const { checkpoint, state } = memoryCheckpoint();
    await first.run([toRow(1)], { checkpoint });
    const [begun] = state.records.splice(0);
    if (begun !== undefined)
      state.records.push({ ...begun, firstAttemptAt: first.clock.now() - hours * hour });
    const { results } = await first.run([toRow(1)], { checkpoint });
    expect(results).toMatchObject([
      { status, ...(hours === 24 && { error: { code: "idempotency-expired" } }) },
    ]);
    expect(first.sent).toHaveLength(hours === 24 ? 1 : 2);
    expect(state.records.map(({ outcome }) => outcome)).toEqual(
      hours === 24 ? [undefined] : [undefined, "issued"],
    );
  });

  it.each([
    ["an abort", undefined],
    ["a refused key", 401],
  ])("sends rows that were read and not sent before %s, also after 24 hours", async (_cause, status) => {
    const { checkpoint, state } = memoryCheckpoint();
    const controller = new AbortController();
    let isStopping = true;
    const { run, sent, clock } = createBulkService({
      respond: () => {
        if (!isStopping || sent.length < 3) return undefined;
        controller.abort();
        return status === undefined ? undefined : json({}, status);
      },
    });
    const signal = status === undefined ? controller.signal : undefined;
    const first = await run(toRows(100), { checkpoint, concurrency: 2, signal });
    const issued = first.statuses["issued"] ?? 0;
    expect(issued).toBeLessThan(10);
    expect(state.records.filter(({ outcome }) => outcome === "not-sent").length).toBeGreaterThan(10);

    isStopping = false;
    clock.block(48 * hour);
    const { statuses } = await run(toRows(100), { checkpoint });
    expect(statuses).toEqual({ replayed: issued, issued: 100 - issued });
  });

  it.each([
    [404, "unknown"],
    [400, "unknown"],
    [422, "rejected"],
  ])("an attempt without a known outcome, then %i: the row is %s", async (status, expected) => {
    const { checkpoint, state } = memoryCheckpoint();
    await createBulkService().run([toRow(1)], { checkpoint });
    state.records.pop();
    const { results } = await createBulkService({ respond: () => json({}, status) }).run([toRow(1)], {
      checkpoint,
    });
    expect(results).toMatchObject([{ status: expected, error: { outcome: "rejected" } }]);
    expect(state.records.at(-1)).toMatchObject({ outcome: expected });
  });

  it.each(["issued", "begun"])(
    "refuses a changed row under a key that was %s, and does not send it",
    async (kind) => {
      const { checkpoint, state } = memoryCheckpoint();
      const { run, sent } = createBulkService();
      await run([toRow(1)], { checkpoint });
      if (kind === "begun") state.records.pop();
      const { results } = await run([toRow(1, { email: "other@example.com" })], { checkpoint });
      expect(results).toMatchObject([
        { status: "rejected", error: { code: "idempotency-mismatch", outcome: "not-sent" } },
      ]);
      expect(sent).toHaveLength(1);
    },
  );

  it("replays a card whose response was invalid, because its id is known", async () => {
    const { checkpoint, state } = memoryCheckpoint();
    const { run, sent } = createBulkService({ respond: () => json({ ...card, loyaltyBalance: "0" }, 201) });
    expect((await run([toRow(1)], { checkpoint })).statuses).toEqual({ unknown: 1 });
    expect(state.records.at(-1)).toMatchObject({ outcome: "issued", cardId: "card_1" });
    expect((await run([toRow(1)], { checkpoint })).results).toMatchObject([
      { status: "replayed", cardId: "card_1" },
    ]);
    expect(sent).toHaveLength(1);
  });

  it("sends a rejected row again, also when it was corrected", async () => {
    const { checkpoint } = memoryCheckpoint();
    const { run } = createBulkService({
      respond: (_request, { customer }) => (customer.email === "wrong" ? json({}, 422) : undefined),
    });
    const rejected = [toRow(1, { email: "wrong" })];
    expect((await run(rejected, { checkpoint })).statuses).toEqual({ rejected: 1 });
    expect((await run(rejected, { checkpoint })).statuses).toEqual({ rejected: 1 });
    expect((await run([toRow(1)], { checkpoint })).statuses).toEqual({ issued: 1 });
    expect((await run([toRow(1)], { checkpoint })).statuses).toEqual({ replayed: 1 });
  });

  it("waits for the first of two rows with one key, and replays or refuses the second", async () => {
    const { checkpoint } = memoryCheckpoint();
    const { run, sent } = createBulkService();
    const rows = [toRow(1), toRow(1), toRow(1, { email: "other@example.com" })];
    const { results } = await run(rows, { checkpoint });
    expect(results.map(({ status }) => status)).toEqual(["issued", "replayed", "rejected"]);
    expect(results.map(({ samePersonAs }) => samePersonAs)).toEqual([undefined, 0, undefined]);
    expect(sent).toHaveLength(1);
  });

  it("finishes running requests and closes the checkpoint when the consumer leaves the loop", async () => {
    const { checkpoint, state } = memoryCheckpoint();
    const { start, clock, sent } = createBulkService();
    const consume = async () => {
      for await (const _ of start(toRows(100), { checkpoint })) break;
    };
    await clock.runUntilEnd(consume());
    expect(state.isOpen).toBe(false);
    expect(state.records.filter(({ outcome }) => outcome === "issued")).toHaveLength(sent.length);
  });
});

it("issues the cards of rows that waited more than 24 hours before they were sent", async () => {
  const { checkpoint } = memoryCheckpoint();
  const { run, sent, clock } = createBulkService({
    respond: () => {
      if (sent.length === 4) clock.correct(48 * hour);
      return undefined;
    },
  });
  expect((await run(toRows(100), { checkpoint })).statuses).toEqual({ issued: 100 });
});

it("stores no record after the checkpoint was closed", async () => {
  const { clock, run } = createBulkService();
  const controller = new AbortController();
  const calls: string[] = [];
  const session = {
    find: () => new Promise<undefined>((resolve) => void clock.after(1_000, () => resolve(undefined))),
    append: async () => void calls.push("append"),
    close: async () => void calls.push("close"),
  };
  clock.after(500, () => controller.abort("enough"));
  const options = { checkpoint: { open: async () => session }, signal: controller.signal };
  expect((await run(toRows(3), options)).thrown).toBe("enough");
  await clock.runUntilEnd(new Promise<void>((resolve) => void clock.after(2_000, resolve)));
  expect(calls).toEqual(["close"]);
});

it("takes null for a key without a record", async () => {
  const session = {
    find: async () => null as unknown as undefined,
    append: async () => {},
    close: async () => {},
  };
  const { run } = createBulkService();
  expect((await run(toRows(3), { checkpoint: { open: async () => session } })).statuses).toEqual({
    issued: 3,
  });
});

describe("a checkpoint that fails", () => {
  it.each(["find", "append"] as const)("ends the run with the error of %s", async (name) => {
    const error = new Error("the database is gone");
    const { run, sent } = createBulkService();
    let calls = 0;
    let isClosed = false;
    const fail = async () => {
      if (++calls > 1) throw error;
    };
    const session = { find: async () => undefined, append: async () => {}, [name]: fail };
    const close = async () => {
      isClosed = true;
    };
    const { thrown } = await run(toRows(100), { checkpoint: { open: async () => ({ ...session, close }) } });
    expect(thrown).toBe(error);
    expect(sent.length).toBeLessThan(100);
    expect(isClosed).toBe(true);
  });

  it("is opened with hashes of description, template, address and namespace", async () => {
    const headers: object[] = [];
    const { client, clock } = createBulkService();
    const checkpoint = {
      async open(header: object) {
        headers.push(header);
        throw new Error("enough");
      },
    };
    for (const [template, description] of [
      ["tpl_1", ""],
      ["tpl_2", ""],
      ["tpl_1", "members.csv"],
    ]) {
      const results = issueCards(client, [], { template: template ?? "", clock, checkpoint, description });
      await expect(results.next()).rejects.toThrow("enough");
    }
    const [one, two, three] = headers as Record<string, string>[];
    expect(Object.keys(one ?? {})).toEqual(["description", "template", "baseUrl", "namespace"]);
    expect({ ...two, template: one?.["template"] }).toEqual(one);
    expect({ ...three, description: one?.["description"] }).toEqual(one);
    expect(JSON.stringify(headers)).not.toMatch(/cards\.test|tpl_|members/);
  });
});
