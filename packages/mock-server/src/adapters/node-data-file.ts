/** Data file: appends each change as a line of JSON, and rewrites the file when it has grown. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
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
  type FileLock,
  isOthers,
  isSame,
  lockFile,
  lstat,
  noFollow,
} from "@loyalty-cards/internal/node-lock";
import {
  type ChangeLog,
  createAllRecords,
  createChangeLog,
  createHeader,
  createSavedReader,
  type Saved,
} from "../sandbox/saved-state.ts";
import type { ServiceCore } from "../service.ts";

/** The file is rewritten when it has doubled, and has grown by at least this much. */
const minGrowthBytes = 4 * 1024 * 1024;
const bufferedBytes = 1024 * 1024;

export interface LockedDataFile {
  /** The content of the file; undefined when it does not exist. */
  saved: Saved | undefined;
  /** Starts writing all changes to the file. */
  open(core: ServiceCore): DataFile;
  announce(url: string): void;
  release(): void;
}

/** Locks a file for this server, and reads it. @throws {Error} that names the file when it cannot be used. */
export async function lockAndReadDataFile(name: string): Promise<LockedDataFile> {
  let lock: FileLock | undefined;
  try {
    const file = resolveFile(name);
    lock = await lockFile(file, "Stop that server, or use another file.");
    const { temporaryFile, announce, release } = lock;
    const { identity, saved } = readDataFile(file);
    return { saved, announce, release, open: (core) => openDataFile(file, identity, temporaryFile, core) };
  } catch (error) {
    lock?.release();
    throw new Error(`--data ${name} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** The real path of a file, which may not exist yet. Follows a symbolic link only if this user created it. */
function resolveFile(file: string): string {
  const found = lstat(file);
  if (found === undefined) return join(realpathSync(dirname(file)), basename(file));
  if (found.isSymbolicLink() && isOthers(found)) throw new Error("it is a symbolic link of another user.");
  try {
    return realpathSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new Error("it is a symbolic link to a file that does not exist.");
  }
}

/** `identity` and `saved` are undefined when the file does not exist. */
function readDataFile(file: string): { identity?: BigIntStats; saved?: Saved } {
  let bytes: Buffer;
  let identity: BigIntStats;
  try {
    const descriptor = openSync(file, constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0));
    try {
      identity = fstatSync(descriptor, { bigint: true });
      if (!identity.isFile()) throw new Error("it is not a regular file."); // reading from a pipe would wait
      bytes = readFileSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  const [first, ...others] = splitLines(bytes);
  if (first === undefined) throw new TypeError("it is empty.");
  const reader = createSavedReader(parseLine(first));
  for (const [index, line] of others.entries()) {
    try {
      reader.read(parseLine(line));
    } catch (error) {
      throw new TypeError(
        `line ${index + 2} is damaged: ${(error as Error).message} The file is left as it is.`,
      );
    }
  }
  return { identity, saved: reader.getSaved() };
}

/** Ignores an incomplete last line: the process was killed while it was written, and no response reported the change. */
function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let at = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, at)) {
    lines.push(bytes.subarray(at, end));
    at = end + 1;
  }
  return lines.length === 0 && bytes.length > 0 ? [bytes] : lines; // no line end: the whole file is one line, which is rejected later as an unknown format
}

function parseLine(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    throw new TypeError("it is not JSON.");
  }
}

export interface DataFile {
  /** Writes the changes that are not written yet. @throws the error of the file system. */
  flush(): void;
  /** Writes the remaining changes, and stops writing. */
  close(): void;
}

/**
 * Writes the changes of each task in a microtask, so that they are in the file before a response or a webhook reports
 * them. Rewrites the file at the start, so that a folder without write permission is reported at once.
 */
function openDataFile(
  file: string,
  identityBefore: BigIntStats | undefined,
  temporaryFile: string,
  { sandboxes, settings }: ServiceCore,
): DataFile {
  let identity = identityBefore;
  let descriptor: number | undefined;
  let [wholeBytes, grownBytes] = [0, 0];
  /** A write failed, so the end of the file is unknown. */
  let isDamaged = false;
  let isClosed = false;
  let isFlushScheduled = false;
  const changes: ChangeLog = createChangeLog(sandboxes, () => {
    if (isFlushScheduled || isClosed) return;
    isFlushScheduled = true;
    queueMicrotask(() => {
      isFlushScheduled = false;
      try {
        flush();
      } catch {
        // the next flush() before a response throws it
      }
    });
  });

  function flush(): void {
    if (isClosed) return;
    const records = changes.records();
    if (records.length === 0 && !isDamaged) return;
    if (isDamaged || descriptor === undefined || grownBytes > Math.max(minGrowthBytes, wholeBytes)) rewrite();
    else append(descriptor, records.map(formatLine).join(""));
    changes.clear();
  }

  function append(to: number, text: string): void {
    const bytes = Buffer.from(text);
    try {
      writeFileSync(to, bytes);
    } catch (error) {
      isDamaged = true;
      throw error;
    }
    grownBytes += bytes.length;
  }

  /** Writes a temporary file, syncs it, and renames it: a reader sees the old file or the new one. Throws when another program has replaced the file. */
  function rewrite(): void {
    const created = openSync(temporaryFile, "wx", 0o600); // "x" does not follow symbolic links
    try {
      let length = 0;
      for (const text of inChunks(createRecords())) {
        const bytes = Buffer.from(text);
        writeFileSync(created, bytes);
        length += bytes.length;
      }
      fsyncSync(created);
      if (descriptor !== undefined) identity = fstatSync(descriptor, { bigint: true });
      const found = lstat(file);
      if (found !== undefined && (identity === undefined || !isSame(found, identity)))
        throw new Error(
          `${file} was replaced by another program. It is left as it is; restart the server to use it.`,
        );
      if (descriptor !== undefined) closeSync(descriptor); // Windows cannot replace an open file
      descriptor = undefined;
      renameSync(temporaryFile, file);
      [wholeBytes, grownBytes, isDamaged] = [length, 0, false];
    } catch (error) {
      closeSync(created);
      rmSync(temporaryFile, { force: true });
      throw error;
    }
    descriptor = created;
    syncFolder(dirname(file));
  }

  function* createRecords(): Generator<unknown> {
    yield createHeader(settings);
    yield* createAllRecords(sandboxes);
  }

  rewrite();
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

const formatLine = (record: unknown) => `${JSON.stringify(record)}\n`;

function* inChunks(records: Iterable<unknown>): Generator<string> {
  let text = "";
  for (const record of records) {
    text += formatLine(record);
    if (text.length < bufferedBytes) continue;
    yield text;
    text = "";
  }
  yield text;
}

/** Makes the new name survive a power failure. Not needed where folders cannot be opened. */
function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // not supported here
  }
}
