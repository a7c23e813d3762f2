/**
 * Dispatcher: creates events and their deliveries, and makes the attempts that are due, in the
 * order of time, from a queue.
 */
import type { Domain } from "../domain/context.ts";
import {
  addRecent,
  type Delivery,
  type EventData,
  type EventType,
  type ServiceEvent,
  type State,
} from "../domain/state.ts";
import { takeDeliveryFault } from "../faults/rules.ts";
import { createFailedAttempt, type DeliveryTransport, sendAttempt } from "./attempt.ts";
import {
  createDelivery,
  getResendable,
  listPending,
  recordAttempt,
  restartDelivery,
} from "./deliveries.ts";
import { getEndpoint } from "./endpoints.ts";

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** The delay of an injected reordering: other events of this time are delivered before. */
const reorderDelayMs = 5_000;

export function createDispatcher(domain: Domain, transport: DeliveryTransport) {
  const queue = createQueue(domain.nowMs);
  const inProgress = new Map<Delivery, { request: AbortController; ended: Promise<void> }>();
  let isClosed = false;
  let cancelTimer: (() => void) | undefined;

  /** Creates the delivery of an event to one endpoint. Injected faults duplicate or delay it. */
  function sendTo(endpointId: string, event: ServiceEvent, causeId?: string): Delivery {
    const body = JSON.stringify(event); // serialized once: every attempt sends the same text
    const delayMs = takeDeliveryFault(domain, "reorder", event.type) ? reorderDelayMs : 0;
    const sent = { event, causeId, endpointId, body };
    const delivery = createDelivery(domain, sent, delayMs);
    schedule(delivery);
    if (takeDeliveryFault(domain, "duplicate", event.type))
      schedule(createDelivery(domain, sent, 0));
    return delivery;
  }

  /** Adds a delivery to the queue, and starts its attempt when it is due. */
  function schedule(delivery: Delivery): void {
    const { nextAttemptAt } = delivery;
    if (isClosed || nextAttemptAt === undefined || inProgress.has(delivery)) return;
    queue.add(delivery, Date.parse(nextAttemptAt));
    startDue();
  }

  /** Starts the attempts that are due; on a clock that runs, sets a timer for the next one. */
  function startDue(): void {
    for (let due = queue.takeDue(); due !== undefined; due = queue.takeDue()) startAttempt(due);
    cancelTimer?.();
    const nextMs = queue.getNextMs();
    cancelTimer = nextMs === undefined ? undefined : domain.clock.wakeAt?.(nextMs, startDue);
  }

  function startAttempt(delivery: Delivery): void {
    if (inProgress.has(delivery)) return;
    const request = new AbortController();
    const ended = makeAttempt(delivery, domain.state, request);
    inProgress.set(delivery, { request, ended });
    // This prevents an unhandled rejection. `idle` reports the error, for example that of a custom
    // clock.
    ended.catch(() => {});
  }

  /** Makes an attempt, and schedules the next one. Does nothing after a reset or a restore. */
  async function makeAttempt(
    delivery: Delivery,
    state: State,
    request: AbortController,
  ): Promise<void> {
    await undefined; // The caller has its result first, and `inProgress` this attempt.
    try {
      const endpoint = state.endpoints.get(delivery.endpointId);
      if (isClosed || domain.state !== state || endpoint === undefined) return;
      const at = new Date(domain.nowMs()).toISOString();
      const position = domain.ids.nextPosition();
      const fault = takeDeliveryFault(domain, "fail", delivery.type);
      const result =
        fault === undefined
          ? await sendAttempt(transport, { endpoint, delivery, abort: request })
          : createFailedAttempt(transport, fault);
      if (isClosed || domain.state !== state) return;
      delivery.position = position;
      recordAttempt(domain, delivery, { at, ...result });
    } finally {
      inProgress.delete(delivery);
    }
    if (domain.state === state) schedule(delivery);
  }

  function abort(): void {
    for (const { request } of inProgress.values()) request.abort();
  }

  return {
    /** Ends the attempts in progress. They are not recorded: the state was replaced. */
    abort,
    /** Creates an event, and sends it to the endpoints that selected its type. */
    publish<Type extends EventType>(type: Type, data: EventData<Type>, causeId: string): void {
      const event = createEvent(domain, type, data);
      for (const { id, events } of domain.state.endpoints.values())
        if (events.includes(type)) sendTo(id, event, causeId);
    },
    /** Sends a `ping`, as "Send test" in the console does. */
    sendTest(endpointId: string): Delivery {
      getEndpoint(domain, endpointId);
      return sendTo(endpointId, createEvent(domain, "ping", {}));
    },
    /** Starts a delivery again, as "Resend" in the console does. */
    resend(deliveryId: string): Delivery {
      const delivery = getResendable(domain, deliveryId);
      restartDelivery(domain, delivery, inProgress.has(delivery));
      schedule(delivery);
      return delivery;
    },
    /** When the next attempt is due. */
    getNextAttemptMs: queue.getNextMs,
    startDue,
    /**
     * Rebuilds the queue from the pending deliveries, after the state or the clock was replaced.
     */
    reload(): void {
      queue.clear();
      for (const delivery of listPending(domain.state)) schedule(delivery);
      startDue();
    },
    /** Resolves when every attempt that is due has ended. */
    async idle(): Promise<void> {
      while (inProgress.size > 0)
        await Promise.all(Array.from(inProgress.values(), ({ ended }) => ended));
    },
    /** Ends the attempts in progress and makes no more. Their deliveries stay pending. */
    close(): void {
      isClosed = true;
      queue.clear();
      cancelTimer?.();
      abort();
    },
  };
}

function createEvent<Type extends EventType>(
  { state, nowMs, ids, notifyChange }: Domain,
  type: Type,
  data: EventData<Type>,
): ServiceEvent {
  const createdAt = new Date(nowMs()).toISOString();
  const event = { id: ids.nextEventId(), type, createdAt, data };
  addRecent(state.recentEvents, event);
  notifyChange();
  return event;
}

/**
 * The delivery queue: pending deliveries in the order in which their next attempts are due.
 * @param nowMs the time of the service.
 */
function createQueue(nowMs: () => number) {
  /** The entries, sorted by time; those of one time are in the order in which they were added. */
  const entries: { delivery: Delivery; dueAtMs: number }[] = [];

  /** When the next attempt is due. Removes entries whose delivery was rescheduled. */
  function getNextMs(): number | undefined {
    for (let [next] = entries; next !== undefined; [next] = entries) {
      if (Date.parse(next.delivery.nextAttemptAt ?? "") === next.dueAtMs) return next.dueAtMs;
      entries.shift();
    }
    return undefined;
  }

  return {
    getNextMs,
    add(delivery: Delivery, dueAtMs: number): void {
      // The search begins at the end, because most are due last.
      const before = entries.findLastIndex((entry) => entry.dueAtMs <= dueAtMs);
      entries.splice(before + 1, 0, { delivery, dueAtMs });
    },
    /** Removes and returns the next delivery, when its attempt is due. */
    takeDue(): Delivery | undefined {
      const nextMs = getNextMs();
      const isDue = nextMs !== undefined && nextMs <= nowMs();
      return isDue ? entries.shift()?.delivery : undefined;
    },
    clear(): void {
      entries.length = 0;
    },
  };
}
