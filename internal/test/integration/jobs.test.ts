/** The engine of durable jobs, on SQLite and on a real PostgreSQL. */
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { overPg } from "@loyalty-cards/testing/postgres-clients";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { addJob, addJobs, hurryJob, type NewJob, restartJob } from "../../jobs/add.ts";
import { listBreakers } from "../../jobs/breaker.ts";
import { correctTimes } from "../../jobs/clock.ts";
import { deleteEnded, deleteJob, eraseEnded } from "../../jobs/erase.ts";
import {
  countNeglected,
  expireLeases,
  isNeglected,
  leaseDue,
  leaseJob,
  leaseProbe,
} from "../../jobs/lease.ts";
import { createPostgresDatabase } from "../../jobs/postgres.ts";
import {
  countJobs,
  getDelayMs,
  getLatestMs,
  getLeaseDelayMs,
  listJobs,
  lockJobs,
} from "../../jobs/read.ts";
import { type End, giveBack, settleJob } from "../../jobs/settle.ts";
import { createSqliteDatabase } from "../../jobs/sqlite.ts";
import { query, type Statements } from "../../jobs/statement.ts";
import { formatTables, idTypes, type LeasedJob, nameTables, ranks } from "../../jobs/tables.ts";
import { openSqlite } from "../../sqlite/database-node.ts";

const tables = nameTables("work");
const leaseMs = 30_000;
const startMs = Date.parse("2026-03-01T12:00:00Z");

interface Database {
  run<Result>(start: () => Statements<Result>): Promise<Result>;
}

/** The time of both databases. */
const clock = { nowMs: startMs };

function onSqlite() {
  const file = join(tmpdir(), `jobs-${crypto.randomUUID()}.db`);
  const database = createSqliteDatabase({
    openFile: () => {
      const opened = openSqlite(file);
      opened.exec(`PRAGMA journal_mode = WAL; ${formatTables(tables, idTypes.sqlite)}`);
      return opened;
    },
    now: () => clock.nowMs,
    owner: "test",
    getLatestMs: () => getLatestMs(tables),
  });
  afterAll(() => {
    database.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  });
  const run = async <Result>(start: () => Statements<Result>) =>
    database.transact((connection) => database.runIn(connection, start()));
  const empty = async () => {
    for (const table of ["work", "work_breakers", "work_failures"])
      database.open().exec(`DELETE FROM ${table}`);
  };
  return { run, empty, database };
}

function onPostgres() {
  const { pool: createPool } = ownSchema();
  const pool = createPool(8);
  beforeAll(() => pool.query(formatTables(tables, idTypes.postgres)));
  const options = { *check() {}, missingTables: "", now: () => clock.nowMs };
  const { transact } = createPostgresDatabase(overPg(pool).transaction, options);
  return {
    run: transact,
    empty: async () => void (await pool.query("TRUNCATE work, work_breakers, work_failures")),
    pool,
  };
}

const newJob = (name: string | number, more: Partial<NewJob> = {}): NewJob => ({
  topic: "tpl_1",
  name: String(name),
  key: `key_${name}`,
  body: "{}",
  ...more,
});

const isPostgresThere = await hasPostgres();

