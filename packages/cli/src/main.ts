/** Runs one command line: parses the arguments, runs the command, and turns errors into messages and exit codes. */

import { Command, CommanderError, Help } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { addExamples, type Cli, type GlobalOptions, parseWhole } from "./command.ts";
import { CommandError, describeSystemError, exitCodeDescriptions, exitCodes } from "./command-error.ts";
import { addCardCommands } from "./commands/cards.ts";
import { addDevCommand, addPurchaseCommand } from "./commands/dev.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addExecCommand } from "./commands/exec.ts";
import { addImportCommands } from "./commands/import.ts";
import { addTriggerCommand } from "./commands/trigger.ts";
import { addWebhookCommands } from "./commands/webhook.ts";
import { variables } from "./configuration.ts";
import { formatJson, type Part, Text, text } from "./printable.ts";
import { Printer, type Terminal } from "./printer.ts";

/** Adds commands to the tree. Libraries that a command needs are loaded when it runs. */
type AddCommands = (program: Command, cli: Cli) => void;

/** The commands by the headings of the help, in its order. */
const commands: Readonly<Record<string, readonly AddCommands[]>> = {
  "Cards:": [addCardCommands, addImportCommands],
  "Development and webhooks:": [
    addDevCommand,
    addExecCommand,
    addPurchaseCommand,
    addTriggerCommand,
    addWebhookCommands,
  ],
  "Configuration and service:": [addDoctorCommand],
};

/** @param args without the program. @returns the exit code. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const cli: Cli = { terminal, args, exitCode: exitCodes.complete };
  const [first, ...path] = args;
  // commander's `help` knows no subcommands.
  const line = first === "help" && path.length > 1 ? [...path, "--help"] : args;
  const program = createProgram(cli, args);
  try {
    await program.parseAsync(line, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    // Help and the version are printed already, as are errors of usage.
    if (error instanceof CommanderError && (error.exitCode === 0 || !hasJson(args)))
      return error.exitCode === 0 ? exitCodes.complete : exitCodes.usage;
    const { code, message, exitCode } = await readError(error, program.opts());
    const print = new Printer(terminal);
    if (hasJson(args))
      print.error(Text.from(formatJson({ error: { code, message: plain(message), exitCode } })));
    else print.error(text`loyalty-cards: ${message}`.reflow(print.messageColumns));
    return exitCode;
  }
}

/** The whole tree. */
export function createProgram(cli: Cli, args: readonly string[] = []): Command {
  const print = new Printer(cli.terminal);
  const program = new Command("loyalty-cards")
    .description("Loyalty cards: issue them, and develop and test with a service on this machine.")
    .helpOption("-h, --help", "print this help")
    .option("--base-url <url>", "address of the service (default: LOYALTY_URL)")
    .option("--json", "print JSON on stdout: one value, or one per line where there are many")
    .option("--quiet", "print errors only on stderr")
    .option("--no-color", "print without colors, as with NO_COLOR=1")
    .option("--no-input", "ask no questions")
    .option("--timeout <seconds>", "time limit of one request (default: 10)", parseWhole(1, 3_600))
    .configureHelp({
      helpWidth: cli.terminal.stdout.columns || 80,
      minWidthToWrap,
      showGlobalOptions: true,
      formatItem,
      commandDescription: (command) => toSentence(command.description()),
    })
    .configureOutput({
      writeOut: (help) => print.data(undefined, () => Text.multiline(help.trimEnd())),
      // With --json, `main` prints the error.
      writeErr: (help) => hasJson(args) || print.error(Text.multiline(help.trimEnd())),
      outputError: (message) =>
        hasJson(args) || print.error(formatUsageError(message).reflow(print.messageColumns)),
    })
    .showSuggestionAfterError()
    .showHelpAfterError("See loyalty-cards --help.")
    .exitOverride();
  for (const [heading, adders] of Object.entries(commands)) {
    program.commandsGroup(heading);
    for (const add of adders) add(program, cli);
  }
  program.helpCommand("help [command...]", "print the help of a command");
  // `consent --version` is an option of that command.
  const hasOwnVersion = program.commands.some(
    (command) => args.includes(command.name()) && command.options.some(({ long }) => long === "--version"),
  );
  if (!hasOwnVersion) program.version(packageJson.version, "--version", "print the version");
  addExamples(
    program,
    "loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    "loyalty-cards doctor",
    "loyalty-cards issue --help",
  );
  const exits = Object.entries(exitCodes).map(([name, code]): [string, string] => [
    String(code),
    exitCodeDescriptions[name as keyof typeof exitCodes],
  ]);
  program.addHelpText(
    "after",
    `\nEnvironment, or the file .env:\n${formatItems(program, Object.entries(variables))}\n\nExit codes:\n${formatItems(program, exits)}`,
  );
  program.addHelpText("afterAll", `\nGuide: ${guideUrl}`);
  return program;
}

