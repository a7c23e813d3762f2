/** The breaker of a topic: what opens it, which job is tried meanwhile, and what closes it. */
import { describe, expect, it } from "vitest";
import { listBreakers } from "../../jobs/breaker.ts";
import { deleteJob } from "../../jobs/erase.ts";
import { expireLeases, leaseDue, leaseProbe } from "../../jobs/lease.ts";
import { getDelayMs, getLeaseDelayMs, listJobs } from "../../jobs/read.ts";
import { giveBack } from "../../jobs/settle.ts";
import { execute, type Row, type Statements, type Step } from "../../jobs/statement.ts";
import { type LeasedJob, ranks } from "../../jobs/tables.ts";
import {
  advance,
  clock,
  databases,
  done,
  ended,
  failed,
  getNames,
  leaseMs,
  openJobs,
} from "./jobs-database.ts";

describe.each(databases)("the breaker in %s", (_name, isThere, openDatabase) => {
  describe.skipIf(!isThere)("which is there", () => {
    const { tables, run, add, lease, leaseOne, leased, settle } = openJobs(openDatabase);
    const probe = () => run(() => leaseProbe(tables, leaseMs));
    /** Adds jobs, and fails each of them once. */
    async function failEach(...names: (string | number)[]) {
      const ends = [];
      for (const name of names) {
        await add(name);
        ends.push(await settle(await leased(name), failed));
        advance(1);
      }
      return ends;
    }

    it("opens the breaker of a topic after failures of three jobs in a row, where one job counts once", async () => {
      const counting = { isLost: false, breaker: "counts" };
      await add(0);
      await add("late");
      const late = await leased("late");
      const firstMs = clock.nowMs;
      for (let attempt = 0; attempt < 5; attempt++)
        expect(await settle(await leased(0), failed)).toEqual(counting);
      const ends = await failEach(1, 2);
      expect(ends).toEqual([counting, { isLost: false, breaker: "opens" }]);
      const [breaker] = await run(() => listBreakers(tables));
      expect(breaker).toEqual({ topic: "tpl_1", sinceMs: firstMs, reason: "server" });
      expect(await leaseOne(1)).toBeUndefined();
      advance(100);
      expect(await settle(late, failed)).toEqual({ isLost: false, breaker: "stays-open" });
      expect(await run(() => getDelayMs(tables))).toBe(899); // what began before does not prolong it
    });

    it("has no job leased when it is opened between the read of what is due and the lease", async () => {
      await failEach(1, 2);
      await add(3);
      const third = await leased(3);
      await add(4);
      const statements = leaseDue(tables, leaseMs, { limit: 10 });
      const due = await run(function* (): Statements<Row[]> {
        return yield statements.next().value as Step;
      });
      expect(due).toHaveLength(1);
      expect(await settle(third, failed)).toMatchObject({ breaker: "opens" });
      const afterRead = await run(function* (): Statements<Row[]> {
        return yield statements.next(due).value as Step;
      });
      expect(afterRead).toEqual([]);
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
        expect(await settle(job as LeasedJob, failed)).toEqual({
          isLost: false,
          breaker: "stays-open",
        });
      }
      expect(pauses).toEqual([999, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    });

    it("counts the pause from the start of a probe, and from the response of the failure that opens, or when the service asks for one", async () => {
      await failEach(1, 2);
      await add(3);
      const third = await leased(3);
      advance(1_500);
      await settle(third, failed);
      expect(await run(() => getDelayMs(tables))).toBe(1_000);
      advance(60_000);
      const slow = (await probe()) as LeasedJob;
      advance(1_500);
      await settle(slow, failed);
      expect(await run(() => getDelayMs(tables))).toBe(500); // 2 s after the start
      advance(500);
      const asked = (await probe()) as LeasedJob;
      advance(1_500);
      await settle(asked, { ...failed, topicResult: { reason: "server", retryAfterMs: 3_000 } });
      expect(await run(() => getDelayMs(tables))).toBe(3_000);
    });

    it("probes the started job that was tried longest ago; probes 4, 8, 16 and so on try a new one", async () => {
      await failEach(1, 2, 3);
      await add("new 1");
      await add("new 2");
      const order: string[] = [];
      for (let count = 1; count <= 9; count++) {
        advance(60_000);
        const job = (await probe()) as LeasedJob;
        order.push(job.name);
        await settle(job, failed);
      }
      expect(order).toEqual(["1", "2", "3", "new 1", "1", "2", "3", "new 2", "new 1"]);
    });

    it("probes first what was tried first, also when its own delay is longer", async () => {
      for (const [name, delayMs] of Object.entries({ a: 50_000, b: 9_000, c: 1_000 })) {
        await add(name);
        await settle(await leased(name), { ...failed, delayMs });
        advance(1);
      }
      advance(1_000);
      expect((await probe())?.name).toBe("a");
    });

    it("closes the breaker with the first job that works, and then all started ones are due", async () => {
      await failEach(1, 2, 3);
      advance(1_000);
      const job = (await probe()) as LeasedJob;
      expect(await settle(job, done)).toEqual({ isLost: false, breaker: "closes" });
      expect(getNames(await lease()).sort()).toEqual(["2", "3"]);
    });

    it("closes with a probe that works when the failures are forgotten already", async () => {
      await failEach(1, 2, 3);
      advance(1_000);
      const job = (await probe()) as LeasedJob;
      await run(() => execute("DELETE FROM work_failures"));
      expect(await settle(job, done)).toEqual({ isLost: false, breaker: "closes" });
    });

    it("forgets failures that a killed process left without their breaker", async () => {
      await add(1);
      await add(2);
      await run(() => execute("INSERT INTO work_failures (topic, job) VALUES ('tpl_1', 99)"));
      const first = await leased(1);
      expect(first.failures).toBe(1);
      await settle(first, done);
      expect((await leased(2)).failures).toBe(0);
    });

    it("lets leases expire at once whose process has ended, and knows that they may have an effect", async () => {
      await add(1);
      await add(2);
      await leased(1);
      advance(10);
      const nowMs = clock.nowMs;
      await run(() => expireLeases(tables));
      expect(await run(() => getLeaseDelayMs(tables))).toBeUndefined();
      expect(await leased(1)).toMatchObject({ uncertainAtMs: nowMs, isFirstAttempt: false });
      expect(getNames(await lease())).toEqual(["2"]);
    });

    it("does not wait for a shorter time than its own when the service asks for it", async () => {
      await failEach(1, 2);
      await add(3);
      const atOnce = { ...failed, topicResult: { reason: "server", retryAfterMs: 0 } };
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
        ...failed,
        topicResult: { reason: "rate-limited", retryAfterMs: 3_600_000 },
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
  });
});
