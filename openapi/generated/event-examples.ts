/** Generated from openapi.yaml by `npm run generate`. Do not edit. */

import type { KnownEvents } from "./events.ts";

/** An example of each event, by type. */
export const eventExamples: KnownEvents = {
  "card.added": {
    "id": "evt_0a1b2c",
    "type": "card.added",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "data": {
      "passId": "card_8sT2kq",
      "customerId": "cus_Yc1uQx",
      "wallet": "apple"
    }
  },
  "card.removed": {
    "id": "evt_1b2c3d",
    "type": "card.removed",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "data": {
      "passId": "card_8sT2kq",
      "customerId": "cus_Yc1uQx",
      "wallet": "google"
    }
  },
  "balance.changed": {
    "id": "evt_2c3d4e",
    "type": "balance.changed",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "data": {
      "passId": "card_8sT2kq",
      "customerId": "cus_Yc1uQx",
      "balance": 120,
      "change": 120,
      "operation": {
        "id": "op_d3aVgq",
        "type": "purchase"
      }
    }
  },
  "tier.changed": {
    "id": "evt_3d4e5f",
    "type": "tier.changed",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "data": {
      "passId": "card_8sT2kq",
      "customerId": "cus_Yc1uQx",
      "tier": "Silver",
      "previous": null
    }
  },
  "consent.changed": {
    "id": "evt_4e5f60",
    "type": "consent.changed",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "data": {
      "customerId": "cus_Yc1uQx",
      "marketingConsent": false,
      "passIds": [
        "card_8sT2kq"
      ]
    }
  },
  "ping": {
    "id": "evt_5f6071",
    "type": "ping",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "data": {}
  }
};
