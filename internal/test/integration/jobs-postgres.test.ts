/** The engine of durable jobs when several processes use one PostgreSQL. */
import { overPg } from "@loyalty-cards/testing/postgres-clients";
import { describe, expect, it } from "vitest";
import { addJob, addJobs } from "../../jobs/add.ts";
import { leaseDue, leaseProbe } from "../../jobs/lease.ts";
import { createPostgresDatabase } from "../../jobs/postgres.ts";
import { type End, settleAttempt, settleTopic } from "../../jobs/settle.ts";
import type { LeasedJob } from "../../jobs/tables.ts";
import { settleJob } from "../settle-job.ts";
import {
  advance,
  done,
  failed,
  isPostgresThere,
  leaseMs,
  messages,
  newJob,
  onPostgres,
} from "./jobs-database.ts";

describe.skipIf(!isPostgresThere)("jobs of several processes in PostgreSQL", () => {
  const { tables, run, pool } = onPostgres();

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

  it("are leased from another queue while transactions have locked all that is due in the first", async () => {
    await pool.query("TRUNCATE work, work_breakers, work_failures");
    await run(() => addJob(tables, newJob(1), 0));
    advance(1);
    await run(() => addJob(tables, newJob(2, { topic: "tpl_2" }), 0));
    const other = await pool.connect();
    await other.query("BEGIN; SELECT FROM work WHERE name = '1' FOR UPDATE");
    const leased = await run(() => leaseDue(tables, leaseMs, { limit: 7 }));
    await other.query("COMMIT");
    other.release();
    expect(leased.map(({ name }) => name)).toEqual(["2"]);
  });

  it("open and close a breaker while another transaction has locked one of them, or closes it", async () => {
    await pool.query("TRUNCATE work, work_breakers, work_failures");
    for (const name of [1, 2, 3, 4]) await run(() => addJob(tables, newJob(name), 0));
    const jobs = await run(() => leaseDue(tables, leaseMs, { limit: 4 }));
    const settle = (index: number, end: End) =>
      run(() => settleJob(tables, jobs[index] as LeasedJob, end));
    const other = await pool.connect();
    await settle(0, failed);
    await other.query(`BEGIN; SELECT FROM work WHERE id = ${jobs[0]?.id} FOR UPDATE`);
    await settle(1, failed);
    const opened = await settle(2, failed);
    await other.query("COMMIT; BEGIN; DELETE FROM work_breakers");
    const worked = await settle(3, done);
    await other.query("ROLLBACK");
    expect([opened.breaker, worked.breaker]).toEqual(["opens", undefined]);
    expect(worked.job).toMatchObject({ state: "done" });

    advance(60_000);
    const probe = (await run(() => leaseProbe(tables, leaseMs))) as LeasedJob;
    await other.query("BEGIN; SELECT FROM work_breakers FOR UPDATE");
    const closing = run(() => settleJob(tables, probe, done));
    await other.query("COMMIT");
    other.release();
    expect(await closing).toMatchObject({ breaker: "closes" });
  });

  it("fail, and have callbacks, without holding up others of their topic: their breaker is locked last", async () => {
    await pool.query("TRUNCATE work, work_breakers, work_failures");
    for (const name of [1, 2, 3]) await run(() => addJob(tables, newJob(name), 0));
    const jobs = await run(() => leaseDue(tables, leaseMs, { limit: 3 }));
    const [held, other, worked] = jobs as [LeasedJob, LeasedJob, LeasedJob];
    const user = await pool.connect();
    await user.query(`BEGIN; SELECT FROM work WHERE id = ${held.id} FOR UPDATE`);
    const waiting = run(() => settleJob(tables, held, failed));
    const waits = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await expect.poll(async () => (await pool.query(waits)).rowCount).toBe(1);
    expect(await run(() => settleJob(tables, other, failed))).toMatchObject({ breaker: "counts" });
    await user.query("COMMIT");
    expect(await waiting).toMatchObject({ breaker: "counts" });

    let free: unknown;
    const lockBreaker = "SELECT FROM work_breakers FOR UPDATE SKIP LOCKED";
    const call = async () => (free = (await user.query(lockBreaker)).rowCount);
    await run(function* () {
      const row = yield* settleAttempt(tables, worked, done);
      yield { name: "onIssued", call };
      yield* settleTopic(tables, worked, { end: done, row });
    });
    user.release();
    const breakers = await pool.query("SELECT FROM work_breakers");
    expect([free, breakers.rowCount]).toEqual([1, 0]);
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
      { *check() {}, messages },
    );
    expect(await transact(() => addJob(tables, newJob("again"), 0))).toBeUndefined();
    expect(attempts).toBe(4); // one for the check
  });
});
