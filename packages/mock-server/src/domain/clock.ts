/** The service's time: the machine's, one that stands still until it is moved, or one that runs and can be moved. */

export type ClockMode = "system" | "manual" | "scaled";

/** Time as the service sees it, in milliseconds. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back when that moment has come; absent when time only moves by hand. @returns how to cancel. */
  wakeAt?(atMs: number, wake: () => void): () => void;
}

/** A clock that can be moved. */
export interface MovableClock extends Clock {
  /** Moves time forward. @throws {RangeError} when asked to go back. */
  moveTo(atMs: number): void;
}

/** A clock that stands still until it is moved. */
export interface ManualClock extends MovableClock {
  wakeAt?: never;
}

/** A clock that runs, and can be moved ahead. */
export interface ScaledClock extends MovableClock {
  /** How many times as fast as the machine's clock. */
  readonly factor: number;
  wakeAt(atMs: number, wake: () => void): () => void;
}

/** How fast it runs, and from when. */
export interface ScaledClockOptions {
  /** Default 1; 60 makes a minute of the service a second of the machine. */
  factor?: number;
  /** Default: the present. */
  startAt?: Date | number | string;
}

/** The end of the year 9999: later moments have no ISO 8601 text with a year of four digits, which events need. */
export const latestMs = Date.parse("9999-12-31T23:59:59.999Z");
const longestTimerMs = 2 ** 31 - 1;
const largestFactor = 1_000_000;

/**
 * Creates a clock that shows the time of the machine. Its timers do not keep a process alive.
 * @example
 * ```ts
 * import { createMockService, systemClock } from "@loyalty-cards/mock-server";
 *
 * const service = createMockService({ clock: systemClock() });
 * ```
 */
export function systemClock(): Clock {
  return { now: Date.now, wakeAt: (atMs, wake) => timer(atMs - Date.now(), wake) };
}

/**
 * Creates a clock that stands still until `service.clock` moves it.
 * @param startAt the first time it shows. Default: the current time.
 * @throws {RangeError} when that is no date, or one after the year 9999.
 * @example
 * ```ts
 * import { createMockService, manualClock } from "@loyalty-cards/mock-server";
 *
 * const service = createMockService({ clock: manualClock("2026-01-01T00:00:00Z") });
 * await service.clock.advance("6h"); // makes every delivery attempt of these six hours
 * ```
 */
export function manualClock(startAt: Date | number | string = Date.now()): ManualClock {
  let nowMs = startMs("manualClock", startAt);
  return {
    now: () => nowMs,
    moveTo(atMs) {
      nowMs = forward(nowMs, atMs);
    },
  };
}

/**
 * Creates a clock that runs `factor` times as fast as the machine's, and that `service.clock` can also move forward.
 * @param options `factor`, more than 0 and at most 1 000 000, default 1; `startAt`, default: the current time.
 * @throws {RangeError} for another factor or start.
 * @example
 * ```ts
 * import { createMockService, scaledClock } from "@loyalty-cards/mock-server";
 *
 * const service = createMockService({ clock: scaledClock({ factor: 60 }) }); // a minute of the service in a second
 * ```
 */
export function scaledClock({ factor = 1, startAt = Date.now() }: ScaledClockOptions = {}): ScaledClock {
  if (!(factor > 0 && factor <= largestFactor)) {
    throw new RangeError(`A clock's factor must be more than 0 and at most ${largestFactor}, not ${factor}.`);
  }
  let baseMs = startMs("scaledClock", startAt);
  let sinceMs = performance.now(); // does not jump when somebody sets the machine's clock
  const now = () => baseMs + Math.floor((performance.now() - sinceMs) * factor);
  return {
    factor,
    now,
    wakeAt: (atMs, wake) => timer(Math.ceil((atMs - now()) / factor), wake),
    moveTo(atMs) {
      baseMs = forward(now(), atMs);
      sinceMs = performance.now();
    },
  };
}

export function isMovable(clock: Clock): clock is MovableClock {
  return "moveTo" in clock;
}

/** What kind of clock it is; one of a user's own counts as the machine's. */
export function modeOf(clock: Clock): { mode: ClockMode; factor?: number } {
  if (!isMovable(clock)) return { mode: "system" };
  return "factor" in clock ? { mode: "scaled", factor: (clock as ScaledClock).factor } : { mode: "manual" };
}

/** Another clock of the same kind, at the same time. */
export function clockLike(clock: Clock): Clock {
  const { mode, factor = 1 } = modeOf(clock);
  if (mode === "manual") return manualClock(clock.now());
  return mode === "scaled" ? scaledClock({ factor, startAt: clock.now() }) : clock;
}

function startMs(what: string, startAt: Date | number | string): number {
  const ms = new Date(startAt).getTime();
  if (!(ms <= latestMs)) {
    throw new RangeError(
      `${what} cannot start at "${startAt}": that is no date, or one after the year 9999.`,
    );
  }
  return ms;
}

function forward(nowMs: number, atMs: number): number {
  if (!(atMs >= nowMs)) throw new RangeError("Time does not go back; make a new service instead.");
  if (atMs > latestMs) throw new RangeError("The clock cannot go beyond the year 9999.");
  return atMs;
}

function timer(afterMs: number, wake: () => void): () => void {
  const handle = setTimeout(wake, Math.min(Math.max(0, afterMs), longestTimerMs));
  (handle as { unref?: () => void }).unref?.();
  return () => clearTimeout(handle);
}
