/** Exit codes, and errors that end a command with one of them. */
import { basename } from "node:path";
import { type Part, Text, text } from "./printable.ts";

/** The exit codes of the command. They are stable, because scripts depend on them. */
export const exitCodes = {
  complete: 0,
  failed: 1,
  usage: 2,
  stopped: 3,
  keyRefused: 4,
  interrupted: 130,
} as const;

export const exitCodeDescriptions: Readonly<Record<keyof typeof exitCodes, string>> = {
  complete: "complete",
  failed: "finished with rejected rows, or a check failed",
  usage: "invalid usage or file; nothing was sent",
  stopped: "stopped; the same command resumes",
  keyRefused: "the service rejected the API key",
  interrupted: "interrupted with Ctrl-C",
};

/** Ends the command. The message says what is wrong and what to change, without keys and personal data. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly text: Text;
  readonly exitCode: number;
  /** What is wrong, without the fix. */
  readonly problem: string;
  readonly fix: string | undefined;

  /** @param options `fix` is a sentence that follows the problem in the message. */
  constructor(
    problem: Part,
    { exitCode = exitCodes.usage, fix }: { exitCode?: number; fix?: string | undefined } = {},
  ) {
    const message = fix === undefined ? Text.from(problem) : text`${problem}. ${fix}`;
    super(String(message));
    this.text = message;
    this.exitCode = exitCode;
    this.problem = String(problem);
    this.fix = fix;
  }
}

/** Describes an error of the operating system, such as a file that cannot be written. @returns undefined for other errors. */
export function describeSystemError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, syscall, path, port, message } = error as NodeJS.ErrnoException & { port?: number };
  if (code === undefined || syscall === undefined) return undefined;
  const subject = path === undefined ? "A file" : basename(path);
  if (syscall === "listen")
    return `Port ${port} cannot be opened (${code}): use --port with another one; --port 0 takes a free one.`;
  const [, reason = "rejected by the system"] = /^\w+: (.+?), /.exec(message) ?? [];
  return `${subject} cannot be ${syscall === "write" ? "written" : "used"}: ${reason} (${code}).`;
}
