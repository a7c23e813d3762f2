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
/** Their types, as they are on the wire. */
export type KnownEventType = keyof webhooks;
/** The events that this version knows (spec 6.2). */
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

type Members = Record<string, unknown>;

const isString = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";
const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isStringOrNull = (value: unknown) => value === null || isString(value);

const isOfCard = ({ passId, customerId }: Members) => isString(passId) && isString(customerId);
const isOfWallet = (data: Members) => isOfCard(data) && isString(data["wallet"]);

/** Whether `data` has what the specification promises (spec 6.2); more may come. The compiler counts the events. */
const wholes = new Map(
  Object.entries({
    "card.added": isOfWallet,
    "card.removed": isOfWallet,
    "balance.changed": (data) =>
      isOfCard(data) &&
      isNumber(data["balance"]) &&
      isNumber(data["change"]) &&
      isObject(data["operation"]) &&
      isString(data["operation"]["id"]) &&
      isString(data["operation"]["type"]),
    "tier.changed": (data) =>
      isOfCard(data) && isStringOrNull(data["tier"]) && isStringOrNull(data["previous"]),
    "consent.changed": ({ customerId, marketingConsent, passIds }) =>
      isString(customerId) &&
      typeof marketingConsent === "boolean" &&
      Array.isArray(passIds) &&
      passIds.every(isString),
    ping: () => true,
  } satisfies Record<KnownEventType, (data: Members) => boolean>),
);

const utf8 = new TextDecoder(undefined, { fatal: true });

export const isKnownType = (type: string): type is KnownEventType => wholes.has(type);

export const isKnown = (event: WebhookEvent): event is KnownEvent => isKnownType(event.type);

/** Parses a verified body. Undefined when it is not UTF-8, not JSON, or not an event. */
export function parseEvent(body: Uint8Array): WebhookEvent | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(body));
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isEvent(value: unknown): value is WebhookEvent {
  if (!isObject(value)) return false;
  const { id, type, createdAt, data } = value;
  if (id === "" || !isString(id) || !isString(type) || !isString(createdAt)) return false;
  const isWhole = wholes.get(type);
  if (isWhole === undefined) return true;
  if (data === undefined) return type === "ping"; // spec 6.2: not shown, so it may be absent
  return isObject(data) && isWhole(data);
}
