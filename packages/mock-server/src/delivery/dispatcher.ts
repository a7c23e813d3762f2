/** Makes the attempts that are due, in the order of time, and keeps the delivery log. */
import { type Clock, isManual } from "../domain/clock.ts";
import { type Duration, durationMs } from "../domain/duration.ts";
import type { Domain } from "../domain/surroundings.ts";
import { attempt, type Transport } from "./attempt.ts";
import { type Delivery, type DeliveryStore, type FiredAttempt, settle } from "./deliveries.ts";
import { dueQueue } from "./due-queue.ts";
import type { EndpointStore } from "./endpoints.ts";

/**
 * The service's clock. Moving it needs a manual clock, and returns the attempts that ended on the way. Do not await a
 * movement inside a receiver: it waits for that very receiver.
 */
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
  /** Puts a delivery into the queue, and starts it when it is due. */
  schedule(delivery: Delivery): void;
  isUnderWay(delivery: Delivery): boolean;
  /** The state was replaced: what is pending in it waits from now on, and nothing else does. */
  reload(): void;
  /** Resolves when every attempt that is due has ended. */
  idle(): Promise<void>;
}

export function createDispatcher(
  domain: Domain<DeliveryStore & EndpointStore>,
  clock: Clock,
  transport: Transport,
): Dispatcher {
  const waiting = dueQueue<Delivery>();
  const underWay = new Map<Delivery, Promise<void>>();
  let fired: FiredAttempt[] = [];
  let cancelTimer = () => {};
  let movement: Promise<unknown> = Promise.resolve();

  function schedule(delivery: Delivery): void {
    if (delivery.nextAttemptAt === undefined || underWay.has(delivery)) return;
    waiting.add(delivery, Date.parse(delivery.nextAttemptAt));
    wake();
  }

  function reload(): void {
    waiting.clear();
    const { deliveries, pendingDeliveryIds } = domain.state;
    for (const id of pendingDeliveryIds) {
      const delivery = deliveries.get(id);
      if (delivery !== undefined) schedule(delivery);
    }
  }

  /** Starts what is due, and on a clock that runs asks to be woken for the rest. */
  function wake(): void {
    let nextMs = waiting.nextMs();
    while (nextMs !== undefined && nextMs <= clock.now()) {
      const delivery = waiting.take();
      if (delivery !== undefined) fire(delivery);
      nextMs = waiting.nextMs();
    }
    cancelTimer();
    if (nextMs !== undefined) cancelTimer = clock.wakeAt?.(nextMs, wake) ?? cancelTimer;
  }

  function fire(delivery: Delivery): void {
    if (underWay.has(delivery) || delivery.nextAttemptAt === undefined) return;
    const { state } = domain;
    // A microtask later, so that whoever caused the event has its result before any receiver hears of it.
    const carriedOut = Promise.resolve()
      .then(() => carryOut(delivery, state))
      .finally(() => underWay.delete(delivery))
      .then(() => {
        if (domain.state === state) schedule(delivery);
      });
    underWay.set(delivery, carriedOut);
  }

  async function carryOut(delivery: Delivery, state: DeliveryStore & EndpointStore): Promise<void> {
    const endpoint = state.endpoints.get(delivery.endpointId);
    if (endpoint === undefined) return;
    const at = new Date(clock.now()).toISOString();
    const startedMs = performance.now();
    const result = await attempt(transport, endpoint, delivery);
    if (domain.state !== state) return; // reset or restored meanwhile: that attempt belongs to the past
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
    fired = [];
    await idle();
    for (;;) {
      const nextMs = waiting.nextMs();
      const endMs = endOf(nextMs);
      if (nextMs === undefined || endMs === undefined || nextMs > endMs) {
        if (endMs !== undefined) clock.moveTo(Math.max(endMs, clock.now()));
        return fired;
      }
      clock.moveTo(Math.max(nextMs, clock.now()));
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
    schedule,
    isUnderWay: (delivery) => underWay.has(delivery),
    reload,
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
          const endMs = waiting.nextMs();
          return travel(() => endMs);
        }),
      runUntilIdle: () => inTurn(() => travel((nextMs) => nextMs)),
    },
  };
}
