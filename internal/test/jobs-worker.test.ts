/** The worker of the engine, on a SQLite database in memory, in virtual time. */
import { AsyncLocalStorage } from "node:async_hooks";
import { createVirtualClock } from "@loyalty-cards/testing/virtual-clock";
import { describe, expect, it, onTestFinished } from "vitest";
import { addJob } from "../jobs/add.ts";
import { getBackoffMs } from "../jobs/backoff.ts";
import { leaseDue, leaseJob, leaseProbe } from "../jobs/lease.ts";
import { countJobs, getDelayMs, getLatestMs, getLeaseDelayMs } from "../jobs/read.ts";
import { type End, giveBack } from "../jobs/settle.ts";
import { createSqliteDatabase } from "../jobs/sqlite.ts";
import { dialects, formatTables, type LeasedJob, nameTables, ranks } from "../jobs/tables.ts";
import {
  planNext,
  startWorker,
  type WorkerOptions,
  type WorkerState,
  type WorkLimits,
  type WorkRules,
} from "../jobs/worker.ts";
import { openSqlite } from "../sqlite/database-node.ts";
import { settleJob } from "./settle-job.ts";

const tables = nameTables("work", dialects.sqlite);
const leaseMs = 40_000;
const done: End = { state: "done", effect: "unchanged", topicResult: "works" };
const retried: End = { state: "waiting", effect: "uncertain", rank: ranks.started };
const backoff = { initialDelayMs: 1_000, maxDelayMs: 900_000 };
const failing = (job: LeasedJob): End => ({
  ...retried,
  delayMs: getBackoffMs(job.attempts, backoff, () => 1),
  topicResult: { reason: "server" },
});

/** @param attempt what the service does with a job; its time is virtual. */
function openWork(
  attempt: (job: LeasedJob, signal: AbortSignal) => Promise<End> | End = () => done,
) {
  const clock = createVirtualClock();
  const database = createSqliteDatabase({
    openFile: () => {
      const opened = openSqlite(":memory:");
      opened.exec(formatTables(tables));
      return opened;
    },
    now: clock.now,
    owner: "worker",
    getLatestMs: () => getLatestMs(tables),
  });
  onTestFinished(() => database.close());
  const attempts: { name: string; atMs: number }[] = [];
  const errors: unknown[] = [];
  /** How many jobs each lease asked for. */
  const limits: number[] = [];
  let runningNow = 0;
  const most = { running: 0 };
  const context = {
    clock,
    lease: async (limit: number) => {
      limits.push(limit);
      const leased = database.runEach(leaseDue(tables, leaseMs, { limit }));
      const probe = database.runEach(leaseProbe(tables, leaseMs));
      return probe === undefined ? leased : [...leased, probe];
    },
    getDelay: async () => database.runEach(getDelayMs(tables)),
    async run(job: LeasedJob, signal: AbortSignal) {
      attempts.push({ name: job.name, atMs: clock.monotonicMs() });
      runningNow += 1;
      most.running = Math.max(most.running, runningNow);
      const end = await attempt(job, signal);
      runningNow -= 1;
      database.transact(settleJob(tables, job, end));
    },
    giveBack: async (job: LeasedJob) => database.runEach(giveBack(tables, job)),
    onUnavailable: (error: unknown) => errors.push(error),
  };
  const start = (options: Partial<WorkerOptions> = {}, limits?: WorkLimits, more = {}) =>
    startWorker(
      { ...context, ...more },
      { concurrency: 8, maxPerSecond: Number.POSITIVE_INFINITY, pollMs: 1_000, ...options },
      limits && {
        getLeaseDelay: async () => database.runEach(getLeaseDelayMs(tables)),
        maxIdleMs: 10_000,
        maxJobs: Number.POSITIVE_INFINITY,
        endsAtMs: Number.POSITIVE_INFINITY,
        ...limits,
      },
    );
  const add = (name: string | number, topic = "tpl_1") =>
    database.runEach(
      addJob(tables, { topic, name: String(name), key: `${topic}${name}`, body: "{}" }, 0),
    );
  return {
    clock,
    database,
    attempts,
    errors,
    limits,
    most,
    start,
    add,
    count: () => database.runEach(countJobs(tables)).states,
  };
}

/** A number of names. */
const range = (count: number) => Array.from({ length: count }, (_, index) => index);

