/** Locks a file for one process at a time. Each process writes an entry beside the file, and looks for entries of running ones. */
import { randomUUID } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface FileLock {
  /** Writes into the entry since when the file is used, and the address of a server, for the error message of others. */
  announce(url?: string): void;
  release(): void;
}

/** Another process, or another part of this one, uses the file. */
export class FileInUseError extends Error {}

const attempts = 10;
const heartbeatMs = 1_000;
const silenceMs = 4_000;

/**
 * Writes its own entry, then looks for others: when two processes start at the same time, at least one sees the
 * other. Entries of processes that have ended are removed, so that nothing must be cleaned up after SIGKILL.
 * @param advice what to do, for the message of the error.
 * @throws {FileInUseError} that names the process that has the lock.
 */
export async function lockFile(file: string, advice: string): Promise<FileLock> {
  const folder = `${file}.lock`;
  const own = `${process.pid}_${readStart(process.pid)?.ticks ?? ""}_${here}_${randomUUID().slice(0, 8)}`;
  const entry = join(folder, own);
  const since = new Date().toISOString();
  const release = () => {
    rmSync(entry, { force: true });
    try {
      rmdirSync(folder);
    } catch {
      // it contains the entry of another process
    }
  };
  for (let attempt = 1; ; attempt++) {
    if (!createEntry(folder, entry)) continue;
    const other = await findRunningOther(folder, own);
    if (other === undefined) break;
    release();
    const { url, since: otherSince } = readEntry(join(folder, other));
    if (otherSince !== undefined || attempt === attempts) {
      const where = url === undefined ? "" : `at ${url} `;
      const when = otherSince === undefined ? "which is starting" : `${where}since ${otherSince}`;
      throw new FileInUseError(
        `process ${other.split("_")[0]} has it, ${when}. ${advice} (${folder} says so.)`,
      );
    }
    await pause(50 + Math.random() * 200); // it is starting too, and may have seen this entry
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(entry, now, now);
    } catch {
      // the entry was removed
    }
  }, heartbeatMs);
  heartbeat.unref();
  return {
    announce: (url) => writeFileSync(entry, JSON.stringify({ url, since })),
    release() {
      clearInterval(heartbeat);
      release();
    },
  };
}

/** Returns false when another process removed the folder in the meantime. */
function createEntry(folder: string, entry: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  try {
    writeFileSync(entry, "", { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return false;
  }
}

async function findRunningOther(folder: string, own: string): Promise<string | undefined> {
  for (const name of readdirSync(folder)) {
    if (name === own) continue;
    if (isRunning(name) ?? (await hasHeartbeat(join(folder, name)))) return name;
    rmSync(join(folder, name), { force: true });
  }
  return undefined;
}

/** Whether the process of an entry is running; undefined when it is on another machine or cannot be inspected. */
function isRunning(name: string): boolean | undefined {
  const [pid, ticks, place] = name.split("_");
  if (place !== here) return undefined; // another machine, another container, or before a restart of this one
  let isOurs = true;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
    isOurs = false;
  }
  const start = readStart(Number(pid));
  if (start !== undefined) return start.ticks === ticks && !start.isZombie; // process ids are reused
  return ticks !== "" && isOurs ? false : undefined;
}

/** Whether a process updates the time of its entry. */
async function hasHeartbeat(entry: string): Promise<boolean> {
  const readTime = () => statSync(entry, { throwIfNoEntry: false })?.mtimeMs;
  const before = readTime();
  for (let waitedMs = 0; waitedMs < silenceMs; waitedMs += 100) {
    await pause(100);
    const now = readTime();
    if (now === undefined) return false;
    if (now !== before) return true;
  }
  return false;
}

/** The start time of a process, on Linux; undefined elsewhere, and when the process has ended. */
function readStart(pid: number): { ticks: string; isZombie: boolean } | undefined {
  try {
    const [state = "", ...fields] =
      readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return { ticks: fields[18] ?? "", isZombie: "ZX".includes(state) };
  } catch {
    return undefined;
  }
}

/** Identifies where process ids are comparable: this boot of this machine, and this container. */
const here = getPlace().replaceAll(/[^\w.-]|_/g, "-");

function getPlace(): string {
  try {
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${bootId} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

function readEntry(entry: string): { url?: string; since?: string } {
  try {
    return JSON.parse(readFileSync(entry, "utf8"));
  } catch {
    return {}; // the process is starting or has ended
  }
}
