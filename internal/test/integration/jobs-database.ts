/** Databases for tests of the engine, and its functions on one of them with the tables of a test. */
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { overPg } from "@loyalty-cards/testing/postgres-clients";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { addJob, type NewJob } from "../../jobs/add.ts";
import { leaseDue, leaseJob } from "../../jobs/lease.ts";
import { createPostgresDatabase } from "../../jobs/postgres.ts";
import { getLatestMs } from "../../jobs/read.ts";
import type { End } from "../../jobs/settle.ts";
import { createSqliteDatabase } from "../../jobs/sqlite.ts";
import type { Statements } from "../../jobs/statement.ts";
import {
  dialects,
  formatTables,
  type JobTables,
  type LeasedJob,
  lockJobs,
  nameTables,
  ranks,
} from "../../jobs/tables.ts";
import { openSqlite } from "../../sqlite/database-node.ts";
import { settleJob } from "../settle-job.ts";
export const sqliteTables = nameTables("work", dialects.sqlite);
export const postgresTables = nameTables("work", dialects.postgres);
export const messages = {
  need: "",
  consequence: "",
  missingTables: "",
  notAwaited: "",
  stillRan: "",
  untranslatable: "",
};
export const leaseMs = 30_000;
export const startMs = Date.parse("2026-03-01T12:00:00Z");

interface Database {
  tables: JobTables;
  run<Result>(start: () => Statements<Result>): Promise<Result>;
}

/** The time of both databases. */
export const clock = { nowMs: startMs };

function onSqlite() {
  const file = join(tmpdir(), `jobs-${crypto.randomUUID()}.db`);
  const database = createSqliteDatabase({
    openFile: () => {
      const opened = openSqlite(file);
      opened.exec(`PRAGMA journal_mode = WAL; ${formatTables(sqliteTables)}`);
      return opened;
    },
    now: () => clock.nowMs,
    owner: "test",
    getLatestMs: () => getLatestMs(sqliteTables),
  });
  afterAll(() => {
    database.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  });
  const run = async <Result>(start: () => Statements<Result>) => database.transact(start());
  const empty = async () => {
    for (const table of ["work", "work_breakers", "work_failures"])
      database.open().exec(`DELETE FROM ${table}`);
  };
  return { tables: sqliteTables, run, empty, database };
}

export function onPostgres() {
  const { pool: createPool } = ownSchema();
  const pool = createPool(8);
  beforeAll(() => pool.query(formatTables(postgresTables)));
  const options = { *check() {}, messages, now: () => clock.nowMs };
  const { transact } = createPostgresDatabase(overPg(pool).transaction, options);
  return {
    tables: postgresTables,
    run: transact,
    empty: async () => void (await pool.query("TRUNCATE work, work_breakers, work_failures")),
    pool,
  };
}

export const newJob = (name: string | number, more: Partial<NewJob> = {}): NewJob => ({
  topic: "tpl_1",
  name: String(name),
  key: `key_${name}`,
  body: "{}",
  ...more,
});

export const isPostgresThere = await hasPostgres();

/** Each database, and whether it is there. */
export const databases = [
  ["SQLite", true, onSqlite],
  ["PostgreSQL", isPostgresThere, onPostgres],
] as const;

export const retried: End = { state: "waiting", effect: "uncertain", rank: ranks.started };
export const ended = (state: string): End => ({ state, effect: "unchanged" });
export const done: End = {
  ...ended("done"),
  topicResult: "works",
  isErased: true,
  result: { id: 1 },
};
export const failed: End = { ...retried, delayMs: 1_000, topicResult: { reason: "server" } };

export const getNames = (list: readonly { name: string }[]) => list.map(({ name }) => name);

export function advance(ms: number): void {
  clock.nowMs += ms;
}

/** The functions of the engine on a database, which is empty before each test. */
export function openJobs(openDatabase: () => Database & { empty(): Promise<void> }) {
  const { tables, run, empty } = openDatabase();
  beforeEach(async () => {
    advance(86_400_000); // a clock that goes back would be corrected
    await empty();
  });

  const leaseOne = async (name: string | number) =>
    (await run(() => leaseJob(tables, leaseMs, { topic: "tpl_1", name: String(name) })))[0];
  return {
    tables,
    run,
    add: (name: string | number, more?: Partial<NewJob>, delayMs = 0) =>
      run(() => addJob(tables, newJob(name, more), delayMs)),
    lease: (limit = 10) => run(() => leaseDue(tables, leaseMs, { limit })),
    leaseOne,
    async leased(name: string | number): Promise<LeasedJob> {
      const job = await leaseOne(name);
      if (job === undefined) throw new Error(`job ${name} cannot be leased`);
      return job;
    },
    async settle(job: LeasedJob, end: End) {
      const { job: settled, ...rest } = await run(() => settleJob(tables, job, end));
      return { isLost: settled === undefined, ...rest };
    },
    find: async (name: string | number) =>
      (await run(() => lockJobs(tables, { name: String(name), topic: "tpl_1" })))[0],
  };
}
