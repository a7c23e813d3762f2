/** The built inbox on Node 20, 22 and 24: SQLite with what each runtime has, and pg-boss 12 where it runs. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
let failed = 0;
for (const [version, expected] of [
  ["20", "libsql"],
  ["22", "node:sqlite, pg-boss 12"],
  ["24", "node:sqlite, pg-boss 12"],
]) {
  const { status, stdout, stderr } = spawnSync(
    here(`node_modules/node-${version}/bin/node`),
    [here("inbox-in-process.mjs")],
    {
      encoding: "utf8",
      timeout: 60_000,
    },
  );
  const isRight = status === 0 && stdout.trim() === expected;
  if (!isRight) failed += 1;
  console.log(
    `${isRight ? "✓" : "✗"} the inbox on Node ${version}: ${stdout.trim()}${isRight ? "" : stderr}`,
  );
}
process.exitCode = failed === 0 ? 0 : 1;
