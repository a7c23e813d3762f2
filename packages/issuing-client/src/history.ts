/** The history of a card. */
import type { components } from "@loyalty-cards/openapi";
import type { Call } from "./call.ts";
import { configurationError } from "./errors.ts";

/** One entry. Besides `id` and `type` the service may tell nothing, or more than we know (spec 2.5). */
export type Operation = components["schemas"]["Operation"];

/** How other services call the list inside its wrapper; which name ours uses is not shown (spec 4.3). */
const wrappers = ["items", "operations", "data", "results"];

/** @throws {IssuingError} `invalid-response` when there is no list of operations in the answer. */
export function readOperations(call: Call, body: unknown): Operation[] {
  const list = Array.isArray(body) ? body : wrappers.map((name) => memberOf(body, name)).find(Array.isArray);
  if (list?.every((entry) => typeof memberOf(entry, "id") === "string")) return list as Operation[];
  throw call.unpromised("a list of operations");
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
