/** The clock of the service: reads the time, moves it, and changes its mode. */
import type { AttemptRecord, Dispatcher, GetEnd } from "../delivery/dispatcher.ts";
import {
  type ClockSetting,
  createClock,
  type Duration,
  getClockSetting,
  latestMs,
  toMilliseconds,
} from "../domain/clock.ts";
import type { Domain } from "../domain/context.ts";

/**
 * The service's clock. Only manual and scaled clocks can be moved; a movement returns the delivery attempts that it made. Do not
 * await a movement inside a receiver: it waits for that receiver.
 */
export interface ServiceClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** The mode of the clock. */
  setting(): ClockSetting;
  /** Changes the mode; the time stays the same. @throws {RangeError} for `system` when the clock is ahead of real time. */
  set(setting: ClockSetting): void;
  /** When the next attempt is due, in milliseconds since 1970. */
  nextAttemptAt(): number | undefined;
  advance(duration: Duration): Promise<AttemptRecord[]>;
  advanceToNextDelivery(): Promise<AttemptRecord[]>;
  /** Moves until every delivery has been delivered or has failed. */
  runUntilIdle(): Promise<AttemptRecord[]>;
}

export function createServiceClock(domain: Domain, dispatcher: Dispatcher): ServiceClock {
  const { nowMs: now, notifyChange } = domain;
  let movement: Promise<unknown> = Promise.resolve();

  /** Runs one movement at a time, so that concurrent calls do not interleave on one clock. */
  function runInTurn<Result>(move: () => Promise<Result>): Promise<Result> {
    const turn = movement.then(move);
    movement = turn.catch(() => undefined);
    return turn;
  }

  const moveTime = async (getEnd: GetEnd) => {
    const attempts = await dispatcher.moveTime(getEnd);
    notifyChange();
    return attempts;
  };

  return {
    now,
    setting: () => getClockSetting(domain.clock),
    set(setting) {
      domain.clock = createClock(setting, now());
      dispatcher.reload();
      notifyChange();
    },
    nextAttemptAt: dispatcher.getNextAttemptMs,
    advance: (duration) => {
      const ms = toMilliseconds(duration);
      return runInTurn(() => {
        const endMs = now() + ms;
        if (endMs > latestMs) throw new RangeError("The clock cannot go beyond the year 9999.");
        return moveTime(() => endMs);
      });
    },
    advanceToNextDelivery: () =>
      runInTurn(async () => {
        await dispatcher.idle();
        const endMs = dispatcher.getNextAttemptMs();
        return moveTime(() => endMs);
      }),
    runUntilIdle: () => runInTurn(() => moveTime((nextMs) => nextMs)),
  };
}
