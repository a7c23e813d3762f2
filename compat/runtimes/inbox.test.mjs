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

it("compiles the README's program with pg-boss 11", () => {
  const snippet = readFileSync(here("../../examples/snippets/inbox/pg-boss.ts"), "utf8");
  const importLines = /^\/\/ pg-boss 11: (.+)\nimport type \{ PgBoss \} from "pg-boss";$/m;
  expect(snippet).toMatch(importLines);
  const text = snippet
    .replace(importLines, "$1")
    .replace('"pg-boss"', '"pg-boss-11"')
    .replace("./transaction.ts", "../examples/snippets/inbox/transaction.ts");
  expect(text).toContain('"pg-boss-11"');
  const path = here("../pg-boss-11.ts");
  expect(getErrors(inMemoryProgram(new Map([[path, text]])), path)).toEqual([]);
});
