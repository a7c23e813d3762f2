/** Keeps a data file for one server at a time: each leaves an entry beside the file, and looks for living others. */
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

export interface DataLock {
  /** Says where the server is, for those who are refused. */
  announce(url: string): void;
  release(): void;
}

const attempts = 10;
const heartbeatMs = 1_000;
const silenceMs = 4_000;

/**
 * First its own entry, then a look at the others: of two servers that start at the same moment at least one sees the
 * other. An entry whose process is dead is removed, so that SIGKILL leaves nothing to clean up.
 * @throws {Error} that names the server which has the file.
 */
export async function lockDataFile(file: string): Promise<DataLock> {
  const folder = `${file}.lock`;
  const own = `${process.pid}_${startOf(process.pid)?.ticks ?? ""}_${here}_${randomUUID().slice(0, 8)}`;
  const entry = join(folder, own);
  const since = new Date().toISOString();
  const release = () => {
    rmSync(entry, { force: true });
    try {
      rmdirSync(folder);
    } catch {
      // another server's entry is in it
    }
  };
  for (let attempt = 1; ; attempt++) {
    if (!enter(folder, entry)) continue;
    const other = await livingOther(folder, own);
    if (other === undefined) break;
    release();
    const { url, since: otherSince } = contentOf(join(folder, other));
    if (url !== undefined || attempt === attempts) {
      const where = url === undefined ? "which is starting" : `at ${url} since ${otherSince}`;
      throw new Error(
        `process ${other.split("_")[0]} has it, ${where}. Stop that server, or use another file. (${folder} says so.)`,
      );
    }
    await pause(50 + Math.random() * 200); // it is starting as well, and may have seen this one
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(entry, now, now);
    } catch {
      // somebody removed it
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

/** False when another server that is closing removed the folder in between. */
function enter(folder: string, entry: string): boolean {
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

async function livingOther(folder: string, own: string): Promise<string | undefined> {
  for (const name of readdirSync(folder)) {
    if (name === own) continue;
    if (isRunning(name) ?? (await hasHeartbeat(join(folder, name)))) return name;
    rmSync(join(folder, name), { force: true });
  }
  return undefined;
}

/** Whether the process of an entry runs; undefined when that cannot be found out from here. */
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
  const start = startOf(Number(pid));
  if (start !== undefined) return start.ticks === ticks && !start.isZombie; // its number may be another's by now
  return ticks !== "" && isOurs ? false : undefined;
}

/** Whether a server goes on touching its entry. */
async function hasHeartbeat(entry: string): Promise<boolean> {
  const timeOf = () => statSync(entry, { throwIfNoEntry: false })?.mtimeMs;
  const before = timeOf();
  for (let waitedMs = 0; waitedMs < silenceMs; waitedMs += 100) {
    await pause(100);
    const now = timeOf();
    if (now === undefined) return false;
    if (now !== before) return true;
  }
  return false;
}

/** When a process began, by Linux; undefined elsewhere, and for one that is gone. */
function startOf(pid: number): { ticks: string; isZombie: boolean } | undefined {
  try {
    const [state = "", ...fields] =
      readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return { ticks: fields[18] ?? "", isZombie: "ZX".includes(state) };
  } catch {
    return undefined;
  }
}

/** Where process numbers mean the same: this start of this machine, and this container. */
const here = placeOf().replaceAll(/[^\w.-]|_/g, "-");

function placeOf(): string {
  try {
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${bootId} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

function contentOf(entry: string): { url?: string; since?: string } {
  try {
    return JSON.parse(readFileSync(entry, "utf8"));
  } catch {
    return {}; // it is starting, or was gone just now
  }
}