describe("planNext", () => {
  const endless = Number.POSITIVE_INFINITY;
  /** A worker that works, and can begin eight jobs. */
  const idle: WorkerState = {
    nowMs: 60_000,
    isStopping: false,
    running: 0,
    probes: 0,
    begun: 0,
    limit: 8,
    lookedAtMs: 0,
    nextAtMs: 0,
    rest: undefined,
  };
  const always: WorkRules = {
    concurrency: 8,
    maxPerSecond: endless,
    pollMs: 1_000,
    maxIdleMs: endless,
    maxJobs: endless,
    endsAtMs: endless,
  };
  const drain = { maxIdleMs: 10_000 };
  const nothing = { delayMs: endless };
  const soon = { delayMs: 300 };
  const later = { delayMs: 20_000 };
  const failed = { delayMs: 1_000, isUnavailable: true };

  it.each<[string, Partial<WorkerState>, Partial<WorkRules>, ReturnType<typeof planNext>]>([
    ["leases as many as can run", {}, {}, { look: 8 }],
    ["leases as many as are free", { running: 3 }, {}, { look: 5 }],
    ["waits when none is free", { running: 8 }, {}, { waitMs: 1_000 }],
    ["leases one alone while its topic fails", { limit: 1 }, {}, { look: 1 }],
    ["runs one at a time while its topic fails", { limit: 1, running: 1 }, {}, { waitMs: 1_000 }],
    ["has one beside a probe", { limit: 1, running: 1, probes: 1 }, {}, { look: 1 }],
    [
      "never runs more than `concurrency`",
      { limit: 1, running: 1, probes: 1 },
      { concurrency: 1 },
      { waitMs: 1_000 },
    ],
    ["waits for several that end", { running: 5, lookedAtMs: 59_951 }, {}, { waitMs: 50 }],
    ["does not wait for half of them", { running: 4, lookedAtMs: 60_000 }, {}, { look: 4 }],
    ["does not wait for long ones", { running: 5, lookedAtMs: 59_950 }, {}, { look: 3 }],
    ["leases one at a time with a rate", {}, { maxPerSecond: 5 }, { look: 1 }],
    ["waits for its rate", { nextAtMs: 60_200 }, { maxPerSecond: 5 }, { waitMs: 200 }],
    [
      "waits for a slow rate in steps",
      { nextAtMs: 90_000 },
      { maxPerSecond: 0.01 },
      { waitMs: 1_000 },
    ],
    ["leases no more than it may begin", { begun: 4 }, { maxJobs: 6 }, { look: 2 }],
    ["ends with the last one that it may begin", { begun: 6, running: 2 }, { maxJobs: 6 }, "end"],
    ["ends when it is stopped", { isStopping: true, running: 2 }, {}, "end"],
    ["ends at its time", {}, { endsAtMs: 60_000 }, "end"],
    ["waits until its time at most", { rest: nothing }, { endsAtMs: 60_400 }, { waitMs: 400 }],
    ["waits a millisecond at least", { rest: nothing }, { endsAtMs: 60_000.5 }, { waitMs: 1 }],
    ["waits for what is due soon", { rest: soon }, {}, { waitMs: 300 }],
    ["looks for what others add", { rest: later }, {}, { waitMs: 1_000 }],
    ["works without an end", { rest: nothing }, {}, { waitMs: 1_000 }],
    ["leaves others time", { rest: { delayMs: -5 } }, {}, { waitMs: 50 }],
    ["drains what is due soon", { rest: soon }, drain, { waitMs: 300 }],
    ["drains up to its idle time", { rest: { delayMs: 10_000 } }, drain, { waitMs: 1_000 }],
    ["drains no longer", { rest: { delayMs: 10_001 } }, drain, "end"],
    ["drains until nothing waits", { rest: nothing }, drain, "end"],
    ["drains while a job runs", { rest: nothing, running: 1 }, drain, { waitMs: 1_000 }],
    ["drains again after a failure", { rest: failed }, { maxIdleMs: 0 }, { waitMs: 1_000 }],
    [
      "drains what another process has",
      { rest: { ...later, leaseDelayMs: 700 } },
      drain,
      { waitMs: 700 },
    ],
  ])("%s", (_title, state, rules, plan) => {
    expect(planNext({ ...idle, ...state }, { ...always, ...rules })).toEqual(plan);
  });
});

