/** The database files of a machine: connections that can be cut off at any statement, full disks, and what a power failure leaves. */
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Random } from "./random.ts";

interface Statement {
  run(...values: unknown[]): unknown;
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

interface Connection {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): void;
}

const builtin = process.getBuiltinModule("node:sqlite") as
  | { DatabaseSync: new (file: string) => Connection }
  | undefined;
const Sqlite: new (file: string) => Connection =
  builtin?.DatabaseSync ?? createRequire(import.meta.url)("libsql");

/** What a process sees of its files. */
export interface Disk {
  /** Called before and after each statement of a process. Throws when the process has ended. */
  step(sql: string, phase: "before" | "after"): void;
  /** Whether the disk has no space at the moment. */
  isFull(): boolean;
  /** Whether another program, such as a backup, has locked the file. */
  isLocked(): boolean;
  onCommit(): void;
}

/** What was read from a file since the last write. Most of the time programs look whether anything is due. */
const cachedReads = new Map<string, Map<string, unknown>>();

/** Sizes of the log that a power failure leaves at least, by file. */
const syncedBytes = new Map<string, number>();

export class SimulatedDatabase {
  readonly file: string;
  readonly #disk: Disk;
  readonly #connection: Connection;
  #isDurable = false;
  #isInTransaction = false;
  /** Opening a locked file blocks the process, which has no place in virtual time: locks begin later. */
  #isOpen = false;

  constructor(file: string, disk: Disk) {
    this.file = file;
    this.#disk = disk;
    this.#connection = new Sqlite(file);
  }

  exec(sql: string): unknown {
    const mode = /PRAGMA synchronous = (\w+)/.exec(sql)?.[1];
    if (mode !== undefined) this.#isDurable = mode === "FULL" || mode === "EXTRA";
    return this.#run(sql, () => this.#connection.exec(sql));
  }

  prepare(sql: string): Statement {
    const statement = this.#connection.prepare(sql);
    const toKey = (method: string, values: unknown[]) =>
      sql.startsWith("SELECT") ? `${method} ${sql} ${values.join("\u0000")}` : undefined;
    return {
      run: (...values) => this.#run(sql, () => statement.run(...values)),
      get: (...values) => this.#run(sql, () => toPlain(statement.get(...values)), toKey("get", values)),
      all: (...values) => this.#run(sql, () => statement.all(...values).map(toPlain), toKey("all", values)),
    };
  }

  /** Runs a statement. What it read is returned again until something is written to the file, or in a transaction. */
  #readCached<Result>(key: string | undefined, run: () => Result): Result {
    if (key === undefined || this.#isInTransaction) return run();
    const reads = cachedReads.get(this.file);
    if (reads?.has(key)) return copyRows(reads.get(key) as Result);
    const result = run();
    if (reads === undefined) cachedReads.set(this.file, new Map([[key, result]]));
    else reads.set(key, result);
    return copyRows(result);
  }

  /** @param key the statement with its values, if it only reads. */
  #run<Result>(sql: string, run: () => Result, key?: string): Result {
    this.#disk.step(sql, "before");
    const isCommit = sql === "COMMIT";
    if (sql === "BEGIN IMMEDIATE" && this.#isOpen && this.#disk.isLocked())
      throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY", errcode: 5 });
    if (isCommit && this.#disk.isFull()) {
      this.#connection.exec("ROLLBACK"); // as SQLite does
      this.#isInTransaction = false;
      throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL", errcode: 13 });
    }
    if (sql.startsWith("BEGIN")) this.#isInTransaction = true;
    if (key === undefined && !sql.startsWith("PRAGMA")) cachedReads.delete(this.file);
    const result = this.#readCached(key, run);
    if (isCommit || sql === "ROLLBACK") this.#isInTransaction = false;
    if (isCommit) {
      this.#isOpen = true;
      if (this.#isDurable) syncedBytes.set(this.file, getSize(`${this.file}-wal`));
      this.#disk.onCommit();
    }
    this.#disk.step(sql, "after");
    return result;
  }

  /** What the operating system does for a process that has ended. */
  abandon(): void {
    try {
      this.#connection.exec("ROLLBACK");
    } catch {} // no transaction is open
    this.#connection.close();
  }

  close(): void {
    this.#connection.close();
  }
}

const copyRows = <Result>(result: Result): Result =>
  (Array.isArray(result) ? result.map((row) => ({ ...row })) : result && { ...result }) as Result;

/** `_metadata` is added by one of the bindings. */
const toPlain = (row: unknown) => {
  if (typeof row !== "object" || row === null) return row;
  const { _metadata, ...plain } = row as Record<string, unknown>;
  return plain;
};

const getSize = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Cuts the power: everything that was synced stays. Of the rest of the log a random part is on the disk, and the last frame may be torn.
 * @param closeAll closes the connections of the machine, whose checkpoints are then undone.
 */
export function cutPower(file: string, random: Random, closeAll: () => void): void {
  const log = `${file}-wal`;
  cachedReads.delete(file);
  const copy = `${file}-copy`;
  copyFileSync(file, copy);
  const frames = getSize(log) > 0 ? readFileSync(log) : Buffer.alloc(0);
  closeAll();
  const synced = Math.min(syncedBytes.get(file) ?? 0, frames.length);
  const length = random.integer(synced, frames.length);
  const left = Buffer.from(frames.subarray(0, length));
  if (length > synced && random.chance(0.5)) left.fill(0, Math.max(synced, length - 100));
  copyFileSync(copy, file); // the file keeps its inode number
  rmSync(copy);
  rmSync(`${file}-shm`, { force: true });
  writeFileSync(log, left);
}

/** Reads rows of a database between two events of the world. */
export function readRows(file: string, sql: string): Record<string, unknown>[] {
  const connection = new Sqlite(file);
  try {
    return connection.prepare(sql).all().map(toPlain) as Record<string, unknown>[];
  } catch {
    return []; // the table does not exist in this shop, or not yet
  } finally {
    connection.close();
  }
}
