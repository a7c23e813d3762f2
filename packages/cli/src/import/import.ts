/** The actions of `import` and its subcommands. */
import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readTemplateId } from "../configuration.ts";
import { formatTable } from "../printable.ts";
import { type CheckResult, checkSource, formatCheck, formatProblem } from "./check.ts";
import { readContacts } from "./duplicates.ts";
import {
  checkFolders,
  checkResultFiles,
  type FileOptions,
  type ImportFiles,
  type Input,
  openSource,
  resolveFiles,
  resolveInput,
  type Source,
} from "./files.ts";
import {
  describeMapping,
  findUnusedColumns,
  type Mapping,
  type MappingOptions,
  resolveMapping,
} from "./mapping.ts";
import { formatNumber } from "./progress.ts";
import { confirm, printDryRun, printResult } from "./report.ts";
import { isEdited, ResultFiles } from "./result-files.ts";
import { type Problem, type RowOptions, RowReader } from "./rows.ts";
import { runImport, toCommandError } from "./run.ts";

export interface ImportOptions extends FileOptions, MappingOptions {
  template?: string;
  /** False with `--no-damage-check`. */
  damageCheck?: boolean;
  allowSamePerson?: boolean;
  limit?: number;
  skipInvalid?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  /** From 0 to 1. */
  abortOver?: number;
  concurrency?: number;
  maxPerSecond?: number;
}

/** More problems are printed by `import check` only. */
const maxPrintedProblems = 20;

/** `import check FILE`. */
export async function checkFile(context: Context, options: ImportOptions, file: string): Promise<number> {
  const { print, terminal } = context;
  const input = resolveInput(terminal, file, options);
  const result = await check(context, options, input, (problem) =>
    print.data(problem, () => formatProblem(problem, print.dataColumns)),
  );
  const { first: _, ...summary } = result;
  print.data({ summary }, () => formatCheck(input.name, result));
  return result.problems > 0 ? exitCodes.failed : exitCodes.complete;
}

/** `import FILE`. @param commandLine what the user typed, to be typed again. */
export async function importFile(
  context: Context,
  options: ImportOptions,
  file: string,
  commandLine: string,
): Promise<number> {
  const files = resolveFiles(context.terminal, file, options);
  checkResultFiles(files);
  if (isEdited(files)) {
    throw new CommandError(
      `${basename(files.rejected)} was edited after the last run, and this run would replace it. To issue its rows run \`loyalty-cards import retry-rejected ${files.input.name}\` with the same options; otherwise move it away.`,
    );
  }
  return runChecked(context, options, files, { name: files.input.name, commandLine, isRetry: false });
}

/** `import retry-rejected FILE`: the rows in the file of rejected rows, with the checkpoint of the first import. */
export async function retryRejected(
  context: Context,
  options: ImportOptions,
  file: string,
  commandLine: string,
): Promise<number> {
  const files = resolveFiles(context.terminal, file, options);
  const { name, format } = files.input;
  if (!existsSync(files.rejected)) {
    context.print.info(`${basename(files.rejected)} does not exist: ${name} has no rejected rows.`);
    return exitCodes.complete;
  }
  const first = await openFirst(context, options, files.input);
  const input: Input = {
    path: files.rejected,
    name: basename(files.rejected),
    format,
    ...(first !== undefined && format === "ndjson" && { columns: first.records.columns }),
  };
  const rest = first && (await readRest(context, options, input, name, first));
  return runChecked(context, options, { ...files, input }, { name, commandLine, isRetry: true, rest });
}

/** The first input again, when it is still there. */
async function openFirst(
  { terminal, print }: Context,
  options: ImportOptions,
  input: Input,
): Promise<Source | undefined> {
  if (input.path !== "-" && existsSync(input.path)) return openSource(terminal, input, options);
  print.info(`The rows are not compared with the people in ${input.name}, which cannot be read again.`);
  return undefined;
}

/** The people of the first input, who must not get a second card by a correction. */
async function readRest(
  { terminal }: Context,
  options: ImportOptions,
  rejected: Input,
  name: string,
  first: Source,
): Promise<RowOptions["rest"]> {
  const { records } = await openSource(terminal, rejected, options);
  const mapping = resolveMapping(records, rejected.name, options);
  return { name, contacts: await readContacts(first.records, records, mapping) };
}

