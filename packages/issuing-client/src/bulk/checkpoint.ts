/** Checkpoints: what a run records about each row, so that another process can resume it; and the form of these records in a file. */
import { hashText } from "./people.ts";

/** What a checkpoint belongs to, each as a hash. A run with another header is another run. */
export interface CheckpointHeader {
  /** Of `description`: the source and how its columns are mapped. */
  description: string;
  /** Of the id of the template. */
  template: string;
  /** Of the `baseUrl` of the client. */
  baseUrl: string;
  /** Of the `idempotencyNamespace` of the client. */
  namespace: string;
}

/** What is known about one row. A later record of the same key replaces the earlier one. */
export interface CheckpointRecord {
  /** Hash of the idempotency key: what identifies the row, whatever its position is. */
  keyHash: string;
  /** Hash of the request. */
  rowHash: string;
  /** When the key was first used, in milliseconds since 1970. */
  firstAttemptAt: number;
  /** Missing in the record that is written before the request is sent; `not-sent` when the run was stopped before it was. */
  outcome?: "issued" | "rejected" | "unknown" | "not-sent";
  /** With `issued`. */
  cardId?: string;
}

/** Where the records of a run are stored: `fileCheckpoint(file)`, or your own, for a database. */
export interface Checkpoint {
  /**
   * Called once per run, before the source is read. Must refuse a checkpoint that another run is using.
   * @throws {CheckpointError}
   */
  open(header: CheckpointHeader): Promise<CheckpointSession>;
}

/** How many rows have which latest record. */
export interface CheckpointCounts {
  issued: number;
  rejected: number;
  unknown: number;
  /** Sent, without a result: by a run that has not ended, or that was killed. */
  running: number;
}

/** A checkpoint in a file. */
export interface FileCheckpoint extends Checkpoint {
  /**
   * Counts the records, also while a run is using the file.
   * @returns undefined when the file does not exist.
   * @throws {CheckpointError} `unreadable` for another file.
   */
  count(): Promise<CheckpointCounts | undefined>;
}

/** A checkpoint in use by one run. */
export interface CheckpointSession {
  /** How many rows have the outcome `issued`, when that is known without a search: for the ETA of a run that is resumed. */
  readonly issued?: number;
  /** The latest record of a key. Called for several keys at once, also while records are appended. */
  find(keyHash: string): CheckpointRecord | undefined | PromiseLike<CheckpointRecord | undefined>;
  /** Stores records, in this order. When the promise resolves they must survive a crash of the machine. */
  append(records: readonly CheckpointRecord[]): Promise<void>;
  /** Called once, also after a failure. */
  close(): Promise<void>;
}

/** A checkpoint cannot be used: `unreadable`, of another run, or in use by a run that has not ended. Nothing was sent. */
export class CheckpointError extends Error {
  override readonly name = "CheckpointError";
  readonly reason: "unreadable" | "other-run" | "in-use";

  constructor(message: string, reason: CheckpointError["reason"]) {
    // Not by formatErrorLink, which this file would share with the client: its import would then load a third file.
    super(`${message} See https://loyalty-cards.github.io/loyalty-cards/errors/checkpoint-${reason}`);
    this.reason = reason;
  }
}

const headerNames: Readonly<Record<keyof CheckpointHeader, string>> = {
  description: "another source or mapping (description)",
  template: "another template",
  baseUrl: "another baseUrl",
  namespace: "another idempotencyNamespace",
};

/** @throws {CheckpointError} `other-run`, naming what differs. */
export function compareHeaders(file: string, stored: CheckpointHeader, own: CheckpointHeader): void {
  const names = Object.keys(headerNames) as (keyof CheckpointHeader)[];
  const differences = names.filter((name) => stored[name] !== own[name]).map((name) => headerNames[name]);
  if (differences.length === 0) return;
  throw new CheckpointError(
    `The checkpoint ${file} is of a run with ${differences.join(" and ")}. Use what that run used, or another checkpoint file.`,
    "other-run",
  );
}

const magic = "loyalty-cards bulk 1";
const magicOfOthers = /"loyalty-cards bulk \d+"/;

/** A line of the file: a checksum, and JSON. */
function formatLine(value: unknown): string {
  const json = JSON.stringify(value);
  return `${toChecksum(json)} ${json}\n`;
}

/** @returns undefined for a line that was not written completely, or was changed. */
function parseLine(line: string): unknown {
  const json = line.slice(line.indexOf(" ") + 1);
  return line.startsWith(`${toChecksum(json)} `) ? JSON.parse(json) : undefined;
}

const toChecksum = (json: string) => hashText(json).toString(36).padStart(11, "0");

export const formatHeader = (header: CheckpointHeader): string => formatLine([magic, header]);

export function parseHeader(line: string): CheckpointHeader | undefined {
  const value = parseLine(line);
  return Array.isArray(value) && value[0] === magic ? value[1] : undefined;
}

/** Whether a first line is the header of another version of this package. */
export const isOtherVersion = (line: string): boolean =>
  magicOfOthers.test(line) && !line.includes(JSON.stringify(magic));

export const formatRecord = ({
  keyHash,
  rowHash,
  firstAttemptAt,
  outcome,
  cardId,
}: CheckpointRecord): string =>
  formatLine([keyHash, rowHash, firstAttemptAt, outcome, cardId].filter((member) => member !== undefined));

export function parseRecord(line: string): CheckpointRecord | undefined {
  const value = parseLine(line);
  if (!Array.isArray(value)) return undefined;
  const [keyHash, rowHash, firstAttemptAt, outcome, cardId] = value;
  return {
    keyHash,
    rowHash,
    firstAttemptAt,
    ...(outcome !== undefined && { outcome }),
    ...(cardId !== undefined && { cardId }),
  };
}

/** Writes records in groups: what is added while one group is written becomes the next. */
export class Journal {
  readonly #session: CheckpointSession | undefined;
  readonly #onError: (error: unknown) => void;
  #pending: { record: CheckpointRecord; whenStored: () => void }[] = [];
  #writing: Promise<void> | undefined;

  /** @param session without one, nothing is stored. @param onError called once; nothing is stored after it. */
  constructor(session: CheckpointSession | undefined, onError: (error: unknown) => void) {
    this.#session = session;
    this.#onError = onError;
  }

  /** Calls `whenStored` when the record is durable; never after an error. */
  add(
    { keyHash, rowHash, firstAttemptAt }: CheckpointRecord,
    result: Pick<CheckpointRecord, "outcome" | "cardId">,
    whenStored: () => void,
  ): void {
    if (this.#session === undefined) {
      whenStored();
      return;
    }
    this.#pending.push({ record: { keyHash, rowHash, firstAttemptAt, ...result }, whenStored });
    this.#writing ??= this.#write(this.#session);
  }

  async #write(session: CheckpointSession): Promise<void> {
    try {
      while (this.#pending.length > 0) {
        await undefined; // what is added in the same turn belongs to the same group
        const group = this.#pending;
        this.#pending = [];
        await session.append(group.map(({ record }) => record));
        for (const { whenStored } of group) whenStored();
      }
      this.#writing = undefined;
    } catch (error) {
      this.#onError(error); // and #writing stays set, so that nothing is written behind an incomplete record
    }
  }

  /** Resolves when all records are durable, or cannot be stored. */
  async settle(): Promise<void> {
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.settle();
    await this.#session?.close();
  }
}
