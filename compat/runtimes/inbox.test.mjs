/** The built inbox on Node 20, 22 and 24: SQLite with the driver of each runtime, and pg-boss 11 and 12 where they run. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

it.each([
  ["20", "libsql"],
  ["22", "node:sqlite, pg-boss 11, pg-boss 12"],
  ["24", "node:sqlite, pg-boss 11, pg-boss 12"],
])("stores, processes and deduplicates events on Node %s with %s", (version, expected) => {
  const node = here(`../node_modules/node-${version}/bin/node`);
  const output = execFileSync(node, [here("inbox-program.mjs")], { encoding: "utf8", timeout: 80_000 });
  expect(output.trim()).toBe(expected);
});

it("compiles the README's program with pg-boss 11", () => {
  const snippet = readFileSync(here("../../examples/snippets/inbox/pg-boss.ts"), "utf8");
  const importLines = /^\/\/ pg-boss 11: (.+)\nimport type \{ PgBoss \} from "pg-boss";$/m;
  expect(snippet).toMatch(importLines);
  const text = snippet
    .replace(importLines, "$1")
    .replace('"pg-boss"', '"pg-boss-11"')
    .replace("./transaction.ts", "../examples/snippets/inbox/transaction.ts");
  expect(text).toContain('"pg-boss-11"');
  // Beside the folder that has this version.
  const [program, config] = [here("../pg-boss-11.ts"), here("../pg-boss-11.json")];
  onTestFinished(() => {
    for (const file of [program, config]) rmSync(file, { force: true });
  });
  writeFileSync(program, text);
  writeFileSync(
    config,
    JSON.stringify({ extends: "../tsconfig.json", files: ["pg-boss-11.ts"], include: [] }),
  );
  const compiler = here("../../node_modules/typescript/bin/tsc");
  expect(spawnSync(process.execPath, [compiler, "--project", config], { encoding: "utf8" }).stdout).toBe("");
});
