/** The tables of an inbox in a SQLite file, and how events and dead letters are stored there. */
import { createHash } from "node:crypto";
import { withSafeMessage } from "@loyalty-cards/internal/errors";
import { addJob, type NewJob } from "@loyalty-cards/internal/jobs/add";
import { deleteJob } from "@loyalty-cards/internal/jobs/erase";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import {
  describeOtherVersion,
  dialects,
  formatTables,
  lockJobs,
  nameTables,
  tablesVersion as version,
} from "@loyalty-cards/internal/jobs/tables";
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import { ensureInboxTables } from "./processed.ts";

const eventsTable = "webhook_inbox_events";
const versionTable = "webhook_inbox_schema";

/** Each event is a job: its source is the topic, its id the name. */
export const tables = nameTables(eventsTable, dialects.sqlite);

/** The index is for the counts, the retention and the watch for a missing worker. */
const definitions = `${formatTables(tables)}
CREATE INDEX IF NOT EXISTS ${eventsTable}_ended ON ${eventsTable} (topic, state, ended);`;

/**
 * Creates what is missing. It reads the version first, so that tables of another version are not
 * changed. Where nothing is missing it only reads, because another connection of this process may
 * be in a transaction.
 * @throws for tables of another version.
 */
export function prepareTables(database: SqliteDatabase): void {
  database.exec(`CREATE TABLE IF NOT EXISTS ${versionTable} (version integer NOT NULL)`);
  const row = database.prepare(`SELECT max(version) AS version FROM ${versionTable}`).get();
  const stored = (row as { version: number | bigint | null }).version;
  const found = Number(stored ?? version);
  if (found !== version)
    throw withSafeMessage(new Error(`its tables ${describeOtherVersion(found, "webhook-inbox")}`));
  if (stored === null) database.exec(`INSERT INTO ${versionTable} VALUES (${version})`);
  database.exec(definitions);
  ensureInboxTables(database);
}

/** The key of an event: it identifies the content, also when the body is erased. */
export const digest = (body: Uint8Array): string =>
  createHash("sha256").update(body).digest("hex").slice(0, 16);

/**
 * Stores an event. A dead letter is stored anew, after all others.
 * @returns `other-content` for the id of a stored event with another content.
 */
export function* store(job: NewJob): Statements<"stored" | "duplicate" | "other-content"> {
  const known = yield* addJob(tables, job, 0);
  if (known === undefined) return "stored";
  if (known.state !== "dead") return known.key === job.key ? "duplicate" : "other-content";
  yield* deleteJob(tables, known.id);
  yield* addJob(tables, job, 0);
  return "stored";
}

/** @returns whether the event was a dead letter, and waits again. */
export function* replay(source: string, eventId: string): Statements<boolean> {
  const [job] = yield* lockJobs(tables, { name: eventId, topic: source });
  if (job?.state !== "dead" || job.body === undefined) return false;
  const { key, body } = job;
  return (yield* store({ topic: source, name: eventId, key, body })) === "stored";
}
