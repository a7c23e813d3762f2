/** What `markProcessed` and `isNewest` check in every database: arguments and missing tables. */
import { createTypeError, withSafeMessage } from "@loyalty-cards/internal/errors";
import { findTextOfMissingValue } from "@loyalty-cards/internal/format";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { requireSource } from "./stored-event.ts";

/** The members of an event that `markProcessed` and `isNewest` read. */
export type OrderedEvent = Pick<WebhookEvent, "id" | "createdAt">;

/** @throws {TypeError} with the usage for anything but an event. */
export function requireEvent(event: unknown, usage: string): void {
  const { id } = Object(event);
  if (typeof id !== "string") throw createTypeError(usage);
}

/** Options of `markProcessed`. */
interface MarkOptions {
  source?: string;
}

const markOptionNames = { source: true } satisfies OptionNames<MarkOptions>;

/** @throws {TypeError} for an unknown option. */
export function parseSource(options: MarkOptions): string {
  requireKnownNames("markProcessed", options, markOptionNames);
  requireSource(options.source);
  return options.source ?? "";
}

/** @throws {TypeError} for a key of `isNewest` that all cards would share. */
export function requireKey(key: unknown, usage: string): void {
  if (typeof key !== "string" || key === "") throw createTypeError(usage);
  const text = findTextOfMissingValue(key);
  if (text === undefined) return;
  const message = `The key of isNewest contains "${text}", so that all cards would share it. Write \`balance of \${event.data.passId}\`.`;
  throw createTypeError(message);
}

/** @throws {TypeError} for a `createdAt` that is not a date. */
export function parseCreatedAt({ id, createdAt }: OrderedEvent): number {
  const createdAtMs = Date.parse(createdAt);
  if (Number.isNaN(createdAtMs))
    throw createTypeError(
      `The createdAt of event ${id} is not a date, so the event cannot be ordered.`,
    );
  return createdAtMs;
}

/** @returns the error, or one that says what to do when it is that a table is missing. */
export function explainMissingTable(error: unknown, isMissing: boolean): unknown {
  if (!isMissing) return error;
  const message = "The tables of webhook-inbox do not exist here: call ensureInboxTables first.";
  return withSafeMessage(new Error(message, { cause: error }));
}
