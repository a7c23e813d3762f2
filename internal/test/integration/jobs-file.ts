/** A durable file of jobs, as an inbox or outbox opens it. */
import { addJob } from "../../jobs/add.ts";
import { getLatestMs, listJobs } from "../../jobs/read.ts";
import { createSqliteDatabase } from "../../jobs/sqlite.ts";
import { dialects, formatTables, nameTables } from "../../jobs/tables.ts";
import { openDurableFile, openSqlite } from "../../sqlite/database-node.ts";

const tables = nameTables("work", dialects.sqlite);

export function openJobsFile(file: string, open = openSqlite) {
  const database = createSqliteDatabase({
    openFile: () =>
      openDurableFile({
        caller: "test",
        file,
        open,
        prepare: (own) => own.exec(formatTables(tables)),
      }),
    now: Date.now,
    owner: "test",
    getLatestMs: () => getLatestMs(tables),
  });
  const toAdded = (name: string) =>
    addJob(tables, { topic: "topic", name, key: name, body: "{}" }, 0);
  return {
    ...database,
    toAdded,
    add: (name: string) => void database.runEach(toAdded(name)),
    list: () => database.runEach(listJobs(tables, {}, { limit: 100 })).map(({ name }) => name),
  };
}
