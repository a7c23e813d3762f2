/** Keeps a service in a file: read at the start, written whole after every change, never half. */
import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { checkedSaved, type Saved } from "../saved.ts";

/** What is in the file; undefined when there is none. @throws {Error} that names the file when it cannot be used. */
export function readDataFile(file: string): Saved | undefined {
  try {
    return checkedSaved(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const reason = error instanceof SyntaxError ? "it is not JSON." : (error as Error).message;
    throw new Error(`--data ${file} cannot be used: ${reason}`);
  }
}

export interface DataFile {
  /** Something changed. */
  touch(): void;
  /** Resolves when everything that had changed is on the disk. @throws the system's error when it cannot be. */
  written(): Promise<void>;
}

/** One write at a time; what changes during one is in the next, however often it changes. */
export function dataFile(file: string, content: () => Saved): DataFile {
  let isStale = false;
  let writing: Promise<void> | undefined;
  /** The write after that one. */
  let queued: Promise<void> | undefined;

  async function write(): Promise<void> {
    queued = undefined;
    isStale = false;
    const own = replaceFile(file, JSON.stringify(content()));
    writing = own;
    try {
      await own;
    } catch (error) {
      isStale = true;
      throw error;
    } finally {
      if (writing === own) writing = undefined;
    }
  }

  function written(): Promise<void> {
    if (!isStale) return queued ?? writing ?? Promise.resolve();
    queued ??= (writing ?? Promise.resolve()).catch(() => {}).then(write);
    return queued;
  }

  return {
    touch() {
      isStale = true;
      written().catch(() => {}); // whoever waits for it is told
    },
    written,
  };
}

/** Beside it, to the disk, and then in its place: whoever reads sees the old file or the new one. */
async function replaceFile(file: string, content: string): Promise<void> {
  const draft = `${file}.tmp`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncFolder(dirname(file));
}

/** So that the new name outlives a power cut. Where folders cannot be opened, the system sees to it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  try {
    await handle?.sync();
  } catch {
    // as above
  } finally {
    await handle?.close();
  }
}
