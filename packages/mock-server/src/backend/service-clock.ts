/** The clock of the service: reads the time, moves it, and changes its mode. */
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import type { Dispatcher } from "../delivery/dispatcher.ts";
import {
  type Clock,
  type ClockSetting,
  createClock,
  type Duration,
  getClockSetting,
  isMovable,
  type MovableClock,
  requireRepresentable,
  toMilliseconds,
} from "../domain/clock.ts";
import type { ChangeNotifier, Domain } from "../domain/context.ts";
import { ConflictError } from "../domain/errors.ts";
import type { Attempt, Delivery, EventType } from "../domain/state.ts";

/** An attempt, with its delivery and event. */
interface AttemptRecord extends Attempt {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly endpointId: string;
  readonly type: EventType;
}

/**
 * The service's clock. Only manual and scaled clocks can be moved; a movement returns the delivery
 * attempts that it made. Do not await a movement inside a receiver: it waits for that receiver.
 */
export interface ServiceClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** The mode of the clock. */
  setting(): ClockSetting;
  /**
   * Changes the mode; the time stays the same.
   * @throws {RangeError} for `system` when the clock is ahead of real time.
   */
  set(setting: ClockSetting): void;
  /** When the next attempt is due, in milliseconds since 1970. */
  nextAttemptAt(): number | undefined;
  advance(duration: Duration): Promise<AttemptRecord[]>;
  advanceToNextDelivery(): Promise<AttemptRecord[]>;
  /** Moves until every delivery has been delivered or has failed. */
  runUntilIdle(): Promise<AttemptRecord[]>;
}

const settingNames = { mode: true, factor: true } satisfies OptionNames<ClockSetting>;

export function createServiceClock(
  domain: Domain,
  dispatcher: Dispatcher,
  changes: ChangeNotifier,
): ServiceClock {
  const { nowMs: now, notifyChange } = domain;
  let movement: Promise<unknown> = Promise.resolve();

  /** Runs one movement at a time, so that concurrent calls do not interleave on one clock. */
  function runInTurn<Result>(move: () => Promise<Result>): Promise<Result> {
    const turn = movement.then(move);
    movement = turn.catch(() => undefined);
    return turn;
  }

  /** Runs a movement, and returns the attempts that were made meanwhile. */
  async function record(move: () => Promise<void>): Promise<AttemptRecord[]> {
    const attempts: AttemptRecord[] = [];
    const stopRecording = changes.subscribe(({ attempted }) => {
      if (attempted !== undefined) attempts.push(toRecord(attempted));
    });
    try {
      await move();
    } finally {
      stopRecording();
    }
    notifyChange();
    return attempts;
  }

  return {
    now,
    setting: () => getClockSetting(domain.clock),
    set(setting) {
      requireKnownNames("clock.set", setting, settingNames);
      domain.clock = createClock(setting, now());
      dispatcher.reload();
      notifyChange();
    },
    nextAttemptAt: dispatcher.getNextAttemptMs,
    advance: (duration) => {
      const ms = toMilliseconds(duration);
      return runInTurn(async () => {
        const endMs = now() + ms;
        requireRepresentable(endMs);
        return record(() => moveTo(domain, dispatcher, endMs));
      });
    },
    advanceToNextDelivery: () =>
      runInTurn(async () => {
        await dispatcher.idle();
        const endMs = dispatcher.getNextAttemptMs() ?? now();
        return record(() => moveTo(domain, dispatcher, endMs));
      }),
    runUntilIdle: () => runInTurn(() => record(() => moveToLastAttempt(domain, dispatcher))),
  };
}

/** Moves to `endMs`, from attempt to attempt. */
async function moveTo(domain: Domain, dispatcher: Dispatcher, endMs: number): Promise<void> {
  const clock = requireMovable(domain.clock);
  // The movement is reported before the attempts that it makes.
  domain.notifyChange({ moved: { fromMs: clock.now(), toMs: endMs } });
  let nextMs: number;
  do {
    await waitForAttempts(domain, dispatcher, clock);
    nextMs = dispatcher.getNextAttemptMs() ?? Number.POSITIVE_INFINITY;
    moveForward(clock, Math.min(nextMs, endMs));
    dispatcher.startDue();
  } while (nextMs <= endMs);
}

/** Moves from attempt to attempt until none is due. */
async function moveToLastAttempt(domain: Domain, dispatcher: Dispatcher): Promise<void> {
  const clock = requireMovable(domain.clock);
  const fromMs = clock.now();
  await waitForAttempts(domain, dispatcher, clock);
  let nextMs = dispatcher.getNextAttemptMs();
  while (nextMs !== undefined) {
    moveForward(clock, nextMs);
    dispatcher.startDue();
    await waitForAttempts(domain, dispatcher, clock);
    nextMs = dispatcher.getNextAttemptMs();
  }
  // Reported after the attempts, because its end was not known before: they decide on retries.
  domain.notifyChange({ moved: { fromMs, toMs: clock.now() } });
}

/** @throws {RangeError} when the clock was replaced meanwhile. */
async function waitForAttempts(
  domain: Domain,
  dispatcher: Dispatcher,
  clock: MovableClock,
): Promise<void> {
  await dispatcher.idle();
  if (domain.clock !== clock)
    throw new ConflictError("The clock was set while it was moved: move it again.");
}

/** A clock that runs may be ahead of the target. */
const moveForward = (clock: MovableClock, targetMs: number) =>
  clock.moveTo(Math.max(targetMs, clock.now()));

function requireMovable(clock: Clock): MovableClock {
  if (isMovable(clock)) return clock;
  throw new ConflictError(
    'This service uses real time, which cannot be moved: create it with { clock: manualClock() }, or set its clock to { "mode": "manual" } or { "mode": "scaled" }.',
  );
}

function toRecord({ id, eventId, endpointId, type, attempts }: Delivery): AttemptRecord {
  return { deliveryId: id, eventId, endpointId, type, ...(attempts.at(-1) as Attempt) };
}
