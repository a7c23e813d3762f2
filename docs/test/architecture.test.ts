/** The source files follow the import rules, and each violation is reported. */
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type SourceFile, sourceFiles, violations } from "../architecture.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

// Parses every source file of the repository, which takes longer than five seconds on a busy machine.
it("finds no violation of the import rules", { timeout: 60_000 }, () => {
  const files = sourceFiles(root);
  expect(files.length).toBeGreaterThan(60);
  expect(violations(files)).toEqual([]);
});

describe("reports", () => {
  const file = (path: string, ...specifiers: string[]): SourceFile => ({
    path,
    firstLine: "/** A file. */",
    imports: specifiers.map((specifier) => ({
      specifier: specifier.replace(/^type /, ""),
      isTypeOnly: specifier.startsWith("type "),
    })),
  });
  const client = "packages/issuing-client/src";

  it.each([
    ["an import of a higher layer", [file(`${client}/a.ts`, "@loyalty-cards/mock-server")], /not below/],
    ["an import within a layer", [file(`${client}/a.ts`, "type @loyalty-cards/webhook-verify")], /not below/],
    [
      "openapi-fetch in another file",
      [file(`${client}/client.ts`, "openapi-fetch")],
      /may not import openapi-fetch/,
    ],
    [
      "types of openapi-fetch in another file",
      [file(`${client}/client.ts`, "type openapi-fetch/dist/index.d.mts")],
      /may not import openapi-fetch/,
    ],
    ["msw in another file", [file("packages/mock-server/src/hosts/node.ts", "msw")], /may not import msw/],
    [
      "a Node API in a file for every runtime",
      [file(`${client}/a.ts`, "type node:http")],
      /may not import node:http/,
    ],
    [
      "a framework at run time",
      [file("packages/webhook-verify/src/adapters/express.ts", "express")],
      /more than its types/,
    ],
    [
      "an engine at run time",
      [file("packages/webhook-inbox/src/bullmq.ts", "bullmq")],
      /more than its types/,
    ],
    [
      "a SQLite binding in another file",
      [file("packages/webhook-inbox/src/sqlite/store.ts", "libsql")],
      /may not import libsql/,
    ],
    ["a vague file name", [file(`${client}/utils.ts`)], /needs a name that says what it contains/],
    [
      "a missing first sentence",
      [{ ...file(`${client}/a.ts`), firstLine: "import x" }],
      /does not begin with a sentence/,
    ],
    [
      "a cycle, types included",
      [
        file(`${client}/a.ts`, "type ./b.ts"),
        file(`${client}/b.ts`, "./c.ts"),
        file(`${client}/c.ts`, "./a.ts"),
      ],
      /a\.ts → .*b\.ts → .*c\.ts → .*a\.ts is a cycle/,
    ],
  ] as [string, SourceFile[], RegExp][])("%s", (_name, files, message) => {
    expect(violations(files)).toEqual([expect.stringMatching(message)]);
  });

  it("a package without a layer", () => {
    expect(() => violations([file("packages/novelty/src/a.ts", "@loyalty-cards/openapi")])).toThrow(
      /has no layer/,
    );
  });
});
