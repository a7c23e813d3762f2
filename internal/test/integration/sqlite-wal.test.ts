/**
 * A SQLite file that was replaced, and a WAL that another process deletes, because this process
 * lost its locks.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { scratchFile } from "@loyalty-cards/testing/resources";
import { losesWals, loseWal, openWatched, useElsewhere } from "@loyalty-cards/testing/sqlite-files";
import { expect, it, onTestFinished } from "vitest";
import { openLibsql, openSqlite } from "../../sqlite/database-node.ts";
import { openJobsFile } from "./jobs-file.ts";

const lost = /^The log .*-wal is no longer .* libsql, or fs\.copyFile .* SIGKILL/;
const hasNodeSqlite = process.getBuiltinModule?.("node:sqlite") !== undefined;

const onPosix = it.skipIf(!losesWals);

onPosix("refuses the file from then on, before it writes, and does not close it", () => {
  const file = scratchFile();
  const executed: string[] = [];
  const database = openJobsFile(
    file,
    openWatched((sql) => executed.push(sql)),
  );
  database.add("1");
  loseWal(file);
  executed.length = 0;
  for (const use of [() => database.add("2"), database.list, database.tidy, database.close])
    expect(use).toThrow(lost);
  expect(() => database.write("write", () => {})).toThrow(lost);
  expect(executed).toEqual([]);
  useElsewhere(file, "SELECT 1 FROM work WHERE name = '1'");
});

onPosix("rejects a commit whose WAL was deleted meanwhile", () => {
  const file = scratchFile();
  const database = openJobsFile(file);
  database.add("1");
  const commit = () =>
    database.write("write", (connection) => {
      database.join(connection, database.toAdded("2"));
      loseWal(file);
    });
  expect(commit).toThrow(lost);
  expect(database.list).toThrow(lost);
});

onPosix.each<{ what: string; change: (file: string, backup: string) => void }>([
  { what: "replaced by a backup", change: (file, backup) => renameSync(backup, file) },
  { what: "moved away", change: (file) => renameSync(file, `${file}.old`) },
  { what: "deleted", change: (file) => rmSync(file) },
])("refuses a file that was $what, and leaves it as it is", ({ change }) => {
  const file = scratchFile();
  const backup = `${file}.backup`;
  const earlier = openJobsFile(file);
  earlier.add("0");
  earlier.close();
  copyFileSync(file, backup);
  const database = openJobsFile(file);
  database.add("1");
  change(file, backup);
  const files = [file, backup, `${file}.old`, `${file}-wal`];
  const before = files.map(readIfPresent);
  const replaced = /^The file .* it was moved, deleted or replaced\. .* SIGKILL/;
  for (const use of [() => database.add("2"), database.list, database.tidy, database.close])
    expect(use).toThrow(replaced);
  expect(files.map(readIfPresent)).toEqual(before);
});

onPosix("rejects a commit whose file was replaced meanwhile", () => {
  const file = scratchFile();
  const database = openJobsFile(file);
  const commit = () =>
    database.write("write", (connection) => {
      database.join(connection, database.toAdded("1"));
      writeFileSync(`${file}.new`, "");
      renameSync(`${file}.new`, file);
    });
  expect(commit).toThrow(/^The file .* it was moved, deleted or replaced/);
});

onPosix("rejects a statement on a connection of the program, in its transaction", () => {
  const file = scratchFile();
  const database = openJobsFile(file);
  database.add("1");
  const own = openSqlite(file);
  loseWal(file);
  expect(() => database.join(own, database.toAdded("2"))).toThrow(lost);
});

it.skipIf(!hasNodeSqlite)("refuses a connection of another SQLite library", () => {
  const file = scratchFile();
  const database = openJobsFile(file);
  onTestFinished(() => database.close());
  database.add("1");
  const own = openLibsql(file);
  const add = () => database.join(own, database.toAdded("2"));
  expect(add).toThrow(/^This connection and that of the test are of two SQLite libraries.* open: /);
  expect(add).toThrow(TypeError);
  expect(database.list()).toEqual(["1"]);
});

onPosix("leaves intact what other processes wrote, when it is killed", async () => {
  const file = scratchFile();
  const killed = startProcess(file);
  for (const name of ["1", "2"]) expect(await killed.do(`add ${name}`)).toBe("done");
  expect(await killed.do("copy")).toBe("done");
  useElsewhere(file, "DELETE FROM work WHERE name = '1' RETURNING id");
  for (const command of ["add 3", "list", "tidy", "close", "add 3"])
    expect(await killed.do(command)).toMatch(lost);

  const other = openJobsFile(file);
  onTestFinished(() => other.close());
  other.add("4");
  await killed.end();
  other.add("5");
  expect(other.list()).toEqual(["2", "4", "5"]);
  const check = other.open().prepare("PRAGMA integrity_check").get();
  expect(check).toMatchObject({ integrity_check: "ok" });
});

it("tidies only when the WAL has something", () => {
  const file = scratchFile();
  const executed: string[] = [];
  const database = openJobsFile(
    file,
    openWatched((sql) => executed.push(sql)),
  );
  onTestFinished(() => database.close());
  database.add("1");
  database.tidy();
  expect(statSync(`${file}-wal`).size).toBe(0);
  executed.length = 0;
  database.tidy();
  expect(executed).toEqual([]);

  const reader = openSqlite(file);
  onTestFinished(() => void reader.close());
  reader.exec("BEGIN; SELECT * FROM work");
  reader.prepare("SELECT * FROM work").all();
  reader.prepare("SELECT * FROM work").all();
  database.add("2");
  database.tidy(); // the reader still needs the WAL
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  reader.exec("COMMIT");
  database.tidy();
  expect(statSync(`${file}-wal`).size).toBe(0);
  useElsewhere(file, "DELETE FROM work RETURNING id");
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  database.tidy();
  expect(statSync(`${file}-wal`).size).toBe(0);
});

it("closes the file although the WAL cannot be written to it, as on a full disk", () => {
  const file = scratchFile();
  const database = openJobsFile(file, (name) => {
    const connection = openSqlite(name);
    const prepare = connection.prepare.bind(connection);
    connection.prepare = (sql) => {
      if (sql.includes("wal_checkpoint")) throw new Error("database or disk is full");
      return prepare(sql);
    };
    return connection;
  });
  database.add("1");
  database.close();
  expect(database.list).toThrow("is closed");
  useElsewhere(file, "SELECT 1 FROM work WHERE name = '1'");
});

const readIfPresent = (path: string): string | undefined =>
  statSync(path, { throwIfNoEntry: false }) && readFileSync(path, "base64");

/** Starts `wal-process.ts` with a file. */
function startProcess(file: string) {
  const program = new URL("wal-process.ts", import.meta.url).pathname;
  const flags = ["--conditions=@loyalty-cards/source", "--import", "tsx"];
  const child: ChildProcess = spawn(process.execPath, [...flags, program, file], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout as never });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  return {
    /** @returns what the process printed. */
    do: (command: string) =>
      new Promise<string>((resolve) => {
        lines.once("line", resolve);
        child.stdin?.write(`${command}\n`);
      }),
    async end(): Promise<void> {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