describe("startWorker", () => {
  it("runs every job once, at most `concurrency` at a time, the first alone, and leases several at once", async () => {
    const work = openWork(async () => {
      await work.clock.wait(100);
      return done;
    });
    for (const name of range(50)) work.add(name);
    await work.clock.run(work.start({ concurrency: 8 }, {}).ended);
    expect(work.attempts).toHaveLength(50);
    expect(new Set(work.attempts.map(({ name }) => name)).size).toBe(50);
    expect(work.most.running).toBe(8);
    expect(work.count()).toEqual({ done: 50 });
    expect(work.limits.slice(0, 2)).toEqual([1, 7]);
    expect(work.limits.length).toBeLessThan(50 / 2);
  });

  it("begins at most `maxPerSecond` jobs in a second", async () => {
    const work = openWork();
    for (const name of range(10)) work.add(name);
    await work.clock.run(work.start({ maxPerSecond: 5 }, {}).ended);
    expect(work.attempts.map(({ atMs }) => atMs)).toEqual(range(10).map((index) => index * 200));
  });

  it("runs one job at a time while its topic fails, also after probes", async () => {
    const work = openWork(async (job) => {
      await work.clock.wait(100);
      return failing(job);
    });
    for (const name of range(10)) work.add(name);
    const worker = work.start();
    await work.clock.pass(10_000); // those that began before the first failure
    Object.assign(work.most, { running: 0 });
    work.limits.length = 0;
    await work.clock.pass(120_000);
    expect([work.most.running, Math.max(...work.limits)]).toEqual([1, 1]);
    await work.clock.run(worker.stop(0));
  });

  it("runs `concurrency` jobs when some of them take long, also those that are added later", async () => {
    const work = openWork(async (job) => {
      await work.clock.wait(job.name.startsWith("long") ? 600_000 : 100);
      return done;
    });
    const worker = work.start({ concurrency: 4 });
    for (const name of ["long 1", "long 2", "long 3", "short 1", "short 2"]) {
      work.add(name);
      await work.clock.pass(5_000);
    }
    expect(work.count()).toEqual({ done: 2, waiting: 3 });
    for (const name of range(20)) work.add(name);
    await work.clock.pass(5_000);
    expect(work.count()).toEqual({ done: 22, waiting: 3 });
    await work.clock.run(worker.stop(0));
  });

  it("begins nothing while a job runs alone, and others as soon as it has ended", async () => {
    const work = openWork(async (job) => {
      await work.clock.wait(job.name === "alone" ? 10_000 : 600_000);
      return done;
    });
    const lease = async (limit: number) =>
      work.database.runEach(leaseDue(tables, leaseMs, { limit, startedRunAlone: true }));
    work.add("alone");
    await lease(1); // by a process that ends
    await work.clock.pass(leaseMs - 1_000);
    for (const name of range(3)) work.add(name);
    const worker = work.start({ concurrency: 5 }, undefined, { lease });
    await work.clock.pass(5_000);
    for (const name of [3, 4]) work.add(name);
    const names = () => work.attempts.map(({ name }) => name);
    expect(names()).toEqual(["0", "1", "2", "alone"]);
    await work.clock.pass(7_000);
    expect(names()).toEqual(["0", "1", "2", "alone", "3", "4"]);
    await work.clock.run(worker.stop(0));
  });

  it("runs jobs without the AsyncLocalStorage store of the request that started the worker, or woke it", async () => {
    const request = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const work = openWork(() => {
      seen.push(request.getStore());
      return done;
    });
    const worker = request.run("one", () => work.start());
    await work.clock.pass(100);
    request.run("two", () => {
      work.add(1);
      worker.wake();
    });
    await work.clock.pass(2_000);
    expect(seen).toEqual([undefined]);
    await work.clock.run(worker.stop(0));
  });

  it("looks for jobs at once when it is woken", async () => {
    const work = openWork();
    const worker = work.start({ pollMs: 60_000 });
    await work.clock.pass(1_000);
    work.add(1);
    worker.wake();
    await work.clock.pass(10);
    expect(work.count()).toEqual({ done: 1 });
    await work.clock.run(worker.stop(0));
  });

  it("leases nothing while nothing is due, and what others added at the next look", async () => {
    const work = openWork();
    const worker = work.start();
    await work.clock.pass(60_000);
    expect(work.limits).toHaveLength(1);
    work.add(1);
    await work.clock.pass(1_000);
    expect(work.attempts).toHaveLength(1);
    await work.clock.run(worker.stop(0));
  });

  it("does not wait between jobs that end at once", async () => {
    const work = openWork();
    for (const name of range(50)) work.add(name);
    await work.clock.run(work.start({ concurrency: 4, pollMs: 60_000 }, { maxIdleMs: 0 }).ended);
    expect([work.count(), work.clock.monotonicMs()]).toEqual([{ done: 50 }, 0]);
  });

  it("tries few jobs while the service fails for 30 hours, has the first card within 61 s of its recovery, and then all", async () => {
    const hour = 3_600_000;
    const work = openWork(async (job) => {
      await work.clock.wait(200);
      return work.clock.monotonicMs() < 30 * hour ? failing(job) : done;
    });
    const worker = work.start({ pollMs: 60_000 });
    for (const at of range(30)) {
      await work.clock.pass(Math.max(0, at * hour - work.clock.monotonicMs()));
      for (const name of range(10)) work.add(`${at}-${name}`);
    }
    await work.clock.pass(30 * hour - work.clock.monotonicMs() + 61_000);
    const before = work.attempts.filter(({ atMs }) => atMs < 30 * hour);
    expect(new Set(before.map(({ name }) => name)).size).toBeLessThanOrEqual(10 + 12);
    expect(work.count()["done"]).toBeGreaterThan(0);
    await work.clock.pass(60_000);
    expect(work.count()).toEqual({ done: 300 });
    await work.clock.run(worker.stop(0));
  });

  it("delays no other job for one that always makes the service fail, also after a quiet night", async () => {
    const work = openWork((job) => (job.name === "bad" ? failing(job) : done));
    const worker = work.start();
    work.add("bad");
    await work.clock.pass(2 * 3_600_000);
    expect(work.attempts.length).toBeGreaterThan(10);
    const atMs = work.clock.monotonicMs();
    work.add("good");
    await work.clock.pass(1_500);
    const good = work.attempts.find(({ name }) => name === "good");
    expect((good?.atMs ?? Number.POSITIVE_INFINITY) - atMs).toBeLessThan(1_100);
    await work.clock.run(worker.stop(0));
  });

  it("runs the jobs of another topic at once while one topic fails", async () => {
    const work = openWork((job) => (job.topic === "tpl_1" ? failing(job) : done));
    const worker = work.start();
    for (const name of range(1_000)) work.add(name);
    await work.clock.pass(60_000);
    const atMs = work.clock.monotonicMs();
    for (const name of range(20)) work.add(name, "tpl_2");
    await work.clock.pass(3_000);
    expect(work.count()["done"]).toBe(20);
    const tried = work.attempts.filter(({ atMs: at }) => at <= atMs).map(({ name }) => name);
    expect(new Set(tried).size).toBeLessThan(12);
    await work.clock.run(worker.stop(0));
  });

  it("runs the jobs of another topic while the probe of one topic hangs, and never more than `concurrency`", async () => {
    let isHanging = false;
    const work = openWork(async (job) => {
      if (job.topic === "tpl_2") return done;
      if (isHanging) await work.clock.wait(30_000);
      return failing(job);
    });
    const worker = work.start({ concurrency: 2 });
    for (const name of range(3)) work.add(name);
    await work.clock.pass(500);
    isHanging = true;
    await work.clock.pass(3_000);
    for (const name of range(20)) work.add(name, "tpl_2");
    await work.clock.pass(3_000);
    expect(work.count()["done"]).toBe(20);
    expect(work.most.running).toBe(2);
    await work.clock.run(worker.stop(0));
  });

  it("ends when nothing is due within the time, and waits for what is due before", async () => {
    let failed = 0;
    const work = openWork((job) => (failed++ < 2 ? failing(job) : done));
    work.add(1);
    await work.clock.run(work.start({}, { maxIdleMs: 10_000 }).ended);
    expect(work.attempts.map(({ atMs }) => Math.round(atMs / 100) / 10)).toEqual([0, 1, 3]);
    expect(work.count()).toEqual({ done: 1 });
    const other = openWork();
    other.add(1);
    other.database.runEach(leaseJob(tables, leaseMs, { topic: "tpl_1", name: "1" })); // a process that ends
    await other.clock.run(other.start({}, { maxIdleMs: 10_000 }).ended);
    expect(other.count()).toEqual({ done: 1 });
    expect(other.limits.length).toBeLessThan(60); // it looked once in each `pollMs` of 40 s
    const idle = openWork();
    await idle.clock.run(idle.start({}, {}).ended);
    expect(idle.attempts).toEqual([]);
  });

  it("drains what another process had when the worker looked, and no longer has", async () => {
    const work = openWork();
    work.add(1);
    const job = { topic: "tpl_1", name: "1" };
    const [leased] = work.database.runEach(leaseJob(tables, leaseMs, job));
    const getLeaseDelay = async () => {
      const end = { ...retried, delayMs: 900, topicResult: "works" } as const;
      if (work.attempts.length === 0 && leased !== undefined)
        work.database.transact(settleJob(tables, leased, end));
      return work.database.runEach(getLeaseDelayMs(tables));
    };
    await work.clock.run(work.start({}, { getLeaseDelay }).ended);
    expect(work.count()).toEqual({ done: 1 });
  });

  it("erases what is old every ten minutes, in batches, and runs a job that is added before the next batch", async () => {
    const work = openWork();
    const batches: number[] = [];
    let left = 3;
    const eraseSome = async () => {
      batches.push(work.attempts.length);
      left -= 1;
      if (left === 1) {
        work.add(1);
        worker.wake();
      }
      return left > 0;
    };
    const sweep = { eraseSome };
    const worker = work.start({}, undefined, { sweep });
    await work.clock.pass(1_000);
    expect(batches).toEqual([0, 0, 1]);
    await work.clock.pass(10 * 60_000 - 2_000);
    expect(batches.length).toBe(3);
    await work.clock.pass(3_000);
    expect(batches.length).toBe(4);
    await work.clock.run(worker.stop(0));
    await work.clock.run(work.start({}, { maxIdleMs: 0 }, { sweep }).ended);
    expect(batches.length).toBe(4);
  });

  it("erases what is old also while a job runs, because there may always be one", async () => {
    const work = openWork(async () => {
      await work.clock.wait(3_000);
      return done;
    });
    work.add(1);
    let batches = 0;
    const eraseSome = async () => {
      batches += 1;
      return false;
    };
    const worker = work.start({}, undefined, { sweep: { eraseSome } });
    await work.clock.pass(2_000);
    expect([work.attempts.length, work.count(), batches]).toEqual([1, { waiting: 1 }, 1]);
    await work.clock.run(worker.stop(10_000));
  });

  it("ends after `maxJobs`, and at its time", async () => {
    const work = openWork(async () => {
      await work.clock.wait(1_000);
      return done;
    });
    for (const name of range(30)) work.add(name);
    await work.clock.run(work.start({ concurrency: 4 }, { maxJobs: 6 }).ended);
    expect(work.count()).toEqual({ done: 6, waiting: 24 });
    expect(work.limits.at(-1)).toBeLessThan(4);
    await work.clock.run(
      work.start({ concurrency: 1 }, { endsAtMs: work.clock.monotonicMs() + 2_500 }).ended,
    );
    expect(work.count()).toEqual({ done: 9, waiting: 21 });
    const idle = openWork();
    await idle.clock.pass(1_000);
    await idle.clock.run(
      idle.start({ pollMs: 60_000 }, { maxIdleMs: Number.POSITIVE_INFINITY, endsAtMs: 3_500 })
        .ended,
    );
    expect(idle.clock.monotonicMs()).toBe(3_500);
  });

  it("lets its jobs end when it is stopped, and aborts them after the grace", async () => {
    const work = openWork(async (job, signal) => {
      if (job.name === "slow")
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      else await work.clock.wait(500);
      return signal.aborted ? retried : done;
    });
    work.add("quick");
    work.add("slow");
    const worker = work.start();
    await work.clock.pass(10);
    work.add("later");
    const stoppedMs = work.clock.monotonicMs();
    await work.clock.run(worker.stop(2_000));
    expect(work.clock.monotonicMs() - stoppedMs).toBe(2_000);
    expect(work.count()).toEqual({ done: 1, waiting: 2 });
    expect(work.attempts.map(({ name }) => name)).toEqual(["quick", "slow"]);
  });

  it("goes on after the database could not be used", async () => {
    const work = openWork();
    work.add(1);
    let left = 3;
    const lease = async (limit: number) => {
      if (left-- > 0) throw new Error("locked");
      return work.database.runEach(leaseDue(tables, leaseMs, { limit }));
    };
    await work.clock.run(work.start({}, {}, { lease }).ended);
    expect([work.errors.length, work.count()["done"]]).toEqual([3, 1]);
    expect(work.attempts[0]?.atMs).toBe(3_000); // after three times `pollMs`
  });
});

it("doubles the delay of a job up to a limit, less up to a quarter at random", () => {
  const toSeconds = (attempts: number) => getBackoffMs(attempts, backoff, () => 1) / 1_000;
  expect([1, 2, 5, 10, 11, 99, 9_999].map(toSeconds)).toEqual([1, 2, 16, 512, 900, 900, 900]);
  expect(getBackoffMs(1, backoff, () => 0)).toBe(750);
  expect(getBackoffMs(9_999, { initialDelayMs: 0, maxDelayMs: 0 }, () => 1)).toBe(0);
});
