/** What one check of `doctor` found, and how to fix it. */
import { isIssuingError } from "@loyalty-cards/issuing-client";
import type { Context } from "../command.ts";
import { CommandError } from "../command-error.ts";
import { splitMessage } from "../error-message.ts";

export interface Check {
  name: string;
  status: "passed" | "warning" | "failed" | "skipped";
  /** What was found. */
  detail: string;
  fix?: string;
  /** The exit code of the command when this check failed; default 1. */
  exitCode?: number;
}

export type Result = Omit<Check, "name">;

export const passed = (detail: string): Result => ({ status: "passed", detail });
export const warning = (detail: string, fix: string): Result => ({ status: "warning", detail, fix });
export const failed = (detail: string, fix: string): Result => ({ status: "failed", detail, fix });
export const skipped = (detail: string): Result => ({ status: "skipped", detail });

/** Converts an error of the command or the client. The fix for an error of the client is the link to its page. */
export function toFailure(error: unknown, { globals }: Partial<Pick<Context, "globals">> = {}): Result {
  if (error instanceof CommandError) return failed(error.problem, error.fix ?? "");
  if (!isIssuingError(error)) throw error;
  const { text, link = "" } = splitMessage(error, globals);
  return failed(text, link);
}
