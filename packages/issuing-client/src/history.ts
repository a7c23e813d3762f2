/** The history of a card. */
import type { components } from "@loyalty-cards/openapi";
import type { Call } from "./call.ts";
import { configurationError } from "./errors.ts";

/** One entry. Besides `id` and `type` the service may tell nothing, or more than we know (spec 2.5). */
export type Operation = components["schemas"]["Operation"];

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
