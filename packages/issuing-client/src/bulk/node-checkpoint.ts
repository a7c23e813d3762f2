/** The checkpoint in a file: reads and repairs it, finds records by key, and appends records durably. */
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, realpathSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { FileInUseError, lockFile } from "@loyalty-cards/internal/node-lock";
import {
  type CheckpointCounts,
  CheckpointError,
  type CheckpointHeader,
  type CheckpointRecord,
  type CheckpointSession,
  compareHeaders,
  formatHeader,
  formatRecord,
  isOtherVersion,
  parseHeader,
  parseRecord,
} from "./checkpoint.ts";
import { HashTable, hashText } from "./people.ts";

/** A longer line is not a record. */
const maxLineBytes = 64 * 1024;
const chunkBytes = 1024 * 1024;
const newline = 10;

/** @throws {CheckpointError} when the file cannot be used; it is left as it is. */
export async function openFile(name: string, header: CheckpointHeader): Promise<CheckpointSession> {
  const file = resolveFile(name);
  const lock = await lockFile(file, "Wait for that run, or stop it.").catch((error: Error) => {
    if (!(error instanceof FileInUseError)) throw error;
    throw new CheckpointError(`The checkpoint ${name} cannot be used: ${error.message}`, "in-use");
  });
  try {
    lock.announce();
    const handle = await open(file, "a+", 0o600);
    try {
      const content = readContent(handle.fd, name, header);
      if (content.endsAt === 0) await createFile(handle, file, header);
      return new FileSession(handle, content, () => lock.release());
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The same name for a file, whatever path leads to it. */
function resolveFile(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return join(realpathSync(dirname(file)), basename(file));
  }
}

async function createFile(handle: FileHandle, file: string, header: CheckpointHeader): Promise<void> {
  await handle.appendFile(formatHeader(header));
  await handle.sync();
  try {
    const folder = openSync(dirname(file), "r");
    fsyncSync(folder); // so that the new name survives a crash of the machine
    closeSync(folder);
  } catch {
    // Windows cannot sync folders
  }
}

interface Content {
  /** Where the next record is written: behind the last complete one. 0 for a new file. */
  endsAt: number;
  /** The position of the latest record of a key, by the hash of its `keyHash`. */
  positions: HashTable;
  issued: number;
}

/** Reads the whole file. An incomplete end, which a crash left, is cut off. @throws {CheckpointError} */
function readContent(descriptor: number, name: string, header: CheckpointHeader): Content {
  const content: Content = { endsAt: 0, positions: new HashTable(), issued: 0 };
  const { size } = fstatSync(descriptor);
  let damagedLine: number | undefined;
  let number = 0;
  let start = 0;
  for (const line of readLines(descriptor)) {
    number += 1;
    const text = line.toString("utf8");
    const next = start + line.length + 1;
    const isComplete = next <= size;
    if (number === 1) {
      const stored = isComplete ? parseHeader(text) : undefined;
      if (stored === undefined && !(formatHeader(header).startsWith(text) && !isComplete))
        throw unusable(name, text);
      if (stored !== undefined) {
        compareHeaders(name, stored, header);
        content.endsAt = next;
      }
    } else {
      const record = isComplete ? parseRecord(text) : undefined;
      if (record === undefined) damagedLine ??= number;
      else if (damagedLine !== undefined) throw unreadable(name, damagedLine);
      else {
        content.positions.set(hashText(record.keyHash), start);
        if (record.outcome === "issued") content.issued += 1;
        content.endsAt = next;
      }
    }
    start = next;
  }
  ftruncateSync(descriptor, content.endsAt);
  return content;
}

/** @param header the first line. */
const unusable = (name: string, header: string) =>
  new CheckpointError(
    isOtherVersion(header)
      ? `The checkpoint ${name} was written by another version of @loyalty-cards/issuing-client. Resume the run with that version; the file is left as it is.`
      : `The file ${name} is not a checkpoint. Use another name for the checkpoint; the file is left as it is.`,
    "unreadable",
  );

const unreadable = (name: string, line: number) =>
  new CheckpointError(
    `The checkpoint ${name} is damaged in line ${line}. Restore it from a copy. Without it, a new run within 24 hours of the first one gets the same cards with the same keys.`,
    "unreadable",
  );

/** @returns undefined when there is no file. @throws {CheckpointError} `unreadable` */
export function countRecords(name: string): CheckpointCounts | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(name, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const states = ["issued", "rejected", "unknown", "running"] as const;
    const counts: CheckpointCounts = { issued: 0, rejected: 0, unknown: 0, running: 0 };
    const latest = new HashTable();
    let number = 0;
    for (const line of readLines(descriptor)) {
      number += 1;
      const text = line.toString("utf8");
      if (number === 1 && parseHeader(text) === undefined) throw unusable(name, text);
      const record = number === 1 ? undefined : parseRecord(text);
      if (record === undefined) continue; // the header, or the end of a file that a run is writing
      const hash = hashText(record.keyHash);
      const before = states[latest.get(hash) ?? -1];
      const state = states.findIndex((name) => name === (record.outcome ?? "running"));
      const now = states[state]; // undefined for a row that was not sent
      if (before !== undefined) counts[before] -= 1;
      if (now !== undefined) counts[now] += 1;
      latest.set(hash, state);
    }
    return counts;
  } finally {
    closeSync(descriptor);
  }
}

/** The lines of a file without their ends, the last one also when it has no end. */
function* readLines(descriptor: number): Generator<Buffer> {
  let rest = Buffer.alloc(0);
  const chunk = Buffer.alloc(chunkBytes);
  let position = 0;
  for (;;) {
    const length = readSync(descriptor, chunk, 0, chunkBytes, position);
    if (length === 0) break;
    position += length;
    rest = Buffer.concat([rest, chunk.subarray(0, length)]);
    let start = 0;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline, start)) {
      yield rest.subarray(start, end);
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length <= maxLineBytes) continue;
    yield rest;
    rest = Buffer.alloc(0);
  }
  if (rest.length > 0) yield rest;
}

class FileSession implements CheckpointSession {
  readonly issued: number;
  readonly #handle: FileHandle;
  readonly #positions: HashTable;
  readonly #release: () => void;
  readonly #buffer = Buffer.alloc(maxLineBytes);
  #endsAt: number;

  constructor(handle: FileHandle, { endsAt, positions, issued }: Content, release: () => void) {
    this.#handle = handle;
    this.#endsAt = endsAt === 0 ? fstatSync(handle.fd).size : endsAt;
    this.#positions = positions;
    this.#release = release;
    this.issued = issued;
  }

  find(keyHash: string): CheckpointRecord | undefined {
    const position = this.#positions.get(hashText(keyHash));
    const record = position === undefined ? undefined : this.#readRecord(position);
    return record?.keyHash === keyHash ? record : undefined;
  }

  #readRecord(position: number): CheckpointRecord | undefined {
    for (const bytes of [512, maxLineBytes]) {
      const length = readSync(this.#handle.fd, this.#buffer, 0, bytes, position);
      const end = this.#buffer.subarray(0, length).indexOf(newline);
      if (end >= 0) return parseRecord(this.#buffer.toString("utf8", 0, end));
    }
    return undefined;
  }

  async append(records: readonly CheckpointRecord[]): Promise<void> {
    const lines = records.map(formatRecord);
    await this.#handle.appendFile(lines.join(""));
    await this.#handle.datasync();
    for (const [index, { keyHash }] of records.entries()) {
      this.#positions.set(hashText(keyHash), this.#endsAt);
      this.#endsAt += Buffer.byteLength(lines[index] ?? "");
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
    this.#release();
  }
}
