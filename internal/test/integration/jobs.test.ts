/** The engine of durable jobs, on SQLite and on a real PostgreSQL. */
import { describe, expect, it, onTestFinished } from "vitest";
import { addJob, addJobs, makeJobDue, restartJob, retryJob } from "../../jobs/add.ts";
import { correctTimes } from "../../jobs/correct-times.ts";
import { deleteEnded, deleteJob, eraseEnded } from "../../jobs/erase.ts";
import { leaseDue, leaseJob, leaseProbe } from "../../jobs/lease.ts";
import { countWithoutWorker, isWithoutWorker } from "../../jobs/missing-worker.ts";
import { countJobs, getDelayMs, getLatestMs, getLeaseDelayMs, listJobs } from "../../jobs/read.ts";
import { giveBack } from "../../jobs/settle.ts";
import { createSqliteDatabase } from "../../jobs/sqlite.ts";
import { execute } from "../../jobs/statement.ts";
import { formatTables, type LeasedJob, nameTables, ranks } from "../../jobs/tables.ts";
import { openSqlite } from "../../sqlite/database-node.ts";
import {
  advance,
  clock,
  databases,
  done,
  ended,
  failed,
  getNames,
  leaseMs,
  newJob,
  openJobs,
  retried,
  sqliteTables,
  startMs,
} from "./jobs-database.ts";

