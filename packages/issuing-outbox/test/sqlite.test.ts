/**
 * The main paths of an outbox in a SQLite file, and its statements: they find rows by an index,
 * whatever waits.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import {
  type OpenSqlite,
  openSqlite,
  type SqliteDatabase,
} from "@loyalty-cards/internal/sqlite/database-node";
import { scratchFile } from "@loyalty-cards/testing/resources";
import { losesWals, loseWal, openWatched } from "@loyalty-cards/testing/sqlite-files";
import { expect, it, onTestFinished, vi } from "vitest";
import { sqliteOutbox } from "../src/index.ts";
import {
  createNetwork,
  openSqliteShop,
  openVirtualShop,
  openWithoutSync,
  templateId,
  toEntries,
  toEntry,
} from "./shop.ts";

it("issues the card of a sign-up and stores it with the user in one transaction", async () => {
  const { outbox, signUp, getUserCard, requests } = openSqliteShop();
  expect(await signUp("1")).toBe("added");
  expect(await outbox.get(1)).toMatchObject({
    userId: "1",
    template: templateId,
    state: "waiting",
    attempts: 0,
  });
  const entry = await outbox.issue(1);
  expect(entry).toMatchObject({ state: "issued", attempts: 1, isDelivered: true });
  expect(entry.card?.id).toBe(entry.cardId);
  expect(getUserCard("1")).toBe(entry.cardId);
  expect(requests).toHaveLength(1);
  expect(await outbox.count()).toMatchObject({ waiting: 0, issued: 1, undelivered: 0, paused: [] });
});

// G2
it("adds neither the user nor the entry when the transaction is rolled back", async () => {
  const { outbox, database } = openSqliteShop();
  const failed = outbox.write((own) => {
    own.prepare("INSERT INTO users (id) VALUES ('1')").run();
    outbox.add(own, toEntry(1));
    throw new Error("The name is taken.");
  });
  await expect(failed).rejects.toThrow("The name is taken.");
  expect(await outbox.get(1)).toBeUndefined();
  expect(database.prepare("SELECT count(*) AS users FROM users").get()).toMatchObject({ users: 0 });
});

it("issues the cards of a list with drain, each once", async () => {
  const { outbox, requests } = openSqliteShop();
  const list = toEntries(1_000);
  expect(await outbox.addAll(list)).toEqual({ added: 1_000, known: 0 });
  expect(await outbox.addAll(list.slice(0, 10))).toEqual({ added: 0, known: 10 });
  expect(await outbox.drain()).toMatchObject({ waiting: 0, issued: 1_000 });
  expect(new Set(requests.map(({ key }) => key)).size).toBe(1_000);
  expect(requests).toHaveLength(1_000);
});

it("sends the same bytes again after a lost response, and issues one card", async () => {
  const { outbox, signUp, weather, requests, getUserCard } = openSqliteShop();
  await signUp("1");
  weather.push("lost");
  expect(await outbox.issue(1)).toMatchObject({ state: "issued", attempts: 2 });
  expect(requests).toHaveLength(2);
  expect(requests[0]).toEqual(requests[1]);
  expect(getUserCard("1")).not.toBeNull();
});

it("sends an entry of a process that was killed when its lease ends", async () => {
  const { outbox, signUp, run, database, clock, requests } = openVirtualShop();
  await run(signUp("1"));
  // What that process has recorded before it sent the request.
  database
    .prepare(
      "UPDATE issuing_outbox_entries SET rank = 1, lease = 'other', firstattempt = ?, lastattempt = ?, due = ?",
    )
    .run(clock.now(), clock.now(), clock.now() + 60_000);
  expect(await run(outbox.issue(1, { deadlineMs: 1_000 }))).toMatchObject({ state: "waiting" });
  const startedMs = clock.monotonicMs();
  expect(await run(outbox.drain())).toMatchObject({ issued: 1 }); // it waits for the lease
  expect(clock.monotonicMs() - startedMs).toBeGreaterThan(58_000);
  expect(requests).toHaveLength(1);
});

it("takes over the entries of a process that was killed, when no other one can use the file", async () => {
  await expect(openSqliteShop().outbox.takeOver()).rejects.toThrow("that no other process can use");
  const { createClient, requests } = createNetwork();
  const open: OpenSqlite = (path) => {
    const database = openSqlite(path);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    return database;
  };
  const outbox = sqliteOutbox({ client: createClient(), file: scratchFile(), open });
  onTestFinished(() => outbox.close());
  await outbox.addAll([toEntry(1)]);
  // What that process has recorded before it sent the request.
  await outbox.write((own) =>
    own.exec(
      "UPDATE issuing_outbox_entries SET rank = 1, lease = 'killed', firstattempt = due, lastattempt = due, due = due + 60000",
    ),
  );
  expect(await outbox.drain({ maxMs: 100 })).toMatchObject({ waiting: 1 });
  await outbox.takeOver();
  expect(await outbox.get(1)).toMatchObject({ firstAttemptAt: expect.any(Date) });
  expect(await outbox.drain({ maxMs: 30_000 })).toMatchObject({ issued: 1 });
  expect(requests).toHaveLength(1);
});

it("adds in a transaction of the program before the outbox has opened its file", async () => {
  const network = createNetwork();
  const file = scratchFile();
  const own = openSqlite(file);
  onTestFinished(() => void own.close());
  own.exec("CREATE TABLE users (id TEXT PRIMARY KEY, card TEXT)");
  const { outbox } = openSqliteShop(network, { file });
  const entry = toEntry(1);
  own.exec("BEGIN IMMEDIATE");
  expect(outbox.add(own, entry)).toBe("added");
  own.exec("ROLLBACK");
  expect(await outbox.get(1)).toBeUndefined();
  own.exec("BEGIN IMMEDIATE");
  own.exec("INSERT INTO users (id) VALUES ('1')");
  expect(outbox.add(own, entry)).toBe("added");
  own.exec("COMMIT");
  expect(await outbox.issue(1)).toMatchObject({ state: "issued", isDelivered: true });
});

it("runs the function of write in the async context of its caller, also with the fake timers of a test", async () => {
  const { outbox } = openSqliteShop();
  const tenant = new AsyncLocalStorage<string>();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const seen = await Promise.all(
    ["a", "b"].map((name) =>
      tenant.run(name, () => outbox.write(() => tenant.getStore() ?? "none")),
    ),
  );
  expect(seen).toEqual(["a", "b"]);
});

it("refuses an async function in write with one error, and rolls back", async () => {
  const { outbox, database } = openSqliteShop();
  const work = async (own: SqliteDatabase) => {
    own.exec("INSERT INTO users (id) VALUES ('1')");
    throw new Error("This rejection must not end the process.");
  };
  await expect(outbox.write(work as never)).rejects.toThrow(
    /^outbox.write takes a synchronous function, .* remove async and await from it, and call what returns a promise after it\./,
  );
  expect(database.prepare("SELECT count(*) AS users FROM users").get()).toMatchObject({ users: 0 });
  const inner: Promise<unknown>[] = [];
  await outbox.write(() => {
    inner.push(
      outbox.write(() => {}),
      outbox.forget(1),
      outbox.retry(1),
    );
    for (const call of inner) call.catch(() => {});
  });
  for (const call of inner) await expect(call).rejects.toThrow("inside of its transaction");
});

it("opens while another process writes at any moment of the opening", {
  timeout: 120_000,
}, async () => {
  const file = scratchFile();
  openSqlite(file).close();
  const lock = lockFromOtherThread(file, 200);
  const executed: string[] = [];
  const open: OpenSqlite = (name) => {
    const database = openSqlite(name);
    const { exec } = database;
    database.exec = (sql) => {
      executed.push(sql);
      lock();
      return exec.call(database, sql);
    };
    return database;
  };
  await openSqliteShop(createNetwork(), { file, open }).outbox.count();
  expect(executed.join()).toContain("CREATE TABLE");
});

it("sends what another process added before it ended, also when the clock was set back meanwhile", async () => {
  const { outbox: older, clock, file, run, clientOptions, createClient } = openVirtualShop();
  await older.count();
  clock.correct(-600_000);
  const newer = openSqliteShop(createNetwork(), {
    file,
    client: createClient(clientOptions),
  }).outbox;
  const worker = newer.work();
  await clock.pass(5_000);
  await run(older.addAll([toEntry(1)]));
  await run(older.write((database) => older.add(database, toEntry(2))));
  await clock.pass(5_000);
  for (const userId of [1, 2]) expect(await newer.get(userId)).toMatchObject({ state: "issued" });
  await run(worker.stop());
});

it.skipIf(!losesWals)("rejects each call after another process deleted the log", async () => {
  const file = scratchFile();
  const { createClient, requests } = createNetwork();
  const outbox = sqliteOutbox({ client: createClient(), file, log: () => {} });
  await outbox.addAll([toEntry(1)]);
  const own = openSqlite(file);
  loseWal(file);
  own.exec("BEGIN");
  expect(() => outbox.add(own, toEntry(2))).toThrow("End it with SIGKILL");
  const calls = [
    () => outbox.write(() => {}),
    () => outbox.issue(1),
    () => outbox.count(),
    () => outbox.drain(),
    () => outbox.close(),
  ];
  for (const call of calls) await expect(call()).rejects.toThrow("End it with SIGKILL");
  expect(requests).toEqual([]);
});

it("writes nothing and reads no PRAGMA while a worker is idle", async () => {
  const statements: string[] = [];
  const open = openWatched((sql) => statements.push(sql), openWithoutSync);
  const { outbox, run, clock, file } = openVirtualShop({ open });
  await run(outbox.addAll([toEntry(1)]));
  const worker = outbox.work();
  await clock.pass(10_000);
  expect(statSync(`${file}-wal`).size).toBe(0);
  statements.length = 0;
  await clock.pass(10_000);
  expect(statements.length).toBeGreaterThan(10);
  expect(statements.filter((sql) => /PRAGMA|BEGIN/.test(sql))).toEqual([]);
  expect(statSync(`${file}-wal`).size).toBe(0);
  await run(worker.stop());
});

it("records the results of a worker that arrive together in one transaction", async () => {
  let commits = 0;
  const open = openWatched((sql) => {
    commits += Number(sql === "COMMIT");
  });
  const { outbox, run } = openVirtualShop({ open });
  await run(outbox.addAll(toEntries(40)));
  commits = 0;
  expect(await run(outbox.drain({ concurrency: 20 }))).toMatchObject({ issued: 40 });
  expect(commits).toBeLessThan(20); // one for each card would be 40
});

it("lets the process do other work between the pages of a list", async () => {
  const { outbox } = openSqliteShop();
  await outbox.addAll(toEntries(450));
  let turns = 0;
  let counting = setImmediate(function count() {
    turns += 1;
    counting = setImmediate(count);
  });
  onTestFinished(() => clearImmediate(counting));
  const listed = new Map<string, number>();
  for await (const { userId } of outbox.list()) listed.set(userId, turns);
  expect([listed.size, new Set(listed.values()).size]).toEqual([450, 3]);
});

it("finds entries by an index in every statement of sending, pausing and correcting", async () => {
  const statements = new Set<string>();
  const open = openWatched((sql) => statements.add(sql));
  const { outbox, signUp, weather, run, clock, database } = openVirtualShop({ open });
  for (const userId of ["1", "2", "3"]) await run(signUp(userId));
  await run(outbox.write((own) => outbox.add(own, { ...toEntry(4), template: "tpl_none" })));
  weather.push("lost", 500, 422, 503, "refused");
  const worker = outbox.work({ pollMs: 30_000 });
  await clock.pass(3_600_000);
  await run(worker.stop());
  await run(outbox.write((own) => outbox.correct(own, 1, toEntry(1).request)));
  for await (const _entry of outbox.list({
    state: "issued",
    after: { userId: "1", template: templateId },
  }));
  const scans = [...statements]
    .filter((sql) => /issuing_outbox_entries/.test(sql))
    .filter((sql) => /^\s*(SELECT|UPDATE|DELETE|WITH)/.test(sql))
    .flatMap((sql) => {
      const values = Array.from(sql.matchAll(/\?/g), () => 1);
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as {
        detail: string;
      }[];
      return plan.some(({ detail }) =>
        /^SCAN (j|issuing_outbox_entries)\b(?!.*COVERING INDEX)/.test(detail),
      )
        ? [sql]
        : [];
    });
  expect(statements.size).toBeGreaterThan(15);
  expect(scans).toEqual([]);
});

/**
 * @returns a function that returns when the other thread has locked the file, which it unlocks
 * after some time.
 */
function lockFromOtherThread(file: string, lockedMs: number): () => void {
  const state = new Int32Array(new SharedArrayBuffer(4));
  const program = `
    const { state, binding, file, lockedMs } = require("node:worker_threads").workerData;
    const database = new (binding === "libsql" ? require("libsql") : require("node:sqlite").DatabaseSync)(file);
    for (;;) {
      Atomics.wait(state, 0, 0);
      database.exec("BEGIN IMMEDIATE");
      Atomics.store(state, 0, 0);
      Atomics.notify(state, 0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockedMs);
      database.exec("COMMIT");
    }`;
  const binding = process.getBuiltinModule?.("node:sqlite") ? "node:sqlite" : "libsql";
  const worker = new Worker(program, {
    eval: true,
    workerData: { state, binding, file, lockedMs },
  });
  onTestFinished(async () => void (await worker.terminate()));
  return () => {
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
    Atomics.wait(state, 0, 1);
  };
}
