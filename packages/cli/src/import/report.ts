/** What an import prints: the question after the first rows, the form of a request, the result, and errors. */

import { existsSync } from "node:fs";
import { basename } from "node:path";
import { formatDuration } from "@loyalty-cards/internal/format";
import type { Context } from "../command.ts";
import { CommandError, describeSystemError, exitCodes } from "../command-error.ts";
import { formatCount, formatNumber, formatTable, Text, text } from "../printable.ts";
import type { ImportFiles } from "./files.ts";
import type { Counts } from "./progress.ts";
import type { ImportRow } from "./rows.ts";
import type { RunResult } from "./run.ts";

/** Prints the structure of the first request. Values are personal data, so only their types and lengths are printed. */
export function printDryRun({ print }: Context, first: { line: number; row: ImportRow } | undefined): number {
  if (first === undefined) return exitCodes.failed; // no row is valid
  const mask = (_key: string, value: unknown) => {
    if (typeof value === "string") return `(text, ${formatCount(value.length, "character")})`;
    return typeof value === "number" ? "(number)" : value;
  };
  const { line: number, row } = first;
  const masked = JSON.parse(JSON.stringify(row.request, mask));
  print.data({ userId: mask("", row.userId), request: masked }, () => {
    const line = `The first row, line ${number}, with its values masked; nothing was sent:`;
    return text`${line}\n${Text.multiline(JSON.stringify(masked, undefined, 2))}`;
  });
  return exitCodes.complete;
}

/** Asks whether to continue after the first ten rows. With `--yes` the run ends only when no card was issued. @param left how many are not sent. */
export async function confirm(
  { ask, print }: Context,
  isYes: boolean,
  { issued, rejected, unknown }: Omit<Counts, "replayed">,
  left: number,
): Promise<boolean> {
  const all = issued + rejected + unknown;
  print.info(`First ${all} rows: ${issued} issued, ${rejected} rejected, ${unknown} unknown.`);
  if (isYes) {
    if (issued === 0) print.error("Stopped, because none of the first rows was issued.");
    return issued > 0;
  }
  // `ask` is present: without a terminal the import is rejected before it starts.
  return (await ask?.(`Look at these cards in the service. Issue the other ${formatNumber(left)}?`)) ?? false;
}

const endings: Readonly<Record<RunResult["ended"], string>> = {
  complete: "Complete",
  interrupted: "Interrupted",
  declined: "Stopped after the first rows",
  "too-many-rejected": "Stopped: more rows are rejected than --abort-over allows",
};

export function printResult(
  { print }: Context,
  { input, rejected, cards, outbox }: ImportFiles,
  { commandLine, hasSent }: { commandLine: string; hasSent: boolean },
  result: RunResult,
): number {
  const { rows, issued, replayed, ended, elapsedMs } = result;
  const files = {
    ...(existsSync(cards) && { cards: basename(cards) }),
    ...(existsSync(rejected) && { rejected: basename(rejected) }),
  };
  print.data({ ...result, files, outbox: basename(outbox) }, () => {
    const table = [
      ["  issued", formatNumber(issued), files.cards ?? ""],
      ...(replayed > 0 ? [["  issued before", formatNumber(replayed), files.cards ?? ""]] : []),
      ["  rejected", formatNumber(result.rejected), files.rejected ?? ""],
      ...(result.unknown > 0 ? [["  unknown", formatNumber(result.unknown)]] : []),
    ];
    return text`${endings[ended]}: ${formatCount(rows, "row")} in ${formatDuration(elapsedMs)}\n${formatTable(table)}`;
  });
  if (ended !== "complete") {
    const again = input.path === "-" ? "again, with the same rows on standard input" : "again";
    print.info(text`To resume, run the same command ${again}:\n  ${commandLine}`);
  } else if (files.rejected !== undefined) {
    if (result.unknown > 0)
      print.info(
        "Rows with an unknown result are not sent again. Look in the console whether these customers have a card: `loyalty-cards issue` issues a missing one. Then remove the rows from the list.",
      );
    if (result.rejected > 0) {
      print.info(
        `Correct the rejected rows in ${input.name}, and run the same command again (${files.rejected} has the reasons):`,
      );
      print.info(text`  ${commandLine}`);
    }
  }
  if (ended === "interrupted") return exitCodes.interrupted;
  if (ended !== "complete" || result.unknown > 0) return exitCodes.stopped;
  if (result.rejected === 0) return exitCodes.complete;
  return hasSent || replayed > 0 ? exitCodes.failed : exitCodes.usage;
}

/** Converts an error to one with an exit code. After rows were sent, the message says that the same command resumes. */
export function toCommandError(error: unknown, outbox: string, hasSent: boolean): unknown {
  if (error instanceof CommandError)
    return hasSent ? new CommandError(error.text, { exitCode: exitCodes.stopped }) : error;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const isSqlite = typeof code === "string" && code.includes("SQLITE");
  const problem = isSqlite ? `${outbox} cannot be used: ${message}.` : describeSystemError(error);
  if (problem === undefined) return error;
  if (!hasSent) return new CommandError(problem);
  const advice = "Correct this, and run the same command again: no row gets a second card.";
  return new CommandError(`${problem} ${advice}`, { exitCode: exitCodes.stopped });
}