describe.each(databases)("jobs in %s", (_name, isThere, openDatabase) => {
  describe.skipIf(!isThere)("which is there", () => {
    const { tables, run, add, lease, leaseOne, leased, settle, find } = openJobs(openDatabase);

    it("are due when their times prove that a clock was ahead", async () => {
      const dayMs = 86_400_000;
      await add("added", {}, 5_000);
      await add("tried", {}, 0);
      await add("later", {}, 3_600_000); // no delay is longer than two hours
      const tried = (await leaseOne("tried")) as LeasedJob;
      await settle(tried, { ...retried, delayMs: 1_000 });
      const addDay = (where: string, ...columns: string[]) =>
        run(() =>
          execute(
            `UPDATE work SET ${columns.map((name) => `${name} = ${name} + ${dayMs}`)} ${where}`,
          ),
        );
      await addDay("WHERE name = 'added'", "added", "due");
      await addDay("WHERE name = 'tried'", "lastattempt", "due", "uncertain", "firstattempt");
      await run(() => correctTimes(tables));
      const [retries, others] = [await lease(), await lease()];
      expect([getNames(retries), getNames(others)]).toEqual([["tried"], ["added"]]);
      expect(await find("added")).toMatchObject({ addedAtMs: clock.nowMs });
      const times = { uncertainAtMs: clock.nowMs, firstAttemptAtMs: clock.nowMs + dayMs };
      expect(await find("tried")).toMatchObject(times);
    });

    it("are counted when nobody leases what is due", async () => {
      const waiting = () => run(() => countWithoutWorker(tables));
      expect(await waiting()).toBe(0);
      await add(1, {}, 1_000);
      await add(2, {}, 7_200_000);
      clock.nowMs += 60_999;
      expect(await waiting()).toBe(0);
      clock.nowMs += 1;
      expect(await waiting()).toBe(2);
      const [first] = await lease();
      expect(await waiting()).toBe(0);
      clock.nowMs += leaseMs + 65 * 60_000 - 1;
      expect(await waiting()).toBe(0);
      clock.nowMs += 1; // the process with the lease has ended, and nobody took over
      expect(await waiting()).toBe(2);
      await settle(first as LeasedJob, ended("done"));
      expect(await waiting()).toBe(0);
      clock.nowMs += 7_200_000;
      expect(await waiting()).toBe(1);
      const waitingInOther = () => run(() => countWithoutWorker(tables, "another"));
      expect(await waitingInOther()).toBe(0);
      await add(3, { topic: "another" });
      clock.nowMs += 60_000; // nobody has ever leased a job of this topic
      expect(await waitingInOther()).toBe(1);
    });

    it("adds a job once for its topic and name, and finds it", async () => {
      expect(await add("user 1", { suffix: "2", key: "k" })).toBeUndefined();
      expect(await add("user 1", { key: "another" })).toMatchObject({ state: "waiting", key: "k" });
      expect(await add("user 1", { topic: "tpl_2" })).toBeUndefined();
      expect(await find("user 1")).toMatchObject({
        topic: "tpl_1",
        name: "user 1",
        key: "k",
        suffix: "2",
        body: "{}",
        state: "waiting",
        rank: ranks.new,
        attempts: 0,
        addedAtMs: clock.nowMs,
        dueAtMs: clock.nowMs,
        firstAttemptAtMs: undefined,
        lease: undefined,
        result: undefined,
        endedAtMs: undefined,
      });
      await add("started", { firstAttemptAtMs: clock.nowMs - 5 });
      expect(await find("started")).toMatchObject({ suffix: "", rank: ranks.started });
      expect(await find("nobody")).toBeUndefined();
    });

    it("adds many jobs, and counts those that were known", async () => {
      await add(3);
      const list = [1, 2, 3].map((name) => newJob(name, { body: `{"n":${name}}` }));
      expect(
        await run(() =>
          addJobs(tables, [...list, newJob(4, { firstAttemptAtMs: clock.nowMs - 5 })]),
        ),
      ).toBe(3);
      expect(await find(1)).toMatchObject({
        suffix: "",
        rank: ranks.bulk,
        firstAttemptAtMs: undefined,
      });
      expect(await find(2)).toMatchObject({ body: '{"n":2}' });
      expect(await find(4)).toMatchObject({
        rank: ranks.started,
        firstAttemptAtMs: clock.nowMs - 5,
      });
      expect(await run(() => addJobs(tables, []))).toBe(0);
      expect(await run(() => addJobs(tables, list))).toBe(0);
    });

    it("leases callbacks, then started, then new, then bulk jobs, in the order in which they are due", async () => {
      await run(() => addJobs(tables, [newJob("bulk")]));
      await add("later", {}, 2_000);
      await add("new");
      await add("delivered");
      await add("tried");
      await settle(await leased("delivered"), { ...ended("done"), rank: ranks.callback });
      await settle(await leased("tried"), retried);
      const order: string[] = [];
      for (let jobsLeft = await lease(); jobsLeft.length > 0; jobsLeft = await lease())
        order.push(...getNames(jobsLeft));
      expect(order).toEqual(["delivered", "tried", "new", "bulk"]);
      expect(await run(() => getDelayMs(tables))).toBe(2_000);
      advance(2_000);
      expect(getNames(await lease())).toEqual(["later"]);
    });

    it("leases at most as many as asked for, each to one attempt until its lease expires", async () => {
      for (const name of [1, 2, 3]) await add(name, {}, -name);
      expect(getNames(await lease(2)).sort()).toEqual(["2", "3"]);
      expect(getNames(await lease(2))).toEqual(["1"]);
      expect(await lease()).toEqual([]);
      expect(await leaseOne(1)).toBeUndefined();
      expect(await run(() => getDelayMs(tables))).toBe(leaseMs);
      expect(await run(() => getLeaseDelayMs(tables))).toBe(leaseMs);
      advance(leaseMs);
      expect(await lease()).toHaveLength(3);
    });

    it("stores the instant of the attempt before it begins, and clears it only when that attempt was not sent", async () => {
      await add(1);
      const firstMs = clock.nowMs;
      const first = await leased(1);
      expect(first).toMatchObject({ firstAttemptAtMs: firstMs, attempts: 1, isFirstAttempt: true });
      await settle(first, { ...retried, effect: "ruled-out" });
      expect(await find(1)).toMatchObject({ firstAttemptAtMs: undefined });
      advance(10);
      await settle(await leased(1), retried);
      advance(10);
      const third = await leased(1);
      expect(third).toMatchObject({ firstAttemptAtMs: firstMs + 10, isFirstAttempt: false });
      await settle(third, { ...retried, effect: "ruled-out" });
      expect(await find(1)).toMatchObject({ firstAttemptAtMs: firstMs + 10, attempts: 3 });
    });

    it("stores when the last attempt ended that may still have an effect, also of a process that ended", async () => {
      await add(1);
      const firstMs = clock.nowMs;
      const first = await leased(1);
      advance(10);
      await settle(first, retried);
      await settle(await leased(1), { ...retried, effect: "ruled-out" });
      const times = { uncertainAtMs: firstMs + 10, firstAttemptAtMs: firstMs };
      expect(await find(1)).toMatchObject(times);
      advance(10);
      await leased(1); // its process ends
      advance(leaseMs + 1_000);
      const last = await leased(1);
      expect(last).toMatchObject({ uncertainAtMs: firstMs + 20 + leaseMs });
      await settle(last, ended("rejected")); // its effect is known
      expect(await find(1)).toMatchObject({ uncertainAtMs: firstMs + 20 + leaseMs });
    });

    it("keeps the times of attempts when only an earlier one can have an effect", async () => {
      await add(1);
      const first = await leased(1);
      const firstMs = clock.nowMs;
      await settle(first, { ...retried, effect: "unchanged" });
      expect(await find(1)).toMatchObject({ firstAttemptAtMs: firstMs, uncertainAtMs: undefined });
    });

    it("leases nothing while the guard is false", async () => {
      const guard = { condition: ":version = '2'", values: { version: "1" } };
      const guarded = nameTables("work", tables.dialect, guard);
      await add(1);
      expect(await run(() => leaseDue(guarded, leaseMs, { limit: 1 }))).toEqual([]);
      expect(await run(() => leaseJob(guarded, leaseMs, { topic: "tpl_1", name: "1" }))).toEqual(
        [],
      );
      expect(await run(() => leaseProbe(guarded, leaseMs))).toBeUndefined();
      expect(await leaseOne(1)).toBeDefined();
    });

    it("records the end of an attempt only while its lease is its own", async () => {
      await add(1);
      const slow = await leased(1);
      advance(leaseMs);
      const second = await leased(1);
      expect(await settle(slow, done)).toEqual({ isLost: true });
      expect(await find(1)).toMatchObject({ body: "{}" });
      expect(await settle(second, done)).toEqual({ isLost: false });
      expect(await settle(second, done)).toEqual({ isLost: true });
      expect(await find(1)).toMatchObject({
        state: "done",
        rank: undefined,
        lease: undefined,
        body: undefined,
        result: { id: 1 },
        endedAtMs: clock.nowMs,
      });
      expect(await lease()).toEqual([]);
    });

    it("takes back a job that was not sent: it has no attempt, and goes before new ones", async () => {
      await add(1);
      const job = await leased(1);
      await run(() => giveBack(tables, { ...job, lease: "another" }));
      advance(5);
      await run(() => giveBack(tables, job));
      const returned = { attempts: 0, firstAttemptAtMs: undefined, lease: undefined };
      expect(await find(1)).toMatchObject(returned);
      await add(2, {}, -10);
      expect(getNames(await lease())).toEqual(["1"]);
      expect(getNames(await lease())).toEqual(["2"]);
    });

    it("takes back a callback that was not called: it was no attempt", async () => {
      await add(1);
      const callback = { ...ended("rejected"), rank: ranks.callback };
      await settle(await leased(1), callback);
      const [job] = await lease();
      await run(() => giveBack(tables, job as LeasedJob));
      expect(await find(1)).toMatchObject({ attempts: 1, rank: ranks.callback, lease: undefined });
    });

    it("renews a job with another form, also while its callback is leased", async () => {
      await add(1);
      const job = await leased(1);
      const changes = { key: "new", suffix: "2", body: '{"a":1}' };
      await settle(job, { ...ended("rejected"), rank: ranks.callback, error: { code: "server" } });
      const [callback] = await lease();
      await run(() => restartJob(tables, { ...job, ...changes }));
      expect(await find(1)).toMatchObject({
        ...changes,
        state: "waiting",
        rank: ranks.new,
        attempts: 0,
        firstAttemptAtMs: undefined,
        error: undefined,
      });
      expect(await settle(callback as LeasedJob, ended("rejected"))).toEqual({ isLost: true });
    });

    it("resends a job as it is, with its first attempt and its form, after a delay", async () => {
      await add(1);
      const firstMs = clock.nowMs;
      await settle(await leased(1), retried);
      advance(10);
      const second = await leased(1);
      await settle(second, { ...ended("rejected"), error: { code: "server" } });
      await run(() => retryJob(tables, second.id, 60_000));
      expect(await find(1)).toMatchObject({
        state: "waiting",
        rank: ranks.started,
        body: "{}",
        key: "key_1",
        firstAttemptAtMs: firstMs,
        uncertainAtMs: firstMs,
        attempts: 2,
        error: undefined,
      });
      expect(await lease()).toEqual([]);
      await run(() => makeJobDue(tables, second.id));
      expect(getNames(await lease())).toEqual(["1"]);
    });

    it("shows the latest time: when a job was added, tried, or put off", async () => {
      expect(await run(() => getLatestMs(tables))).toBe(0);
      await add(1);
      await add(2);
      expect(await run(() => getLatestMs(tables))).toBe(clock.nowMs);
      advance(5);
      await settle(await leased(1), failed);
      expect(await run(() => getLatestMs(tables))).toBe(clock.nowMs);
      const late = await leased(2);
      const triedAtMs = clock.nowMs;
      advance(20_000); // the clock was set forward meanwhile
      await settle(late, { ...failed, delayMs: 50_000 });
      expect(await run(() => getLatestMs(tables))).toBe(triedAtMs);
      expect(await run(() => getLatestMs(tables, 60_000))).toBe(clock.nowMs - 10_000);
      expect(await run(() => getLatestMs(tables, 50_000))).toBe(clock.nowMs);
    });

    it("erases and deletes a thousand jobs at a time", async () => {
      await run(() =>
        addJobs(
          tables,
          Array.from({ length: 1_001 }, (_, name) => newJob(name)),
        ),
      );
      await run(() => execute("UPDATE work SET state = 'done', rank = NULL, ended = added"));
      advance(1_001);
      expect(await run(() => eraseEnded(tables, { state: "done", retentionMs: 1_000 }))).toBe(true);
      expect(await run(() => eraseEnded(tables, { state: "done", retentionMs: 1_000 }))).toBe(
        false,
      );
      expect(
        await run(() => deleteEnded(tables, { topic: "tpl_1", state: "done", retentionMs: 1_000 })),
      ).toBe(true);
      expect((await run(() => countJobs(tables))).states).toEqual({ done: 1 });
      expect(
        await run(() => deleteEnded(tables, { topic: "tpl_1", state: "done", retentionMs: 1_000 })),
      ).toBe(false);
      expect((await run(() => countJobs(tables))).states).toEqual({});
    });

    it("does not erase the error of a job whose callback is due", async () => {
      await add(1);
      const end = { ...ended("rejected"), error: { code: "validation" } };
      await settle(await leased(1), { ...end, rank: ranks.callback });
      advance(1_001);
      await run(() => eraseEnded(tables, { state: "rejected", retentionMs: 1_000 }));
      expect(await find(1)).toMatchObject({ body: undefined, error: { code: "validation" } });
      const [callback] = await lease();
      await settle(callback as LeasedJob, end);
      await run(() => eraseEnded(tables, { state: "rejected", retentionMs: 1_000 }));
      expect((await find(1))?.error).toBeUndefined();
    });

    it("leases, lists, counts and sweeps the jobs of one topic", async () => {
      for (const topic of ["tpl_0", "tpl_1", "tpl_2"]) await add(topic, { topic });
      expect(
        getNames(
          await run(() => listJobs(tables, { state: "waiting", topic: "tpl_1" }, { limit: 10 })),
        ),
      ).toEqual(["tpl_1"]);
      expect(
        getNames(await run(() => listJobs(tables, { topic: "tpl_2" }, { limit: 10 }))),
      ).toEqual(["tpl_2"]);
      const [job] = await run(() => leaseDue(tables, leaseMs, { limit: 10, topic: "tpl_1" }));
      expect(await run(() => leaseDue(tables, leaseMs, { limit: 10, topic: "tpl_1" }))).toEqual([]);
      expect(await run(() => getDelayMs(tables, "tpl_1"))).toBe(leaseMs);
      expect(await run(() => getDelayMs(tables, "tpl_2"))).toBe(0);
      await settle(job as LeasedJob, ended("done"));
      expect(await run(() => getDelayMs(tables, "tpl_1"))).toBeUndefined();
      expect((await run(() => countJobs(tables, "tpl_1"))).states).toEqual({ done: 1 });
      const [other] = await run(() => leaseDue(tables, leaseMs, { limit: 1, topic: "tpl_2" }));
      await settle(other as LeasedJob, retried);
      expect(await run(() => countJobs(tables, "tpl_1"))).toMatchObject({
        oldestAttemptMs: undefined,
      });
      expect(await run(() => countJobs(tables, "tpl_3"))).toMatchObject({
        states: {},
        oldestWaitingMs: undefined,
      });
      advance(1_001);
      await run(() => deleteEnded(tables, { topic: "tpl_2", state: "done", retentionMs: 1_000 }));
      expect((await run(() => countJobs(tables))).states).toEqual({ done: 1, waiting: 2 });
      await run(() => deleteEnded(tables, { topic: "tpl_1", state: "done", retentionMs: 1_000 }));
      expect((await run(() => countJobs(tables))).states).toEqual({ waiting: 2 });
    });

    it("lists, counts, sweeps and deletes", async () => {
      for (const name of [1, 2, 3]) await add(name);
      await settle(await leased(2), { ...ended("rejected"), error: { code: "server" } });
      const all = await run(() => listJobs(tables, {}, { limit: 10 }));
      expect(getNames(all)).toEqual(["1", "2", "3"]);
      advance(5);
      expect(
        getNames(
          await run(() =>
            listJobs(tables, { state: "waiting" }, { afterId: all[0]?.id ?? 0, limit: 10 }),
          ),
        ),
      ).toEqual(["3"]);
      expect(await run(() => countJobs(tables))).toEqual({
        states: { waiting: 2, rejected: 1 },
        callbacks: 0,
        oldestWaitingMs: 5,
        oldestAttemptMs: undefined,
      });
      expect(await run(() => eraseEnded(tables, { state: "rejected", retentionMs: 1_000 }))).toBe(
        false,
      );
      expect(
        await run(() =>
          deleteEnded(tables, { topic: "tpl_1", state: "rejected", retentionMs: 1_000 }),
        ),
      ).toBe(false);
      expect(await find(2)).toMatchObject({ body: "{}", error: { code: "server" } });
      advance(1_001);
      expect(await run(() => eraseEnded(tables, { state: "rejected", retentionMs: 1_000 }))).toBe(
        false,
      );
      expect(await find(2)).toMatchObject({ state: "rejected", body: undefined, error: undefined });
      await run(() =>
        deleteEnded(tables, { topic: "tpl_1", state: "rejected", retentionMs: 1_000 }),
      );
      expect(await find(2)).toBeUndefined();
      await run(() => deleteJob(tables, all[0]?.id ?? 0));
      expect(await find(1)).toBeUndefined();
      await add(1);
      expect((await find(1))?.id).toBeGreaterThan(all[2]?.id ?? 0); // ids are never used again
    });
  });
});

