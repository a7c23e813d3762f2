/** Runs one command line: parses the arguments, runs the command, and turns errors into messages and exit codes. */
import { Command, CommanderError } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { addExamples, type Cli, parseWhole } from "./command.ts";
import { CommandError, describeSystemError, exitCodeDescriptions, exitCodes } from "./command-error.ts";
import { addCapabilitiesCommand } from "./commands/capabilities.ts";
import { addCardCommands } from "./commands/cards.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addDevCommand } from "./commands/dev.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addDriftCommand } from "./commands/drift.ts";
import { addExecCommand } from "./commands/exec.ts";
import { addImportCommands } from "./commands/import.ts";
import { addTriggerCommand } from "./commands/trigger.ts";
import { addWebhookCommands } from "./commands/webhook.ts";
import { variables } from "./configuration.ts";
import { formatTable, type Part, Text, text } from "./printable.ts";
import { Printer } from "./printer.ts";
import type { Terminal } from "./terminal.ts";

/** Adds commands to the tree. Libraries that a command needs are loaded when it runs. */
type AddCommands = (program: Command, cli: Cli) => void;

/** The commands by the headings of the help, in its order. */
const commands: Readonly<Record<string, readonly AddCommands[]>> = {
  "Cards:": [addCardCommands, addImportCommands],
  "Development and webhooks:": [addDevCommand, addExecCommand, addTriggerCommand, addWebhookCommands],
  "Configuration and service:": [addDoctorCommand, addDriftCommand],
  "This command:": [addCompletionCommand, addCapabilitiesCommand],
};

/** @param args without the program. @returns the exit code. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const cli: Cli = { terminal, args, exitCode: exitCodes.complete };
  const [first, ...path] = args;
  // commander's `help` knows no subcommands.
  const line = first === "help" && path.length > 1 ? [...path, "--help"] : args;
  try {
    await createProgram(cli, args).parseAsync(line, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    // Help and the version are printed already, as are errors of usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.complete : exitCodes.usage;
    const { message, exitCode } = await readError(error);
    const print = new Printer(terminal);
    print.error(text`loyalty-cards: ${message}`.reflow(print.messageColumns));
    return exitCode;
  }
}

/** The whole tree; also for completion and `capabilities`. */
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
    .configureHelp({ helpWidth: 80, showGlobalOptions: true })
    .configureOutput({
      writeOut: (help) => print.data(undefined, () => Text.multiline(help.trimEnd())),
      writeErr: (help) => print.error(Text.multiline(help.trimEnd())),
      outputError: (message) => print.error(formatUsageError(message).reflow(print.messageColumns)),
    })
    .showSuggestionAfterError()
    .showHelpAfterError("See --help.")
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
  addExamples(program, "loyalty-cards doctor", "loyalty-cards issue --help");
  const exits = Object.entries(exitCodes).map(([name, code]) => [
    `  ${code}`,
    exitCodeDescriptions[name as keyof typeof exitCodes],
  ]);
  const environment = Object.entries(variables).map(([name, description]) => [`  ${name}`, description]);
  program.addHelpText(
    "after",
    `\nEnvironment, or the file .env:\n${formatTable(environment)}\n\nExit codes:\n${formatTable(exits)}`,
  );
  return program;
}

/** Formats a message of commander. It quotes arguments, so only the line break before a suggestion is kept. */
function formatUsageError(message: string): Text {
  const [, problem = message, suggestion] =
    /^(?:error: )?(.*?)(?:\n(\(Did you mean [^\n]*\)))?\n$/s.exec(message) ?? [];
  const lines = [text`loyalty-cards: ${problem}`, ...(suggestion === undefined ? [] : [suggestion])];
  return Text.lines(lines);
}

async function readError(error: unknown): Promise<{ message: Part; exitCode: number }> {
  if (error instanceof CommandError) return { message: error.text, exitCode: error.exitCode };
  const systemError = describeSystemError(error);
  if (systemError !== undefined) return { message: systemError, exitCode: exitCodes.usage };
  const { isIssuingError } = await import("@loyalty-cards/issuing-client");
  if (!isIssuingError(error)) return describeDefect(error);
  const { formatError, toExitCode } = await import("./error-message.ts");
  return { message: formatError(error), exitCode: toExitCode(error) };
}

/** Not thrown, because Node.js would print the message without escaping it. */
const describeDefect = (error: unknown) => ({
  message: Text.multiline(String((error as Error)?.stack ?? error)),
  exitCode: exitCodes.failed,
});
