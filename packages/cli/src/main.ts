/** Runs one command line: parses the arguments, runs the command, and turns errors into messages and exit codes. */
import { Command, CommanderError } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { type Cli, parseWhole } from "./command.ts";
import { CommandError, exitCodes } from "./command-error.ts";
import { addCardCommands } from "./commands/cards.ts";
import { toExitCode } from "./configuration.ts";
import type { Terminal } from "./terminal.ts";

/** @param args without the program. @returns the exit code. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const cli: Cli = { terminal, exitCode: exitCodes.complete };
  try {
    await createProgram(cli).parseAsync(args, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    // Help and the version are printed already, as are errors of usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.complete : exitCodes.usage;
    const { message, exitCode } = await readError(error);
    terminal.stderr.write(`loyalty-cards: ${message}\n`);
    return exitCode;
  }
}

/** The whole tree; also for completion and `capabilities`. */
export function createProgram(cli: Cli): Command {
  const { stdout, stderr } = cli.terminal;
  const program = new Command("loyalty-cards")
    .description("Loyalty cards: issue them, and develop and test with a service on this machine.")
    .version(packageJson.version, "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .option("--base-url <url>", "address of the service (default: LOYALTY_URL)")
    .option("--json", "print JSON on stdout: one value, or one per line where there are many")
    .option("--quiet", "print errors only on stderr")
    .option("--no-color", "print without colors, as with NO_COLOR=1")
    .option("--no-input", "ask no questions")
    .option("--timeout <seconds>", "time limit of one request (default: 10)", parseWhole(1, 3_600))
    .configureHelp({ helpWidth: 80, showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, "loyalty-cards: ")),
    })
    .showSuggestionAfterError()
    .showHelpAfterError("See --help.")
    .exitOverride();
  for (const add of [addCardCommands]) add(program, cli);
  return program;
}

async function readError(error: unknown): Promise<{ message: string; exitCode: number }> {
  if (error instanceof CommandError) return error;
  const { isIssuingError } = await import("@loyalty-cards/issuing-client");
  if (isIssuingError(error)) return { message: error.message, exitCode: toExitCode(error.code) };
  throw error; // a defect: Node.js prints the stack
}
