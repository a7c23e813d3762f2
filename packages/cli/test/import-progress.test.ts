/** The progress of an import on a terminal and in a log. */
import { expect, it } from "vitest";
import { type Progress, ProgressDisplay } from "../src/import/progress.ts";
import { Printer, type Terminal } from "../src/printer.ts";

const progress = (more: Partial<Progress>): Progress => ({
  issued: 0,
  replayed: 0,
  rejected: 0,
  unknown: 0,
  elapsedMs: 0,
  perSecond: 0,
  ...more,
});

function openDisplay(columns?: number) {
  const output: string[] = [];
  const stream = { isTTY: columns !== undefined, columns, write: (text: string) => output.push(text) };
  const terminal = { stdout: stream, stderr: stream, env: { NO_COLOR: "1" } } as unknown as Terminal;
  return { output, display: new ProgressDisplay(new Printer(terminal, {})) };
}

const halfway = progress({
  issued: 123_000,
  replayed: 2_000,
  rejected: 12,
  perSecond: 1_204.4,
  total: 500_000,
  etaMs: 311_000,
});

it("shows a bar, counts, rate, remaining time and rejected rows in 80 columns of a terminal", () => {
  const { output, display } = openDisplay(80);
  display.update(halfway);
  expect(output).toEqual([
    "Issuing  ████████░░░░░░░░░░░░░░░░░░░░░░  25 %  125,012 of 500,000\n" +
      "         1,204 per second · 5 min 11 s left · 12 rejected\n",
  ]);
  display.clear();
  expect(output.at(-1)).toBe("\r\u001b[1A\u001b[2K\u001b[1A\u001b[2K");
});

it("shows a pause and its reason, unknown rows, and a list of unknown length", () => {
  const pausedBy = "The connection to http://localhost:4010 failed (ECONNREFUSED).";
  const paused = progress({ issued: 7, unknown: 2, pausedBy, elapsedMs: 10_000 });
  const { output, display } = openDisplay(80);
  display.update(paused);
  expect(output).toEqual([
    `Issuing  9 rows\n         paused, trying one row at a time · none rejected · 2 unknown\n         ${pausedBy}\n`,
  ]);
  const log = openDisplay();
  log.display.update(paused);
  expect(log.output).toEqual([
    `9 rows, paused, trying one row at a time, 0 rejected, 2 unknown. ${pausedBy}\n`,
  ]);
});

it("fits 40 columns without losing a value", () => {
  const { output, display } = openDisplay(40);
  display.update(halfway);
  expect(output).toEqual([
    "Issuing   25 %  125,012 of 500,000\n" +
      "         1,204 per second\n" +
      "         5 min 11 s left · 12 rejected\n",
  ]);
  display.update(progress({ ...halfway, issued: 7, replayed: 0, total: 50 }));
  expect(output.at(-1)).toMatch(/^Issuing {2}█{5}░{9} {2}38 % {2}19 of 50\n/);
});

it("prints a line every ten seconds where there is no terminal", () => {
  const { output, display } = openDisplay();
  for (let elapsedMs = 0; elapsedMs <= 25_000; elapsedMs += 500) display.update({ ...halfway, elapsedMs });
  const line = "125012 of 500000 rows (25 %), 1204 per second, 5 min 11 s left, 12 rejected\n";
  expect(output).toEqual([line, line]);
});
