/**
 * Events: their types, the parser of a verified body (the only JSON.parse of a delivery), and
 * whether `data` has what a handler needs.
 */
import type { Result } from "@loyalty-cards/internal/result";
import { type KnownEvents, requiredData } from "@loyalty-cards/openapi/events";
import { decodeStrictly } from "./body.ts";

// Generated from openapi.yaml. What a handler needs is checked and has a type; the other members of
// `data` are optional and `unknown`.
export type { KnownEvents } from "@loyalty-cards/openapi/events";

/**
 * An event of a type that this version does not know, or of a known type whose `data` has another
 * shape: an event for which {@link isKnownEvent} is false. Its signature is verified.
 */
export interface UnknownEvent {
  /**
   * The id, which is the same in every delivery of the event. Use it for deduplication ([spec
   * 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)).
   */
  id: string;
  /** The event type: any string, also one of the known types when `data` has another shape. */
  type: string;
  /** When it happened, as the service sent it. */
  createdAt: string;
  /** What the service sent. Call `isKnownEvent(event)` before you read it, or use `onEvents`. */
  data: unknown;
}

/**
 * An event that this version knows ([spec
 * 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)).
 */
export type KnownEvent = KnownEvents[keyof KnownEvents];

/**
 * Any event. Call {@link isKnownEvent} before you compare `type` and read `data`, or use
 * `onEvents`, which does: the service may send new types, and `data` of another shape.
 */
export type WebhookEvent = KnownEvent | UnknownEvent;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type MemberType = "string" | "number" | "string[]";

/**
 * What a handler needs of `data`, by event type ([spec
 * 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)).
 */
const neededData = new Map<string, [name: string, type: MemberType][]>(
  Object.entries(requiredData).map(([type, members]) => [type, Object.entries(members)]),
);

export const isKnownType = (type: string): type is keyof KnownEvents => neededData.has(type);

/**
 * Returns the JSON Pointers, such as `/data/balance`, of the members of `data` that a handler needs
 * and that are missing or invalid. Empty for an unknown type.
 */
export function findUnexpectedData({ type, data }: WebhookEvent): readonly string[] {
  const needed = neededData.get(type) ?? [];
  if (needed.length === 0) return [];
  if (!isObject(data)) return ["/data"];
  const unexpected: string[] = [];
  for (const [name, memberType] of needed) {
    const path = findDifference(data[name], memberType);
    if (path !== undefined) unexpected.push(`/data/${name}${path}`);
  }
  return unexpected;
}

/**
 * Where a value differs from a type: `""`, or for a list the first item that differs, because a
 * list can have very many.
 */
function findDifference(value: unknown, type: MemberType): string | undefined {
  if (type === "string") return typeof value === "string" ? undefined : "";
  if (type === "number") return Number.isFinite(value) ? undefined : ""; // JSON.parse returns Infinity for 1e999
  if (!Array.isArray(value)) return "";
  const index = value.findIndex((item) => typeof item !== "string");
  return index < 0 ? undefined : `/${index}`;
}

/**
 * Whether this version knows the type of an event ([spec
 * 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)) and its `data` has
 * the members that are not optional. Call it before you read `data`, unless the event comes from
 * `onEvents`: the service may send data of another shape, and such an event is delivered and stored
 * all the same. Also works for events of another copy of this package.
 * @example
 * ```ts
 * import { isKnownEvent, type WebhookEvent } from "@loyalty-cards/webhook-verify";
 *
 * export function handler(event: WebhookEvent): void {
 *   if (!isKnownEvent(event) || event.type !== "balance.changed") return;
 *   console.log(event.data.passId, event.data.balance);
 * }
 * ```
 */
export function isKnownEvent(event: WebhookEvent): event is KnownEvent {
  return isKnownType(event.type) && findUnexpectedData(event).length === 0;
}

/**
 * Parses a verified body.
 * @returns a failure when the body is not an event: what is wrong, without text of the body.
 */
export function parseEvent(body: Uint8Array): Result<WebhookEvent, string> {
  let value: unknown;
  try {
    value = JSON.parse(decodeStrictly(body));
  } catch (error) {
    const isDecoding = error instanceof TypeError;
    return { failure: isDecoding ? "the body is not UTF-8" : "the body is not JSON" };
  }
  if (!isObject(value)) return { failure: "the body is not a JSON object" };
  const problem = findProblem(value);
  return problem === undefined ? { value: value as unknown as WebhookEvent } : { failure: problem };
}

/** An index entry of PostgreSQL can have 2 704 bytes; a character has at most three. */
const maxIdLength = 512;

/** What is wrong with the members that every event has. */
function findProblem(event: Record<string, unknown>): string | undefined {
  for (const name of ["id", "type", "createdAt"]) {
    const text = event[name];
    if (typeof text !== "string") return `${name} is not a string`;
    // Databases cut text at a NUL, reject it, or replace half of a surrogate pair, so that two ids
    // become equal.
    if (text.includes("\0") || !text.isWellFormed())
      return `${name} has a NUL character or half of a surrogate pair`;
  }
  const { length } = event["id"] as string;
  if (length === 0) return "id is empty";
  return length > maxIdLength ? `id has more than ${maxIdLength} characters` : undefined;
}

/** What a handler receives with an event. */
export interface Delivery {
  /** The `Service-Delivery` header. It is not signed: log it, but do not rely on it. */
  id: string | undefined;
  /** The verified bytes. */
  rawBody: Uint8Array;
  receivedAt: Date;
  /** Aborted when the receiver responds because of its timeout. */
  signal: AbortSignal;
}

/**
 * Work on an event. Its result is awaited; a function as the result is an error, anything else is
 * ignored. @inline
 */
export type EventHandler = (event: WebhookEvent, delivery: Delivery) => unknown;
