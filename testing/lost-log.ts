/** SQLite files whose log another process deletes. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync } from "node:fs";

/**
 * Another process opens the file, runs a statement that returns rows, and closes it. With libsql,
 * because SQLite 3.51 no longer deletes a log that others use.
 * @throws what it wrote to its standard error, when it fails.
 */
export function useElsewhere(file: string, sql = "SELECT * FROM sqlite_master"): void {
  const script = `
    const Database = require("libsql");
    const database = new Database(${JSON.stringify(file)});
    database.prepare(${JSON.stringify(sql)}).all();
    database.close();`;
  const { stderr, status } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

/** Drops the locks of this process, as a backup would, and lets another one delete the log. */
export function loseLog(file: string): void {
  copyFileSync(file, `${file}-copy`);
  useElsewhere(file);
  if (existsSync(`${file}-wal`)) throw new Error("The other process has not deleted the log.");
}

/** Windows deletes no file that is open. */
export const losesLogs = process.platform !== "win32";
