/** Clocks of the service (system, manual, scaled) and durations such as "6h". */

import { requireKnownNames } from "@loyalty-cards/internal/known-options";
import { maxTimerMs } from "@loyalty-cards/internal/limits";
import type { components } from "@loyalty-cards/openapi/control";
import { ConflictError, InputError } from "./errors.ts";

/** How a clock runs: system (real time), manual, or scaled. */
export type ClockSetting = components["schemas"]["ClockSetting"];

/** Time as the service sees it, in milliseconds. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Calls `wake` at that time; absent on a clock that only moves by hand.
   * @returns a function that cancels the call.
   */
  wakeAt?(atMs: number, wake: () => void): () => void;
}

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /**
   * Moves time forward. A clock that runs ignores a time that has passed.
   * @throws {RangeError} when a manual clock is asked to go back.
   */
  moveTo(atMs: number): void;
  wakeAt?: never;
}

/** A clock that can be moved. With a factor it runs, that many times as fast as real time. */
export type MovableClock = Clock & Pick<ManualClock, "moveTo"> & { readonly factor?: number };

/** The end of the year 9999. Events need ISO 8601 with a year of four digits. */
export const latestMs = Date.parse("9999-12-31T23:59:59.999Z");
const largestFactor = 1_000_000;

/** Creates a clock that shows real time. Its timers do not keep the process alive. */
export function systemClock(): Clock {
  return { now: () => Date.now(), wakeAt: (atMs, wake) => startTimer(atMs - Date.now(), wake) };
}

/**
 * Creates a clock that stands still until `service.clock` moves it.
 * @param startAt the first time it shows. Default: the current time.
 * @throws {RangeError} for an invalid date, and for one after the year 9999.
 * @example
 * ```ts
 * import { createMockService, manualClock } from "@loyalty-cards/mock-server";
 *
 * const service = createMockService({ clock: manualClock("2026-01-01T00:00:00Z") });
 * await service.clock.advance("6h"); // makes every delivery attempt of these six hours
 * ```
 */
export function manualClock(startAt: Date | number | string = Date.now()): ManualClock {
  let nowMs = parseStart("manualClock", startAt);
  return {
    now: () => nowMs,
    moveTo(atMs) {
      nowMs = requireForward(nowMs, atMs);
    },
  };
}

/**
 * Creates a clock that runs `factor` times as fast as real time, and that `service.clock` can also
 * move forward.
 * @param options `factor`, more than 0 and at most 1 000 000, default 1; `startAt`, default: the
 * current time.
 * @throws {RangeError} for another factor or start.
 * @example
 * ```ts
 * import { createMockService, scaledClock } from "@loyalty-cards/mock-server";
 *
 * // a minute of the service in a second
 * const service = createMockService({ clock: scaledClock({ factor: 60 }) });
 * ```
 */
export function scaledClock(
  options: { factor?: number; startAt?: Date | number | string } = {},
): Clock & Pick<ManualClock, "moveTo"> {
  requireKnownNames("scaledClock", options, { factor: true, startAt: true });
  const { factor = 1, startAt = Date.now() } = options;
  if (!(factor > 0 && factor <= largestFactor))
    throw new RangeError(
      `A clock's factor must be more than 0 and at most ${largestFactor}, not ${factor}.`,
    );
  let baseMs = parseStart("scaledClock", startAt);
  let sinceMs = performance.now(); // monotonic: changes of the system clock have no effect
  const now = () => baseMs + Math.floor((performance.now() - sinceMs) * factor);
  const clock: MovableClock = {
    factor,
    now,
    wakeAt: (atMs, wake) => startTimer(Math.ceil((atMs - now()) / factor), wake),
    moveTo(atMs) {
      const nowMs = now();
      baseMs = requireForward(nowMs, Math.max(nowMs, atMs)); // it has run since its caller read it
      sinceMs = performance.now();
    },
  };
  return clock;
}

export const isMovable = (clock: Clock): clock is MovableClock => "moveTo" in clock;

/** A clock that the application implements counts as `system`. */
export function getClockSetting(clock: Clock): ClockSetting {
  if (!isMovable(clock)) return { mode: "system" };
  return clock.factor === undefined ? { mode: "manual" } : { mode: "scaled", factor: clock.factor };
}

/**
 * @throws {RangeError} for `system` when the clock is ahead of real time, and for a time after the
 * year 9999.
 */
export function createClock({ mode, factor = 1 }: ClockSetting, startAt: number): Clock {
  requireRepresentable(startAt);
  if (mode === "manual") return manualClock(startAt);
  if (mode === "scaled") return scaledClock({ factor, startAt });
  if (mode !== "system")
    throw new InputError(`There is no clock mode "${mode}"; use system, manual or scaled.`);
  const machine = systemClock();
  // One second of tolerance: a scaled clock with factor 1 may differ by rounding.
  if (startAt > machine.now() + 1_000)
    throw new ConflictError(
      "The clock is ahead of real time, and time cannot move back: use manual or scaled, or reset the service (a clock that the program passed keeps its time).",
    );
  return machine;
}

function parseStart(what: string, startAt: Date | number | string): number {
  const ms = new Date(startAt).getTime();
  if (!(ms <= latestMs)) {
    throw new RangeError(
      `${what} cannot start at "${startAt}": it is not a date, or is after the year 9999.`,
    );
  }
  return ms;
}

function requireForward(nowMs: number, atMs: number): number {
  if (!(atMs >= nowMs))
    throw new RangeError("Time cannot move back; create a new service instead.");
  requireRepresentable(atMs);
  return atMs;
}

/** @throws {RangeError} for a time after the year 9999. */
export function requireRepresentable(atMs: number): void {
  if (atMs > latestMs) throw new ConflictError("The clock cannot go beyond the year 9999.");
}

function startTimer(afterMs: number, wake: () => void): () => void {
  const handle = setTimeout(wake, Math.min(Math.max(0, afterMs), maxTimerMs));
  (handle as { unref?: () => void }).unref?.();
  return () => clearTimeout(handle);
}

/** A duration: milliseconds as a number, or text with a unit, such as `"6h"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const unitsMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A thousand years. */
const longestMs = 1000 * 365 * unitsMs.d;

/**
 * Converts a duration; a number is in milliseconds already.
 * @throws {TypeError} for an invalid or negative duration.
 */
export function toMilliseconds(duration: Duration): number {
  if (typeof duration === "number") {
    if (duration >= 0 && duration <= longestMs) return duration;
  } else {
    const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration);
    const ms =
      parts === null ? Number.NaN : Number(parts[1]) * unitsMs[parts[2] as keyof typeof unitsMs];
    if (ms <= longestMs) return ms;
  }
  throw new InputError(
    `"${duration}" is not a duration: write "90s", "5m", "6h", "1d" or milliseconds.`,
  );
}
