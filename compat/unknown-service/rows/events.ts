/** The members of events, their ids, and what a delivery has. */
import { type KnownEvents, requiredData } from "@loyalty-cards/openapi/events";
import { handled } from "../expectations.ts";
import type { DeliveryRows } from "../row.ts";

const cardEvents = ["card.added", "card.removed"] as const;
/** Every event that is about a customer. */
const customerEvents = (Object.keys(requiredData) as (keyof KnownEvents)[]).filter(
  (type) => type !== "ping",
);

export const eventRows: DeliveryRows = {
  "points-expiry": [
    { change: { events: ["tier.changed"], data: [{ tier: null }] }, expect: handled },
    {
      change: {
        events: ["balance.changed"],
        data: [{ operation: { type: "expiry" } }, { operation: null }],
      },
      expect: handled,
    },
    { change: { events: ["balance.changed"], data: [{ change: "+120" }] }, expect: handled },
    {
      change: { events: ["balance.changed"], data: [{ balance: "120" }] },
      expect: { unexpectedData: ["balance.changed"] },
    },
    {
      change: {
        events: ["balance.changed"],
        members: [{ type: "balance.changed" }, { type: "points.expired" }],
      },
      expect: { otherTypes: ["points.expired"] },
    },
    { change: { members: [{ data: undefined }] }, expect: { unexpectedData: customerEvents } },
    {
      change: { data: [{ reason: { code: 1 } }, { reason: null }, { reason: [] }] },
      expect: handled,
    },
  ],

  "marketing-at-issue": [
    { change: { events: ["consent.changed"], copies: 0 }, expect: handled },
    // An event comes without a change too.
    {
      change: {
        events: ["consent.changed"],
        data: [{ marketingConsent: true }, { marketingConsent: true }],
      },
      expect: handled,
    },
  ],

  "consent-owner": [
    {
      change: { events: ["consent.changed"], data: [{ passIds: ["card_1"] }, { passIds: [] }] },
      expect: handled,
    },
    {
      change: { events: ["consent.changed"], data: [{ passIds: undefined }] },
      expect: { unexpectedData: ["consent.changed"] },
    },
  ],

  "marketing-consent": [
    {
      change: {
        events: ["consent.changed"],
        data: [
          { marketingConsent: "given" },
          { marketingConsent: 1 },
          { marketingConsent: null },
          { marketingConsent: { email: true } },
        ],
      },
      expect: handled,
    },
  ],

  wallet: [
    {
      change: {
        events: cardEvents,
        data: [
          { wallet: "first" },
          { wallet: { kind: "apple" } },
          { wallet: null },
          { wallet: undefined },
          { wallet: ["apple", "google"] },
          { wallet: 2 },
        ],
      },
      expect: handled,
    },
  ],

  "event-tier": [
    {
      change: { events: ["tier.changed"], data: [{ tier: { name: "Silver" } }, { tier: 2 }] },
      expect: handled,
    },
    {
      change: { events: ["tier.changed"], data: [{ previous: undefined }, { previous: "none" }] },
      expect: handled,
    },
  ],

  "event-members": [
    {
      change: { events: cardEvents, data: [{ passId: 42 }] },
      expect: { unexpectedData: cardEvents },
    },
    {
      change: { events: ["tier.changed"], data: [{ passId: undefined }] },
      expect: { unexpectedData: ["tier.changed"] },
    },
    {
      change: { events: ["consent.changed"], data: [{ passIds: undefined }, { passIds: [1] }] },
      expect: { unexpectedData: ["consent.changed"] },
    },
    {
      change: { events: ["balance.changed"], data: [{ balance: undefined }, { balance: null }] },
      expect: { unexpectedData: ["balance.changed"] },
    },
    { change: { events: ["balance.changed"], data: [{ change: undefined }] }, expect: handled },
    { change: { events: ["balance.changed"], data: [{ operation: "op_1" }] }, expect: handled },
    {
      change: { events: customerEvents, data: [{ customerId: null }, { customerId: undefined }] },
      expect: handled,
    },
  ],

  "operation-type": [
    {
      change: {
        events: ["balance.changed"],
        data: [{ operation: { id: "op_1", type: "TRANSFER" } }],
      },
      expect: handled,
    },
  ],

  "event-id": [
    {
      change: {
        members: [
          { id: "5f6071a0-3c1d-4b62-8f0e-9a7d1c2b3e4f" },
          { id: "42" },
          { id: "shop:1/1?x=#" },
          { id: "__proto__" },
        ],
      },
      expect: handled,
    },
    // Ids that a store must not take for one.
    {
      change: {
        members: [
          { id: "x".repeat(512) },
          { id: `${"x".repeat(511)}y` },
          { id: "寿🟢é" },
          { id: "aA" },
          { id: "AA" },
          { id: "evt " },
          { id: "evt  " },
        ],
      },
      expect: handled,
    },
    { change: { members: [{ id: "constructor" }, { id: "toString" }] }, expect: handled },
    {
      change: { members: [{ id: 42 }, { id: "x".repeat(513) }, { id: "" }, { id: undefined }] },
      expect: { status: 400 },
    },
  ],

  "event-id-order": [
    {
      change: {
        members: [
          { createdAt: "2026-01-01T00:00:00+00:00" },
          { createdAt: "2026-01-01T02:00:00+02:00" },
          { createdAt: "yesterday" },
        ],
      },
      expect: handled,
    },
    {
      change: {
        members: [
          { createdAt: "2026-01-01T00:00:00.123456Z" },
          { createdAt: "2026-01-01T00:00:00Z" },
          { createdAt: "2026-01-01 00:00:00Z" },
        ],
      },
      expect: handled,
    },
    {
      change: { members: [{ createdAt: 1_767_225_600_000 }, { createdAt: undefined }] },
      expect: { status: 400 },
    },
  ],

  "ping-data": [
    {
      change: {
        events: ["ping"],
        members: [
          { data: undefined },
          { data: null },
          { data: "ping" },
          { data: [1, "a", null, { deep: [[[]]] }] },
        ],
      },
      expect: handled,
    },
    {
      change: {
        events: ["ping"],
        members: [{ data: { endpointId: "we_1" }, test: true, version: 2 }],
      },
      expect: handled,
    },
  ],

  "several-endpoints": [
    { change: { copies: 3 }, expect: handled },
    // A second endpoint has events of its own.
    { change: { members: [{ more: 1 }, { more: 2 }] }, expect: handled },
    {
      change: { events: ["ping"], members: [{ type: "ping" }, { type: "card.expired" }] },
      expect: { otherTypes: ["card.expired"] },
    },
    // One delivery has several events.
    { change: { body: (body) => `[${body}]` }, expect: { status: 400 } },
  ],
};
