/** The built inbox on Node 20, 22 and 24: SQLite with the driver of each runtime, and pg-boss 11 and 12 where they run. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { getErrors, inMemoryProgram } from "../../tools/checks/in-memory-program.ts";

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

it.each([
  ["11", "$2"],
  ["12", "$1"],
])("the README's program compiles with pg-boss %s", (major, importStatement) => {
  const snippet = readFileSync(here("../../examples/snippets/inbox/pg-boss.ts"), "utf8");
  const importLine = /^\/\/ pg-boss 12: (.+)\n(import type PgBoss from "pg-boss";)$/m;
  expect(snippet).toMatch(importLine);
  const text = snippet.replace(importLine, importStatement).replace('"pg-boss"', `"pg-boss-${major}"`);
  expect(text).toContain(`"pg-boss-${major}"`);
  const path = here(`../pg-boss-${major}.ts`);
  expect(getErrors(inMemoryProgram(new Map([[path, text]])), path)).toEqual([]);
});
