/** Checks of options that are numbers, functions or signals, and the limit of `setTimeout`. */
import { createTypeError, wrongSignalMessage } from "./errors.ts";
import { describeValue, formatType } from "./format.ts";

export const endless = Number.POSITIVE_INFINITY;

/** The longest delay of `setTimeout`, about 24.8 days; a longer one fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** @throws {TypeError} naming the option, its range and its value. */
export function requireNumber(
  name: string,
  value: unknown,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): void {
  if (typeof value === "number" && value >= min && value <= max) return;
  throw createTypeError(
    `${name} must be a number from ${min} to ${max}; it is ${describeValue(value)}.`,
  );
}

/** @throws {TypeError} as `requireNumber`, and for a fraction. Infinity counts as an integer. */
export function requireInteger(name: string, value: unknown, min: number, max: number): void {
  requireNumber(name, value, min, max);
  if (Number.isInteger(value) || value === endless) return;
  throw createTypeError(`${name} must be an integer; it is ${String(value)}.`);
}

/** @throws {TypeError} naming the option, its range and its value. */
export function requirePositive(name: string, value: unknown, max = Number.MAX_SAFE_INTEGER): void {
  if (typeof value === "number" && value > 0 && value <= max) return;
  throw createTypeError(
    `${name} must be a positive number, at most ${max}; it is ${describeValue(value)}.`,
  );
}

/**
 * @param example what to write, such as `, such as (file) => …`.
 * @throws {TypeError} for a value that is not a function.
 */
export function requireFunction(name: string, value: unknown, example = ""): void {
  if (typeof value === "function") return;
  throw createTypeError(`${name} must be a function${example}; it is ${formatType(value)}.`);
}

/** @throws {TypeError} for a value that is not a signal, such as its controller. */
export function requireSignal(signal: unknown): void {
  if (signal === undefined || signal === null) return;
  if (typeof (signal as { throwIfAborted?: unknown }).throwIfAborted === "function") return;
  throw createTypeError(wrongSignalMessage);
}

/**
 * How long a worker that is stopped may go on.
 * @throws {TypeError} for an invalid number.
 */
export function parseGrace(graceMs = 10_000): number {
  requireNumber("graceMs", graceMs, 0, maxTimerMs);
  return graceMs;
}
