/** The actions of `import` and its subcommands. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readTemplateId } from "../configuration.ts";
import { type CheckOptions, checkBefore, checkList, formatCheck, formatProblem } from "./check.ts";
import { readContacts } from "./duplicates.ts";
import {
  checkFolders,
  type FileOptions,
  type ImportFiles,
  type Input,
  openSource,
  type Reading,
  requireInput,
  resolveFiles,
  resolveInput,
  type Source,
  startReading,
} from "./files.ts";
import { describeMapping, type MappingOptions, resolveMapping } from "./mapping.ts";
import { confirm, printDryRun, printResult, toCommandError } from "./report.ts";
import type { ImportRow, RowOptions } from "./rows.ts";
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
  requireInput(files.input); // before what is not set is asked for
  return runJob(context, options, files, { name: files.input.name, commandLine, isRetry: false });
}

/** `import retry-rejected FILE`: the rows in the file of rejected rows, with the outbox of the first import. */
export async function retryRejected(
  context: Context,
  options: ImportOptions,
  file: string,
  commandLine: string,
): Promise<number> {
  requireSqlite();
  const files = resolveFiles(context.terminal, file, options);
  const { name, format } = files.input;
  if (!existsSync(files.rejected)) {
    if (!existsSync(files.outbox)) requireInput(files.input); // otherwise the list was removed after its import
    context.print.info(`${basename(files.rejected)} does not exist: ${name} has no rejected rows.`);
    return exitCodes.complete;
  }
  const reading = startReading(context.terminal);
  const first = await openFirst(context, options, files.input, reading);
  const input: Input = {
    path: files.rejected,
    name: basename(files.rejected),
    format,
    ...(first !== undefined && format === "ndjson" && { columns: first.records.columns }),
  };
  const rest = first && (await readRest(context, options, input, name, first, reading));
  reading.end();
  return runJob(context, options, { ...files, input }, { name, commandLine, isRetry: true, rest });
}

/** Opens the first input again, if it still exists. */
async function openFirst(
  context: Context,
  options: ImportOptions,
  input: Input,
  reading: Reading,
): Promise<Source | undefined> {
  if (input.path !== "-" && existsSync(input.path)) return openSource(context, input, options, reading);
  context.print.info(
    `The rows are not compared with the people in ${input.name}, which cannot be read again.`,
  );
  return undefined;
}

/** Reads the contacts of the first input: a correction must not issue a second card to one of these people. */
async function readRest(
  context: Context,
  options: ImportOptions,
  rejected: Input,
  name: string,
  first: Source,
  reading: Reading,
): Promise<RowOptions["rest"]> {
  const { records } = await openSource(context, rejected, options, reading);
  const mapping = resolveMapping(records, rejected.name, options);
  return { name, contacts: await readContacts(first.records, records, mapping) };
}

/** @throws {CommandError} when this Node.js has no SQLite, before anything is read. */
function requireSqlite(): void {
  try {
    openSqlite("").close();
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}

/** The settings of one command line. */
interface Job {
  /** The name of the first input, also in a retry. */
  name: string;
  commandLine: string;
  isRetry: boolean;
  rest?: RowOptions["rest"];
}

async function runJob(
  context: Context,
  options: ImportOptions,
  files: ImportFiles,
  { name, commandLine, isRetry, rest }: Job,
): Promise<number> {
  const { dryRun = false, skipInvalid = false, yes = false, limit } = options;
  const { input } = files;
  const template = readTemplateId(options.template, context.environment);
  if (dryRun && input.path === "-") throw new CommandError("--dry-run needs a file, not standard input.");
  if (!dryRun && !yes && context.ask === undefined)
    throw new CommandError("There is no terminal to ask on: use --yes to import without a question.");
  const client = dryRun ? undefined : await context.createClient();
  const reading = startReading(context.terminal); // after a question, which Ctrl-C ends
  const source = await openSource(context, input, options, reading);
  if (isRetry && !source.records.hasAddedColumns)
    throw new CommandError(`${input.name} has no column rejected_key: it is not the result of an import.`);
  const mapping = resolveMapping(source.records, input.name, options);
  const { concurrency, maxPerSecond, abortOver } = options;
  let run: ImportRun | undefined;
  try {
    if (client !== undefined) {
      checkFolders(files);
      const limits = { concurrency, maxPerSecond, abortOver };
      const description = { template, source: `${name} ${describeMapping(mapping)}` };
      run = new ImportRun({ context, client, ...description, input: source, files, isRetry, ...limits });
      await run.open();
    }
    let first: { line: number; row: ImportRow } | undefined;
    const list = { input, source, mapping, reading, rest };
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
    return printResult(context, files, { commandLine, isRetry, hasSent: run.hasSent }, result);
  } catch (error) {
    throw toCommandError(error, basename(files.outbox), run?.hasSent ?? false);
  } finally {
    await run?.close();
    rest?.contacts.close();
  }
}
