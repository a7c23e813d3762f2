/** One command of the tree: its global options, and what its action receives and returns. */
import type { IssuingClient, IssuingClientOptions } from "@loyalty-cards/issuing-client";
import { type Command, InvalidArgumentError } from "commander";
import { createClient, type Environment, readSources, type Sources } from "./configuration.ts";
import { text } from "./printable.ts";
import { Printer, type PrintOptions, type Terminal } from "./printer.ts";

/** Options that every command takes. */
interface GlobalOptions extends PrintOptions {
  baseUrl?: string;
  /** Whether questions are allowed: false with `--no-input`. */
  input?: boolean;
  /** The time limit of a request, in seconds. */
  timeout?: number;
}

/** What the action of a command receives. */
export interface Context {
  /** The terminal without its output streams: only the printer writes to them. */
  terminal: Omit<Terminal, "stdout" | "stderr">;
  print: Printer;
  environment: Environment;
  /** Where the variables of `environment` come from. */
  sources: Sources;
  globals: GlobalOptions;
  /**
   * Asks the person at the terminal, and resolves with whether the reply is yes; undefined when no
   * question can be asked.
   */
  ask: ((question: string) => Promise<boolean>) | undefined;
  /** The time limit of one request. */
  timeoutMs: number;
  /** A client of the configured service. */
  createClient(more?: Partial<IssuingClientOptions>): Promise<IssuingClient>;
}

/** @returns the exit code; 0 when undefined. */
export type Action<Options> = (
  context: Context,
  options: Options,
  // biome-ignore lint/suspicious/noExplicitAny: as the command declares its arguments
  ...args: any[]
) => Promise<number | undefined>;

/** The tree of commands in one process. */
export interface Cli {
  terminal: Terminal;
  /** The command line, without the program. */
  args: readonly string[];
  /** Set by the action that ran. */
  exitCode: number;
}

/**
 * Parses the value of an option that must have one. A variable of a shell that is not set is a
 * blank text.
 */
export function parseText(value: string): string {
  if (value.trim() !== "") return value;
  throw new InvalidArgumentError("It must not be blank.");
}

/** Parses the version of a text. An answer such as `no` would give the consent that it denies. */
export function parseVersion(value: string): string {
  if (!/^(?:yes|no|true|false)$/i.test(value.trim())) return parseText(value);
  throw new InvalidArgumentError(
    "It must be the version of the text that was accepted. Leave the option out when it was not.",
  );
}

/**
 * Connects a command with its action.
 * @param load imports what only this command needs.
 */
export function setAction<Options extends object>(
  cli: Cli,
  command: Command,
  load: () => Promise<Action<Options>>,
): void {
  command.action(async () => {
    const options = command.optsWithGlobals<Options & GlobalOptions>();
    const context = createContext(cli.terminal, options);
    const run = await load();
    cli.exitCode = (await run(context, options, ...command.processedArgs)) ?? 0;
  });
}

function createContext(terminal: Terminal, globals: GlobalOptions): Context {
  const sources = readSources(terminal);
  const timeoutMs = (globals.timeout ?? 10) * 1000;
  const canAsk =
    globals.input !== false && terminal.stdin.isTTY === true && terminal.stderr.isTTY === true;
  const print = new Printer(terminal, globals);
  return {
    terminal,
    print,
    environment: sources.all,
    sources,
    globals,
    ask: canAsk ? (question) => ask(terminal, print, question) : undefined,
    timeoutMs,
    createClient: (more) => createClient(globals.baseUrl, sources, { ...more, timeoutMs }),
  };
}

/**
 * Prints a question on stderr, and reads the first line of stdin. Without a clear yes the reply is
 * no.
 */
async function ask({ stdin }: Terminal, print: Printer, question: string): Promise<boolean> {
  print.error(text`${question} [y/N]`.reflow(print.messageColumns));
  stdin.ref?.();
  let typed = "";
  for await (const chunk of stdin) {
    typed += Buffer.from(chunk).toString("utf8");
    if (typed.includes("\n")) break;
  }
  stdin.unref?.(); // the process ends without waiting for another line
  return /^y(?:es)?$/i.test(typed.split("\n", 1)[0]?.trim() ?? "");
}

/** Examples at the end of `--help`. Each line is a comment or a command. */
export const addExamples = (command: Command, ...lines: string[]): Command =>
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);

/** Parses the value of an option: a whole number in a range. */
export function parseWhole(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  return (value: string): number => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}

/** Collects the values of an option that can be repeated. */
export const collect = (value: string, all: string[] = []): string[] => [...all, value];
