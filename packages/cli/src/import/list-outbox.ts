/**
 * The outbox of an import, in a file beside the list. It is the state of the import, so the same
 * command again resumes.
 */
import { existsSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { setImmediate as nextTask } from "node:timers/promises";
import { type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import {
  type OutboxCounts,
  type OutboxEntry,
  type SqliteOutbox,
  sqliteOutbox,
} from "@loyalty-cards/issuing-outbox";
import type { Context } from "../command.ts";
import { CommandError } from "../command-error.ts";
import type { ListIndex } from "./list-index.ts";
import type { ImportRow } from "./row.ts";
import { endsRun } from "./run-error.ts";
import type { RunFacts } from "./run-facts.ts";

const batchSize = 200;

/**
 * Opens the outbox of a list.
 * @param facts gets what the outbox reports.
 * @param stopping is aborted by an error that ends the run.
 */
export async function openListOutbox(
  { createClient }: Context,
  file: string,
  facts: RunFacts,
  stopping: AbortController,
) {
  const isNew = !existsSync(file);
  const client = await createClient({
    onEvent: ({ type }) => {
      if (type === "fields-differ") facts.addDiffering();
    },
  });
  const outbox = sqliteOutbox({
    client,
    file,
    open: openForOneRun,
    log: () => {},
    onOutcome(outcome) {
      facts.addOutcome(outcome);
      if (endsRun(outcome)) stopping.abort(outcome.error);
    },
  });
  return { outbox, isNew };
}

/** Marks the outbox of an import: the rows of other outboxes must not be removed. */
const applicationId = 0x6c63_696d;

/**
 * Opens a file with SQLite's own lock, which is held until the file is closed or the process ends.
 * @throws for the database of another program.
 */
const openForOneRun: OpenSqlite = (file) => {
  const database = openSqlite(file);
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_master").get() === undefined;
  if (isEmpty) database.exec(`PRAGMA application_id = ${applicationId}`);
  const { application_id: id } = database.prepare("PRAGMA application_id").get() as {
    application_id: number;
  };
  if (id !== applicationId) {
    database.close();
    throw new Error("it is the database of another program");
  }
  database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    close() {
      // The connection of libsql is open until its statements are garbage, so the lock is released
      // before.
      database.exec(
        "PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL; SELECT 1 FROM sqlite_master",
      );
      database.close();
    },
  };
};

/**
 * Takes the file over from a run that was killed: what that was sending is due at once.
 * @throws for a file that is not an outbox, that another run uses, or that is of another service or
 * template.
 */
export async function claim(outbox: SqliteOutbox, file: string, template: string): Promise<void> {
  await outbox.takeOver();
  for await (const entry of outbox.list({ limit: 1 }))
    if (entry.template !== template)
      throw new CommandError(
        `${basename(file)} has the cards of template ${entry.template}: use that template, or move the file away.`,
      );
}

/**
 * Adds the rows. What was rejected is sent again. Unless the service may have received a row, its
 * form becomes that of the list: `correct` replaces it, and says which rows have none yet.
 * @returns the rows that are sent as before.
 */
export async function addRows(
  outbox: SqliteOutbox,
  template: string,
  index: ListIndex,
): Promise<ImportRow[]> {
  const sentAsBefore: ImportRow[] = [];
  for (const batch of index.readBatches(batchSize)) {
    const corrected = await correctRows(outbox, template, batch);
    await outbox.addAll(corrected.absent.map((row) => ({ ...row, template })));
    sentAsBefore.push(...corrected.sentAsBefore);
    await nextTask(); // SQLite is synchronous: without a pause memory grows, and timers are late
  }
  return sentAsBefore;
}

/**
 * Sends rows as they are now, instead of what was sent before, where no card can come of that.
 * @returns the rows that the outbox does not have, and those of which a card can still come.
 */
export async function correctRows(
  outbox: SqliteOutbox,
  template: string,
  rows: readonly ImportRow[],
): Promise<{ absent: ImportRow[]; sentAsBefore: ImportRow[] }> {
  const results = await outbox.write((database) =>
    rows.map(({ userId, request }) => outbox.correct(database, userId, request, { template })),
  );
  return {
    absent: rows.filter((_, index) => results[index] === "absent"),
    sentAsBefore: rows.filter((_, index) => results[index] === "waiting"),
  };
}

/**
 * How many users who have a card, or may have one, are in the list, and how many are not.
 */
export async function countUsersWithCards(
  outbox: SqliteOutbox,
  index: ListIndex,
): Promise<{ listed: number; others: number }> {
  const users = { listed: 0, others: 0 };
  for await (const entry of outbox.list())
    if (mayHaveCard(entry)) users[index.hasUser(entry.userId) ? "listed" : "others"]++;
  return users;
}

/**
 * Removes what is no longer in the list and was not sent. What was sent keeps its entry, and with
 * it the keys that were used: a row that is put back must not get a second card, and not the
 * response to its earlier form.
 */
export async function removeOthers(
  outbox: SqliteOutbox,
  template: string,
  index: ListIndex,
): Promise<void> {
  for await (const entry of outbox.list())
    if (index.findValidRow(entry.userId) === undefined && isUnsent(entry))
      await outbox.forget(entry.userId, { template });
}

const isUnsent = ({ state, firstAttemptAt }: OutboxEntry): boolean =>
  state === "waiting" && firstAttemptAt === undefined;

const mayHaveCard = (entry: OutboxEntry): boolean => entry.state !== "rejected" && !isUnsent(entry);

/** How many rows have this result, without those that are no longer in the list. */
export async function countListed(
  outbox: SqliteOutbox,
  index: ListIndex,
  state: "rejected" | "unknown",
): Promise<number> {
  let listed = 0;
  for await (const { userId } of outbox.list({ state }))
    if (index.findValidRow(userId) !== undefined) listed++;
  return listed;
}

/** How many rows have a result. */
export const countEnded = ({ issued, rejected, unknown }: OutboxCounts): number =>
  issued + rejected + unknown;

/**
 * Closes the outbox. One that this run created and from which nothing was sent is removed: another
 * run reads the list again. One of an earlier run has the keys of what that run sent.
 */
export async function closeListOutbox(
  outbox: SqliteOutbox,
  file: string,
  isNew: boolean,
): Promise<void> {
  const counts = await outbox.count().catch(() => undefined); // the disk can be full
  await outbox.close();
  if (counts === undefined) return;
  const mayHaveArrived = counts.nextExpiryAt !== undefined; // a request whose outcome is not known
  if (isNew && countEnded(counts) === 0 && !mayHaveArrived) rmSync(file);
}
