/** Dispatcher: creates the deliveries of each event, and makes the attempts that are due, in the order of time. */
import { isMovable } from "../domain/clock.ts";
import type { Domain, SortableIds } from "../domain/context.ts";
import type { Attempt, Delivery, EventData, EventType, ServiceEvent, State } from "../domain/state.ts";
import { takeDeliveryFault } from "../faults/rules.ts";
import { type DeliveryTransport, sendAttempt } from "./attempt.ts";
import { createDelivery, listPending, recordAttempt, restartDelivery } from "./deliveries.ts";
import { getEndpoint } from "./endpoints.ts";

/** An attempt, with its delivery and event. */
export interface AttemptRecord extends Attempt {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly type: EventType;
}

/** Returns the time to move the clock to; undefined when it must not move. @param nextMs when the next attempt is due. */
export type GetEnd = (nextMs: number | undefined) => number | undefined;

export type Dispatcher = ReturnType<typeof createDispatcher>;

const maxRecentEvents = 1_000;
/** The delay of an injected reordering: other events of this time are delivered before. */
const reorderDelayMs = 5_000;

export function createDispatcher(domain: Domain, ids: SortableIds, transport: DeliveryTransport) {
  /** Sorted by time; those of one time in the order in which they were added. */
  const queue: { delivery: Delivery; dueAtMs: number }[] = [];
  const inProgress = new Map<Delivery, Promise<void>>();
  const requests = new Set<AbortController>();
  let isClosed = false;
  /** Those of the movement of the clock that is in progress. */
  let attempts: AttemptRecord[] | undefined;
  let cancelTimer: (() => void) | undefined;

  function createEvent<Type extends EventType>(type: Type, data: EventData<Type>): ServiceEvent {
    const createdAt = new Date(domain.nowMs()).toISOString();
    const event = { id: ids.nextEventId(), type, createdAt, data };
    const { recentEvents } = domain.state;
    recentEvents.push(event);
    if (recentEvents.length >= 2 * maxRecentEvents) recentEvents.splice(0, maxRecentEvents); // at twice the limit, so that it seldom copies
    domain.notifyChange();
    return event;
  }

  /** Creates the delivery of an event to one endpoint. Injected faults duplicate or delay it. */
  function sendTo(endpointId: string, event: ServiceEvent): Delivery {
    const body = JSON.stringify(event); // serialized once: every attempt sends the same text
    const delayMs = takeDeliveryFault(domain, "reorder", event.type) ? reorderDelayMs : 0;
    const delivery = createDelivery(domain, event, endpointId, body, delayMs);
    schedule(delivery);
    if (takeDeliveryFault(domain, "duplicate", event.type))
      schedule(createDelivery(domain, event, endpointId, body, 0));
    return delivery;
  }

  /** Adds a delivery to the queue, and starts its attempt when it is due. */
  function schedule(delivery: Delivery): void {
    if (isClosed || delivery.nextAttemptAt === undefined || inProgress.has(delivery)) return;
    const dueAtMs = Date.parse(delivery.nextAttemptAt);
    const before = queue.findLastIndex((entry) => entry.dueAtMs <= dueAtMs); // most are due last
    queue.splice(before + 1, 0, { delivery, dueAtMs });
    startDue();
  }

  /** When the next attempt is due. Removes entries whose delivery was rescheduled. */
  function getNextAttemptMs(): number | undefined {
    for (let [next] = queue; next !== undefined; [next] = queue) {
      if (Date.parse(next.delivery.nextAttemptAt ?? "") === next.dueAtMs) return next.dueAtMs;
      queue.shift();
    }
    return undefined;
  }

  /** Starts the attempts that are due; on a clock that runs, sets a timer for the next one. */
  function startDue(): void {
    let nextMs = getNextAttemptMs();
    while (nextMs !== undefined && nextMs <= domain.nowMs()) {
      const due = queue.shift();
      if (due !== undefined) startAttempt(due.delivery);
      nextMs = getNextAttemptMs();
    }
    cancelTimer?.();
    cancelTimer = nextMs === undefined ? undefined : domain.clock.wakeAt?.(nextMs, startDue);
  }

  function startAttempt(delivery: Delivery): void {
    if (inProgress.has(delivery)) return;
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

  async function makeAttempt(delivery: Delivery, state: State): Promise<void> {
    const endpoint = state.endpoints.get(delivery.endpointId);
    if (isClosed || endpoint === undefined) return;
    const at = new Date(domain.nowMs()).toISOString();
    const startedMs = performance.now();
    const request = new AbortController();
    requests.add(request);
    const result = await sendAttempt(transport, endpoint, delivery, request);
    requests.delete(request);
    if (isClosed || domain.state !== state) return; // closed, reset or restored during the attempt
    const made = { at, ...result, durationMs: Math.round(performance.now() - startedMs) };
    recordAttempt(domain, delivery, made);
    attempts?.push({ deliveryId: delivery.id, eventId: delivery.eventId, type: delivery.type, ...made });
  }

  /** Resolves when every attempt that is due has ended. */
  async function idle(): Promise<void> {
    while (inProgress.size > 0) await Promise.all(inProgress.values());
  }

  /** Moves time from one due attempt to the next, up to the end. */
  async function moveTime(getEnd: GetEnd): Promise<AttemptRecord[]> {
    const moved = domain.clock;
    if (!isMovable(moved)) {
      throw new RangeError(
        'This service uses real time, which cannot be moved: create it with { clock: manualClock() }, or set its clock to { "mode": "manual" } or { "mode": "scaled" }.',
      );
    }
    const made: AttemptRecord[] = [];
    attempts = made;
    try {
      await idle();
      for (;;) {
        if (domain.clock !== moved)
          throw new RangeError("The clock was set while it was moved: move it again.");
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
    /** Creates an event, and sends it to the endpoints that selected its type. */
    publish<Type extends EventType>(type: Type, data: EventData<Type>): void {
      const event = createEvent(type, data);
      for (const { id, events } of domain.state.endpoints.values())
        if (events.includes(type)) sendTo(id, event);
    },
    /** Sends a `ping`, as "Send test" in the console does. */
    sendTest(endpointId: string): Delivery {
      getEndpoint(domain, endpointId);
      return sendTo(endpointId, createEvent("ping", {}));
    },
    /** Starts a delivery again, as "Resend" in the console does. */
    resend(deliveryId: string): Delivery {
      const delivery = restartDelivery(domain, deliveryId, (each) => inProgress.has(each));
      schedule(delivery);
      return delivery;
    },
    getNextAttemptMs,
    /** Rebuilds the queue from the pending deliveries, after the state or the clock was replaced. */
    reload(): void {
      queue.length = 0;
      for (const delivery of listPending(domain.state)) schedule(delivery);
      startDue();
    },
    idle,
    moveTime,
    /** Ends the attempts in progress and makes no more. Their deliveries stay pending. */
    close(): void {
      isClosed = true;
      queue.length = 0;
      cancelTimer?.();
      for (const request of requests) request.abort();
    },
  };
}
