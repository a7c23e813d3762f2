/** Locks a file for one process at a time, with an entry in a folder beside it. Follows no symbolic link, and removes nothing but entries. */
import { randomUUID } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface FileLock {
  /** Writes the start time into the entry: error messages of other processes name it. */
  announce(): void;
  release(): void;
}

const attempts = 10;
const heartbeatMs = 1_000;
const silenceMs = 4_000;
/** The name of an entry: process id, start of the process, machine, and a random part. */
const entryName = /^\d+_\d*_[\w.-]+_[0-9a-f]{8}$/;
/** 0 on Windows, which has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;
/** Whether a file belongs to another user. False on Windows, where a file has no user id. */
const isOthers = ({ uid }: { uid: bigint }) =>
  process.geteuid !== undefined && uid !== BigInt(process.geteuid());

/**
 * Locks a file. A process writes its own entry first and then looks for others, so when two processes start at the same time, at
 * least one sees the other. Entries of processes that have ended are removed, so nothing must be cleaned up after SIGKILL.
 * @param advice what the user can do, for the error message.
 * @throws {Error} that names the process that has the lock, or a path beside the file that does not belong to this lock.
 */
export async function lockFile(file: string, advice: string): Promise<FileLock> {
  const folder = `${file}.lock`;
  const own = `${getProcessId()}_${randomUUID().slice(0, 8)}`;
  const path = join(folder, own);
  const since = new Date().toISOString();
  /** The descriptor of this process's entry, until the lock is released. */
  let entry: number | undefined;
  const release = () => {
    if (entry === undefined) return;
    if (isSame(lstat(path), fstatSync(entry, { bigint: true }))) rmSync(path);
    closeSync(entry);
    entry = undefined;
    try {
      rmdirSync(folder);
    } catch {
      // it contains the entry of another process
    }
  };
  for (let attempt = 1; ; attempt++) {
    entry = createEntry(folder, path);
    if (entry === undefined) continue;
    let other: string | undefined;
    try {
      other = await findRunningOther(folder, own);
    } catch (error) {
      release();
      throw error;
    }
    if (other === undefined) break;
    const { since: otherSince } = readEntry(join(folder, other)) ?? {};
    release();
    if (otherSince !== undefined || attempt === attempts) {
      const when = otherSince === undefined ? "which is starting" : `since ${otherSince}`;
      throw new Error(`process ${other.split("_")[0]} uses it, ${when}. ${advice} The lock is ${folder}.`);
    }
    await pause(50 + Math.random() * 200); // the other process is starting too, and may have seen this entry
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    try {
      if (entry !== undefined) futimesSync(entry, now, now);
    } catch {
      // a network file system has lost the entry
    }
  }, heartbeatMs);
  heartbeat.unref();
  return {
    announce() {
      if (entry === undefined) return;
      ftruncateSync(entry);
      writeSync(entry, JSON.stringify({ since }), 0);
    },
    release() {
      clearInterval(heartbeat);
      release();
    },
  };
}

/** Creates an entry. @returns its descriptor; undefined when another process removed the folder meanwhile. */
function createEntry(folder: string, path: string): number | undefined {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const found = lstat(folder);
    if (found === undefined) return undefined;
    if (!found.isDirectory()) throw notOurs(folder, "is not a folder, or is a symbolic link");
    if (isOthers(found)) throw notOurs(folder, "belongs to another user");
    if (noFollow !== 0 && (found.mode & 0o022n) !== 0n)
      throw notOurs(folder, "can be written by other users");
  }
  try {
    return openSync(path, "wx", 0o600); // "x" does not follow symbolic links
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

const lstat = (path: string) => lstatSync(path, { bigint: true, throwIfNoEntry: false });

const isSame = (one: BigIntStats | undefined, other: BigIntStats): boolean =>
  one !== undefined && one.ino === other.ino && one.dev === other.dev;

const notOurs = (path: string, why: string) =>
  new Error(
    `${path} ${why}, so it is not a lock of this program. It was left as it is: move it away, or use another file.`,
  );

async function findRunningOther(folder: string, own: string): Promise<string | undefined> {
  for (const name of readdirSync(folder)) {
    if (name === own) continue;
    const path = join(folder, name);
    const found = lstat(path);
    if (found === undefined) continue; // its process has ended meanwhile
    if (!entryName.test(name) || !found.isFile() || isOthers(found))
      throw notOurs(path, "is not an entry of the lock");
    if (readEntry(path) === undefined) throw notOurs(path, "has unexpected contents");
    if (isRunning(name) ?? (await hasHeartbeat(path))) return name;
    rmSync(path, { force: true });
  }
  return undefined;
}

/** Identifies this process: its number, its start and the machine. */
const getProcessId = (): string => `${process.pid}_${readStart(process.pid)?.ticks ?? ""}_${here}`;

/**
 * @param name what `getProcessId` returned in that process; more may follow after `_`.
 * @returns whether the process is running; undefined when it is on another machine or cannot be inspected.
 */
function isRunning(name: string): boolean | undefined {
  const [pid, ticks, place] = name.split("_");
  if (place !== here) return undefined; // another machine, another container, or an earlier start of this machine
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
  const readTime = () => lstat(entry)?.mtimeNs;
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

/** Identifies the processes whose ids can be compared: those of this container, since the last start of this machine. */
const here = getPlace().replaceAll(/[^\w.-]|_/g, "-");

function getPlace(): string {
  try {
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${bootId} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

/** Reads an entry. @returns undefined when its contents are not those of `announce`. */
function readEntry(path: string): { since?: string } | undefined {
  let text: string;
  try {
    const entry = openSync(path, constants.O_RDONLY | noFollow);
    try {
      text = readFileSync(entry, "utf8");
    } finally {
      closeSync(entry);
    }
  } catch {
    return {}; // the process has ended
  }
  if (text === "") return {}; // the process is starting
  try {
    const content = JSON.parse(text);
    return typeof content?.since === "string" ? content : undefined;
  } catch {
    return undefined;
  }
}
