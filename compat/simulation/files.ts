/**
 * The machines and their database files: statements at which a process can end, locked files, full
 * disks, and power failures.
 */
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import {
  openSqlite,
  rollBack,
  type SqliteStatement,
} from "@loyalty-cards/internal/sqlite/database-node";
import type { Random } from "./world.ts";

type Row = Record<string, unknown>;

/** A machine: its clock, and the database file of the processes on it. */
export class Machine {
  readonly name: string;
  readonly file: string;
  /** How far its clock is from the real time. */
  clockErrorMs = 0;
  /** Whether the disk has no space at the moment. */
  isDiskFull = false;
  /** Whether another program, such as a backup, has locked the file. */
  isFileLocked = false;
  /** The size of the log that a power failure leaves at least. */
  syncedBytes = 0;
  #reader: ReturnType<typeof openSqlite> | undefined;

  constructor(name: string, file = "") {
    this.name = name;
    this.file = file;
  }

  /**
   * Reads rows between two events of the world, after the troubles: a power failure does not close
   * this connection.
   */
  readRows(sql: string): Row[] {
    this.#reader ??= openSqlite(this.file);
    try {
      return this.#reader.prepare(sql).all() as Row[];
    } catch {
      return []; // the table does not exist in this shop, or not yet
    }
  }

  close(): void {
    this.#reader?.close();
  }

  /**
   * Cuts the power: everything that was synced stays. Of the rest of the log a random part is on
   * the disk, and the last frame may be torn.
   * @param closeAll closes the connections, whose checkpoints are then undone.
   */
  cutPower(random: Random, closeAll: () => void): void {
    const [log, copy] = [`${this.file}-wal`, `${this.file}-copy`];
    copyFileSync(this.file, copy);
    const frames = getSize(log) > 0 ? readFileSync(log) : Buffer.alloc(0);
    closeAll();
    const synced = Math.min(this.syncedBytes, frames.length);
    const left = frames.subarray(0, random.integer(synced, frames.length));
    if (left.length > synced && random.chance(0.5))
      left.fill(0, Math.max(synced, left.length - 100));
    copyFileSync(copy, this.file); // the file keeps its inode number
    rmSync(copy);
    rmSync(`${this.file}-shm`, { force: true });
    writeFileSync(log, left);
  }
}

/** The process that opened a database. */
interface Owner {
  readonly machine: Machine;
  readonly databases: Set<SimulatedDatabase>;
  /** @throws when the process has ended, or ends here. */
  effect(): void;
  log(what: string): void;
}

export class SimulatedDatabase {
  readonly #owner: Owner;
  readonly #connection;
  #isDurable = false;
  #isInTransaction = false;
  /** Whether the program has opened the file: until then it waits in real time for a lock. */
  #isOpen = false;

  constructor(owner: Owner, file: string) {
    owner.effect();
    this.#owner = owner;
    this.#connection = openSqlite(file);
    owner.databases.add(this);
  }

  /** As the bindings have it. */
  get inTransaction(): boolean {
    return this.#isInTransaction;
  }

  exec(sql: string): unknown {
    const mode = /PRAGMA synchronous = (\w+)/.exec(sql)?.[1];
    if (mode !== undefined) this.#isDurable = mode === "FULL" || mode === "EXTRA";
    return this.#run(sql, () => this.#connection.exec(sql));
  }

  prepare(sql: string): SqliteStatement {
    this.#isOpen ||= sql.startsWith("SELECT") && !sql.includes("sqlite_master");
    const statement = this.#connection.prepare(sql);
    return {
      run: (...values) => this.#run(sql, () => statement.run(...values)),
      get: (...values) => this.#run(sql, () => statement.get(...values)),
      all: (...values) => this.#run(sql, () => statement.all(...values)),
    };
  }

  #run<Result>(sql: string, run: () => Result): Result {
    const { machine } = this.#owner;
    this.#owner.effect();
    /** A statement outside of a transaction is one. */
    const isWhole = !this.#isInTransaction && changing.test(sql);
    if ((sql === "BEGIN IMMEDIATE" || isWhole) && this.#isOpen && machine.isFileLocked)
      throw fileLocked();
    if ((sql === "COMMIT" || isWhole) && machine.isDiskFull) {
      if (!isWhole) this.#connection.exec("ROLLBACK"); // as SQLite does
      this.#isInTransaction = false;
      throw Object.assign(new Error("database or disk is full"), {
        code: "SQLITE_FULL",
        errcode: 13,
      });
    }
    const result = run();
    if (sql.startsWith("BEGIN")) this.#isInTransaction = true;
    if (sql === "COMMIT" || sql === "ROLLBACK") this.#isInTransaction = false;
    if ((sql === "COMMIT" || isWhole) && this.#isDurable)
      machine.syncedBytes = getSize(`${machine.file}-wal`);
    if (sql === "COMMIT") this.#owner.log("commits");
    this.#owner.effect();
    return result;
  }

  /** What the operating system does for a process that has ended. */
  abandon(): void {
    rollBack(this.#connection);
    this.close();
  }

  close(): void {
    this.#owner.databases.delete(this);
    this.#connection.close();
  }
}

const changing = /\b(INSERT|UPDATE|DELETE|CREATE)\b/;

const fileLocked = () =>
  Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY", errcode: 5 });

const getSize = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
