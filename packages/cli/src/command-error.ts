/** Exit codes, and errors that end a command with one of them. */

/** They are stable: scripts depend on them. */
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
  keyRefused: "the service refused the API key",
  interrupted: "interrupted with Ctrl-C",
};

/** Ends the command. The message says what is wrong and what to change, without keys and personal data. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.usage) {
    super(message);
    this.exitCode = exitCode;
  }
}