describe.each([
  ["SQLite", true, onSqlite],
  ["PostgreSQL", isPostgresThere, onPostgres],
] as const)("jobs in %s", (_name, isThere, openDatabase) => {
  describe.skipIf(!isThere)("which is there", () => {
    const { run, empty }: Database & { empty(): Promise<void> } = openDatabase();
    beforeEach(async () => {
      clock.nowMs += 86_400_000; // a clock that goes back would be corrected
      await empty();
    });

    const add = (name: string | number, more?: Partial<NewJob>, delayMs = 0) =>
      run(() => addJob(tables, newJob(name, more), delayMs));
    const lease = (limit = 10) => run(() => leaseDue(tables, leaseMs, { limit }));
    const leaseOne = async (name: string | number) =>
      (await run(() => leaseJob(tables, leaseMs, { topic: "tpl_1", name: String(name) })))[0];
    const probe = () => run(() => leaseProbe(tables, leaseMs));
    const settle = async (job: LeasedJob, end: End) => {
      const { job: settled, ...rest } = await run(() => settleJob(tables, job, end));
      return { isLost: settled === undefined, ...rest };
    };
    const find = async (name: string | number) =>
      (await run(() => lockJobs(tables, { name: String(name), topic: "tpl_1" })))[0];
    const getNames = (list: readonly { name: string }[]) => list.map(({ name }) => name);
    const advance = (ms: number) => {
      clock.nowMs += ms;
    };
    const leased = async (name: string | number): Promise<LeasedJob> => {
      const job = await leaseOne(name);
      if (job === undefined) throw new Error(`job ${name} cannot be leased`);
      return job;
    };
    const retried: End = { state: "waiting", effect: "possible", rank: ranks.retry };
    const failed = (): End => ({ ...retried, delayMs: 1_000, finding: { reason: "server" } });
    const ended = (state: string): End => ({ state, effect: "unchanged" });
    const done: End = { ...ended("done"), finding: "works", isErased: true, result: { id: 1 } };
    /** Adds jobs, and fails each of them once. */
    async function failEach(...names: (string | number)[]) {
      const ends = [];
      for (const name of names) {
        await add(name);
        ends.push(await settle(await leased(name), failed()));
        advance(1);
      }
      return ends;
    }

    it("are due when their times prove that a clock was ahead", async () => {
      const dayMs = 86_400_000;
      await add("added", {}, 5_000);
      await add("tried", {}, 0);
      await add("later", {}, dayMs);
      const tried = (await leaseOne("tried")) as LeasedJob;
      await settle(tried, { ...retried, delayMs: 1_000 });
      const addDay = (where: string, ...columns: string[]) =>
        run(() =>
          query(
            `UPDATE work SET ${columns.map((name) => `${name} = ${name} + ${dayMs}`)} ${where}`,
          ),
        );
      await addDay("WHERE name = 'added'", "added", "due");
      await addDay("WHERE name = 'tried'", "tried", "due", "lost", "started");
      await run(() => correctTimes(tables));
      const [retries, others] = [await lease(), await lease()];
      expect([getNames(retries), getNames(others)]).toEqual([["tried"], ["added"]]);
      expect(await find("added")).toMatchObject({ addedAtMs: clock.nowMs });
      const times = { lostAtMs: clock.nowMs, startedAtMs: clock.nowMs + dayMs };
      expect(await find("tried")).toMatchObject(times);
    });

    it("are neglected when nobody leases what is due", async () => {
      const neglected = () => run(() => countNeglected(tables));
      expect(await neglected()).toBe(0);
      await add(1, {}, 1_000);
      await add(2, {}, 7_200_000);
      clock.nowMs += 60_999;
      expect(await neglected()).toBe(0);
      clock.nowMs += 1;
      expect(await neglected()).toBe(2);
      const [first] = await lease();
      expect(await neglected()).toBe(0);
      clock.nowMs += leaseMs + 65 * 60_000 - 1;
      expect(await neglected()).toBe(0);
      clock.nowMs += 1; // the process with the lease has ended, and nobody took over
      expect(await neglected()).toBe(2);
      await settle(first as LeasedJob, ended("done"));
      expect(await neglected()).toBe(0);
      clock.nowMs += 7_200_000;
      expect(await neglected()).toBe(1);
      expect(await run(() => countNeglected(tables, "another"))).toBe(0);
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
        startedAtMs: undefined,
        lease: undefined,
        result: undefined,
        endedAtMs: undefined,
      });
      await add("started", { startedAtMs: clock.nowMs - 5 });
      expect(await find("started")).toMatchObject({ suffix: "", rank: ranks.retry });
      expect(await find("nobody")).toBeUndefined();
    });

    it("adds many jobs, and counts those that were known", async () => {
      await add(3);
      const list = [1, 2, 3].map((name) => newJob(name, { body: `{"n":${name}}` }));
      expect(
        await run(() => addJobs(tables, [...list, newJob(4, { startedAtMs: clock.nowMs - 5 })])),
      ).toBe(3);
      expect(await find(1)).toMatchObject({ suffix: "", rank: ranks.bulk, startedAtMs: undefined });
      expect(await find(2)).toMatchObject({ body: '{"n":2}' });
      expect(await find(4)).toMatchObject({ rank: ranks.retry, startedAtMs: clock.nowMs - 5 });
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
      expect(first).toMatchObject({ startedAtMs: firstMs, attempts: 1, isFirstAttempt: true });
      await settle(first, { ...retried, effect: "none" });
      expect(await find(1)).toMatchObject({ startedAtMs: undefined });
      advance(10);
      await settle(await leased(1), retried);
      advance(10);
      const third = await leased(1);
      expect(third).toMatchObject({ startedAtMs: firstMs + 10, isFirstAttempt: false });
      await settle(third, { ...retried, effect: "none" });
      expect(await find(1)).toMatchObject({ startedAtMs: firstMs + 10, attempts: 3 });
    });

    it("stores when the last attempt began that may still have an effect, also of a process that ended", async () => {
      await add(1);
      const firstMs = clock.nowMs;
      await settle(await leased(1), retried);
      advance(10);
      await settle(await leased(1), { ...retried, effect: "none" });
      expect(await find(1)).toMatchObject({ lostAtMs: firstMs, startedAtMs: firstMs });
      advance(10);
      await leased(1); // its process ends
      advance(leaseMs);
      const last = await leased(1);
      expect(last).toMatchObject({ lostAtMs: firstMs + 20 });
      await settle(last, ended("rejected")); // its effect is known
      expect(await find(1)).toMatchObject({ lostAtMs: firstMs + 20 });
    });

    it("keeps the times of attempts when only an earlier one can have an effect", async () => {
      await add(1);
      const first = await leased(1);
      const firstMs = clock.nowMs;
      await settle(first, { ...retried, effect: "unchanged" });
      expect(await find(1)).toMatchObject({ startedAtMs: firstMs, lostAtMs: undefined });
    });

    it("leases nothing while the guard is false", async () => {
      const guarded = nameTables("work", { condition: ":version = '2'", values: { version: "1" } });
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
      const returned = { attempts: 0, startedAtMs: undefined, lease: undefined };
      expect(await find(1)).toMatchObject(returned);
      await add(2, {}, -10);
      expect(getNames(await lease())).toEqual(["1"]);
      expect(getNames(await lease())).toEqual(["2"]);
    });

    it("opens the breaker of a topic after failures of three jobs in a row, where one job counts once", async () => {
      const counting = { isLost: false, breaker: "counting" };
      await add(0);
      await add("late");
      const late = await leased("late");
      const firstMs = clock.nowMs;
      for (let attempt = 0; attempt < 5; attempt++)
        expect(await settle(await leased(0), failed())).toEqual(counting);
      const ends = await failEach(1, 2);
      expect(ends).toEqual([counting, { isLost: false, breaker: "opened" }]);
      const [breaker] = await run(() => listBreakers(tables));
      expect(breaker).toEqual({ topic: "tpl_1", sinceMs: firstMs, reason: "server" });
      expect(await leaseOne(1)).toBeUndefined();
      advance(100);
      expect(await settle(late, failed())).toEqual({ isLost: false, breaker: "open" });
      expect(await run(() => getDelayMs(tables))).toBe(899); // what began before does not prolong it
    });

    it("counts from one again after an end that shows the topic working", async () => {
      await failEach(1, 2);
      await add(3);
      expect(await settle(await leased(3), done)).toEqual({ isLost: false });
      await failEach(4, 5);
      expect(await run(() => listBreakers(tables))).toEqual([]);
      expect(await leased(4)).toMatchObject({ failures: 2 });
      const forgotten = await leased(5);
      await run(() => deleteJob(tables, forgotten.id));
      expect(await settle(forgotten, done)).toEqual({ isLost: true });
      await failEach(6, 7);
      expect(await run(() => listBreakers(tables))).toEqual([]);
    });

    it("tries one job at a time while the breaker is open, after growing pauses, and other topics at once", async () => {
      await failEach(1, 2, 3);
      await add(4);
      await add("other", { topic: "tpl_2" });
      const [other] = await lease();
      expect(other?.name).toBe("other");
      await settle(other as LeasedJob, done);
      expect(await lease()).toEqual([]);
      const pauses: number[] = [];
      for (let count = 1; count <= 9; count++) {
        expect(await probe()).toBeUndefined();
        const delayMs = Number(await run(() => getDelayMs(tables)));
        pauses.push(delayMs);
        advance(delayMs);
        const job = await probe();
        expect(job).toMatchObject({ probe: count });
        expect(await probe()).toBeUndefined();
        expect(await settle(job as LeasedJob, failed())).toEqual({
          isLost: false,
          breaker: "open",
        });
      }
      expect(pauses).toEqual([999, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    });

    it("counts the pause from the start of a probe, and from the response of the failure that opens, or when the service asks for one", async () => {
      await failEach(1, 2);
      await add(3);
      const third = await leased(3);
      advance(1_500);
      await settle(third, failed());
      expect(await run(() => getDelayMs(tables))).toBe(1_000);
      advance(60_000);
      const slow = (await probe()) as LeasedJob;
      advance(1_500);
      await settle(slow, failed());
      expect(await run(() => getDelayMs(tables))).toBe(500); // 2 s after the start
      advance(500);
      const asked = (await probe()) as LeasedJob;
      advance(1_500);
      await settle(asked, { ...failed(), finding: { reason: "server", retryAfterMs: 3_000 } });
      expect(await run(() => getDelayMs(tables))).toBe(3_000);
    });

    it("probes the started job that was tried longest ago; the 16th and the 32nd probe try a new one", async () => {
      await failEach(1, 2, 3);
      await add(4);
      const order: string[] = [];
      for (let count = 1; count <= 32; count++) {
        advance(60_000);
        const job = (await probe()) as LeasedJob;
        order.push(job.name);
        await settle(job, failed());
      }
      expect(order.slice(0, 15)).toEqual(
        Array.from({ length: 15 }, (_, index) => String((index % 3) + 1)),
      );
      expect(order[15]).toBe("4");
      expect(order.slice(16, 20)).toEqual(["1", "2", "3", "4"]);
    });

    it("closes the breaker with the first job that works, and then all started ones are due", async () => {
      await failEach(1, 2, 3);
      advance(1_000);
      const job = (await probe()) as LeasedJob;
      expect(await settle(job, done)).toEqual({ isLost: false, breaker: "closed" });
      expect(getNames(await lease()).sort()).toEqual(["2", "3"]);
    });

    it("lets leases expire at once whose process has ended, and knows that they may have an effect", async () => {
      await add(1);
      await add(2);
      const firstMs = clock.nowMs;
      await leased(1);
      advance(10);
      await run(() => expireLeases(tables));
      expect(await run(() => getLeaseDelayMs(tables))).toBeUndefined();
      expect(await leased(1)).toMatchObject({ lostAtMs: firstMs, isFirstAttempt: false });
      expect(getNames(await lease())).toEqual(["2"]);
    });

    it("does not wait for a shorter time than its own when the service asks for it", async () => {
      await failEach(1, 2);
      await add(3);
      const atOnce = { ...failed(), finding: { reason: "server", retryAfterMs: 0 } };
      await settle(await leased(3), atOnce);
      expect(await run(() => getDelayMs(tables))).toBe(1_000);
      advance(1_000);
      await settle((await probe()) as LeasedJob, atOnce);
      expect(await run(() => getDelayMs(tables))).toBe(2_000);
    });

    it("waits as long as the service asks, at most 15 minutes", async () => {
      await failEach(1, 2);
      await add(3);
      await settle(await leased(3), {
        ...failed(),
        finding: { reason: "rate-limited", retryAfterMs: 3_600_000 },
      });
      expect(await run(() => getDelayMs(tables))).toBe(15 * 60_000);
    });

    it("goes on with a job whose probe was lost, when its lease expires", async () => {
      await failEach(1, 2, 3);
      advance(1_000);
      const lost = await probe();
      expect(await run(() => getDelayMs(tables))).toBe(leaseMs);
      expect(await run(() => getLeaseDelayMs(tables))).toBe(leaseMs);
      advance(leaseMs);
      expect((await probe())?.name).not.toBe(lost?.name);
    });

    it("closes the breaker of a topic that has no job, and not while all of them are being sent", async () => {
      await add("late");
      const { id } = await leased("late");
      await failEach(1, 2, 3);
      for (const job of await run(() =>
        listJobs(tables, { state: "waiting" }, { afterId: id, limit: 3 }),
      ))
        await run(() => deleteJob(tables, job.id));
      advance(1_000);
      expect(await probe()).toBeUndefined();
      expect(await run(() => listBreakers(tables))).toHaveLength(1);
      await run(() => deleteJob(tables, id));
      advance(leaseMs);
      expect(await probe()).toBeUndefined();
      expect(await run(() => listBreakers(tables))).toEqual([]);
    });

    it("tries another job at once when a probe was not sent, or ends without a word on its topic", async () => {
      await failEach(1, 2, 3);
      advance(1_000);
      const first = await probe();
      await run(() => giveBack(tables, first as LeasedJob));
      const second = await probe();
      expect(second).toMatchObject({ name: "2", probe: 1 });
      await settle(second as LeasedJob, ended("unknown"));
      expect(await probe()).toMatchObject({ name: "3", probe: 1 });
    });

    it("delivers callbacks while the breaker is open", async () => {
      await add("delivered");
      await settle(await leased("delivered"), {
        ...ended("done"),
        rank: ranks.callback,
        delayMs: 10,
      });
      await failEach(1, 2, 3);
      advance(10);
      const [job] = await lease();
      expect(job).toMatchObject({ name: "delivered", rank: ranks.callback, isFirstAttempt: false });
    });

    it("restarts a job with another form, also while its callback is leased", async () => {
      await add(1);
      const job = await leased(1);
      const changes = { key: "new", suffix: "2", body: '{"a":1}' };
      await settle(job, { ...ended("rejected"), rank: ranks.callback, error: { code: "server" } });
      const [callback] = await lease();
      await run(() => restartJob(tables, { ...job, ...changes, startedAtMs: undefined }));
      expect(await find(1)).toMatchObject({
        ...changes,
        state: "waiting",
        rank: ranks.new,
        attempts: 0,
        startedAtMs: undefined,
        error: undefined,
      });
      expect(await settle(callback as LeasedJob, ended("rejected"))).toEqual({ isLost: true });
      await run(() => restartJob(tables, { ...job, ...changes, startedAtMs: clock.nowMs }, 60_000));
      expect(await find(1)).toMatchObject({ rank: ranks.retry, startedAtMs: clock.nowMs });
      expect(await lease()).toEqual([]);
      await run(() => hurryJob(tables, job.id));
      expect(getNames(await lease())).toEqual(["1"]);
    });

    it("shows the latest time: when a job was added, tried, or put off", async () => {
      expect(await run(() => getLatestMs(tables))).toBe(0);
      await add(1);
      await add(2);
      expect(await run(() => getLatestMs(tables))).toBe(clock.nowMs);
      advance(5);
      await settle(await leased(1), failed());
      expect(await run(() => getLatestMs(tables))).toBe(clock.nowMs);
      const late = await leased(2);
      const triedAtMs = clock.nowMs;
      advance(20_000); // the clock was set forward meanwhile
      await settle(late, { ...failed(), delayMs: 50_000 });
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
      await run(() => query("UPDATE work SET state = 'done', rank = NULL, ended = added"));
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
        oldestStartedMs: undefined,
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
        oldestStartedMs: undefined,
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

describe.skipIf(!isPostgresThere)("jobs of several processes in PostgreSQL", () => {
  const { run, pool } = onPostgres();

  it("are leased once each, while eight workers lease at the same time", async () => {
    await run(() =>
      addJobs(
        tables,
        Array.from({ length: 500 }, (_, name) => newJob(name)),
      ),
    );
    const names: string[] = [];
    const work = async () => {
      for (;;) {
        const leased = await run(() => leaseDue(tables, leaseMs, { limit: 7 }));
        if (leased.length === 0) return;
        names.push(...leased.map(({ name }) => name));
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));
    await work(); // what others had locked
    expect([names.length, new Set(names).size]).toEqual([500, 500]);
  });

  it("are repeated after a serialization failure", async () => {
    let attempts = 0;
    const { transaction } = overPg(pool);
    const { transact } = createPostgresDatabase(
      async (work) =>
        transaction(async (inner) => {
          const result = await work(inner as never);
          attempts += 1;
          if (attempts < 3)
            throw Object.assign(new Error("could not serialize access"), { code: "40001" });
          return result;
        }),
      { *check() {}, missingTables: "" },
    );
    expect(await transact(() => addJob(tables, newJob("again"), 0))).toBeUndefined();
    expect(attempts).toBe(4); // one for the check
  });
});

describe("isNeglected", () => {
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
    expect(isNeglected({ hasLeased, dueForMs, promptDueForMs })).toBe(expected);
  });
});

describe("jobs in SQLite", () => {
  it("are due when their pause is over, also when the clock was set back meanwhile", () => {
    let nowMs = startMs;
    const database = createSqliteDatabase({
      openFile: () => {
        const opened = openSqlite(":memory:");
        opened.exec(formatTables(tables, idTypes.sqlite));
        return opened;
      },
      now: () => nowMs,
      owner: "test",
      getLatestMs: () => getLatestMs(tables),
    });
    onTestFinished(() => database.close());
    const lease = () => database.run(leaseDue(tables, leaseMs, { limit: 1 })).length;
    database.run(addJob(tables, newJob(1), 60_000));
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
    connection.exec(formatTables(tables, idTypes.sqlite));
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
      getLatestMs: () => getLatestMs(tables),
    });
    database.run(leaseDue(tables, leaseMs, { limit: 1 }));
    database.run(getDelayMs(tables));
    database.run(leaseDue(tables, leaseMs, { limit: 1, topic: "topic" }));
    database.run(getDelayMs(tables, "topic"));
    database.run(countNeglected(tables));
    database.run(countNeglected(tables, "topic"));
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
