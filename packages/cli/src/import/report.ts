/** What an import prints: the question after the first rows, the form of a request, and the result. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { Context } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { formatTable, Text, text } from "../printable.ts";
import type { ImportFiles } from "./files.ts";
import { formatCount, formatDuration, formatNumber } from "./progress.ts";
import type { ImportRow } from "./rows.ts";
import type { Counts, RunResult } from "./run.ts";

/** The form of the first request: each value as its type and length, because it is personal data. */
export function printDryRun({ print }: Context, first: ImportRow | undefined): number {
  if (first === undefined) return exitCodes.failed; // no row is valid
  const mask = (_key: string, value: unknown) => {
    if (typeof value === "string") return `(text, ${formatCount(value.length, "character")})`;
    return typeof value === "number" ? "(number)" : value;
  };
  const masked = JSON.parse(JSON.stringify(first.request, mask));
  print.data({ userId: mask("", first.userId), request: masked }, () => {
    const line = `The first row, line ${first.record.line}, with its values masked; nothing was sent:`;
    return text`${line}\n${Text.multiline(JSON.stringify(masked, undefined, 2))}`;
  });
  return exitCodes.complete;
}

/** After the first ten rows. Without a question the run ends only when none of them was accepted. */
export async function confirm(
  { ask, print }: Context,
  { yes }: { yes?: boolean },
  { issued, replayed, rejected, unknown }: Counts,
  total: number | undefined,
): Promise<boolean> {
  const all = issued + replayed + rejected + unknown;
  const summary = `First ${all} rows: ${issued + replayed} issued, ${rejected} rejected, ${unknown} unknown.`;
  print.info(summary);
  if (yes) {
    if (issued + replayed === 0) print.error("Stopped, because none of the first rows was issued.");
    return issued + replayed > 0;
  }
  const rest = total === undefined ? "the rest" : `the other ${formatNumber(total - all)}`;
  // Without a terminal the import has not started.
  return (await ask?.(`Look at these cards in the service. Issue ${rest}?`)) ?? false;
}

const endings: Readonly<Record<RunResult["ended"], string>> = {
  complete: "Complete",
  interrupted: "Interrupted",
  declined: "Stopped after the first rows",
  "too-many-rejected": "Stopped: more rows are rejected than --abort-over allows",
};

export function printResult(
  { print }: Context,
  { rejected, cards, checkpoint }: ImportFiles,
  { commandLine, isRetry }: { commandLine: string; isRetry: boolean },
  result: RunResult,
): number {
  const { rows, issued, replayed, ended, elapsedMs } = result;
  const files = { cards: basename(cards), ...(existsSync(rejected) && { rejected: basename(rejected) }) };
  print.data({ ...result, ...files, checkpoint: basename(checkpoint) }, () => {
    const table = [
      ["  issued", formatNumber(issued), files.cards],
      ...(replayed > 0 ? [["  issued before", formatNumber(replayed), files.cards]] : []),
      ["  rejected", formatNumber(result.rejected), files.rejected ?? ""],
      ...(result.unknown > 0 ? [["  unknown", formatNumber(result.unknown)]] : []),
    ];
    return text`${endings[ended]}: ${formatCount(rows, "row")} in ${formatDuration(elapsedMs)}\n${formatTable(table)}`;
  });
  const isResumable = ended !== "complete" || result.unknown > 0;
  if (isResumable) print.info(text`To resume, run the same command again:\n  ${commandLine}`);
  else if (files.rejected !== undefined) {
    const again = isRetry ? commandLine : commandLine.replace(" import ", " import retry-rejected ");
    print.info(text`Correct the rows in ${files.rejected}, then:\n  ${again}`);
  }
  if (ended === "interrupted") return exitCodes.interrupted;
  if (isResumable) return exitCodes.stopped;
  return result.rejected > 0 ? exitCodes.failed : exitCodes.complete;
}
