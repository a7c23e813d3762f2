/** Errors that end a run: which failures do, and what the command says of each error. */
import { basename } from "node:path";
import { removeErrorLink } from "@loyalty-cards/internal/errors";
import { isBusy } from "@loyalty-cards/internal/sqlite/database-node";
import { type IssuingErrorCode, isIssuingError } from "@loyalty-cards/issuing-client";
import type { OutboxOutcome } from "@loyalty-cards/issuing-outbox";
import { CommandError, describeSystemError, exitCodes, toCommandError } from "../command-error.ts";
import { Text } from "../printable.ts";

/** Whether a failure of one row ends the run, because a person must correct something first. */
const endsRunByCode: Readonly<Record<string, boolean>> = {
  validation: false,
  "not-found": true,
  unauthorized: true,
  forbidden: true,
  conflict: false,
  "rate-limited": false,
  rejected: false, // it can be about this row only, such as by a proxy that filters text
  server: false,
  network: false,
  timeout: false,
  deadline: false,
  "invalid-response": false,
  "idempotency-expired": false,
  configuration: true, // the command has no apiKey function, which could work later
} satisfies Record<IssuingErrorCode, boolean>;

type OutcomeWithError = Extract<OutboxOutcome, { outcome: "failed" | "unavailable" }>;

/** Whether the run ends with the error of an outcome: of the database, or one for a person. */
export const endsRun = (outcome: OutboxOutcome): outcome is OutcomeWithError =>
  outcome.outcome === "unavailable" ||
  (outcome.outcome === "failed" && endsRunByCode[outcome.code] === true);

/**
 * Converts an error of a run to one with an exit code. After rows were sent, the message says that
 * the same command resumes.
 */
export async function toRunError(error: unknown, file: string, { hasSent }: { hasSent: boolean }) {
  const advice = "Run the same command again: no row gets a second card.";
  const problem = describeRunError(error, basename(file));
  if (problem !== undefined && hasSent)
    return new CommandError(`${problem} ${advice}`, { exitCode: exitCodes.stopped });
  if (problem !== undefined) return new CommandError(problem);
  if (!hasSent || !isIssuingError(error)) return error; // it has an exit code
  const { text, code, exitCode } = await toCommandError(error);
  return new CommandError(Text.lines([text, advice]), { code, exitCode });
}

function describeRunError(error: unknown, name: string): string | undefined {
  const { code, message, cause } = error as { code?: unknown; message: string; cause?: unknown };
  if (isIssuingError(error))
    return error.code === "not-found" ? removeErrorLink(message) : undefined;
  if (isBusy(cause)) return `${name} is used by another run: wait for it, or stop it.`;
  if (cause instanceof Error) return `${name} cannot be used: ${cause.message}.`;
  if (String(code).includes("SQLITE")) return `${name} cannot be used: ${message}.`;
  return error instanceof CommandError ? undefined : describeSystemError(error);
}
