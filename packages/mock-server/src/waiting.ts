/** Waits for something to have happened in a world, so that nobody writes a loop that asks. */
import { type Delivery, matching, type ServiceEvent } from "./delivery/deliveries.ts";
import { eventTypes } from "./delivery/endpoints.ts";
import { type Card, cardOf } from "./domain/cards.ts";
import {
  anyObject,
  checked,
  InputError,
  isDeeperThan,
  isObject,
  number,
  object,
  oneOf,
  type Shape,
  text,
} from "./domain/shape.ts";
import type { EventType } from "./domain/surroundings.ts";
import type { World } from "./world.ts";

/** The members given must be equal, also inside `data`. What happened before counts. */
export type WaitCondition =
  | { event: { type?: EventType; id?: string; data?: Record<string, unknown> }; count?: number }
  | { delivery: Partial<Pick<Delivery, "id" | "eventId" | "type" | "endpointId" | "state">>; count?: number }
  | { card: { id: string } & Partial<Omit<Card, "id">> };

/** What there was of what was waited for. */
export type Awaited<Condition> = Condition extends { event: unknown }
  ? ServiceEvent[]
  : Condition extends { delivery: unknown }
    ? Delivery[]
    : Card[];

const type = oneOf(eventTypes);

/** A card's members are the API's business; only its id is asked for. */
const card: Shape = (value, pointer) => {
  const faults = anyObject(value, pointer);
  return faults.length > 0 ? faults : text((value as { id?: unknown }).id, `${pointer}/id`);
};

/** What a condition may say. */
export const conditionMembers: Readonly<Record<string, Shape>> = {
  event: object({ type, id: text, data: anyObject }),
  delivery: object({
    id: text,
    eventId: text,
    endpointId: text,
    type,
    state: oneOf(["pending", "delivered", "failed"]),
  }),
  card,
  count: number({ atLeast: 1, atMost: 1_000, isWhole: true }),
};

const maxLevels = 64;
/** The longest that a timer can hold. */
const longestTimeoutMs = 2 ** 31 - 1;

/** How long to wait. */
export interface WaitOptions {
  /** By the machine's clock; default 5 000. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** It did not happen in time. */
export class WaitTimeout extends Error {
  override name = "WaitTimeout" as const;
}

/**
 * @throws {WaitTimeout} when it did not happen in time; the message says what there was instead.
 * @throws {InputError} for a condition or a time that makes no sense, before anything is waited for.
 */
export async function waitFor<Condition extends WaitCondition>(
  world: World,
  condition: Condition,
  { timeoutMs = 5_000, signal }: WaitOptions = {},
): Promise<Awaited<Condition>> {
  checked(object(conditionMembers), condition);
  if (isDeeperThan(maxLevels, condition)) {
    throw new InputError([
      { pointer: "", detail: `The condition is nested deeper than ${maxLevels} levels.` },
    ]);
  }
  checked(object({ timeoutMs: number({ atLeast: 0, atMost: longestTimeoutMs }) }), { timeoutMs });
  const subjects = ["event", "delivery", "card"].filter((name) => name in condition);
  if (subjects.length !== 1) {
    throw new InputError([{ pointer: "", detail: "Wait for one of event, delivery and card." }]);
  }
  const { count = 1 } = condition as { count?: number };
  const present = () => matches(world, condition);
  if (present().length < count)
    await becoming(world, () => present().length >= count, timeoutMs, condition, signal);
  return structuredClone(present()) as Awaited<Condition>;
}

function becoming(
  world: World,
  isThere: () => boolean,
  timeoutMs: number,
  condition: WaitCondition,
  signal: AbortSignal | undefined,
): Promise<void> {
  const wanted = JSON.stringify(condition); // here, where what it throws reaches the caller
  return new Promise((resolve, reject) => {
    const end = (act: () => void) => {
      clearTimeout(timer);
      stop();
      signal?.removeEventListener("abort", abort);
      act();
    };
    const abort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(() => {
      const sentence = `${wanted} did not come within ${timeoutMs} ms. ${presentIn(world)}`;
      end(() => reject(new WaitTimeout(sentence)));
    }, timeoutMs);
    let isLooking = false;
    const stop = world.changes.listen(() => {
      if (isLooking) return;
      isLooking = true;
      queueMicrotask(() => {
        isLooking = false;
        try {
          if (isThere()) end(resolve);
        } catch (error) {
          end(() => reject(error)); // a member of the condition that cannot be read
        }
      });
    });
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort);
  });
}

function matches({ domain }: World, condition: WaitCondition): (ServiceEvent | Delivery | Card)[] {
  if ("event" in condition)
    return domain.state.recentEvents.filter((event) => covers(condition.event, event));
  if ("delivery" in condition) return matching(domain, condition.delivery);
  const stored = domain.state.cards.get(condition.card.id);
  const card = stored === undefined ? undefined : cardOf(domain, stored);
  return card !== undefined && covers(condition.card, card) ? [card] : [];
}

/** Whether everything in the pattern is in the value. */
function covers(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern)) {
    return (
      Array.isArray(value) &&
      value.length === pattern.length &&
      pattern.every((entry, index) => covers(entry, value[index]))
    );
  }
  if (!isObject(pattern)) return pattern === value;
  return (
    isObject(value) &&
    Object.entries(pattern).every(([name, member]) => member === undefined || covers(member, value[name]))
  );
}

function presentIn({ domain: { state } }: World): string {
  const events = state.recentEvents.slice(-10).map(({ type }) => type);
  const deliveries = [...state.deliveries.values()].slice(-10).map(({ type, state }) => `${type} ${state}`);
  const list = (entries: string[]) => (entries.length === 0 ? "none" : entries.join(", "));
  return `The newest events: ${list(events)}; the newest deliveries: ${list(deliveries)}.`;
}
