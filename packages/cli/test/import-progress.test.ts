/** The progress of an import on a terminal and in a log. */
import type { OutboxCounts } from "@loyalty-cards/issuing-outbox";
import { expect, it } from "vitest";
import { createProgress } from "../src/import/report.ts";
import { Printer, type Terminal } from "../src/printer.ts";

/** A quarter is done, at 1,200 rows per second. */
const quarter = { waiting: 375_000, issued: 124_988, rejected: 12, unknown: 0 };
const begin: OutboxCounts = {
  ...{ waiting: 495_000, issued: 5_000, rejected: 0, unknown: 0 },
  ...{ undelivered: 0, paused: [] },
};

function openProgress(columns?: number) {
  const output: string[] = [];
  const stream = { isTTY: columns !== undefined, columns, write: (text: string) => output.push(text) };
  const terminal = { stdout: stream, stderr: stream, env: { NO_COLOR: "1" } } as unknown as Terminal;
  let nowMs = 0;
  const progress = createProgress(new Printer(terminal, {}), () => nowMs);
  progress(begin);
  return {
    output,
    update(atMs: number, failure?: string) {
      nowMs = atMs;
      progress({ ...begin, ...quarter }, failure);
    },
  };
}

const all = "Issuing  25 %  125,000 of 500,000 · 1,200 per second · 5 min 13 s left · 12 rejected";

it("shows counts, rate, remaining time and rejected rows on a terminal, and replaces them", () => {
  const { output, update } = openProgress(100);
  expect(output).toEqual(["Issuing  1 %  5,000 of 500,000 · 0 rejected\n"]);
  update(100_000);
  expect(output.slice(1)).toEqual(["\r\u001b[1A\u001b[2K", `${all}\n`]);
});

it("shows the failure of the last request", () => {
  const { output, update } = openProgress(200);
  update(100_000, "The connection to http://localhost:4010 failed (ECONNREFUSED).");
  expect(output.at(-1)).toBe(
    `${all} · the last request failed, and is repeated: The connection to http://localhost:4010 failed (ECONNREFUSED).\n`,
  );
});

it("fits 40 columns without losing a value", () => {
  const { output, update } = openProgress(40);
  update(100_000);
  const lines = (output.at(-1) ?? "").trimEnd().split("\n");
  expect(lines.map((line) => line.length).filter((length) => length > 39)).toEqual([]);
  expect(lines.map((line) => line.trim()).join(" ")).toBe(all);
});

it("prints a line every ten seconds where there is no terminal", () => {
  const { output, update } = openProgress();
  for (let atMs = 500; atMs <= 25_000; atMs += 500) update(atMs);
  expect(output.map((line) => line.split(" · ")[0])).toEqual(Array(2).fill(all.split(" · ")[0]));
});
