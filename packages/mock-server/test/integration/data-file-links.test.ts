/** Symbolic links and files of others at the paths that a data file uses: the server follows none, and removes nothing. */
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { signUp } from "../shop.ts";
import { start } from "./command.ts";
import { open, optionsFor, temporaryData } from "./data-files.ts";

/** A folder with files of another user. */
function foreignFolder() {
  const folder = mkdtempSync(join(tmpdir(), "foreign-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "photos"));
  for (const name of ["notes.txt", "1_2_elsewhere_0123abcd", "1_2_elsewhere_0123abcd.tmp", "photos/1.jpg"])
    writeFileSync(join(folder, name), `contents of ${name}`);
  const read = () =>
    (readdirSync(folder, { recursive: true }) as string[]).sort().map((name) => {
      const path = join(folder, name);
      return statSync(path).isFile() ? [name, readFileSync(path, "utf8")] : [name];
    });
  return { folder, file: join(folder, "notes.txt"), read, before: read() };
}

type Foreign = ReturnType<typeof foreignFolder>;
const entry = "1_2_elsewhere_0123abcd";
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.error("SKIPPED: tests of another user's files, because only root can make them.");

const planted: [what: string, plant: (data: string, foreign: Foreign) => string, message: RegExp][] = [
  [
    "a link to a folder",
    (data, { folder }) => link(folder, `${data}.lock`),
    /is not a folder, or is a symbolic link/,
  ],
  [
    "a link to a file",
    (data, { file }) => link(file, `${data}.lock`),
    /is not a folder, or is a symbolic link/,
  ],
  [
    "a link to nothing",
    (data) => link(`${data}.none`, `${data}.lock`),
    /is not a folder, or is a symbolic link/,
  ],
  [
    "a folder with other files",
    (data, { folder }) => moved(folder, `${data}.lock`, "notes.txt"),
    /is not an entry of the lock/,
  ],
  [
    "an entry that is a link",
    (data, { file }) => inLock(data, (path) => symlinkSync(file, path)),
    /is not an entry of the lock/,
  ],
  [
    "an entry that is a folder",
    (data) => inLock(data, (path) => mkdirSync(path)),
    /is not an entry of the lock/,
  ],
  [
    "an entry with other contents",
    (data) => inLock(data, (path) => writeFileSync(path, "photo")),
    /has unexpected contents/,
  ],
  [
    "a temporary file that is a link",
    (data, { file }) => inLock(data, (path) => symlinkSync(file, path), `${entry}.tmp`),
    /is not an entry of the lock/,
  ],
];

function link(target: string, path: string): string {
  symlinkSync(target, path);
  return path;
}
/** Moves the files, so that the folder at the path is a real one. @returns the path of one of its files. */
function moved(folder: string, path: string, name: string): string {
  mkdirSync(path, { mode: 0o700 });
  const file = join(path, name);
  writeFileSync(file, readFileSync(join(folder, name)));
  return file;
}
function inLock(data: string, make: (path: string) => void, name = entry): string {
  mkdirSync(`${data}.lock`, { mode: 0o700 });
  const path = join(`${data}.lock`, name);
  make(path);
  return path;
}

/** Starts the command, and expects that it refuses, that it names the path, and that nothing has changed. */
async function expectRefusal(data: string, path: string, message: RegExp, foreign: Foreign): Promise<void> {
  const before = describePath(path);
  const { code, stderr } = await start(...optionsFor(data)).exit;
  expect(stderr).toMatch(message);
  expect(stderr).toContain(path);
  expect([code, describePath(path), foreign.read()]).toEqual([2, before, foreign.before]);
}

function describePath(path: string) {
  const found = lstatSync(path);
  return [
    found.ino,
    found.mode,
    found.isSymbolicLink()
      ? readlinkSync(path)
      : found.isFile()
        ? readFileSync(path, "utf8")
        : readdirSync(path),
  ];
}

describe("in place of the lock", () => {
  it.each(planted)("refuses %s, names its path, and changes nothing", async (_what, plant, message) => {
    const data = temporaryData();
    const foreign = foreignFolder();
    await expectRefusal(data, plant(data, foreign), message, foreign);
    expect(existsSync(data)).toBe(false);
  });

  it("refuses a folder that other users can write", async () => {
    const data = temporaryData();
    mkdirSync(`${data}.lock`);
    chmodSync(`${data}.lock`, 0o777);
    await expectRefusal(data, `${data}.lock`, /can be written by other users/, foreignFolder());
  });

  it.skipIf(!isRoot)("refuses a folder and an entry of another user", async () => {
    const [folder, own] = [temporaryData(), temporaryData()];
    mkdirSync(`${folder}.lock`, { mode: 0o700 });
    lchownSync(`${folder}.lock`, 65_534, 65_534);
    await expectRefusal(folder, `${folder}.lock`, /belongs to another user/, foreignFolder());
    const path = inLock(own, (at) => writeFileSync(at, ""));
    lchownSync(path, 65_534, 65_534);
    await expectRefusal(own, path, /is not an entry of the lock/, foreignFolder());
  });

  it("removes only its own entry when it stops, and writes through no link that replaced it", async () => {
    const data = temporaryData();
    const { file, read, before } = foreignFolder();
    const { close } = await open({ data });
    const [name = ""] = readdirSync(`${data}.lock`);
    const path = join(`${data}.lock`, name);
    rmSync(path);
    symlinkSync(file, path);
    await close();
    expect([readlinkSync(path), read()]).toEqual([file, before]);
  });
});

describe("in place of the data file", () => {
  it("does not follow a link at the former name of its temporary file", async () => {
    const data = temporaryData();
    const { file, read, before } = foreignFolder();
    symlinkSync(file, `${data}.tmp`);
    const { close } = await open({ data });
    await close();
    expect([readlinkSync(`${data}.tmp`), read()]).toEqual([file, before]);
  });

  it.each<[string, (data: string, foreign: Foreign) => string, RegExp]>([
    ["a link to another file", (data, { file }) => link(file, data), /it is not JSON/],
    ["a link to a folder", (data, { folder }) => link(folder, data), /it is not a regular file/],
    [
      "a link to nothing",
      (data) => link(`${data}.none`, data),
      /a symbolic link to a file that does not exist/,
    ],
    ["a folder", (data) => mkdirSync(data, { recursive: true }) ?? data, /it is not a regular file/],
  ])("refuses %s, and changes nothing", async (_what, plant, message) => {
    const data = temporaryData();
    const foreign = foreignFolder();
    await expectRefusal(data, plant(data, foreign), message, foreign);
    expect([existsSync(`${data}.lock`), existsSync(`${data}.none`)]).toEqual([false, false]);
  });

  it.skipIf(!isRoot)("refuses a link of another user, also to a valid data file", async () => {
    const [data, valid] = [temporaryData(), temporaryData()];
    await (await open({ data: valid })).close();
    const content = readFileSync(valid, "utf8");
    symlinkSync(valid, data);
    lchownSync(data, 65_534, 65_534);
    await expectRefusal(data, data, /it is a symbolic link of another user/, foreignFolder());
    expect(readFileSync(valid, "utf8")).toBe(content);
  });

  it("reads and writes the file behind a link that the user made, and keeps the link", async () => {
    const [data, target] = [temporaryData(), temporaryData()];
    await (await open({ data: target })).close();
    symlinkSync(target, data);
    const { issue, close } = await open({ data });
    const { body } = await issue(signUp());
    await close();
    expect([readlinkSync(data), readFileSync(target, "utf8")]).toEqual([
      target,
      expect.stringContaining(body.id),
    ]);
  });

  it("does not replace a file that another program put there while it runs", async () => {
    const data = temporaryData();
    const { service, close } = await open({ data });
    const other = `${data}.other`;
    writeFileSync(other, "of another program");
    renameSync(other, data);
    // Grows by more than the file may grow before it is rewritten.
    const name = "n".repeat(10_000);
    const grow = () => {
      for (let count = 0; count < 600; count++) service.templates.create({ name });
    };
    grow();
    await Promise.resolve();
    grow();
    await expect(close()).rejects.toThrow(`${data} was replaced by another program. It is left as it is`);
    expect(readFileSync(data, "utf8")).toBe("of another program");
    expect(readdirSync(`${data}/..`.replace("/data.json/..", ""))).toEqual(["data.json"]);
  });

  it("makes the file, the lock and its entry readable for its user only", async () => {
    const data = temporaryData();
    const { close } = await open({ data });
    const [name = ""] = readdirSync(`${data}.lock`);
    const modeOf = (path: string) => statSync(path).mode & 0o777;
    expect([modeOf(data), modeOf(`${data}.lock`), modeOf(join(`${data}.lock`, name))]).toEqual([
      0o600, 0o700, 0o600,
    ]);
    await close();
  });
});
