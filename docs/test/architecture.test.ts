/** The house keeps its rules, and the reader of the rules notices when it does not. */
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type SourceFile, sourceFiles, violations } from "../architecture.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

// Parses every source file of the repository, which takes longer than five seconds on a busy machine.
it("the house is in order", { timeout: 60_000 }, () => {
  const files = sourceFiles(root);
  expect(files.length).toBeGreaterThan(60);
  expect(violations(files)).toEqual([]);
});

describe("a broken rule is named:", () => {
  const file = (path: string, ...specifiers: string[]): SourceFile => ({
    path,
    firstLine: "/** A room. */",
    imports: specifiers.map((specifier) => ({
      specifier: specifier.replace(/^type /, ""),
      isTypeOnly: specifier.startsWith("type "),
    })),
  });
  const client = "packages/issuing-client/src";

  it.each([
    ["an upward arrow", [file(`${client}/a.ts`, "@loyalty-cards/mock-server")], /not below/],
    [
      "an arrow between neighbours",
      [file(`${client}/a.ts`, "type @loyalty-cards/webhook-verify")],
      /not below/,
    ],
    [
      "openapi-fetch elsewhere",
      [file(`${client}/client.ts`, "openapi-fetch")],
      /may not import openapi-fetch/,
    ],
    [
      "types of openapi-fetch elsewhere",
      [file(`${client}/client.ts`, "type openapi-fetch/dist/index.d.mts")],
      /may not import openapi-fetch/,
    ],
    ["msw elsewhere", [file("packages/mock-server/src/hosts/node.ts", "msw")], /may not import msw/],
    ["node: in a room of everywhere", [file(`${client}/a.ts`, "type node:http")], /may not import node:http/],
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
      "a SQLite binding elsewhere",
      [file("packages/webhook-inbox/src/sqlite/store.ts", "libsql")],
      /may not import libsql/,
    ],
    ["a drawer", [file(`${client}/utils.ts`)], /is a drawer/],
    [
      "no opening sentence",
      [{ ...file(`${client}/a.ts`), firstLine: "import x" }],
      /does not open with a sentence/,
    ],
    [
      "a loop, types included",
      [
        file(`${client}/a.ts`, "type ./b.ts"),
        file(`${client}/b.ts`, "./c.ts"),
        file(`${client}/c.ts`, "./a.ts"),
      ],
      /a\.ts → .*b\.ts → .*c\.ts → .*a\.ts is a loop/,
    ],
  ] as [string, SourceFile[], RegExp][])("%s", (_name, files, message) => {
    expect(violations(files)).toEqual([expect.stringMatching(message)]);
  });

  it("a package without a floor", () => {
    expect(() => violations([file("packages/novelty/src/a.ts", "@loyalty-cards/openapi")])).toThrow(
      /has no floor/,
    );
  });
});
