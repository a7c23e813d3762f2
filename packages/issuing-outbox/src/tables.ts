/** The tables of the outbox, for both databases, and the settings that all its processes share. */

import { withSafeMessage } from "@loyalty-cards/internal/errors";
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { query, type Row, type Statements, toNumber } from "@loyalty-cards/internal/jobs/statement";
import {
  describeOtherVersion,
  dialects,
  formatTables,
  type JobTables,
  nameTables,
  tablesVersion as version,
} from "@loyalty-cards/internal/jobs/tables";

const entriesTable = "issuing_outbox_entries";
const settingsTable = "issuing_outbox_settings";

/**
 * The settings are one row, written by the first process: the version of the tables, and the
 * service whose cards are issued.
 */
export const settingsTableSql = `CREATE TABLE IF NOT EXISTS ${settingsTable} (
  id integer PRIMARY KEY CHECK (id = 1),
  version integer NOT NULL,
  url text,
  namespace text
);
`;

export const sqliteTables = formatTables(nameTables(entriesTable, dialects.sqlite));
/**
 * Creates the tables in one statement, so that every client can send it. The lock serializes
 * processes that start together.
 */
export const postgresTables = `DO $$ BEGIN
PERFORM pg_advisory_xact_lock(7021926012);
${formatTables(nameTables(entriesTable, dialects.postgres))}${settingsTableSql}END $$;
`;

/**
 * Returns a row when the tables exist: the settings are the last of them. Version and settings are
 * checked at first use, by the client that the outbox has.
 */
export const findPostgresTables = `SELECT 1 AS found
WHERE to_regclass('${settingsTable}') IS NOT NULL`;

/** The service of an outbox, as the client knows it. */
type Service = Pick<IssuingSteps<unknown>, "baseUrl" | "idempotencyNamespace">;

/**
 * The tables of an outbox, from which nothing is leased after another process has changed them or
 * the service.
 */
export function nameOutboxTables(
  database: keyof typeof dialects,
  { baseUrl, idempotencyNamespace }: Service,
): JobTables {
  const condition = `EXISTS (
    SELECT 1
    FROM ${settingsTable}
    WHERE version = ${version}
      AND url = :url
      AND namespace = :namespace
  )`;
  const values = { url: baseUrl, namespace: idempotencyNamespace };
  return nameTables(entriesTable, dialects[database], { condition, values });
}

/**
 * Requires that the tables are of this version, and of the service of this process. New tables, and
 * those that a test suite emptied, have no settings, and get its own.
 * @throws when another process changed the settings: then a lease returns nothing either.
 */
export function* requireOwnSettings(service: Service): Statements<void> {
  const settings = (yield* readSettings()) ?? (yield* writeSettings(service));
  const found = toNumber(settings?.["version"]);
  if (found !== version)
    throw createFailure(
      `The tables of the outbox ${describeOtherVersion(found, "issuing-outbox")}.`,
    );
  const { baseUrl, idempotencyNamespace } = service;
  requireSame("baseUrl (LOYALTY_URL)", "url", settings?.["url"], baseUrl);
  requireSame(
    "idempotencyNamespace (LOYALTY_IDEMPOTENCY_NAMESPACE)",
    "namespace",
    settings?.["namespace"],
    idempotencyNamespace,
  );
}

/** @returns undefined when a part is missing. */
function* readSettings(): Statements<Row | undefined> {
  const [row] = yield* query(
    `SELECT version, url, namespace
     FROM ${settingsTable}`,
  );
  const isComplete = typeof row?.["url"] === "string" && typeof row["namespace"] === "string";
  return isComplete ? row : undefined;
}

/** Writes what is missing. */
function* writeSettings({ baseUrl, idempotencyNamespace }: Service): Statements<Row | undefined> {
  const [row] = yield* query(
    `INSERT INTO ${settingsTable} AS s (id, version, url, namespace)
     SELECT 1, ${version}, :url, :namespace
     WHERE :inTransaction
     ON CONFLICT (id) DO UPDATE SET
       url = coalesce(s.url, excluded.url),
       namespace = coalesce(s.namespace, excluded.namespace)
     RETURNING version, url, namespace`,
    { url: baseUrl, namespace: idempotencyNamespace },
  );
  return row;
}

function requireSame(option: string, column: string, stored: unknown, own: string): void {
  if (stored === own) return;
  const reset = `UPDATE ${settingsTable} SET ${column} = NULL`;
  throw createFailure(
    `This outbox issues cards with the ${option} "${stored}", and the client of this process has "${own}": its keys would issue second cards. If the file or database is of another environment, use one for each. If the same service has a new ${option}, stop all processes and run: ${reset}`,
  );
}

const createFailure = (message: string) => withSafeMessage(new Error(message));
