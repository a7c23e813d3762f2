/** Identifiers that go into a path. */
import { configurationError } from "./errors.ts";

/** The likely cause of many a value that is not what it should be: a missing await. */
export const isPromise = (value: unknown): boolean =>
  typeof (value as { then?: unknown } | null | undefined)?.then === "function";

/** @throws {IssuingError} `configuration` for what could not be a path segment of its own. */
export function checkedId(name: string, id: unknown): string {
  if (isPromise(id)) throw configurationError(`The ${name} is a promise: await it.`);
  if (typeof id !== "string" || id.trim() === "")
    throw configurationError(`The ${name} is missing or empty.`);
  // A dot segment would climb in the path; everything else is escaped.
  if (id === "." || id === "..") throw configurationError(`The ${name} is "${id}", which is no identifier.`);
  if (!id.isWellFormed()) throw configurationError(`The ${name} is not well-formed text.`);
  return id;
}
