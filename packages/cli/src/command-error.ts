/** How a command ends: exit codes, and errors as messages that say what is wrong and what to do. */
import { basename } from "node:path";
import { getSystemErrorMap } from "node:util";
import {
  formatErrorLink,
  generalFormMessage,
  generalUserMessage,
  removeErrorLink,
} from "@loyalty-cards/internal/errors";
import type { IssuingError } from "@loyalty-cards/issuing-client";
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

export const exitCodeDescriptions = {
  0: "complete",
  1: "finished with rejected rows, or a check failed",
  2: "invalid usage or file; nothing was sent",
  3: "stopped; the same command resumes",
  4: "the service rejected the API key",
  130: "interrupted with Ctrl-C",
} as const satisfies Record<(typeof exitCodes)[keyof typeof exitCodes], string>;

/**
 * Ends the command. The message says what is wrong and what to change, without keys and personal
 * data.
 */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly text: Text;
  readonly exitCode: number;
  /** The code of an error of the client, or the name of the exit code. */
  readonly code: string;
  /** What is wrong, without the fix. */
  readonly problem: string;
  readonly fix: string;

  /** @param options `fix` is a sentence that follows the problem in the message. */
  constructor(
    problem: Part,
    {
      exitCode = exitCodes.usage,
      fix = "",
      code,
    }: { exitCode?: number; fix?: string; code?: string } = {},
  ) {
    const message = fix === "" ? Text.from(problem) : text`${problem}. ${fix}`;
    super(String(message));
    const [name = "failed"] =
      Object.entries(exitCodes).find(([, value]) => value === exitCode) ?? [];
    this.text = message;
    this.exitCode = exitCode;
    this.code = code ?? name;
    this.problem = String(problem);
    this.fix = fix;
  }
}

/** Converts an error of any kind. The message of an unexpected one has its stack. */
export async function toCommandError(error: unknown): Promise<CommandError> {
  if (error instanceof CommandError) return error;
  const systemError = describeSystemError(error);
  if (systemError !== undefined) return new CommandError(systemError);
  const { isIssuingError } = await import("@loyalty-cards/issuing-client");
  if (isIssuingError(error)) return fromIssuingError(error);
  const stack = Text.multiline(String((error as Error)?.stack ?? error));
  return new CommandError(stack, { exitCode: exitCodes.failed });
}

/**
 * Describes an error of the operating system, such as a file that cannot be written.
 * @returns undefined for other errors.
 */
export function describeSystemError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  type SystemError = NodeJS.ErrnoException & { port?: number; dest?: string };
  const { code, errno, syscall, path, port, dest = path } = error as SystemError;
  if (code === undefined || syscall === undefined) return undefined;
  if (syscall === "listen")
    return `Port ${port} cannot be opened (${code}): use --port with another one; --port 0 takes a free one.`;
  if (syscall === "uv_cwd")
    return `The working folder does not exist any more: change to another one (${code}).`;
  const subject = dest === undefined ? "A file" : basename(dest); // a rename has two paths
  const [, reason] = getSystemErrorMap().get(errno ?? 0) ?? ["", "rejected by the system"];
  return `${subject} cannot be ${syscall === "write" ? "written" : "used"}: ${reason} (${code}).`;
}

/** The advice after a request that may have issued a card. */
export const repeatAdvice =
  "A card may have been issued. Run the same command again within 24 hours: its key is the same, so there is one card.";

/** The message quotes the service only for a 422, because its text can contain personal data. */
function fromIssuingError(error: IssuingError): CommandError {
  const { code, outcome, idempotencyKey } = error;
  const isKeyRefused = code === "unauthorized" || code === "forbidden";
  const lines = [removeErrorLink(error.message), ...listReasons(error)];
  if (outcome === "unknown" && idempotencyKey !== undefined) lines.push(repeatAdvice);
  else if (code === "network" || code === "timeout" || isKeyRefused)
    lines.push("`loyalty-cards doctor` checks the configuration.");
  lines.push(formatErrorLink(code).trim());
  const usual = code === "configuration" ? exitCodes.usage : exitCodes.failed;
  return new CommandError(Text.lines(lines), {
    code,
    exitCode: isKeyRefused ? exitCodes.keyRefused : usual,
  });
}

/**
 * The service's own text of a 422. It can quote a customer, whose data the person at the terminal
 * typed.
 */
function listReasons({ problem, userMessage, fields, message }: IssuingError): string[] {
  const said = problem?.detail === userMessage ? [`The service says: ${userMessage}`] : [];
  // Fields whose pointer and sentence are above are left out.
  const shown = fields.filter(
    ({ pointer, detail = "" }) => !message.includes(pointer) || !said.join("").includes(detail),
  );
  return [
    ...said,
    ...shown.map(({ pointer, detail }) => `  ${pointer}${detail ? `: ${detail}` : ""}`),
  ];
}

/** Why the service rejected a row: its own text of a 422, when there is one. */
export const describeRejectedRow = (
  error: Pick<IssuingError, "message" | "userMessage">,
): string =>
  [generalFormMessage, generalUserMessage].includes(error.userMessage)
    ? removeErrorLink(error.message)
    : error.userMessage;