/** `import status FILE`: what the checkpoint has, also while an import is running. */
export async function printStatus(
  { terminal, print }: Context,
  { checkpoint: option }: ImportOptions,
  file: string,
): Promise<number> {
  const { fileCheckpoint } = await import("@loyalty-cards/issuing-client/bulk");
  const checkpoint = option ?? `${file}.checkpoint`;
  const name = basename(checkpoint);
  const counts = await fileCheckpoint(resolve(terminal.cwd, checkpoint))
    .count()
    .catch((error: unknown) => {
      throw toCommandError(error);
    });
  if (counts === undefined)
    throw new CommandError(`There is no checkpoint ${name}: was the file imported with --checkpoint?`);
  print.data({ checkpoint: name, ...counts }, () =>
    formatTable([
      ["issued", formatNumber(counts.issued)],
      ["rejected", formatNumber(counts.rejected)],
      ["unknown", formatNumber(counts.unknown)],
      ["sent, no result yet", formatNumber(counts.running)],
    ]),
  );
  return exitCodes.complete;
}

/** What belongs to one command line. */
interface Job {
  /** The name of the first input: a retry belongs to the same run. */
  name: string;
  commandLine: string;
  isRetry: boolean;
  rest?: RowOptions["rest"];
}

async function runChecked(
  context: Context,
  options: ImportOptions,
  files: ImportFiles,
  job: Job,
): Promise<number> {
  const { terminal, print, environment } = context;
  const { dryRun = false } = options;
  const template = readTemplateId(options.template, environment);
  if (!dryRun && !options.yes && context.ask === undefined)
    throw new CommandError("There is no terminal to ask on: use --yes to import without a question.");
  const client = dryRun ? undefined : await context.createClient();
  const { input } = files;
  if (dryRun && input.path === "-") throw new CommandError("--dry-run needs a file, not standard input.");
  // Standard input can be read once: its rows are checked one by one.
  const checked = input.path === "-" ? undefined : await checkBefore(context, options, input, job.rest);
  if (checked !== undefined && checked.problems > 0 && !options.skipInvalid) return exitCodes.failed;
  if (client === undefined) return printDryRun(context, checked?.first);
  checkFolders(files);

  const source = await openSource(terminal, input, options);
  if (job.isRetry && !source.records.hasAddedColumns)
    throw new CommandError(`${input.name} has no column rejected_key: it is not the result of an import.`);
  const mapping = resolveMapping(source.records, input.name, options);
  const result = await runImport({
    client,
    terminal,
    print,
    source: source.records,
    reader: createReader(mapping, options, job.rest),
    files: new ResultFiles(files, source, job.isRetry),
    template,
    checkpoint: files.checkpoint,
    description: `${job.name} ${describeMapping(mapping)}`,
    limit: options.limit,
    total: checked,
    concurrency: options.concurrency,
    maxPerSecond: options.maxPerSecond,
    abortOver: options.abortOver,
    confirm: (counts) => confirm(context, options, counts, checked?.rows),
  });
  return printResult(context, files, job, result);
}

/** Prints the first problems, and what the import will do. */
async function checkBefore(
  context: Context,
  options: ImportOptions,
  input: Input,
  rest: RowOptions["rest"],
): Promise<CheckResult> {
  const { print } = context;
  let printed = 0;
  const onProblem = (problem: Problem) => {
    if (++printed <= maxPrintedProblems)
      print.info(formatProblem(problem, print.isLive ? print.columns : Number.POSITIVE_INFINITY));
  };
  const result = await check(context, options, input, onProblem, rest);
  if (printed > maxPrintedProblems)
    print.info(`… and ${formatNumber(printed - maxPrintedProblems)} more: see loyalty-cards import check`);
  print.info(formatCheck(input.name, result));
  if (result.problems > 0) {
    print.info(
      options.skipInvalid
        ? "Rows with problems are rejected."
        : "Nothing was sent. Correct the rows, or use --skip-invalid to import the others.",
    );
  }
  return result;
}

async function check(
  { terminal, print }: Context,
  options: ImportOptions,
  input: Input,
  onProblem: (problem: Problem) => void,
  rest?: RowOptions["rest"],
): Promise<CheckResult> {
  const { records } = await openSource(terminal, input, options);
  const mapping = resolveMapping(records, input.name, options);
  const unused = findUnusedColumns(records, mapping);
  // A file whose header is data has been refused above, so these are names.
  if (unused.length > 0) print.info(`Columns that are not used: ${unused.join(", ")}`);
  const result = await checkSource(records, mapping, createReader(mapping, options, rest), {
    limit: options.limit,
    onProblem,
    onRow: (rows) => {
      if (rows % 10_000 === 0) print.status(`Checking  ${formatNumber(rows)} rows`);
    },
  });
  print.status(undefined);
  if (result.rows === 0) throw new CommandError(`${input.name} has a header and no rows.`);
  return result;
}

const createReader = (
  mapping: Mapping,
  { damageCheck = true, allowSamePerson = false }: ImportOptions,
  rest: RowOptions["rest"],
) => new RowReader(mapping, { checkDamage: damageCheck, allowSamePerson, rest });
