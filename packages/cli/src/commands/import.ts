/** `import`: declares the commands that issue the cards of a whole list. What they do is in ../import. */
import { findNearestName } from "@loyalty-cards/internal/nearest-name";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  addExamples,
  type Cli,
  collect,
  configureOptions,
  describeHelp,
  parseWhole,
  setAction,
} from "../command.ts";
import { CommandError } from "../command-error.ts";
import type { ImportOptions } from "../import/import.ts";
import { Text } from "../printable.ts";

export function addImportCommands(program: Command, cli: Cli): void {
  const command = program
    .command("import")
    .description("issue a card to each row of a list")
    .argument("<file>", "CSV (RFC 4180) or NDJSON file in UTF-8, or - for standard input");
  addSourceOptions(command);
  command
    .option("--template <id>", "id of the template (default: LOYALTY_TEMPLATE_ID)")
    .option("--outbox <file>", "what is sent, and what was issued (default: FILE.outbox)")
    .option("--rejected <file>", "rejected rows with reasons (default: NAME.rejected.csv)")
    .option("--cards <file>", "card id of each user (default: NAME.cards.csv)")
    .option("--skip-invalid", "import although rows have problems; those are rejected")
    .option("--yes", "do not ask after ten cards")
    .option("--dry-run", "check, print the form of the first request, send nothing")
    .option("--abort-over <percent>", "stop when more rows are rejected, such as 5%", parsePercent)
    .option("--concurrency <number>", "requests at once, at most (default: 32)", parseWhole(1, 1_000))
    .option("--max-per-second <number>", "requests per second, at most", parseWhole(1));
  addExamples(
    command,
    "loyalty-cards import check members.csv --map userId=id --privacy 2026-01",
    "loyalty-cards import members.csv --template tpl_coffee --map userId=id \\",
    "  --map phone=mobile --privacy 2026-01",
  );
  addNotes(cli, command, [progressNote, ...listNotes]);
  command.allowExcessArguments(); // a misspelt subcommand is read as the file, and its file as an excess argument
  setAction<ImportOptions>(cli, command, async (context, options, file: string) => {
    if (command.args.length > 1) throw await createExcessError(command);
    const { importFile } = await import("../import/import.ts");
    return importFile(context, options, file, getCommandLine(program));
  });

  const check = command
    .command("check")
    .description("find problems in a file; send nothing")
    .argument("<file>", "the file, or - for standard input");
  addExamples(
    check,
    "loyalty-cards import check members.csv --map userId=id --privacy 2026-01",
    "loyalty-cards import check members.ndjson --privacy 2026-01 --json",
  );
  addNotes(cli, check, listNotes);
  setAction<ImportOptions>(cli, check, async (context, options, file: string) => {
    const { checkFile } = await import("../import/import.ts");
    return checkFile(context, options, file);
  });

  // The options of `import` that read the list are valid for `import check` too.
  configureOptions(check, program, { inherited: sourceOptions });
}

const sourceOptions = [
  "--map",
  "--privacy",
  "--marketing-version",
  "--number-field",
  "--format",
  "--delimiter",
  "--no-damage-check",
  "--allow-same-person",
  "--limit",
];

function addSourceOptions(command: Command): Command {
  return command
    .option("--map <target=column>", "a column of the file (repeatable; see below)", collect)
    .option("--privacy <version>", "version of the privacy text that the members accepted")
    .option("--marketing-version <version>", "version of the marketing text")
    .option("--number-field <key>", "send field.KEY as a number (repeatable)", collect)
    .addOption(
      new Option("--format <format>", "default: by the extension of the file").choices(["csv", "ndjson"]),
    )
    .option("--delimiter <character>", 'between values (default: found in the header; "tab")', parseDelimiter)
    .option("--no-damage-check", "do not look for damage by spreadsheets")
    .option("--allow-same-person", "issue cards to users that share a phone or email")
    .option("--limit <rows>", "only the first rows", parseWhole(1));
}

function addNotes(cli: Cli, command: Command, notes: readonly string[]): void {
  const columns = cli.terminal.stdout.columns || 80;
  for (const note of notes) command.addHelpText("after", `\n${Text.from(note).reflow(columns)}`);
}

const progressNote =
  "The import first checks the whole file, then issues ten cards and asks. Rejected rows are written to a file. When it was stopped, the same command resumes it: no row gets a second card.";

const listNotes = [
  "Targets of --map: userId (required), phone, email, name, privacy, marketing and field.KEY. A column that is named like a target needs no --map.",
  "Consents: a row needs a privacy version. --privacy VERSION alone says that all members accepted it; with a column mapped to privacy, only rows whose value is yes, true or 1 did. Without --privacy that column has the version. Marketing consent is given only by yes, true or 1 in a mapped column; no, false, 0 and empty are no consent, and any other value is a problem of the row.",
];

async function createExcessError(command: Command): Promise<CommandError> {
  const { args, commands } = command;
  const [first = ""] = args;
  const meant = findNearestName(
    first,
    commands.map((one) => one.name()),
  );
  const problem = `too many arguments for 'import'. Expected 1 argument but got ${args.length}.`;
  const question = meant === undefined ? [] : [`(Did you mean import ${meant}?)`];
  return new CommandError(Text.lines([problem, ...question, describeHelp(command)]));
}

/** The command line as it was typed, to print it again. */
function getCommandLine(program: Command): string {
  const { rawArgs } = program as Command & { rawArgs: string[] };
  const quote = (text: string) =>
    /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  return ["loyalty-cards", ...rawArgs.map(quote)].join(" ");
}

function parsePercent(text: string): number {
  const [, digits] = /^(\d{1,3}(?:\.\d+)?)\s?%?$/.exec(text) ?? [];
  if (digits !== undefined && Number(digits) <= 100) return Number(digits) / 100;
  throw new InvalidArgumentError("It must be a percentage, such as 5%.");
}

function parseDelimiter(text: string): string {
  if (text === "tab" || text === "\\t") return "\t";
  if (text.length === 1 && !/["\r\n\w]/.test(text)) return text;
  throw new InvalidArgumentError('It must be one character that is no letter, digit or quote, or "tab".');
}
