/** The source files follow the import rules, and each violation is reported. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findViolations, readSourceFiles, type SourceFile } from "../architecture.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

// Parses every source file of the repository, which takes longer than five seconds on a busy machine.
it("finds no violation of the import rules", { timeout: 60_000 }, () => {
  const files = readSourceFiles(root);
  expect(files.length).toBeGreaterThan(60);
  expect(findViolations(files)).toEqual([]);
});

it("the architecture page names existing files in its request paths", () => {
  const page = readFileSync(`${root}docs/architecture.md`, "utf8");
  const paths = page.slice(page.indexOf("## Request paths"), page.indexOf("## Dependencies"));
  const named = [...paths.matchAll(/`([a-z][\w/-]*\w)`/g)].map(([, name = ""]) => name);
  const files = ["packages", "internal"].flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: "utf8" }),
  );
  const known = ["emit", "retryDelaysMs"]; // functions and values
  expect(named.length).toBeGreaterThan(40);
  expect(
    named.filter(
      (name) => !known.includes(name) && !files.some((file) => new RegExp(`/${name}\\.[jt]s$`).test(file)),
    ),
  ).toEqual([]);
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
    [
      "an import of a higher layer",
      [file(`${client}/a.ts`, "@loyalty-cards/mock-server")],
      /not in a lower layer/,
    ],
    [
      "an import within a layer",
      [file(`${client}/a.ts`, "type @loyalty-cards/webhook-verify")],
      /not in a lower layer/,
    ],
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
    ["msw in another file", [file("packages/mock-server/src/adapters/node.ts", "msw")], /may not import msw/],
    [
      "a Node API in a file for every runtime",
      [file(`${client}/a.ts`, "type node:http")],
      /may not import node:http/,
    ],
    [
      "a Node API in an internal file for every runtime",
      [file("internal/a.ts", "node:fs")],
      /may not import node:fs/,
    ],
    [
      "a framework at run time",
      [file("packages/webhook-verify/src/adapters/express.ts", "express")],
      /only its types may be imported/,
    ],
    [
      "an engine at run time",
      [file("packages/webhook-inbox/src/bullmq.ts", "bullmq")],
      /only its types may be imported/,
    ],
    [
      "a SQLite binding in another file",
      [file("packages/webhook-inbox/src/sqlite/store.ts", "libsql")],
      /may not import libsql/,
    ],
    [
      "an import of a higher folder of the mock server, types included",
      [file("packages/mock-server/src/domain/cards.ts", "type ../sandbox/state.ts")],
      /sandbox\/state\.ts, which is not in a lower folder/,
    ],
    [
      "an import between two folders of the mock server on one level",
      [file("packages/mock-server/src/pages/routes.ts", "../control/route.ts")],
      /control\/route\.ts, which is not in a lower folder/,
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
    expect(findViolations(files)).toEqual([expect.stringMatching(message)]);
  });

  it("a package without a layer", () => {
    expect(() => findViolations([file("packages/novelty/src/a.ts", "@loyalty-cards/openapi")])).toThrow(
      /has no layer/,
    );
  });

  it("a folder of the mock server without a layer", () => {
    expect(() => findViolations([file("packages/mock-server/src/extra/a.ts", "../domain/cards.ts")])).toThrow(
      /has no layer/,
    );
  });
});
