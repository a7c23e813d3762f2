/** The lock of a file: one process at a time, also after a kill; it follows no link, and removes nothing but its own entries. */
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { lockFile } from "../node-lock.ts";

/** The path of a file that can be locked, and a file of somebody else. */
function createPaths() {
  const folder = mkdtempSync(join(tmpdir(), "lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, foreign] = [join(folder, "data"), join(folder, "notes.txt")];
  writeFileSync(foreign, "notes");
  return { file, lock: `${file}.lock`, foreign };
}

const lock = (file: string) => lockFile(file, "Stop it.");
const entry = "1_2_elsewhere_0123abcd";
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.error("SKIPPED: locks of another user, because only root can make them.");

type Plant = (folder: string, foreign: string) => void;
const plantFolder =
  (fill: Plant = () => {}, mode = 0o700): Plant =>
  (folder, foreign) => {
    mkdirSync(folder);
    chmodSync(folder, mode);
    fill(folder, foreign);
  };
const plantEntry = (plant: (path: string, foreign: string) => void): Plant =>
  plantFolder((folder, foreign) => plant(join(folder, entry), foreign));
const giveAway = (path: string) => lchownSync(path, 65_534, 65_534);

const planted: [what: string, plant: Plant, message: RegExp, isForRoot?: true][] = [
  [
    "a link to a file",
    (folder, foreign) => symlinkSync(foreign, folder),
    /is not a folder, or is a symbolic/,
  ],
  ["a link to a folder", (folder, foreign) => symlinkSync(join(foreign, ".."), folder), /is a symbolic link/],
  ["a link to nothing", (folder) => symlinkSync(`${folder}.none`, folder), /is a symbolic link/],
  ["a folder that others can write", plantFolder(undefined, 0o777), /can be written by other users/],
  ["a folder of another user", plantFolder(giveAway), /belongs to another user/, true],
  ["another file", plantEntry((path) => writeFileSync(`${path}.jpg`, "")), /is not an entry of the lock/],
  ["a link as an entry", plantEntry((path, foreign) => symlinkSync(foreign, path)), /is not an entry/],
  ["a folder as an entry", plantEntry((path) => mkdirSync(path)), /is not an entry of the lock/],
  ["other contents", plantEntry((path) => writeFileSync(path, "photo")), /has unexpected contents/],
  [
    "the entry of another user",
    plantEntry((path) => [writeFileSync(path, ""), giveAway(path)]),
    /is not an entry/,
    true,
  ],
];

it.each(planted.filter(([, , , isForRoot]) => isRoot || !isForRoot))(
  "refuses %s in place of the lock, and changes nothing",
  async (_what, plant, message) => {
    const { file, lock: folder, foreign } = createPaths();
    plant(folder, foreign);
    const before = readdirSync(join(foreign, ".."), { recursive: true });
    await expect(lock(file)).rejects.toThrow(message);
    await expect(lock(file)).rejects.toThrow(folder);
    expect(readdirSync(join(foreign, ".."), { recursive: true })).toEqual(before);
    expect(readFileSync(foreign, "utf8")).toBe("notes");
  },
);

it("is held by one at a time; of several that start together one gets it", async () => {
  const { file, lock: folder } = createPaths();
  const started = await Promise.allSettled(Array.from({ length: 4 }, () => lock(file)));
  const held = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  expect(held).toHaveLength(1);
  held[0]?.announce();
  await expect(lock(file)).rejects.toThrow(
    new RegExp(`^process ${process.pid} uses it, since 20.* Stop it\\. The lock is `),
  );
  const [name = ""] = readdirSync(folder);
  expect([folder, join(folder, name)].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
  held[0]?.release();
  expect(existsSync(folder)).toBe(false);
  (await lock(file)).release();
});

it("replaces the lock of a dead process whose id another process has now", async () => {
  const { file, lock: folder } = createPaths();
  const before = await lock(file);
  const [name = ""] = readdirSync(folder);
  before.release();
  const [pid, ticks, ...rest] = name.split("_");
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, [pid, `${ticks}0`, ...rest].join("_")), '{"since":"2026-01-01T00:00:00.000Z"}');
  const after = await lock(file);
  expect(readdirSync(folder)).toHaveLength(1);
  after.release();
});

it("is held by a process in another container while that updates its entry", async () => {
  const { file, lock: folder } = createPaths();
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, entry), '{"since":"2026-01-01T00:00:00.000Z"}');
  const beat = setInterval(() => utimesSync(join(folder, entry), new Date(), Date.now() / 1000), 200);
  onTestFinished(() => clearInterval(beat));
  await expect(lock(file)).rejects.toThrow("process 1 uses it, since 2026");
  clearInterval(beat);
  (await lock(file)).release();
});

it("removes only its own entry when it is released, and writes through no link that replaced it", async () => {
  const { file, lock: folder, foreign } = createPaths();
  const held = await lock(file);
  const path = join(folder, readdirSync(folder)[0] ?? "");
  rmSync(path);
  symlinkSync(foreign, path);
  held.announce();
  held.release();
  expect([readlinkSync(path), readFileSync(foreign, "utf8")]).toEqual([foreign, "notes"]);
});