describe("isWithoutWorker", () => {
  const minuteMs = 60_000;
  it.each([
    ["nothing waits", false, undefined, undefined, false],
    ["nobody has leased for less than a minute", false, minuteMs - 1, minuteMs - 1, false],
    ["nobody has leased for a minute", false, minuteMs, minuteMs, true],
    ["nobody has leased bulk for a minute", false, minuteMs, undefined, true],
    ["a drain each hour is late", true, 65 * minuteMs - 1, 65 * minuteMs - 1, false],
    ["nobody leases any more", true, 65 * minuteMs, 65 * minuteMs, true],
    ["bulk waits for everything else", true, 1_000 * minuteMs, 64 * minuteMs, false],
  ])("%s", (_case, hasLeased, dueForMs, promptDueForMs, expected) => {
    expect(isWithoutWorker({ hasLeased, dueForMs, promptDueForMs })).toBe(expected);
  });
});

describe("jobs in SQLite", () => {
  it("are due when their pause is over, also when the clock was set back meanwhile", () => {
    let nowMs = startMs;
    const database = createSqliteDatabase({
      openFile: () => {
        const opened = openSqlite(":memory:");
        opened.exec(formatTables(sqliteTables));
        return opened;
      },
      now: () => nowMs,
      owner: "test",
      getLatestMs: () => getLatestMs(sqliteTables),
    });
    onTestFinished(() => database.close());
    const lease = () => database.runEach(leaseDue(sqliteTables, leaseMs, { limit: 1 })).length;
    database.runEach(addJob(sqliteTables, newJob(1), 60_000));
    nowMs -= 7_200_000;
    expect(lease()).toBe(0);
    nowMs += 59_999;
    expect(lease()).toBe(0);
    nowMs += 1;
    expect(lease()).toBe(1);
    database.close();
    expect(lease).toThrow("The test is closed.");
  });
});

