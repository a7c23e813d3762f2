/** The worker: its limits, its order and its end. */
import { expect, it, onTestFinished, vi } from "vitest";
import type { OutboxCounts } from "../src/index.ts";
import {
  createNetwork,
  openSqliteShop,
  openVirtualShop,
  openWithoutSync,
  toEntries,
  toEntry,
  toRequest,
} from "./shop.ts";

it("begins at most maxPerSecond requests in a second", async () => {
  const { outbox, run, clock } = openVirtualShop();
  await run(outbox.addAll(toEntries(200)));
  const startedMs = clock.monotonicMs();
  expect(await run(outbox.drain({ maxPerSecond: 50 }))).toMatchObject({ issued: 200 });
  expect(clock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(3_900);
});

it("sends entries that may have been sent first, then those of add, then those of addAll", async () => {
  const { outbox, run, signUp, weather, requests, clock } = openVirtualShop();
  await run(outbox.addAll(toEntries(3)));
  await run(signUp("retried", toRequest({ email: "retried@example.com" })));
  weather.push("lost");
  await run(outbox.issue("retried", { deadlineMs: 100 }));
  await run(signUp("added", toRequest({ email: "added@example.com" })));
  await clock.pass(10_000);
  await run(outbox.drain({ concurrency: 1 }));
  const order = requests.slice(1).map(({ body }) => JSON.parse(body).customer.email ?? "listed");
  expect(order).toEqual(["retried@example.com", "added@example.com", "listed", "listed", "listed"]);
});

it("sends nothing under a lease that expired while the computer slept, and a second later under a new one", async () => {
  let hasSlept = false;
  const shop = openVirtualShop({
    open(file) {
      const database = openWithoutSync(file);
      const prepare = database.prepare.bind(database);
      database.prepare = (sql) => {
        const statement = prepare(sql);
        if (!sql.includes("SET lease = ")) return statement;
        const all = statement.all.bind(statement);
        statement.all = (...values) => {
          const leased = all(...values);
          if (leased.length > 0 && !hasSlept) shop.clock.correct(3_600_000); // the other clock stood
          hasSlept ||= leased.length > 0;
          return leased;
        };
        return statement;
      };
      return database;
    },
  });
  const { outbox, run, signUp, weather, outcomes, clock } = shop;
  await run(signUp("1"));
  const startedMs = clock.monotonicMs();
  let sentAfterMs = 0;
  weather.push(async () => {
    sentAfterMs = clock.monotonicMs() - startedMs;
    return "ok";
  });
  await run(outbox.drain());
  expect([hasSlept, sentAfterMs]).toEqual([true, 2_000]); // an entry of add is due after a second
  expect(outcomes).toMatchObject([{ outcome: "issued", attempts: 1, lagMs: 3_602_000 }]);
});

it("ends drain after maxEntries, after maxMs and with its signal, and reports its progress, also to a function that throws", async () => {
  const { outbox, run } = openVirtualShop();
  await run(outbox.addAll(toEntries(100)));
  const issued: number[] = [];
  const counts = await run(
    outbox.drain({ maxEntries: 10, onProgress: (now) => issued.push(now.issued) }),
  );
  expect(counts).toMatchObject({ issued: 10, waiting: 90 });
  expect(issued.at(-1)).toBe(10);
  expect(await run(outbox.drain({ maxMs: 0 }))).toMatchObject({ issued: 10 });
  expect(await run(outbox.drain({ signal: AbortSignal.abort() }))).toMatchObject({ issued: 10 });
  const onProgress = () => {
    throw new Error("The display is gone.");
  };
  const log = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  expect(await run(outbox.drain({ onProgress }))).toMatchObject({ issued: 100, waiting: 0 });
  expect(log.mock.calls).toEqual([["issuing-outbox: onProgress threw Error; it must not throw."]]);
});

it("counts an entry once in its progress, also when its callback is repeated", async () => {
  let failures = 3;
  const { outbox, run, clock } = openVirtualShop({
    onIssued() {
      clock.block(1_000); // each progress is reported
      if (failures-- > 0) throw new Error("The table of the shop is locked.");
    },
  });
  await run(outbox.addAll(toEntries(2)));
  const reports: string[] = [];
  const onProgress = ({ waiting, issued, undelivered }: OutboxCounts) =>
    void reports.push(`${waiting} waiting, ${issued} issued, ${undelivered} undelivered`);
  await run(outbox.drain({ concurrency: 1, onProgress }));
  expect(reports).toEqual([
    "1 waiting, 1 issued, 1 undelivered",
    "0 waiting, 2 issued, 2 undelivered",
    "0 waiting, 2 issued, 2 undelivered", // a repeated callback fails
    "0 waiting, 2 issued, 1 undelivered",
    "0 waiting, 2 issued, 0 undelivered",
    "0 waiting, 2 issued, 0 undelivered", // what drain returns
  ]);
});

it("reports no negative count of the entries that are added while it drains", async () => {
  const onIssued = () => clock.block(1_000); // each progress is reported
  const { outbox, weather, run, clock } = openVirtualShop({ onIssued });
  await run(outbox.addAll(toEntries(1)));
  weather.push(async () => {
    await outbox.addAll([5, 6, 7].map(toEntry));
    return "ok";
  });
  const waiting: number[] = [];
  const onProgress = (counts: OutboxCounts) => void waiting.push(counts.waiting);
  await run(outbox.drain({ concurrency: 1, onProgress }));
  expect(waiting).toEqual([0, 0, 0, 0, 0]);
});

it("stops at the end of a block, and sends nothing after that", async () => {
  const { outbox, run, signUp, requests, clock } = openVirtualShop();
  {
    await using _worker = outbox.work();
    await run(signUp("1"));
    await clock.pass(60_000);
    expect(requests).toHaveLength(1);
  }
  await run(signUp("2"));
  await clock.pass(60_000);
  expect(requests).toHaveLength(1);
  expect(await run(outbox.drain())).toMatchObject({ issued: 2 });
});

it("sends an entry that is added while another one is being sent", async () => {
  const { outbox, run, weather, signUp, clock } = openVirtualShop();
  const worker = outbox.work({ concurrency: 4 });
  weather.push(() => clock.wait(9_000));
  await run(signUp("1"));
  await clock.pass(2_000);
  await run(signUp("2"));
  await clock.pass(2_500);
  expect(await outbox.get(2)).toMatchObject({ state: "issued" });
  expect(await outbox.get(1)).toMatchObject({ state: "waiting" });
  await run(worker.stop());
});

it("ends a drain that was starting when the outbox is closed", async () => {
  const { outbox } = openSqliteShop();
  const ended = expect(outbox.drain()).rejects.toThrow("The outbox is closed.");
  await outbox.close();
  await ended;
});

it("aborts the request of issue after the grace of close, as that of a worker", async () => {
  const { outbox, run, signUp, weather, clock } = openVirtualShop();
  await run(signUp("1"));
  weather.push(() => new Promise(() => {}));
  const issued = outbox.issue(1);
  await clock.pass(200);
  const startedMs = clock.monotonicMs();
  const closed = outbox.close({ graceMs: 1_000 });
  expect(await run(issued)).toMatchObject({ state: "waiting" });
  expect(clock.monotonicMs()).toBe(startedMs);
  await run(closed);
  expect(clock.monotonicMs() - startedMs).toBe(1_000);
});

it("ends at the grace of close and half a second, also when a request cannot be aborted", async () => {
  const { outbox, run, clock, clientOptions, createClient } = openVirtualShop();
  const hanging = createClient({ ...clientOptions, fetch: () => new Promise(() => {}) });
  const other = openSqliteShop(createNetwork(), { client: hanging });
  await run(other.signUp("1"));
  other.outbox.work();
  await clock.pass(2_000);
  const startedMs = clock.monotonicMs();
  await run(other.outbox.close({ graceMs: 1_000 }));
  expect(clock.monotonicMs() - startedMs).toBeLessThanOrEqual(1_500);
  await run(outbox.close());
});

it("warns of no leak while many visitors wait", async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const { outbox, signUp } = openSqliteShop();
  const userIds = Array.from({ length: 20 }, (_, index) => String(index));
  for (const userId of userIds) await signUp(userId);
  await Promise.all(userIds.map((userId) => outbox.issue(userId)));
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.filter((name) => name === "MaxListenersExceededWarning")).toEqual([]);
});