const minWidthToWrap = 20;

/** The descriptions are also items of lists, where they have no capital and no period. */
const toSentence = (description: string) =>
  `${description.charAt(0).toUpperCase()}${description.slice(1).replace(/\.$/, "")}.`;

/** Formats an option or a command of the help. In a narrow terminal the description is below the name, where it can wrap. */
function formatItem(this: Help, name: string, nameWidth: number, description: string, help: Help): string {
  const width = help.helpWidth ?? 80;
  if (description === "" || width - nameWidth - 4 >= minWidthToWrap)
    return Help.prototype.formatItem.call(this, name, nameWidth, description, help);
  return `  ${name}\n${Text.multiline(description).wrap(width, " ".repeat(6))}`;
}

const guideUrl = "https://loyalty-cards.github.io/loyalty-cards/guides/command-line";

/** Formats names and descriptions as the help formats options. */
function formatItems(program: Command, items: readonly (readonly [string, string])[]): string {
  const help = program.createHelp();
  help.prepareContext({});
  const width = Math.max(...items.map(([name]) => name.length));
  return items.map(([name, description]) => help.formatItem(name, width, description, help)).join("\n");
}

/** Whether errors are JSON too. The arguments after two dashes are those of another command. */
function hasJson(args: readonly string[]): boolean {
  const dashes = args.indexOf("--");
  return args.slice(0, dashes < 0 ? args.length : dashes).includes("--json");
}

const plain = (message: Part) => Text.from(message).format(true);

/** Formats a message of commander. It quotes arguments, so only the line break before a suggestion is kept. */
function formatUsageError(message: string): Text {
  const [, problem = message, suggestion] =
    /^(?:error: )?(.*?)(?:\n(\(Did you mean [^\n]*\)))?\n$/s.exec(message) ?? [];
  const lines = [text`loyalty-cards: ${problem}`, ...(suggestion === undefined ? [] : [suggestion])];
  return Text.lines(lines);
}

interface ReadError {
  /** The code of an error of the client, or the name of the exit code. */
  code: string;
  message: Part;
  exitCode: number;
}

async function readError(error: unknown, globals: GlobalOptions): Promise<ReadError> {
  if (error instanceof CommanderError) {
    const isMissing = error.code === "commander.help";
    const message = isMissing ? "a command is missing" : error.message.replace(/^error: /, "");
    return withCode(message, exitCodes.usage);
  }
  if (error instanceof CommandError) return withCode(error.text, error.exitCode);
  const systemError = describeSystemError(error);
  if (systemError !== undefined) return withCode(systemError, exitCodes.usage);
  const { isIssuingError } = await import("@loyalty-cards/issuing-client");
  if (!isIssuingError(error)) return describeDefect(error);
  const { formatError, toExitCode } = await import("./error-message.ts");
  return { code: error.code, message: formatError(error, globals), exitCode: toExitCode(error) };
}

function withCode(message: Part, exitCode: number): ReadError {
  const [code = "failed"] = Object.entries(exitCodes).find(([, value]) => value === exitCode) ?? [];
  return { code, message, exitCode };
}

/** Not thrown, because Node.js would print the message without escaping it. */
const describeDefect = (error: unknown): ReadError =>
  withCode(Text.multiline(String((error as Error)?.stack ?? error)), exitCodes.failed);
