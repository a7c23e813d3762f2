/** The built inbox on Node 20, 22 and 24: SQLite with what each runtime has, and pg-boss 11 and 12 where they run. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
let failed = 0;
for (const [version, expected] of [
  ["20", "libsql"],
  ["22", "node:sqlite, pg-boss 11, pg-boss 12"],
  ["24", "node:sqlite, pg-boss 11, pg-boss 12"],
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

// The README's snippet compiles with both: as it stands, and with the import that its comment gives for pg-boss 12.
const snippet = readFileSync(here("../examples/inbox/pg-boss.ts"), "utf8");
const importLine = /^(import type PgBoss from "pg-boss";) \/\/ pg-boss 12: (.+)$/m;
const { config } = ts.readConfigFile(here("../tsconfig.json"), ts.sys.readFile);
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, here(".."));
for (const [major, replacement] of [
  [11, "$1"],
  [12, "$2"],
]) {
  const path = here(`pg-boss-${major}.ts`);
  const text = snippet.replace(importLine, replacement).replace('"pg-boss"', `"pg-boss-${major}"`);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => file === path || fileExists(file);
  host.getSourceFile = (file, ...more) =>
    file === path ? ts.createSourceFile(file, text, ...more) : getSourceFile(file, ...more);
  const program = ts.createProgram([path], options, host);
  const errors = program
    .getSemanticDiagnostics(program.getSourceFile(path))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  const isRight =
    errors.length === 0 && text.includes(`"pg-boss-${major}"`) && snippet.match(importLine) !== null;
  if (!isRight) failed += 1;
  console.log(`${isRight ? "✓" : "✗"} the snippet compiles with pg-boss ${major}: ${errors.join("\n")}`);
}
process.exitCode = failed === 0 ? 0 : 1;
