/** Outbox: stores each event and creates its deliveries. Dispatcher: makes the attempts that are due, in the order of time. */

import { type Clock, isMovable } from "../domain/clock.ts";
import type { Domain } from "../domain/context.ts";
import { type FaultStore, takeDeliveryFault } from "../faults/rules.ts";
import { type DeliveryTransport, sendAttempt } from "./attempt.ts";
import {
  type AttemptRecord,
  createDelivery,
  type Delivery,
  type DeliveryStore,
  holdBack,
  recordAttempt,
  releaseHeldBack,
  type ServiceEvent,
} from "./deliveries.ts";
import type { Endpoint, EndpointStore } from "./endpoints.ts";

export interface EventStore {
  /** The newest events, oldest first. */
  recentEvents: ServiceEvent[];
}

export type OutboxStore = EventStore & EndpointStore & DeliveryStore & FaultStore;

type Schedule = (delivery: Delivery) => void;

const maxRecentEvents = 1_000;
const maxHoldBackMs = 1_000;

export function publishEvent(domain: Domain<OutboxStore>, event: ServiceEvent, schedule: Schedule): void {
  storeEvent(domain, event);
  for (const endpoint of domain.state.endpoints.values()) {
    if (endpoint.events.includes(event.type)) sendToEndpoint(domain, event, endpoint, schedule);
  }
}

export function storeEvent(
  { state: { recentEvents }, notifyChange }: Domain<EventStore>,
  event: ServiceEvent,
): void {
  recentEvents.push(event);
  notifyChange({ type: "event", id: event.id, action: "created" });
  if (recentEvents.length >= 2 * maxRecentEvents) recentEvents.splice(0, maxRecentEvents); // at twice the limit, so that it seldom copies
}

/** Creates the delivery of an event to one endpoint. Injected faults duplicate it or hold it back. */
export function sendToEndpoint(
  domain: Domain<OutboxStore>,
  event: ServiceEvent,
  { id: endpointId }: Endpoint,
  schedule: Schedule,
): Delivery {
  const target = { type: event.type, endpointId };
  const body = JSON.stringify(event); // serialized once: every attempt sends the same text
  const delivery = createDelivery(domain, event, endpointId, body);
  if (takeDeliveryFault(domain, "reorder", target)) holdBack(domain, delivery, maxHoldBackMs);
  schedule(delivery);
  if (takeDeliveryFault(domain, "duplicate", target)) {
    schedule(createDelivery(domain, event, endpointId, body));
  }
  return delivery;
}

export type DispatchStore = DeliveryStore & EndpointStore & FaultStore;

/** Returns the time to move the clock to; undefined when it must not move. @param nextMs when the next attempt is due. */
export type GetEnd = (nextMs: number | undefined) => number | undefined;

export interface Dispatcher {
  /** Adds a delivery to the queue, and starts its attempt when it is due. */
  schedule(delivery: Delivery): void;
  isInProgress(delivery: Delivery): boolean;
  /** When the next attempt is due. */
  getNextAttemptMs(): number | undefined;
  /** Rebuilds the queue from the pending deliveries, after the state or the clock was replaced. */
  reload(): void;
  /** Resolves when every attempt that is due has ended. */
  idle(): Promise<void>;
  /** Moves time from one due attempt to the next, up to the end. */
  moveTime(getEnd: GetEnd): Promise<AttemptRecord[]>;
  /** Ends the attempts in progress and makes no more. Their deliveries stay pending. */
  close(): void;
}

