/** The outbox of an import, in a file beside the list: one run at a time uses it, and it gets the rows of the list. */
import { rmSync } from "node:fs";
import { type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import type { OutboxCounts, SqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { CommandError } from "../command-error.ts";
import { type ImportRow, type ListIndex, toUserKey } from "./rows.ts";

/** Opens a file with SQLite's own lock, which is held until the file is closed or the process ends. */
export const openForOneRun: OpenSqlite = (file) => {
  const database = openSqlite(file);
  database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    close() {
      // The connection of libsql is open until its statements are garbage, so the lock is released before.
      database.exec(
        "PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL; SELECT 1 FROM sqlite_master",
      );
      database.close();
    },
  };
};

/** @throws for a file that is not an outbox, that another run uses, or that is of another service or template. */
export async function claim(outbox: SqliteOutbox, name: string, template: string): Promise<void> {
  await outbox.write((database) => {
    // No other run uses the file: what an earlier one was sending when it was killed is due at once.
    database.exec("UPDATE issuing_outbox_entries SET due = 0 WHERE lease IS NOT NULL");
  });
  for await (const entry of outbox.list({ limit: 1 }))
    if (entry.template !== template)
      throw new CommandError(
        `${name} has the cards of template ${entry.template}: use that template, or move the file away.`,
      );
}

/**
 * Adds the rows. A row that the outbox has gets the form of the list, unless the service may have received the old one; what was
 * rejected is sent again.
 */
export async function addRows(
  outbox: SqliteOutbox,
  template: string,
  rows: AsyncIterable<ImportRow>,
): Promise<void> {
  let batch: ImportRow[] = [];
  async function flush() {
    const states = await outbox.write((database) =>
      batch.map(({ userId, request }) => outbox.correct(database, userId, request, { template })),
    );
    const added = batch.filter((_, at) => states[at] === "absent");
    await outbox.addAll(added.map((row) => ({ ...row, template })));
    batch = [];
  }
  for await (const row of rows) if (batch.push(row) === 200) await flush();
  await flush();
}

/** Removes what is no longer in the list, unless there is a card or the service may still issue one. */
export async function removeOthers(outbox: SqliteOutbox, template: string, index: ListIndex): Promise<void> {
  for await (const { userId, state, firstAttemptAt } of outbox.list()) {
    const isStarted = state === "waiting" && firstAttemptAt !== undefined;
    if (state !== "issued" && !isStarted && index.find(toUserKey(userId)) === undefined)
      await outbox.forget(userId, { template });
  }
}

/** Whether nothing was sent that the service may have received. */
export const isUnused = ({ issued, rejected, unknown, nextExpiryAt }: OutboxCounts): boolean =>
  issued + rejected + unknown === 0 && nextExpiryAt === undefined;

/** Closes the outbox. An unused one is removed: another run reads the list again. */
export async function closeOutbox(outbox: SqliteOutbox, file: string): Promise<void> {
  const counts = await outbox.count().catch(() => undefined); // the disk can be full
  await outbox.close();
  if (counts !== undefined && isUnused(counts)) rmSync(file);
}
