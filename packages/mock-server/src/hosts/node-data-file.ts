/** Keeps a service in a file: a line of JSON for everything that changed at once, and now and then the whole anew. */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  type ChangeLog,
  createChangeLog,
  createSavedReader,
  headerOf,
  type Saved,
  wholeRecords,
} from "../saved.ts";
import type { ServiceCore } from "../service.ts";
import { type DataLock, lockDataFile } from "./node-data-lock.ts";

/** A file is written anew when it has grown by as much as it was, and by this at least. */
const leastGrowthBytes = 4 * 1024 * 1024;
const bufferedBytes = 1024 * 1024;

export interface TakenDataFile {
  /** What is in the file; undefined when there is none. */
  saved: Saved | undefined;
  /** Writes everything to it from now on. */
  keep(core: ServiceCore): DataFile;
  announce(url: string): void;
  release(): void;
}

/** Takes a file for this server alone, and reads it. @throws {Error} that names the file when it cannot be used. */
export async function takeDataFile(name: string): Promise<TakenDataFile> {
  let lock: DataLock | undefined;
  try {
    const file = realNameOf(name);
    lock = await lockDataFile(file);
    return { ...lock, saved: readDataFile(file), keep: (core) => openDataFile(file, core) };
  } catch (error) {
    lock?.release();
    throw new Error(`--data ${name} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** One name for a file, whichever way leads to it. */
function realNameOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return join(realpathSync(dirname(file)), basename(file));
  }
}

function readDataFile(file: string): Saved | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const [first, ...others] = linesOf(bytes);
  if (first === undefined) throw new TypeError("it is empty.");
  const reader = createSavedReader(parsed(first));
  for (const [index, line] of others.entries()) {
    try {
      reader.read(parsed(line));
    } catch (error) {
      throw new TypeError(
        `line ${index + 2} is damaged: ${(error as Error).message} The file is left as it is.`,
      );
    }
  }
  return reader.saved();
}

/** What follows the last end of a line was being written when the process was killed, and nobody was told of it. */
function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let at = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, at)) {
    lines.push(bytes.subarray(at, end));
    at = end + 1;
  }
  return lines.length === 0 && bytes.length > 0 ? [bytes] : lines; // version 1 was one line without an end
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    throw new TypeError("it is not JSON.");
  }
}

export interface DataFile {
  /** Writes what changed and is not written yet. @throws the system's error when it cannot be. */
  flush(): void;
  /** Writes the rest, and nothing from then on. */
  close(): void;
}

/**
 * Writes at the end of each step of the program in which something changed, so that it is in the file before a response
 * or a webhook tells of it. Writes all of it at once, so that a folder that cannot be written is found at the start.
 */
function openDataFile(file: string, { worlds, settings }: ServiceCore): DataFile {
  let descriptor: number | undefined;
  let [wholeBytes, grownBytes] = [0, 0];
  /** What is at the end of the file is not known. */
  let isTorn = false;
  let isClosed = false;
  let isDue = false;
  const changes: ChangeLog = createChangeLog(worlds, () => {
    if (isDue || isClosed) return;
    isDue = true;
    queueMicrotask(() => {
      isDue = false;
      try {
        flush();
      } catch {
        // whoever responds next is told
      }
    });
  });

  function flush(): void {
    if (isClosed) return;
    const records = changes.records();
    if (records.length === 0 && !isTorn) return;
    if (isTorn || descriptor === undefined || grownBytes > Math.max(leastGrowthBytes, wholeBytes))
      writeAnew();
    else append(descriptor, records.map(lineOf).join(""));
    changes.clear();
  }

  function append(to: number, text: string): void {
    const bytes = Buffer.from(text);
    try {
      writeFileSync(to, bytes);
    } catch (error) {
      isTorn = true;
      throw error;
    }
    grownBytes += bytes.length;
  }

  /** Beside it, to the disk, and then in its place: whoever reads sees the old file or the new one. */
  function writeAnew(): void {
    const draft = `${file}.tmp`;
    const drafted = openSync(draft, "w", 0o600);
    try {
      let length = 0;
      for (const text of inPieces(everything())) {
        const bytes = Buffer.from(text);
        writeFileSync(drafted, bytes);
        length += bytes.length;
      }
      fsyncSync(drafted);
      if (descriptor !== undefined) closeSync(descriptor); // Windows replaces no file that is open
      descriptor = undefined;
      renameSync(draft, file);
      [wholeBytes, grownBytes, isTorn] = [length, 0, false];
    } catch (error) {
      closeSync(drafted);
      rmSync(draft, { force: true });
      throw error;
    }
    descriptor = drafted;
    syncFolder(dirname(file));
  }

  function* everything(): Generator<unknown> {
    yield headerOf(settings);
    yield* wholeRecords(worlds);
  }

  writeAnew();
  changes.clear();
  return {
    flush,
    close() {
      if (isClosed) return;
      try {
        flush();
        if (descriptor !== undefined) fsyncSync(descriptor);
      } finally {
        isClosed = true;
        if (descriptor !== undefined) closeSync(descriptor);
      }
    },
  };
}

const lineOf = (record: unknown) => `${JSON.stringify(record)}\n`;

function* inPieces(records: Iterable<unknown>): Generator<string> {
  let text = "";
  for (const record of records) {
    text += lineOf(record);
    if (text.length < bufferedBytes) continue;
    yield text;
    text = "";
  }
  yield text;
}

/** So that the new name outlives a power cut. Where folders cannot be opened, the system sees to it. */
function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // as above
  }
}
