/** The history of a card. */
import type { Call } from "./call.ts";
import { configurationError } from "./errors.ts";

/**
 * One entry of a card's history (spec 2.5). Only `id` and `type` are specified. Members that this version does not know are kept
 * at run time; read one with `"name" in operation`.
 */
export interface Operation {
  /** Identifier of the operation (spec 2.5). */
  id: string;
  /** Why the balance changed (spec 2.5). */
  type: "purchase" | "redemption" | "reward" | "correction" | "cancellation" | (string & {});
  /** Signed difference to the balance, in points or stamps. Absent when the service does not send it (spec 2.5). */
  change?: number;
  /** Balance after the operation, in points or stamps. Absent when the service does not send it (spec 2.5). */
  balance?: number;
  /** When it happened, as the service wrote it. Absent when the service does not send it (spec 2.5). */
  createdAt?: string;
}

/** How other services call the list inside its wrapper; which name ours uses is not shown (spec 4.3). */
const wrappers = ["items", "operations", "data", "results"];

/** What an entry tells beside `id` and `type` is assumed: a value of another kind is left out, as if it was not told. */
const assumed = {
  change: Number.isFinite,
  balance: Number.isFinite,
  createdAt: (value: unknown) => typeof value === "string",
};

/** @throws {IssuingError} `invalid-response` when there is no list of operations in the answer. */
export function readOperations(call: Call, body: unknown): Operation[] {
  const list = Array.isArray(body) ? body : wrappers.map((name) => memberOf(body, name)).find(Array.isArray);
  if (!list?.every(isOperation)) throw call.unpromised("a list of operations");
  for (const entry of list as Record<string, unknown>[]) {
    for (const [name, isExpected] of Object.entries(assumed))
      if (!isExpected(entry[name])) delete entry[name];
  }
  return list as Operation[];
}

function isOperation(entry: unknown): boolean {
  const type = memberOf(entry, "type");
  return typeof memberOf(entry, "id") === "string" && (type === undefined || typeof type === "string");
}

export function checkedLimit(limit: unknown): number {
  if (Number.isSafeInteger(limit) && (limit as number) >= 1) return limit as number;
  throw configurationError(`limit must be a whole number, 1 or more, not ${String(limit)}.`);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
