/** The events of the contract, and the first and only JSON.parse of a delivery: after its signature matched. */
import type { webhooks } from "@loyalty-cards/openapi";

type EventOf<Type extends keyof webhooks> =
  webhooks[Type]["post"]["requestBody"]["content"]["application/json"];

/** A card was added to a wallet of either kind. */
export type CardAdded = EventOf<"card.added">;
/** A card was removed from a wallet. */
export type CardRemoved = EventOf<"card.removed">;
/** Points or stamps changed. Use `data.balance`, not sums of `data.change` (spec 6.3.4). */
export type BalanceChanged = EventOf<"balance.changed">;
/** The card moved to another level. */
export type TierChanged = EventOf<"tier.changed">;
/** News-and-offers consent was given or withdrawn. */
export type ConsentChanged = EventOf<"consent.changed">;
/** A test sent from the console. */
export type Ping = EventOf<"ping">;

/** An event of a type that this version does not know. It is verified like any other. */
export interface UnknownEvent {
  id: string;
  /**
   * Any string at run time; read it as `String(event.type)`. To the compiler it is this one literal, because a plain
   * string would overlap with the known names, and comparing `type` could then rule nothing out.
   */
  type: "(unknown to this version)";
  createdAt: string;
  data?: unknown;
  [member: string]: unknown;
}

/** The known events, by type. */
export type KnownEvents = { [Type in keyof webhooks]: EventOf<Type> };
export type KnownEventType = keyof webhooks;
export type KnownEvent = KnownEvents[KnownEventType];

/** Every event there is, discriminated by `type`. */
export type WebhookEvent =
  | CardAdded
  | CardRemoved
  | BalanceChanged
  | TierChanged
  | ConsentChanged
  | Ping
  | UnknownEvent;

type Check = (value: unknown) => boolean;
type Shape = { readonly [member: string]: Check };

const isString: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const isBoolean: Check = (value) => typeof value === "boolean";
const isStringOrNull: Check = (value) => value === null || isString(value);
const isListOfStrings: Check = (value) => Array.isArray(value) && value.every(isString);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isOperation: Check = (value) => isObject(value) && isString(value["id"]) && isString(value["type"]);

const cardAndCustomer = { passId: isString, customerId: isString };

/** The members of `data` that the specification promises (spec 6.2); more may come. The compiler counts the events. */
const shapes = {
  "card.added": { ...cardAndCustomer, wallet: isString },
  "card.removed": { ...cardAndCustomer, wallet: isString },
  "balance.changed": { ...cardAndCustomer, balance: isNumber, change: isNumber, operation: isOperation },
  "tier.changed": { ...cardAndCustomer, tier: isStringOrNull, previous: isStringOrNull },
  "consent.changed": { customerId: isString, marketingConsent: isBoolean, passIds: isListOfStrings },
  ping: {}, // data: not shown, so it may be absent
} satisfies Record<KnownEventType, Shape>;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

export const isKnownType = (type: string): type is KnownEventType => Object.hasOwn(shapes, type);

export const isKnown = (event: WebhookEvent): event is KnownEvent => isKnownType(event.type);

/** Parses a verified body. Undefined when it is not UTF-8, not JSON, or not an event. */
export function parseEvent(body: Uint8Array): WebhookEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    return undefined;
  }
  return isEvent(value) ? (value as WebhookEvent) : undefined;
}

function isEvent(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { id, type, createdAt, data } = value;
  if (typeof id !== "string" || id === "" || typeof type !== "string" || typeof createdAt !== "string")
    return false;
  if (!isKnownType(type)) return true;
  const shape: Shape = shapes[type];
  if (!isObject(data)) return data === undefined && type === "ping";
  return Object.entries(shape).every(([member, check]) => Object.hasOwn(data, member) && check(data[member]));
}
