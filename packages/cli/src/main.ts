/**
 * Runs one command line: parses the arguments, runs the command, and turns errors into messages and
 * exit codes.
 */
import { findNearestName } from "@loyalty-cards/internal/known-options";
import { Command, CommanderError } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { addExamples, type Cli, parseWhole } from "./command.ts";
import { CommandError, exitCodeDescriptions, exitCodes, toCommandError } from "./command-error.ts";
import { addCardCommands } from "./commands/cards.ts";
import { addDevCommand } from "./commands/dev.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addExecCommand } from "./commands/exec.ts";
import { addImportCommands } from "./commands/import.ts";
import { addPurchaseCommand } from "./commands/purchase.ts";
import { addTriggerCommand, addWebhookCommands } from "./commands/webhook.ts";
import { variables } from "./configuration.ts";
import { formatJson, formatTable, Text, text } from "./printable.ts";
import { Printer, type Terminal } from "./printer.ts";

/**
 * @param args without the program.
 * @returns the exit code.
 */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const cli: Cli = { terminal, args, exitCode: exitCodes.complete };
  const print = new Printer(terminal);
  const [first, ...path] = args;
  if (first === "help" && path[0] === "environment") {
    print.data(undefined, formatEnvironment);
    return exitCodes.complete;
  }
  // commander's `help` knows no subcommands.
  const line = first === "help" && path.length > 1 ? [...path, "--help"] : args;
  const program = createProgram(cli);
  try {
    await program.parseAsync(line, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    return printError(print, error, program, args);
  }
}

/** @returns the exit code. */
async function printError(
  print: Printer,
  error: unknown,
  program: Command,
  args: readonly string[],
): Promise<number> {
  const isJson = program.opts()["json"] === true;
  if (error instanceof CommanderError) {
    // commander has printed the version or the help. To print the help without a command is an
    // error.
    if (error.exitCode === 0) return exitCodes.complete;
    if (error.code === "commander.help" && !isJson) return exitCodes.usage;
  }
  const shown =
    error instanceof CommanderError
      ? toUsageError(error, findCommand(program, args))
      : await toCommandError(error);
  const { code, text: message, exitCode } = shown;
  const json = { error: { code, message: message.format(true), exitCode } };
  if (isJson) print.error(Text.from(formatJson(json)));
  else print.error(text`loyalty-cards: ${message}`.reflow(print.messageColumns));
  return exitCode;
}

/** The whole tree. Libraries that a command needs are loaded when it runs. */
export function createProgram(cli: Cli): Command {
  const print = new Printer(cli.terminal);
  const program = new Command("loyalty-cards")
    .description("Loyalty cards: issue them, and develop and test with a service on this machine.")
    .helpOption("-h, --help", "print this help")
    .option("--base-url <url>", "address of the service (default: LOYALTY_URL)")
    .option("--json", "print JSON on stdout")
    .option("--quiet", "print errors only on stderr")
    .option("--no-color", "print without colors, as with NO_COLOR=1")
    .option("--no-input", "ask no questions")
    .option("--timeout <seconds>", "time limit of one request (default: 10)", parseWhole(1, 3_600))
    .configureHelp({ minWidthToWrap: 20 })
    .configureOutput({
      getOutHelpWidth: () => cli.terminal.stdout.columns || 80,
      getErrHelpWidth: () => cli.terminal.stderr.columns || 80,
      writeOut: (help) => print.data(undefined, () => Text.multiline(help.trimEnd())),
      writeErr: (help) => program.opts()["json"] || print.error(Text.multiline(help.trimEnd())),
      outputError: () => {}, // `main` prints errors
    })
    .exitOverride();
  program.commandsGroup("Cards:");
  addCardCommands(program, cli);
  addImportCommands(program, cli);
  program.commandsGroup("Development:");
  addDevCommand(program, cli);
  addExecCommand(program, cli);
  addPurchaseCommand(program, cli);
  addTriggerCommand(program, cli);
  addWebhookCommands(program, cli);
  addDoctorCommand(program, cli);
  program.helpCommand("help [command...]", "print the help of a command");
  // `consent --version` is an option of that command.
  if (!cli.args.includes("consent"))
    program.version(packageJson.version, "--version", "print the version");
  addExamples(
    program,
    "loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    "loyalty-cards doctor",
    "loyalty-cards issue --help",
  );
  program.addHelpText("after", "\nVariables and exit codes: loyalty-cards help environment");
  program.addHelpText("afterAll", ({ command }) =>
    command === program
      ? `Guide: ${guideUrl}`
      : `\nGlobal options: loyalty-cards --help\nGuide: ${guideUrl}`,
  );
  return program;
}

