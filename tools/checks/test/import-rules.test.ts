/** The source files follow the import rules, and each violation is reported. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { root } from "../../published.ts";
import { findViolations } from "../import-rules.ts";

it("finds no violation of the import rules", async () => {
  const { files, violations } = await findViolations();
  expect(violations).toEqual([]);
  expect(files).toBeGreaterThan(200);
});

const client = "packages/issuing-client/src";
const mock = "packages/mock-server/src";

it.each<[what: string, files: Record<string, string>, message: string]>([
  [
    "an import of a higher layer",
    { [`${client}/a.ts`]: 'import "../../mock-server/src/index.ts";', [`${mock}/index.ts`]: "" },
    "packages/issuing-client imports from lower layers only",
  ],
  [
    "an import within a layer, also of a type",
    {
      [`${client}/a.ts`]: 'import type { B } from "../../webhook-verify/src/b.ts";',
      "packages/webhook-verify/src/b.ts": "export interface B {}",
    },
    "packages/issuing-client imports from lower layers only",
  ],
  [
    "an import of an example",
    { "packages/cli/src/a.ts": 'import "../../../examples/b.ts";', "examples/b.ts": "" },
    "nothing imports an example",
  ],
  [
    "openapi-fetch in another file, also a type",
    { [`${client}/client.ts`]: 'import type { Client } from "openapi-fetch";' },
    "only one file imports openapi-(fetch|typescript-helpers)",
  ],
  ["msw in another file", { [`${mock}/adapters/node.ts`]: 'import "msw";' }, "only one file imports msw"],
  [
    "a SQLite binding in another file",
    { "packages/webhook-inbox/src/sqlite/store.ts": 'await import("libsql");' },
    "only one file imports libsql",
  ],
  [
    "a Node API in a file for every runtime, also a type",
    { [`${client}/a.ts`]: 'export const agent = (): import("node:http").Agent | undefined => undefined;' },
    "only files with node in their name import Node.js",
  ],
  [
    "a Node API in an internal file for every runtime",
    { "internal/a.ts": 'export * from "node:sqlite";' },
    "only files with node in their name import Node.js",
  ],
  [
    "a framework at run time",
    { "packages/webhook-verify/src/adapters/express.ts": 'import express from "express";' },
    "frameworks are imported as types",
  ],
  [
    "an engine at run time",
    { "packages/webhook-inbox/src/bullmq.ts": 'import { Queue } from "bullmq";' },
    "frameworks are imported as types",
  ],
  [
    "an import of a higher folder of the mock server, also of a type",
    {
      [`${mock}/domain/cards.ts`]: 'import type { State } from "../backend/state.ts";',
      [`${mock}/backend/state.ts`]: "export interface State {}",
    },
    `${mock}/domain imports from lower layers only`,
  ],
  [
    "an import between two folders of the mock server on one level",
    { [`${mock}/pages/routes.ts`]: 'import "../control/route.ts";', [`${mock}/control/route.ts`]: "" },
    `${mock}/pages imports from lower layers only`,
  ],
  [
    "a cycle of files, types included",
    {
      [`${client}/a.ts`]: 'import type { B } from "./b.ts";',
      [`${client}/b.ts`]: 'import "./c.ts"; export interface B {}',
      [`${client}/c.ts`]: 'import "./a.ts";',
    },
    "no cycle",
  ],
  [
    "a cycle of folders",
    {
      "packages/cli/src/import/a.ts": 'import "../webhook/b.ts";',
      "packages/cli/src/import/c.ts": "",
      "packages/cli/src/webhook/b.ts": "",
      "packages/cli/src/webhook/d.ts": 'import "../import/c.ts";',
    },
    "no cycle of folders",
  ],
  [
    "a package without a layer",
    { "packages/novelty/src/a.ts": 'import "./b.ts";', "packages/novelty/src/b.ts": "" },
    "every package has a layer",
  ],
  [
    "a folder of the mock server without a layer",
    { [`${mock}/extra/a.ts`]: 'import "../domain/b.ts";', [`${mock}/domain/b.ts`]: "" },
    "every folder of the mock server has a layer",
  ],
  ["an import that is not found", { "internal/a.ts": 'import "./absent.ts";' }, "every import is found"],
])("reports %s", async (_what, files, message) => {
  const folder = mkdtempSync(join(tmpdir(), "import-rules-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "packages"));
  for (const [path, program] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), program);
  }
  const { violations } = await findViolations(folder);
  expect(violations).toContainEqual(
    expect.toSatisfy((violation: string) => violation.endsWith(`: ${message}`)),
  );
});

describe("source files", () => {
  const paths = ["internal", "examples", "packages"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .map((path) => `${folder}/${path.replaceAll("\\", "/")}`)
      .filter((path) => /^(internal|examples|packages\/[^/]+\/src)\/.*\.ts$/.test(path))
      .filter((path) => !/node_modules|\.next\/|\.d\.ts$/.test(path)),
  );

  it("begin with a sentence that says what they do", () => {
    const sentence = /^(#!.*\n)?\/\*\* .+/;
    expect(paths.filter((path) => !sentence.test(readFileSync(join(root, path), "utf8")))).toEqual([]);
  });

  it("have names that say what they contain", () => {
    const vague = /(^|\/)(utils|helpers|types|constants|interfaces|common)\.ts$/;
    expect(paths.filter((path) => vague.test(path))).toEqual([]);
  });
});
