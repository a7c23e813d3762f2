/** The outbox of an import: adds the rows of the list to it, and records their results in the tables of the import. */
import { basename } from "node:path";
import { type FileLock, lockFile } from "@loyalty-cards/internal/node-lock";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import {
  type OutboxOutcome,
  type OutboxState,
  type SqliteDatabase,
  type SqliteOutbox,
  sqliteOutbox,
} from "@loyalty-cards/issuing-outbox";
import { CommandError, describeRejection, nameVariables } from "../command-error.ts";
import type { Counts } from "./progress.ts";
import type { SourceRecord } from "./records.ts";
import type { RejectedRow } from "./result-files.ts";
import type { ImportRow, ReadRow } from "./rows.ts";
import { ImportTables, type RunDescription } from "./tables.ts";

/** A row of the list with its request, or a rejected row, which is not sent. */
export type ListRow = Pick<RejectedRow, "line" | "raw"> &
  (ImportRow | { userId?: never; code: string; reason: string });

export function toListRow({ line, raw }: SourceRecord, { row, problems }: ReadRow): ListRow {
  if (row !== undefined) return { line, raw, ...row };
  const found = problems.filter(({ severity }) => severity === "problem");
  return { line, raw, code: String(found[0]?.code), reason: found.map(({ message }) => message).join("; ") };
}

export interface OutboxFileOptions extends RunDescription {
  client: IssuingClient;
  path: string;
  onOutcome: (outcome: OutboxOutcome) => void;
}

const mismatch = {
  code: "idempotency-mismatch",
  reason:
    "The row has changed since it was sent, and its card was or may have been issued. Restore the row, or remove it.",
};
const unknownReason = "The row was sent, and its result is not known: a card may exist. Look in the console.";

export class OutboxFile {
  readonly outbox: SqliteOutbox;
  /** How many rows of this run have which result. */
  readonly counts: Counts = { issued: 0, replayed: 0, rejected: 0, unknown: 0 };
  readonly #options: OutboxFileOptions;
  #tables: ImportTables | undefined;
  #lock: FileLock | undefined;

  constructor(options: OutboxFileOptions) {
    this.#options = options;
    this.outbox = sqliteOutbox({
      client: options.client,
      file: options.path,
      open: openSqlite,
      onIssued: ({ userId, cardId }) => this.tables.recordIssued(userId, cardId),
      onRejected: ({ userId, idempotencyKey, error }) =>
        this.tables.record(userId, "rejected", error.code, describeRejection(error), idempotencyKey),
      onOutcome: (outcome) => {
        const { outcome: name } = outcome;
        if (name === "issued" || name === "rejected" || name === "unknown") this.counts[name]++;
        options.onOutcome(outcome);
      },
      log: () => {}, // the import reports the same in its progress and its result
    });
  }

  get tables(): ImportTables {
    if (this.#tables === undefined) throw new Error("The outbox is not claimed.");
    return this.#tables;
  }

  /** @throws {CommandError} for a file that is not an outbox, that is of another service or list, or that another run uses. */
  async claim(): Promise<void> {
    this.#lock = await lockFile(this.#options.path, "Wait for that run, or stop it.").catch((error) => {
      throw this.#createError(`cannot be used: ${error.message}`);
    });
    this.#lock.announce();
    await this.outbox.count().catch(({ message, cause }: Error) => {
      throw this.#createError(`cannot be used: ${cause instanceof Error ? `${cause.message}.` : message}`);
    });
    this.#tables = await this.outbox.write((database) => {
      // No other run uses the file, so what an earlier one was sending when it was killed is due at once.
      database.exec("UPDATE issuing_outbox_entries SET due = 0 WHERE lease IS NOT NULL");
      const tables = new ImportTables(database);
      const conflict = tables.begin(this.#options);
      if (conflict === undefined) return tables;
      const difference = conflict === "source" ? "source or mapping" : conflict;
      throw this.#createError(
        `is of a run with another ${difference}. Use what that run used, or another file with --outbox.`,
      );
    });
  }

  #createError(problem: string): CommandError {
    return new CommandError(`${basename(this.#options.path)} ${nameVariables(problem)}`);
  }

  async close(): Promise<void> {
    await this.outbox.close();
    this.#lock?.release();
  }

  /** Whether nothing was sent from the file, and no results were written. */
  async isUnused(): Promise<boolean> {
    const { issued, rejected, unknown, nextExpiryAt } = await this.outbox.count();
    return (
      issued + rejected + unknown === 0 && nextExpiryAt === undefined && this.tables.results.length === 0
    );
  }

  /** Adds rows: those that were rejected before are sent again, and those that were edited before they were sent are replaced. */
  async add(rows: readonly ListRow[]): Promise<void> {
    const options = { template: this.#options.template };
    const ends = await this.outbox.write((database) => rows.map((row) => this.#addRow(database, row)));
    for (const [index, end] of ends.entries()) {
      const userId = rows[index]?.userId ?? "";
      if (end === "found") {
        const entry = await this.outbox.get(userId, options);
        await this.outbox.write(() => this.tables.recordIssued(userId, entry?.cardId));
        this.counts.replayed++;
      } else if (end !== "waiting") this.counts[end]++;
    }
  }

  #addRow(database: SqliteDatabase, row: ListRow): keyof Counts | "waiting" | "found" {
    const { template } = this.#options;
    const reject = (why: { code: string; reason: string }) => {
      this.tables.putRejected({ line: row.line, raw: row.raw, ...why });
      return "rejected" as const;
    };
    if (row.userId === undefined) return reject({ code: row.code, reason: row.reason });
    const { userId, request } = row;
    let state: OutboxState | "added";
    try {
      state = this.outbox.add(database, { userId, template, request });
    } catch (error) {
      if (!isIssuingError(error)) throw error;
      return reject({ code: error.code, reason: describeRejection(error) });
    }
    const hash = this.tables.hash(request);
    const known = state === "added" ? undefined : this.tables.find(userId);
    const isEdited = (known?.hash ?? hash) !== hash;
    if (state === "rejected" || isEdited) {
      const correction = this.outbox.correct(database, userId, request, { template });
      // The old row is sent again first, because its card may have been issued: the next run sends the edited one.
      const isLater = state === "rejected" && correction === "waiting";
      if (correction !== "accepted" && !isLater) return reject(mismatch);
    }
    const stored = state === "rejected" || state === "added" ? "waiting" : state;
    this.tables.put({ userId, line: row.line, state: stored, hash, raw: row.raw });
    if (stored !== "issued") return stored;
    return known === undefined ? "found" : "replayed";
  }

  /** Removes the rows that this run has not read from the outbox, unless the service may have received them. */
  async removeOthers(): Promise<void> {
    const options = { template: this.#options.template };
    const remove = async ({ userId }: { userId: string }) => {
      const entry = await this.outbox.get(userId, options);
      if (entry?.firstAttemptAt !== undefined) return;
      await this.outbox.forget(userId, options);
      await this.outbox.write(() => this.tables.remove(userId));
    };
    for (const page of this.tables.readOthers()) await Promise.all(page.map(remove));
  }

  /** Counts the rows of this run again, as they are stored. */
  async recount(): Promise<void> {
    for await (const { userId, idempotencyKey, error } of this.outbox.list({ state: "unknown" })) {
      const code = error?.code === "idempotency-expired" ? error.code : "unknown";
      await this.outbox.write(() =>
        this.tables.record(userId, "unknown", code, unknownReason, idempotencyKey),
      );
    }
    const { waiting: _, issued, ...others } = this.tables.count();
    Object.assign(this.counts, others, { issued: issued - this.counts.replayed });
  }
}