/** @param clock returns the current clock, because it can be replaced. */
export function createDispatcher(
  domain: Domain<DispatchStore>,
  clock: () => Clock,
  transport: DeliveryTransport,
): Dispatcher {
  const queue = createDueQueue<Delivery>();
  const inProgress = new Map<Delivery, Promise<void>>();
  const requests = new Set<AbortController>();
  let isClosed = false;
  /** Those of the movement of the clock that is in progress. */
  let attempts: AttemptRecord[] | undefined;
  let cancelTimer = () => {};

  function schedule(delivery: Delivery): void {
    if (isClosed || delivery.nextAttemptAt === undefined || inProgress.has(delivery)) return;
    queue.add(delivery, Date.parse(delivery.nextAttemptAt));
    startDue();
  }

  function reload(): void {
    queue.clear();
    const { deliveries, pendingDeliveryIds } = domain.state;
    for (const id of pendingDeliveryIds) {
      const delivery = deliveries.get(id);
      if (delivery !== undefined) schedule(delivery);
    }
    startDue();
  }

  /** When the next attempt is due. Removes entries whose delivery was rescheduled. */
  function getNextAttemptMs(): number | undefined {
    for (let next = queue.next(); next !== undefined; next = queue.next()) {
      if (Date.parse(next.item.nextAttemptAt ?? "") === next.dueAtMs) return next.dueAtMs;
      queue.take();
    }
    return undefined;
  }

  /** Starts the attempts that are due; on a clock that runs, sets a timer for the next one. */
  function startDue(): void {
    let nextMs = getNextAttemptMs();
    while (nextMs !== undefined && nextMs <= clock().now()) {
      const delivery = queue.take();
      if (delivery !== undefined) startAttempt(delivery);
      nextMs = getNextAttemptMs();
    }
    cancelTimer();
    cancelTimer = () => {};
    if (nextMs !== undefined) cancelTimer = clock().wakeAt?.(nextMs, startDue) ?? cancelTimer;
  }

  function startAttempt(delivery: Delivery): void {
    if (inProgress.has(delivery) || delivery.nextAttemptAt === undefined) return;
    const { state } = domain;
    // In a microtask, so that the caller has its result before a receiver gets the event.
    const attempt = Promise.resolve()
      .then(() => makeAttempt(delivery, state))
      .finally(() => inProgress.delete(delivery))
      .then(() => {
        if (domain.state === state) schedule(delivery);
      });
    inProgress.set(delivery, attempt);
    attempt.catch(() => {}); // no unhandled rejection: idle() reports the error, e.g. of a custom clock
  }

  async function makeAttempt(delivery: Delivery, state: DispatchStore): Promise<void> {
    const endpoint = state.endpoints.get(delivery.endpointId);
    if (isClosed || endpoint === undefined) return;
    const at = new Date(clock().now()).toISOString();
    const startedMs = performance.now();
    const wasHeldBack = delivery.isHeldBack === true;
    delete delivery.isHeldBack;
    const isDropped = takeDeliveryFault(domain, "drop", delivery);
    const request = new AbortController();
    requests.add(request);
    const result = await sendAttempt(transport, endpoint, delivery, isDropped, request);
    requests.delete(request);
    if (isClosed || domain.state !== state) return; // closed, reset or restored during the attempt
    const made = { at, ...result, durationMs: Math.round(performance.now() - startedMs) };
    recordAttempt(domain, delivery, made);
    attempts?.push({ deliveryId: delivery.id, eventId: delivery.eventId, type: delivery.type, ...made });
    if (!wasHeldBack) for (const held of releaseHeldBack(domain, endpoint.id)) schedule(held);
  }

  async function idle(): Promise<void> {
    while (inProgress.size > 0) await Promise.all(inProgress.values());
  }

  async function moveTime(getEnd: GetEnd): Promise<AttemptRecord[]> {
    const moved = clock();
    if (!isMovable(moved)) {
      throw new TypeError(
        "This service uses real time; create it with { clock: manualClock() } to move time.",
      );
    }
    const made: AttemptRecord[] = [];
    attempts = made;
    try {
      await idle();
      for (;;) {
        if (clock() !== moved) throw new RangeError("The clock was set while it was moved: move it again.");
        const nextMs = getNextAttemptMs();
        const endMs = getEnd(nextMs);
        if (nextMs === undefined || endMs === undefined || nextMs > endMs) {
          if (endMs !== undefined) moved.moveTo(Math.max(endMs, moved.now()));
          startDue();
          return made;
        }
        moved.moveTo(Math.max(nextMs, moved.now()));
        startDue();
        await idle();
      }
    } finally {
      if (attempts === made) attempts = undefined;
    }
  }

  return {
    schedule,
    isInProgress: (delivery) => inProgress.has(delivery),
    getNextAttemptMs,
    reload,
    idle,
    moveTime,
    close() {
      isClosed = true;
      queue.clear();
      cancelTimer();
      for (const request of requests) request.abort();
    },
  };
}

export interface DueQueue<Item> {
  add(item: Item, dueAtMs: number): void;
  /** The first entry; undefined when the queue is empty. Entries with equal times keep their order. */
  next(): { item: Item; dueAtMs: number } | undefined;
  /** Removes and returns the first item. */
  take(): Item | undefined;
  clear(): void;
}

export function createDueQueue<Item>(): DueQueue<Item> {
  const entries: { item: Item; dueAtMs: number }[] = [];
  return {
    add(item, dueAtMs) {
      let [low, high] = [0, entries.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((entries[middle]?.dueAtMs ?? 0) <= dueAtMs) low = middle + 1;
        else high = middle;
      }
      entries.splice(low, 0, { item, dueAtMs });
    },
    next: () => entries[0],
    take: () => entries.shift()?.item,
    clear() {
      entries.length = 0;
    },
  };
}
