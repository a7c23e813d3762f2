/** Generated from openapi.yaml by `npm run generate`. Do not edit. */

import type { CardAdded, CardRemoved, BalanceChanged, TierChanged, ConsentChanged, Ping } from "./types.ts";

/** The known events, by type. */
export interface KnownEvents {
  /** A card was added to a wallet. */
  "card.added": CardAdded;
  /** A card was removed from a wallet. */
  "card.removed": CardRemoved;
  /** Points or stamps changed. Use `data.balance`, and never add up `data.change`. */
  "balance.changed": BalanceChanged;
  /** The card reached another tier. */
  "tier.changed": TierChanged;
  /** The marketing consent was given or withdrawn. */
  "consent.changed": ConsentChanged;
  /** A test sent from the console. */
  "ping": Ping;
}

/** The members of `data` that a handler needs, with their JSON types, by event type. */
export const requiredData = {
  "card.added": {
    "passId": "string"
  },
  "card.removed": {
    "passId": "string"
  },
  "balance.changed": {
    "passId": "string",
    "balance": "number"
  },
  "tier.changed": {
    "passId": "string"
  },
  "consent.changed": {
    "passIds": "string[]"
  },
  "ping": {}
} as const satisfies Record<keyof KnownEvents, Record<string, "string" | "number" | "string[]">>;

/** The types of the known events. */
export const eventTypes = Object.keys(requiredData) as readonly (keyof KnownEvents)[];