describe("a lease", () => {
  it("scans no table and sorts nothing", () => {
    const connection = openSqlite(":memory:");
    onTestFinished(() => void connection.close());
    connection.exec(formatTables(sqliteTables));
    const statements: string[] = [];
    const recorded = {
      exec: (sql: string) => connection.exec(sql),
      prepare(sql: string) {
        statements.push(sql);
        return connection.prepare(sql);
      },
      close() {},
    };
    const database = createSqliteDatabase({
      openFile: () => recorded,
      now: Date.now,
      owner: "test",
      getLatestMs: () => getLatestMs(sqliteTables),
    });
    database.runEach(leaseDue(sqliteTables, leaseMs, { limit: 1 }));
    database.runEach(getDelayMs(sqliteTables));
    database.runEach(leaseDue(sqliteTables, leaseMs, { limit: 1, topic: "topic" }));
    database.runEach(getDelayMs(sqliteTables, "topic"));
    database.runEach(countWithoutWorker(sqliteTables));
    database.runEach(countWithoutWorker(sqliteTables, "topic"));
    for (const sql of statements.filter((each) => each.includes("work"))) {
      const values = Array.from({ length: sql.split("?").length - 1 }, () => 1);
      const plan = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as {
        detail: string;
      }[];
      const details = plan.map(({ detail }) => detail).join("\n");
      expect(details).not.toMatch(/SCAN (work|j)\b/);
      expect(details).toContain("USING");
    }
  });
});
