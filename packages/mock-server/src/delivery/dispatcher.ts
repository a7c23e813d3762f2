/** Makes the attempts that are due, in the order of time, and keeps the delivery log. */
import { type Clock, isManual } from "../domain/clock.ts";
import { type Duration, durationMs } from "../domain/duration.ts";
import type { Domain } from "../domain/surroundings.ts";
import { attempt, type Transport } from "./attempt.ts";
import { type Delivery, type DeliveryStore, type FiredAttempt, settle } from "./deliveries.ts";
import type { EndpointStore } from "./endpoints.ts";

/** The service's clock. Moving it needs a manual clock, and returns the attempts that fired on the way. */
export interface ServiceClock {
  /** Milliseconds since 1970. */
  now(): number;
  advance(duration: Duration): Promise<FiredAttempt[]>;
  advanceToNextDelivery(): Promise<FiredAttempt[]>;
  /** Until nothing is pending: everything is delivered, or failed for good. */
  runUntilIdle(): Promise<FiredAttempt[]>;
}

export interface Dispatcher {
  clock: ServiceClock;
  /** Starts what is due. To be called after anything that makes a delivery due. */
  wake(): void;
  /** Resolves when every attempt that is due has ended. */
  idle(): Promise<void>;
}

export function createDispatcher(
  domain: Domain<DeliveryStore & EndpointStore>,
  clock: Clock,
  transport: Transport,
): Dispatcher {
  const underWay = new Map<string, Promise<void>>();
  let fired: FiredAttempt[] = [];
  let cancelTimer = () => {};
  let movement: Promise<unknown> = Promise.resolve();

  function wake(): void {
    for (const delivery of waiting()) {
      if (dueAtMs(delivery) <= clock.now()) fire(delivery);
    }
    cancelTimer();
    const nextMs = nextDueMs();
    if (nextMs !== undefined) cancelTimer = clock.wakeAt?.(nextMs, wake) ?? cancelTimer;
  }

  function* waiting(): Generator<Delivery> {
    for (const id of domain.state.pendingDeliveryIds) {
      const delivery = domain.state.deliveries.get(id);
      if (delivery !== undefined && !underWay.has(id)) yield delivery;
    }
  }

  function nextDueMs(): number | undefined {
    let nextMs: number | undefined;
    for (const delivery of waiting())
      nextMs = Math.min(nextMs ?? Number.POSITIVE_INFINITY, dueAtMs(delivery));
    return nextMs;
  }

  function fire(delivery: Delivery): void {
    // A microtask later, so that whoever caused the event has its result before any receiver hears of it.
    const carriedOut = Promise.resolve()
      .then(() => carryOut(delivery))
      .finally(() => underWay.delete(delivery.id))
      .then(wake);
    underWay.set(delivery.id, carriedOut);
  }

  async function carryOut(delivery: Delivery): Promise<void> {
    const endpoint = domain.state.endpoints.get(delivery.endpointId);
    if (endpoint === undefined) return; // the service was reset meanwhile
    const at = new Date(clock.now()).toISOString();
    const startedMs = performance.now();
    const result = await attempt(transport, endpoint, delivery);
    const made = { at, ...result, durationMs: Math.round(performance.now() - startedMs) };
    settle(domain, delivery, made);
    fired.push({ deliveryId: delivery.id, eventId: delivery.eventId, type: delivery.type, ...made });
  }

  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay.values());
  }

  /** Moves time from one due attempt to the next, until there is none before the end. */
  async function travel(endOf: (nextMs: number | undefined) => number | undefined): Promise<FiredAttempt[]> {
    if (!isManual(clock)) {
      throw new TypeError(
        "This service runs on the machine's clock; make it with { clock: manualClock() } to move time.",
      );
    }
    await idle();
    fired = [];
    for (;;) {
      const nextMs = nextDueMs();
      const endMs = endOf(nextMs);
      if (nextMs === undefined || endMs === undefined || nextMs > endMs) {
        if (endMs !== undefined) clock.moveTo(endMs);
        return fired;
      }
      clock.moveTo(nextMs);
      wake();
      await idle();
    }
  }

  /** One movement at a time: two tests' worth of awaits may not interleave on one clock. */
  function inTurn<Result>(move: () => Promise<Result>): Promise<Result> {
    const turn = movement.then(move);
    movement = turn.catch(() => undefined);
    return turn;
  }

  return {
    wake,
    idle,
    clock: {
      now: () => clock.now(),
      advance: (duration) => {
        const ms = durationMs(duration);
        return inTurn(() => {
          const endMs = clock.now() + ms;
          return travel(() => endMs);
        });
      },
      advanceToNextDelivery: () =>
        inTurn(async () => {
          await idle();
          const endMs = nextDueMs();
          return travel(() => endMs);
        }),
      runUntilIdle: () => inTurn(() => travel((nextMs) => nextMs)),
    },
  };
}

const dueAtMs = ({ nextAttemptAt }: Delivery) =>
  nextAttemptAt === undefined ? 0 : Date.parse(nextAttemptAt);
