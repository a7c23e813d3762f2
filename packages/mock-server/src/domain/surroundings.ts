/** What the rules of the domain need from the world around them. */
import type { webhooks } from "@loyalty-cards/openapi";
import type { Change } from "./changes.ts";
import type { Country } from "./contact.ts";
import type { NewIdentifier } from "./identifier.ts";

export type EventType = keyof webhooks;

type EventBody<Type extends EventType> = webhooks[Type]["post"]["requestBody"]["content"]["application/json"];
export type EventData<Type extends EventType> = NonNullable<EventBody<Type>["data"]>;

export type Wallets = { readonly first: string; readonly second: string };

export interface Surroundings {
  nowMs: () => number;
  newIdentifier: NewIdentifier;
  /** Ids that sort in the order in which they were made. */
  newEventId: () => string;
  /** Puts an event into the outbox. */
  emit: <Type extends EventType>(type: Type, data: EventData<Type>) => void;
  /** Says that something is not as it was. */
  tell: (change: Change) => void;
  baseUrl: string;
  defaultCountry: Country;
  wallets: Wallets;
  /** Whether endpoints may have addresses of private networks. */
  allowPrivateEndpoints: boolean;
  /** Whether a 404 or 422 is stored under its idempotency key, too. */
  storeRefusals: boolean;
  /** Takes one line for the person who runs the service; without personal data. */
  log: (line: string) => void;
}

/** The surroundings, and the part of the state that a rule works on. Each rule names the part it needs. */
export type Domain<Store> = Surroundings & { state: Store };
