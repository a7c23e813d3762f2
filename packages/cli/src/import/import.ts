/** The actions of `import` and `import check`. */
import { basename } from "node:path";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readTemplateId } from "../configuration.ts";
import { type CheckOptions, checkBefore, checkList, formatCheck, formatProblem } from "./check.ts";
import {
  checkFolders,
  type FileOptions,
  openSource,
  requireInput,
  resolveFiles,
  resolveInput,
  startReading,
} from "./files.ts";
import { describeMapping, type MappingOptions, resolveMapping } from "./mapping.ts";
import { confirm, printDryRun, printResult, toCommandError } from "./report.ts";
import type { ImportRow } from "./rows.ts";
import { ImportRun } from "./run.ts";

export interface ImportOptions extends FileOptions, MappingOptions, CheckOptions {
  template?: string;
  yes?: boolean;
  dryRun?: boolean;
  /** From 0 to 1. */
  abortOver?: number;
  concurrency?: number;
  maxPerSecond?: number;
}

/** `import check FILE`. */
export async function checkFile(context: Context, options: ImportOptions, file: string): Promise<number> {
  const { print, terminal } = context;
  requireSqlite();
  const input = resolveInput(terminal, file, options);
  const reading = startReading(terminal);
  const source = await openSource(context, input, options, reading);
  const mapping = resolveMapping(source.records, input.name, options);
  const result = await checkList(
    context,
    options,
    { input, source, mapping, reading },
    {
      onProblem: (problem) => print.data(problem, () => formatProblem(problem, print.dataColumns)),
      onRow: () => {},
    },
  );
  reading.end();
  print.data({ summary: result }, () => formatCheck(input.name, result).reflow(print.dataColumns));
  return result.problems > 0 ? exitCodes.failed : exitCodes.complete;
}

/** `import FILE`. @param commandLine the command line as it was typed, to print it again. */
export async function importFile(
  context: Context,
  options: ImportOptions,
  file: string,
  commandLine: string,
): Promise<number> {
  requireSqlite();
  const files = resolveFiles(context.terminal, file, options);
  const { input } = files;
  requireInput(input); // before what is not set is asked for
  const { dryRun = false, skipInvalid = false, yes = false, limit } = options;
  const template = readTemplateId(options.template, context.environment);
  if (dryRun && input.path === "-") throw new CommandError("--dry-run needs a file, not standard input.");
  if (!dryRun && !yes && context.ask === undefined)
    throw new CommandError("There is no terminal to ask on: use --yes to import without a question.");
  const client = dryRun ? undefined : await context.createClient();
  const reading = startReading(context.terminal);
  const source = await openSource(context, input, options, reading);
  const mapping = resolveMapping(source.records, input.name, options);
  const { concurrency, maxPerSecond, abortOver } = options;
  let run: ImportRun | undefined;
  try {
    if (client !== undefined) {
      checkFolders(files);
      const limits = { concurrency, maxPerSecond, abortOver };
      const description = { template, source: `${input.name} ${describeMapping(mapping)}` };
      run = new ImportRun({ context, client, ...description, input: source, files, ...limits });
      await run.open();
    }
    let first: { line: number; row: ImportRow } | undefined;
    const list = { input, source, mapping, reading };
    const checked = await checkBefore(context, options, list, (record, read) => {
      if (read.row !== undefined) first ??= { line: record.line, row: read.row };
      return run?.add(record, read);
    });
    // Standard input can be read only once, so its valid rows are sent.
    const isRejected = checked.problems > 0 && !skipInvalid && input.path !== "-";
    if (run === undefined) return isRejected ? exitCodes.failed : printDryRun(context, first);
    if (isRejected) return exitCodes.usage;
    await run.finishReading(checked.rows);
    reading.end();
    const result = await run.send(checked.rows === limit, (counts, left) =>
      confirm(context, yes, counts, left),
    );
    return printResult(context, files, { commandLine, hasSent: run.hasSent }, result);
  } catch (error) {
    throw toCommandError(error, basename(files.outbox), run?.hasSent ?? false);
  } finally {
    await run?.close();
  }
}

/** @throws {CommandError} when this Node.js has no SQLite, before anything is read. */
function requireSqlite(): void {
  try {
    openSqlite("").close();
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}
