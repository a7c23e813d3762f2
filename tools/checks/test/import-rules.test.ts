/** The source files follow the import rules, and each violation is reported. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listFiles, readFromRoot } from "../../docs/snippets.ts";
import { findViolations } from "../import-rules.ts";

it("finds no violation of the import rules", { timeout: 180_000 }, async () => {
  const { files, violations } = await findViolations();
  expect(violations).toEqual([]);
  expect(files).toBeGreaterThan(200);
});

const client = "packages/issuing-client/src";
const mock = "packages/mock-server/src";

/**
 * Files with their program, and the rule that it violates: one run of the rules for all of them.
 */
const programs: readonly [file: string, program: string, violated?: string][] = [
  // the same layer, also for a type
  [
    `${client}/beside.ts`,
    'import type { B } from "../../webhook-verify/src/b.ts";',
    "packages/issuing-client imports from lower layers only",
  ],
  ["packages/webhook-verify/src/b.ts", "export interface B {}"],
  ["packages/cli/src/example.ts", 'import "../../../examples/b.ts";', "nothing imports an example"],
  ["examples/b.ts", ""],
  // the test kit, and a helper of another package's tests
  [
    "packages/cli/src/kit.ts",
    'import "../../../testing/free-port.ts";',
    "packages/cli imports from lower layers only",
  ],
  ["packages/cli/test/kit.test.ts", 'import "../../../testing/free-port.ts";'],
  ["testing/free-port.ts", ""],
  [
    "packages/cli/src/shop.ts",
    'import "../../mock-server/test/shop.ts";',
    "what the tests of several packages need is in testing/",
  ],
  [
    "packages/cli/test/shop.test.ts",
    'import "../../mock-server/test/shop.ts";',
    "what the tests of several packages need is in testing/",
  ],
  [
    "tools/docs/table.ts",
    'import "../../packages/mock-server/test/shop.ts";',
    "what the tests of several packages need is in testing/",
  ],
  ["compat/next/shop.mjs", 'import "../runtimes/test/shop.ts";'],
  ["compat/runtimes/test/shop.ts", ""],
  ["packages/mock-server/test/shop.ts", ""],
  ["packages/novelty/src/a.ts", 'import "./b.ts";', "every package has a layer"],
  ["packages/novelty/src/b.ts", ""],
  // a module that one file imports
  [`${mock}/adapters/node.ts`, 'import "msw";', "only one file imports msw"],
  [
    `${client}/cards.ts`,
    'import type { paths } from "../../../openapi/generated/service.ts";',
    "only client.api has the types of a service's own document",
  ],
  ["openapi/generated/service.ts", "export interface paths {}"],
  // Node APIs and frameworks
  [
    "internal/sqlite.ts",
    'export * from "node:sqlite";',
    "only files with node in their name import Node.js",
  ],
  [
    "packages/webhook-verify/src/adapters/express.ts",
    'import express from "express";',
    "frameworks are imported as types",
  ],
  // folders of the mock server
  [
    `${mock}/domain/cards.ts`,
    'import type { State } from "../backend/backend.ts";',
    `${mock}/domain imports from lower layers only`,
  ],
  [`${mock}/backend/backend.ts`, "export interface State {}"],
  [`${mock}/extra/a.ts`, 'import "../domain/b.ts";', "every folder of the mock server has a layer"],
  [`${mock}/domain/b.ts`, ""],
  // cycles, of files with types included, and of folders
  [`${client}/a.ts`, 'import type { B } from "./b.ts";', "no cycle"],
  [`${client}/b.ts`, 'import "./c.ts"; export interface B {}'],
  [`${client}/c.ts`, 'import "./a.ts";'],
  ["compat/simulation/a.ts", 'import "./b.ts";', "no cycle"],
  ["compat/simulation/b.ts", 'import type { A } from "./a.ts"; export type B = A;'],
  ["packages/cli/src/import/a.ts", 'import "../webhook/b.ts";'],
  ["packages/cli/src/import/c.ts", ""],
  ["packages/cli/src/webhook/b.ts", ""],
  ["packages/cli/src/webhook/d.ts", 'import "../import/c.ts";'],
  ["packages/cli/src/webhook", "", "no cycle of folders"],
  ["internal/absent.ts", 'import "./gone.ts";', "every import is found"],
];

it("reports each violation, with the file and the rule", async () => {
  const folder = mkdtempSync(join(tmpdir(), "import-rules-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, program] of programs.filter(([path]) => path.endsWith(".ts"))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), program);
  }
  const { violations } = await findViolations(folder);
  const isReported = (path: string, rule: string) =>
    violations.some(
      (violation) => violation.startsWith(`${path} imports `) && violation.endsWith(`: ${rule}`),
    );
  const missing = programs.filter(
    ([path, , rule]) => rule !== undefined && !isReported(path, rule),
  );
  expect(missing).toEqual([]);
});

describe("source files", () => {
  const paths = ["internal", "examples", "packages"]
    .flatMap(listFiles)
    .filter((path) => /^(internal|examples|packages\/[^/]+\/src)\/.*(?<!\.d)\.ts$/.test(path));

  it("begin with a sentence that says what they do", () => {
    const sentence = /^(#!.*\n)?\/\*\*(\n \*)? .+/;
    expect(paths.filter((path) => !sentence.test(readFromRoot(path)))).toEqual([]);
  });

  it("have names that say what they contain", () => {
    const vague = /(^|\/)(utils|helpers|types|constants|interfaces|common)\.ts$/;
    expect(paths.filter((path) => vague.test(path))).toEqual([]);
  });
});