it.each([
  ["maxMs", { maxMs: 2_500 }],
  ["a pause", { maxMs: undefined }],
])("returns what was leased and not sent at the end by %s as it was", async (_name, options) => {
  const { outbox, run, weather, clock, requests } = openVirtualShop();
  await run(outbox.addAll(toEntries(40)));
  const result = options.maxMs === undefined ? 503 : "ok";
  weather.push(...Array.from({ length: 1_000 }, () => () => clock.wait(1_000, result)));
  const counts = await run(
    outbox.drain({ concurrency: 4, ...(options.maxMs !== undefined && options) }),
  );
  expect(counts.waiting).toBeGreaterThan(20);
  const sent = new Set(requests.map(({ key }) => key));
  for await (const entry of outbox.list()) {
    expect(entry.attempts > 0, entry.userId).toBe(sent.has(entry.idempotencyKey));
    expect(entry.firstAttemptAt !== undefined).toBe(sent.has(entry.idempotencyKey));
  }
  weather.length = 0;
  await clock.pass(900_000);
  expect(await run(outbox.drain())).toMatchObject({ issued: 40, paused: [] });
});

it("waits in drain for entries that are due within seconds, and ends at a longer pause", async () => {
  const { outbox, run, weather, signUp, clock } = openVirtualShop();
  await run(signUp("1"));
  weather.push(503, 503);
  expect(await run(outbox.drain())).toMatchObject({ issued: 1 });
  await run(signUp("2"));
  weather.push(...Array.from({ length: 100 }, () => 503));
  const startedMs = clock.monotonicMs();
  expect(await run(outbox.drain())).toMatchObject({ waiting: 1, paused: [] });
  expect(clock.monotonicMs() - startedMs).toBeLessThan(60_000);
});

it("issues each card once in two outboxes on one file", async () => {
  const network = createNetwork();
  const first = openSqliteShop(network);
  const second = openSqliteShop(network, { file: first.file });
  await first.outbox.addAll(toEntries(400));
  const [one, other] = await Promise.all([first.outbox.drain(), second.outbox.drain()]);
  expect(Math.max(one.issued, other.issued)).toBe(400);
  expect(network.requests).toHaveLength(400);
});
