/** Makes the attempts that are due, in the order of time, and keeps the delivery log. */
import { type Clock, isMovable } from "../domain/clock.ts";
import type { Domain } from "../domain/surroundings.ts";
import { type FaultStore, takeDeliveryFault } from "../faults/rules.ts";
import { attempt, type Transport } from "./attempt.ts";
import { type Delivery, type DeliveryStore, type FiredAttempt, letGo, settle } from "./deliveries.ts";
import { dueQueue } from "./due-queue.ts";
import type { EndpointStore } from "./endpoints.ts";

export type DispatchStore = DeliveryStore & EndpointStore & FaultStore;

/** How far a movement goes, told when the next attempt is due; undefined: it stays where it is. */
export type EndOf = (nextMs: number | undefined) => number | undefined;

export interface Dispatcher {
  /** Puts a delivery into the queue, and starts it when it is due. */
  schedule(delivery: Delivery): void;
  isUnderWay(delivery: Delivery): boolean;
  /** When the next attempt is due. */
  nextAttemptMs(): number | undefined;
  /** The state or the clock was replaced: what is pending waits from now on, and nothing else does. */
  reload(): void;
  /** Resolves when every attempt that is due has ended. */
  idle(): Promise<void>;
  /** Moves time from one due attempt to the next, until there is none before the end. */
  travel(endOf: EndOf): Promise<FiredAttempt[]>;
}

/** @param clock asked each time, because a service can be given another one. */
export function createDispatcher(
  domain: Domain<DispatchStore>,
  clock: () => Clock,
  transport: Transport,
): Dispatcher {
  const waiting = dueQueue<Delivery>();
  const underWay = new Map<Delivery, Promise<void>>();
  let fired: FiredAttempt[] = [];
  let cancelTimer = () => {};

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
    wake();
  }

  /** When the next attempt is due, past entries that were resent or let go since. */
  function nextAttemptMs(): number | undefined {
    for (let next = waiting.next(); next !== undefined; next = waiting.next()) {
      if (Date.parse(next.item.nextAttemptAt ?? "") === next.dueAtMs) return next.dueAtMs;
      waiting.take();
    }
    return undefined;
  }

  /** Starts what is due, and on a clock that runs asks to be woken for the rest. */
  function wake(): void {
    let nextMs = nextAttemptMs();
    while (nextMs !== undefined && nextMs <= clock().now()) {
      const delivery = waiting.take();
      if (delivery !== undefined) fire(delivery);
      nextMs = nextAttemptMs();
    }
    cancelTimer();
    cancelTimer = () => {};
    if (nextMs !== undefined) cancelTimer = clock().wakeAt?.(nextMs, wake) ?? cancelTimer;
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
    carriedOut.catch(() => {}); // of a clock that throws, say; idle() rejects with it
  }

  async function carryOut(delivery: Delivery, state: DispatchStore): Promise<void> {
    const endpoint = state.endpoints.get(delivery.endpointId);
    if (endpoint === undefined) return;
    const at = new Date(clock().now()).toISOString();
    const startedMs = performance.now();
    const wasHeldBack = delivery.isHeldBack === true;
    delete delivery.isHeldBack;
    const isDropped = takeDeliveryFault(domain, "drop", delivery);
    const result = await attempt(transport, endpoint, delivery, isDropped);
    if (domain.state !== state) return; // reset or restored meanwhile: that attempt belongs to the past
    const made = { at, ...result, durationMs: Math.round(performance.now() - startedMs) };
    settle(domain, delivery, made);
    fired.push({ deliveryId: delivery.id, eventId: delivery.eventId, type: delivery.type, ...made });
    if (!wasHeldBack) for (const held of letGo(domain, endpoint.id)) schedule(held);
  }

  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay.values());
  }

  async function travel(endOf: EndOf): Promise<FiredAttempt[]> {
    const moved = clock();
    if (!isMovable(moved)) {
      throw new TypeError(
        "This service runs on the machine's clock; make it with { clock: manualClock() } to move time.",
      );
    }
    fired = [];
    await idle();
    for (;;) {
      const nextMs = nextAttemptMs();
      const endMs = endOf(nextMs);
      if (nextMs === undefined || endMs === undefined || nextMs > endMs) {
        if (endMs !== undefined) moved.moveTo(Math.max(endMs, moved.now()));
        wake();
        return fired;
      }
      moved.moveTo(Math.max(nextMs, moved.now()));
      wake();
      await idle();
    }
  }

  return {
    schedule,
    isUnderWay: (delivery) => underWay.has(delivery),
    nextAttemptMs,
    reload,
    idle,
    travel,
  };
}