const guideUrl = "https://loyalty-cards.github.io/loyalty-cards/guides/command-line";

function formatEnvironment(): Text {
  const list = (descriptions: object) =>
    formatTable(
      Object.entries(descriptions).map(([name, description]) => [`  ${name}`, description]),
    );
  return Text.lines([
    "Environment, or the file .env:",
    list(variables),
    "",
    "Exit codes:",
    list(exitCodeDescriptions),
  ]);
}

/** The command that the arguments name, such as `loyalty-cards webhook listen`. */
function findCommand(program: Command, args: readonly string[]): Command {
  let command = program;
  for (const argument of args) {
    const child = command.commands.find((one) => one.name() === argument);
    if (child !== undefined) command = child; // otherwise it is an option or an argument
  }
  return command;
}

const nameCommand = (command: Command): string =>
  command.parent === null ? command.name() : `${nameCommand(command.parent)} ${command.name()}`;

/**
 * Converts an error of commander. It quotes arguments, so only the line break before a suggestion
 * is kept.
 */
function toUsageError(error: CommanderError, command: Command): CommandError {
  if (error.code === "commander.help") return new CommandError("a command is missing");
  const [problem = "", ...suggestion] = error.message
    .replace(/^error: (command-argument )?/, "")
    .split(/\n(?=\(Did you mean [^\n]*\)$)/);
  // The value of a misspelt option can be a key.
  const safe = problem.replace(/^(unknown option '[^=]+)=.*/s, "$1'");
  const lines = explainUsageError(error, command) ?? [safe, ...suggestion];
  return new CommandError(Text.lines([...lines, `See ${nameCommand(command)} --help.`]));
}

const keyAdvice = "(Set LOYALTY_API_KEY in the environment or in .env: no option takes the key.)";

/** What to use instead of options that other programs have. */
const insteadOfOption: Readonly<Record<string, string>> = {
  "--api-key": keyAdvice,
  "--key": keyAdvice,
  "--dry-run": "(Did you mean loyalty-cards import check?)",
  "--url": "(Did you mean --to for a receiver, or --base-url for the service?)",
};

/** What to use instead of an argument, for commands that take it as an option. */
const insteadOfArgument: Readonly<Record<string, string>> = {
  dev: "--port <number>",
  listen: "--to <url>",
  trigger: "--to <url>",
};

/** @returns undefined when the message of commander says enough. */
function explainUsageError(
  { code, message }: CommanderError,
  command: Command,
): string[] | undefined {
  const isMissing = code === "commander.missingMandatoryOptionValue";
  // Commander reports a required option before a misspelt one.
  const named = isMissing
    ? command.args.find((one) => one.startsWith("--"))
    : /^error: unknown option '(--[^']+)/.exec(message)?.[1];
  const [unknown] = named?.split("=") ?? [];
  if (unknown !== undefined) {
    const names = command.options.map(({ long }) => long ?? "");
    const nearest = isMissing ? findNearestName(unknown, names) : undefined;
    const suggestion = nearest === undefined ? undefined : `(Did you mean ${nearest}?)`;
    const advice = insteadOfOption[unknown] ?? suggestion;
    return advice === undefined ? undefined : [`unknown option '${unknown}'`, advice];
  }
  const option = insteadOfArgument[command.name()];
  if (code !== "commander.excessArguments" || option === undefined) return undefined;
  return [message.replace(/^error: /, ""), `(Did you mean ${option}?)`];
}
