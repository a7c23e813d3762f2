/** The service's clock as its users see it: told, moved, and put into another mode. */
import {
  type Clock,
  type ClockMode,
  latestMs,
  manualClock,
  modeOf,
  scaledClock,
  systemClock,
} from "../domain/clock.ts";
import { type Duration, durationMs } from "../domain/duration.ts";
import type { Surroundings } from "../domain/surroundings.ts";
import type { FiredAttempt } from "./deliveries.ts";
import type { Dispatcher, EndOf } from "./dispatcher.ts";

/** How a clock runs: by the machine, by hand, or so many times as fast. */
export interface ClockSetting {
  mode: ClockMode;
  /** Of a scaled clock: how many times as fast as the machine's. */
  factor?: number;
}

/**
 * The service's clock. Moving it needs a clock that is not the machine's, and returns the attempts that ended on the
 * way. Do not await a movement inside a receiver: it waits for that very receiver.
 */
export interface ServiceClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** How it runs. */
  setting(): ClockSetting;
  /** Makes it run otherwise, from its present on. @throws {RangeError} for the machine's time when that is past. */
  set(setting: ClockSetting): void;
  /** When the next attempt is due, in milliseconds since 1970. */
  nextAttemptAt(): number | undefined;
  advance(duration: Duration): Promise<FiredAttempt[]>;
  advanceToNextDelivery(): Promise<FiredAttempt[]>;
  /** Until nothing is pending: everything is delivered, or failed for good. */
  runUntilIdle(): Promise<FiredAttempt[]>;
}

export interface ClockHolder {
  clock: Clock;
}

export function serviceClock(
  holder: ClockHolder,
  dispatcher: Dispatcher,
  { tell }: Pick<Surroundings, "tell">,
): ServiceClock {
  let movement: Promise<unknown> = Promise.resolve();
  const now = () => holder.clock.now();
  const told = () => tell({ type: "clock", id: "clock", action: "changed" });

  /** One movement at a time: two tests' worth of awaits may not interleave on one clock. */
  function inTurn<Result>(move: () => Promise<Result>): Promise<Result> {
    const turn = movement.then(move);
    movement = turn.catch(() => undefined);
    return turn;
  }

  const travel = async (endOf: EndOf) => {
    const fired = await dispatcher.travel(endOf);
    told();
    return fired;
  };

  return {
    now,
    setting: () => modeOf(holder.clock),
    set(setting) {
      holder.clock = clockOf(setting, now());
      dispatcher.reload();
      told();
    },
    nextAttemptAt: dispatcher.nextAttemptMs,
    advance: (duration) => {
      const ms = durationMs(duration);
      return inTurn(() => {
        const endMs = now() + ms;
        if (endMs > latestMs) throw new RangeError("The clock cannot go beyond the year 9999.");
        return travel(() => endMs);
      });
    },
    advanceToNextDelivery: () =>
      inTurn(async () => {
        await dispatcher.idle();
        const endMs = dispatcher.nextAttemptMs();
        return travel(() => endMs);
      }),
    runUntilIdle: () => inTurn(() => travel((nextMs) => nextMs)),
  };
}

function clockOf({ mode, factor = 1 }: ClockSetting, startAt: number): Clock {
  if (mode === "manual") return manualClock(startAt);
  if (mode === "scaled") return scaledClock({ factor, startAt });
  if (mode !== "system")
    throw new TypeError(`There is no clock mode "${mode}"; use system, manual or scaled.`);
  const machine = systemClock();
  // A second's grace: a scaled clock of factor 1 that was never moved may differ by a rounding.
  if (startAt > machine.now() + 1_000) {
    throw new RangeError("The clock is ahead of the machine's, and time does not go back; use scaled.");
  }
  return machine;
}
