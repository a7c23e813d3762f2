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

/** A value of each kind: text, a number, a truth, a list of these, an object of these; null stands for text or null. */
type Sample = "" | 0 | false | null | readonly [Sample] | { readonly [member: string]: Sample };

const customer = { customerId: "" } as const;
const card = { passId: "", ...customer } as const;

/** The members of `data` that the specification promises (spec 6.2); more may come. The compiler counts the events. */
const samples = {
  "card.added": { ...card, wallet: "" },
  "card.removed": { ...card, wallet: "" },
  "balance.changed": { ...card, balance: 0, change: 0, operation: { id: "", type: "" } },
  "tier.changed": { ...card, tier: null, previous: null },
  "consent.changed": { ...customer, marketingConsent: false, passIds: [""] },
  ping: {}, // data: not shown, so it may be absent
} satisfies Record<KnownEventType, Sample>;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export const isKnownType = (type: string): type is KnownEventType => Object.hasOwn(samples, type);

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
  if (!isLike(value, { id: "", type: "", createdAt: "" })) return false;
  const { id, type, data } = value as UnknownEvent;
  if (id === "") return false;
  return (
    !isKnownType(type) || isLike(data, samples[type]) || (data === undefined && (type as string) === "ping")
  );
}

function isLike(value: unknown, sample: Sample): boolean {
  if (sample === null) return value === null || typeof value === "string";
  if (typeof sample !== "object") return typeof value === typeof sample;
  if (typeof value !== "object" || value === null || Array.isArray(value) !== Array.isArray(sample))
    return false;
  if (Array.isArray(sample)) return (value as unknown[]).every((one) => isLike(one, sample[0]));
  for (const member in sample) {
    if (
      !isLike(
        (value as Record<string, unknown>)[member],
        (sample as Record<string, Sample>)[member] as Sample,
      )
    )
      return false;
  }
  return true;
}
