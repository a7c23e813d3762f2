/** Waits until an event, a delivery or a card matches a condition. */

import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { maxTimerMs } from "@loyalty-cards/internal/limits";
import { clearRealTimeout, setRealTimeout } from "@loyalty-cards/internal/timers";
import { isWaitCondition } from "@loyalty-cards/openapi/control-validators";
import type { Backend } from "../backend/backend.ts";
import { findDeliveries } from "../delivery/deliveries.ts";
import { type Card, toCard } from "../domain/cards.ts";
import { InputError } from "../domain/errors.ts";
import type { Delivery, EventType, ServiceEvent } from "../domain/state.ts";
import { isDeeperThan, isObject, validateInput } from "../domain/validation.ts";

/**
 * All members that are present must be equal, inside `data` too. A condition also matches what
 * happened before the call.
 */
export type WaitCondition =
  | { event: { type?: EventType; id?: string; data?: Record<string, unknown> }; count?: number }
  | {
      delivery: Partial<Pick<Delivery, "id" | "eventId" | "type" | "endpointId" | "state">>;
      count?: number;
    }
  | { card: { id: string } & Partial<Omit<Card, "id">> };

/** The items that matched the condition. */
export type WaitResult<Condition> = Condition extends { event: unknown }
  ? ServiceEvent[]
  : Condition extends { delivery: unknown }
    ? Delivery[]
    : Card[];

/** How long to wait. */
export interface WaitOptions {
  /** The timeout in real time, in milliseconds. Default 4 000. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

const optionNames = { timeoutMs: true, signal: true } satisfies OptionNames<WaitOptions>;

/** Nothing matched the condition in time. */
export class WaitTimeoutError extends Error {
  override name = "WaitTimeoutError" as const;
}

/** Less than the 5 seconds of a test in Vitest and Jest, whose timeout would hide the message. */
export const defaultTimeoutMs = 4_000;
const maxLevels = 64;

/**
 * @throws {WaitTimeoutError} when nothing matches in time; the message lists the newest events and
 * deliveries.
 * @throws {TypeError} for an invalid condition or timeout, before it waits.
 */
export async function waitFor<Condition extends WaitCondition>(
  backend: Backend,
  condition: Condition,
  options: WaitOptions = {},
): Promise<WaitResult<Condition>> {
  requireKnownNames("waitFor", options, optionNames);
  const { timeoutMs = defaultTimeoutMs, signal } = options;
  validateInput(isWaitCondition, condition, "The condition");
  if (isDeeperThan(maxLevels, condition))
    throw new InputError(`The condition is nested deeper than ${maxLevels} levels.`);
  if (!(timeoutMs >= 0 && timeoutMs <= maxTimerMs))
    throw new InputError(`"timeoutMs" must be a number, at least 0 and at most ${maxTimerMs}.`);
  if (["event", "delivery", "card"].filter((name) => name in condition).length !== 1)
    throw new InputError("Wait for one of event, delivery and card.");
  // A copy, because a getter may return another value later.
  const wanted = structuredClone(condition as WaitCondition & { count?: number });
  const isMet = () => findMatches(backend, wanted).length >= (wanted.count ?? 1);
  const isMetInTime = isMet() || (await waitUntil(backend, isMet, { timeoutMs, signal }));
  if (!isMetInTime)
    throw new WaitTimeoutError(
      `${JSON.stringify(wanted)} did not match within ${timeoutMs} ms. ${formatRecent(backend)}${findAdvice(backend, wanted)}`,
    );
  return structuredClone(findMatches(backend, wanted)) as WaitResult<Condition>;
}

/** @returns whether a change met the condition in time. */
export function waitUntil(
  { changes }: Backend,
  isMet: () => boolean,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const end = (act: () => void) => {
      clearRealTimeout(timer);
      unsubscribe();
      signal?.removeEventListener("abort", abort);
      act();
    };
    const abort = () => end(() => reject(signal?.reason));
    const timer = setRealTimeout(() => end(() => resolve(false)), timeoutMs);
    let isCheckScheduled = false;
    const unsubscribe = changes.subscribe(() => {
      if (isCheckScheduled) return; // one check for all changes of this turn
      isCheckScheduled = true;
      void Promise.resolve().then(() => {
        isCheckScheduled = false;
        if (isMet()) end(() => resolve(true));
      });
    });
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort);
  });
}

function findMatches(
  { domain }: Backend,
  condition: WaitCondition,
): (ServiceEvent | Delivery | Card)[] {
  if ("event" in condition)
    return domain.state.recentEvents.filter((event) => isSubset(condition.event, event));
  if ("delivery" in condition) return findDeliveries(domain, condition.delivery);
  const stored = domain.state.cards.get(condition.card.id);
  const card = stored === undefined ? undefined : toCard(domain, stored);
  return card !== undefined && isSubset(condition.card, card) ? [card] : [];
}

/** Whether every member of the pattern is in the value, at every level. */
function isSubset(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern)) {
    const isSameLength = Array.isArray(value) && value.length === pattern.length;
    return isSameLength && pattern.every((entry, index) => isSubset(entry, value[index]));
  }
  if (!isObject(pattern)) return pattern === value;
  return (
    isObject(value) &&
    Object.entries(pattern).every(
      ([name, member]) => member === undefined || isSubset(member, value[name]),
    )
  );
}

/** `ping pending (last attempt: 401)`. */
function formatDelivery({ type, state, attempts }: Delivery): string {
  const last = attempts.at(-1);
  const isFailure = last !== undefined && state !== "delivered";
  return `${type} ${state}${isFailure ? ` (last attempt: ${last.status ?? last.error})` : ""}`;
}

/** The newest events and deliveries, for the message of a timeout. */
function formatRecent({ domain: { state } }: Backend): string {
  const events = state.recentEvents.slice(-10).map(({ type }) => type);
  const deliveries = [...state.deliveries.values()].slice(-10).map(formatDelivery);
  const list = (entries: string[]) => (entries.length === 0 ? "none" : entries.join(", "));
  return `The newest events: ${list(events)}; the newest deliveries: ${list(deliveries)}.`;
}

/** What to do when no endpoint could get the delivery. Every endpoint gets a `ping`. */
function findAdvice({ domain: { state } }: Backend, condition: WaitCondition): string {
  if (!("delivery" in condition)) return "";
  const { type } = condition.delivery;
  const canDeliver = [...state.endpoints.values()].some(
    ({ events }) => type === undefined || type === "ping" || events.includes(type),
  );
  return canDeliver ? "" : " No endpoint has this event: use createEndpoint.";
}
