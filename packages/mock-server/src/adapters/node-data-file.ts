/**
 * Data file: one JSON snapshot of the service, written soon after a change and when the server
 * closes.
 */
import { readFile, realpath, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend } from "../backend/backend.ts";
import type { Saved, Settings } from "../backend/options.ts";
import {
  type Clock,
  type ClockSetting,
  createClock,
  latestMs,
  systemClock,
} from "../domain/clock.ts";
import { fromLists, toLists } from "../domain/state.ts";

const format = "loyalty-cards mock-server";
const version = 1;
/** Changes of this time are written together. */
const delayMs = 100;
/**
 * The pause after a write, as a multiple of its duration: writing takes at most a tenth of the
 * time.
 */
const pauseFactor = 9;

/** The JSON of the file. */
interface Content {
  format: typeof format;
  version: typeof version;
  /** What a reset restores. */
  seed: Pick<Settings, "apiKeys" | "defaultCountry" | "templates" | "endpoints">;
  clock: ClockSetting & { nowMs: number; machineMs: number };
  /**
   * The newest id. It is not part of the state: a reset deletes what has the id, and later ids sort
   * after it.
   */
  newestId: string;
  state: Record<string, unknown[]>;
}

/**
 * @returns undefined when the file does not exist, or is empty.
 * @throws {Error} that names the file, when it cannot be read, or is not a snapshot of this
 * version.
 */
export async function readDataFile(name: string): Promise<Saved | undefined> {
  try {
    const text = new TextDecoder().decode(await readFile(name)); // without a byte order mark
    return text.trim() === "" ? undefined : parseContent(text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(
      `The data file ${name} cannot be used (${(error as Error).message}). It is left as it is: use another file, or move this one away to start without data.`,
      { cause: error },
    );
  }
}

/** @throws {TypeError} for text that is not a snapshot of this version. */
function parseContent(text: string): Saved {
  let content: Partial<Content> | null;
  try {
    content = JSON.parse(text);
  } catch {
    throw new TypeError("it is not JSON"); // the message of JSON.parse quotes the file
  }
  if (content?.format !== format) throw new TypeError("it is not of a mock server");
  if (content.version !== version)
    throw new TypeError(
      `it has version ${content.version}, and this mock server reads version ${version}`,
    );
  const { seed, clock, newestId, state } = content as Content;
  return { options: { ...seed, clock: continueClock(clock) }, state: fromLists(state), newestId };
}

/**
 * A scaled clock continues as if it had run since it was saved, unless that would be after the year
 * 9999; a manual clock keeps its time.
 */
function continueClock({ nowMs, machineMs, ...setting }: Content["clock"]): Clock {
  const { mode, factor = 1 } = setting;
  if (mode === "system") return systemClock();
  const passedMs = mode === "scaled" ? Math.max(0, Date.now() - machineMs) * factor : 0;
  return createClock(setting, nowMs + passedMs <= latestMs ? nowMs + passedMs : nowMs);
}

/**
 * Writes the file, and again after each change.
 * @returns a function that writes the remaining changes and stops.
 * @throws {Error} that names the file when it cannot be written; the returned function too.
 */
export async function startSaving(
  name: string,
  backend: Backend,
  log: (line: string) => void,
): Promise<() => Promise<void>> {
  const closing = new AbortController();
  let isChanged = false;
  let isFailing = false;
  let saving: Promise<void> | undefined;
  /** The version that this process wrote; undefined after a write that failed, too. */
  let ownVersion: string | undefined;

  async function save(): Promise<void> {
    isChanged = false;
    try {
      const version = await readVersion(name);
      if (ownVersion !== undefined && version !== undefined && version !== ownVersion)
        throw new Error(
          "another program has changed it: use a file for each program, or move this one away",
        );
      ownVersion = undefined;
      await replaceFile(name, JSON.stringify(createContent(backend)));
      ownVersion = await readVersion(name);
    } catch (error) {
      isChanged = true;
      const message = `The data file ${name} cannot be written (${(error as Error).message}).`;
      throw new Error(message, { cause: error });
    }
  }

  const pause = (ms: number) =>
    sleep(Math.max(0, ms), undefined, { signal: closing.signal }).catch(() => {});

  /**
   * Saves until the file has all changes. The log gets one line about a failure, however often it
   * is tried again.
   */
  async function saveChanges(): Promise<void> {
    while (isChanged) {
      await pause(delayMs);
      if (closing.signal.aborted) return;
      const startedMs = performance.now();
      try {
        await save();
        isFailing = false;
      } catch (error) {
        if (!isFailing) log(`${(error as Error).message} It is tried again.`);
        isFailing = true;
      }
      await pause(pauseFactor * (performance.now() - startedMs) - delayMs);
    }
    saving = undefined;
  }

  backend.changes.subscribe(({ request }) => {
    if (request !== undefined) return; // the request log is not saved
    isChanged = true;
    if (!closing.signal.aborted) saving ??= saveChanges();
  });
  saving = save();
  await saving;
  saving = isChanged ? saveChanges() : undefined;
  return async () => {
    closing.abort();
    await saving;
    if (isChanged) await save();
  };
}

/** @returns what differs after each write; undefined when there is no file. */
const readVersion = (name: string): Promise<string | undefined> =>
  stat(name).then(
    ({ size, mtimeMs }) => `${size} ${mtimeMs}`,
    () => undefined,
  );

function createContent({ settings, clock, domain }: Backend): Content {
  const { apiKeys, defaultCountry, templates, endpoints } = settings;
  return {
    format,
    version,
    seed: { apiKeys, defaultCountry, templates, endpoints },
    clock: { ...clock.setting(), nowMs: clock.now(), machineMs: Date.now() },
    newestId: domain.ids.newest(),
    state: toLists(domain.state),
  };
}

/** The codes of a rename over a file that is mounted, and in a folder that cannot be written. */
const inPlaceCodes: readonly unknown[] = ["EBUSY", "EXDEV", "EACCES", "EPERM", "EROFS"];

/**
 * Replaces the file in one step: a reader sees the old content or the new one. A file that cannot
 * be replaced, such as one that is mounted into a container, is written in place, and shortened
 * after that: if the process is killed meanwhile, it is refused at the next start, and not empty.
 */
async function replaceFile(path: string, text: string): Promise<void> {
  const name = await realpath(path).catch(() => path); // a link stays; a new file has no path
  const temporaryName = `${name}.tmp`;
  try {
    await rm(temporaryName, { force: true }); // a process that was killed leaves it
    await writeFile(temporaryName, text, { flag: "wx", mode: 0o600 }); // "x" follows no link
    await rename(temporaryName, name);
  } catch (error) {
    await rm(temporaryName, { force: true }).catch(() => {});
    if (!inPlaceCodes.includes((error as NodeJS.ErrnoException).code)) throw error;
    if ((await readVersion(name)) === undefined) return writeFile(name, text, { mode: 0o600 });
    await writeFile(name, text, { flag: "r+" });
    await truncate(name, Buffer.byteLength(text));
  }
}
