/** Exit codes, and errors that end a command with one of them. */

/** They are stable: scripts depend on them. */
export const exitCodes = {
  complete: 0,
  /** Finished, with rejected rows or a failed check. */
  failed: 1,
  /** Wrong usage or an invalid file; nothing was sent. */
  usage: 2,
  /** Stopped; the same command resumes. */
  stopped: 3,
  /** The service refused the API key. */
  keyRefused: 4,
  interrupted: 130,
} as const;

/** Ends the command. The message says what is wrong and what to change, without keys and personal data. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.usage) {
    super(message);
    this.exitCode = exitCode;
  }
}
