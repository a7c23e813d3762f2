/**
 * `import`: declares the commands that issue the cards of a whole list. What they do is in
 * ../import.
 */
import type { Command } from "commander";
import {
  addExamples,
  type Cli,
  collect,
  parseText,
  parseVersion,
  parseWhole,
  setAction,
} from "../command.ts";
import { Text } from "../printable.ts";

export function addImportCommands(program: Command, cli: Cli): void {
  const command = program
    .command("import")
    .description("issue a card to each row of a list; the same command resumes it")
    .argument(
      "<file>",
      "CSV or NDJSON, in UTF-8, or in UTF-16 with a byte order mark; - reads stdin",
    );
  addMapping(cli, command, "loyalty-cards import members.csv --map userId=id --privacy 2026-01");
  command
    .option("--template <id>", "id of the template (default: LOYALTY_TEMPLATE_ID)")
    .option("--outbox <file>", "file with what was sent (default: beside the list)", parseText)
    .option("--skip-invalid", "import although rows have problems; those are rejected")
    .option("--yes", "do not ask after ten cards; users with cards can have left the list")
    .option(
      "--concurrency <number>",
      "requests at once, at most (default: 32)",
      parseWhole(1, 1_000),
    )
    .option("--max-per-second <number>", "requests per second, at most", parseWhole(1));
  setAction(cli, command, async () => (await import("../import/import.ts")).importFile);

  const check = command
    .command("check")
    .description("find problems in a file; send nothing")
    .argument("<file>", "the list");
  // This adds the options to the help only: those of `import` get the values.
  addMapping(
    cli,
    check,
    "loyalty-cards import check members.csv --map userId=id --privacy 2026-01",
  );
  setAction(cli, check, async () => (await import("../import/check.ts")).checkFile);
}

/**
 * Adds the options that are valid for `import` and `import check`, and what their help says about
 * them.
 */
function addMapping(cli: Cli, command: Command, example: string): void {
  command
    .option("--map <target=column>", "a column of the file (repeatable; see below)", collect)
    .option(
      "--privacy <version>",
      "version of the privacy text that the members accepted",
      parseVersion,
    )
    .option("--marketing-version <version>", "version of the marketing text", parseVersion)
    .option("--number-field <key>", "send field.KEY as a number (repeatable)", collect)
    .option("--allow-same-person", "issue cards to users that share a phone or email");
  addExamples(command, example);
  const columns = cli.terminal.stdout.columns || 80;
  for (const note of notes) command.addHelpText("after", `\n${Text.from(note).reflow(columns)}`);
}

const notes = [
  "Targets of --map: userId (required), phone, email, name, privacy, marketing and field.KEY. A column that is named like a target needs no --map.",
  "Consents: a row needs a privacy version. --privacy VERSION alone says that all members accepted it; with a column mapped to privacy, only rows whose value is yes, true or 1 did. Without --privacy that column has the version, with a digit. Marketing consent is given only by yes, true or 1 in a mapped column; no, false, 0 and empty are no consent, and any other value is a problem of the row.",
];
