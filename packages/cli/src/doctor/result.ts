/** What one check of `doctor` found, and how to fix it. */
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { CommandError } from "../command-error.ts";

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

/** Splits a message of ours, which is "what is wrong: what to do" or two sentences, into detail and fix. */
export function toFailure(error: unknown): Result {
  if (!(error instanceof CommandError) && !isIssuingError(error)) throw error;
  const [, detail = error.message, fix = ""] = /^(.+?[^.:])[.:] (.+)$/s.exec(error.message) ?? [];
  return failed(detail, fix.charAt(0).toUpperCase() + fix.slice(1));
}
