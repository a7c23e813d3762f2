/** The tables of the outbox, for both databases, and the settings that all its processes share. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { createJobs, formatTables, idTypes } from "@loyalty-cards/internal/jobs/jobs";
import { type Operation, query, toNumber } from "@loyalty-cards/internal/jobs/statement";
import { withSafeMessage } from "@loyalty-cards/internal/reporting";

const entriesTable = "issuing_outbox_entries";
const settingsTable = "issuing_outbox_settings";

/** The version of the tables that this package reads and writes. */
const version = 1;

/** The settings are one row, written by the first process: the version of the tables, and the service whose cards are issued. */
export const settingsTables = `CREATE TABLE IF NOT EXISTS ${settingsTable} (id integer PRIMARY KEY CHECK (id = 1), version integer NOT NULL, url text, namespace text);
`;

export const sqliteTables = formatTables(entriesTable, idTypes.sqlite);
/** One statement, so that every client can send it. The lock serializes processes that start together. */
export const postgresTables = `DO $$ BEGIN
PERFORM pg_advisory_xact_lock(7021926012);
${formatTables(entriesTable, idTypes.postgres)}
${settingsTables}END $$;
`;

/** Returns a row when the tables exist: the settings are the last of them. */
export const findPostgresTables = `SELECT 1 AS found WHERE to_regclass('${settingsTable}') IS NOT NULL`;

/** The service of an outbox, as the client knows it. */
type Service = Pick<IssuingSteps<unknown>, "baseUrl" | "idempotencyNamespace">;

/** The statements of an outbox, which lease nothing after another process has changed the tables or the service. */
export const createOutboxJobs = ({ baseUrl, idempotencyNamespace }: Service) =>
  createJobs(entriesTable, {
    value: `${baseUrl} ${idempotencyNamespace}`,
    format: (service) =>
      `EXISTS (SELECT 1 FROM ${settingsTable} WHERE version = ${version} AND url || ' ' || namespace = ${service})`,
  });

/**
 * Reads the settings, and writes those that are missing: of new tables, and of those that a test suite emptied.
 * @throws when this process must not use the tables.
 */
export function* checkSettings({ baseUrl, idempotencyNamespace }: Service): Operation<void> {
  let [row] = yield* query(`SELECT version, url, namespace FROM ${settingsTable}`);
  if (typeof row?.["url"] !== "string" || typeof row["namespace"] !== "string")
    [row] = yield* query(
      `INSERT INTO ${settingsTable} AS s (id, version, url, namespace) VALUES (1, ${version}, $1::text, $2::text)
       ON CONFLICT (id) DO UPDATE SET url = coalesce(s.url, excluded.url), namespace = coalesce(s.namespace, excluded.namespace)
       RETURNING version, url, namespace`,
      ...[baseUrl, idempotencyNamespace],
    );
  const found = toNumber(row?.["version"]);
  if (found !== version)
    throw failure(
      `The tables of the outbox are of version ${found}, and this process knows version ${version}: update @loyalty-cards/issuing-outbox in every process.`,
    );
  requireSame("baseUrl", "url", row?.["url"], baseUrl);
  requireSame("idempotencyNamespace", "namespace", row?.["namespace"], idempotencyNamespace);
}

function requireSame(option: string, column: string, stored: unknown, own: string): void {
  if (stored === own) return;
  throw failure(
    `This outbox issues cards with the ${option} "${stored}", and the client of this process has "${own}": its keys would issue second cards. If the file or database is of another environment, use one for each. If the same service has a new ${option}, stop all processes and run: UPDATE ${settingsTable} SET ${column} = NULL`,
  );
}

const failure = (message: string) => withSafeMessage(new Error(message));
