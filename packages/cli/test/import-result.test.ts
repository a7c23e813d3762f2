/** The result of an import that ends with rows of unknown outcome. */
import { expect, it } from "vitest";
import type { Context } from "../src/command.ts";
import type { ImportFiles } from "../src/import/files.ts";
import { printResult } from "../src/import/report.ts";
import { Printer } from "../src/printer.ts";
import type { Terminal } from "../src/terminal.ts";
import { createFolder } from "./import-terminal.ts";

it("exits with 3 when the outcome of a row is unknown", () => {
  const output: string[] = [];
  const stream = { write: (text: string) => output.push(text) };
  const print = new Printer({ stdout: stream, stderr: stream, env: {} } as unknown as Terminal, {});
  const { path } = createFolder({ "members.cards.csv": "user_id,card_id\n" });
  const files: ImportFiles = {
    input: { path: path("members.csv"), name: "members.csv", format: "csv" },
    outbox: path("members.csv.outbox"),
    rejected: path("members.rejected.csv"),
    cards: path("members.cards.csv"),
  };
  const counts = { rows: 1_234, issued: 1_200, replayed: 33, rejected: 0, unknown: 1 };
  const job = { commandLine: "loyalty-cards import members.csv", hasSent: true };
  const result = { ...counts, elapsedMs: 61_000, ended: "complete" as const };
  expect(printResult({ print } as Context, files, job, result)).toBe(3);
  expect(output.join("")).toBe(`Complete: 1,234 rows in 1 min 1 s
  issued         1,200  members.cards.csv
  issued before  33     members.cards.csv
  rejected       0
  unknown        1
`);
});
