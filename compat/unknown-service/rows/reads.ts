/** The operations of a card, and consent. */
import { asUsual, bare, consents, noList, noState, problem, redirect } from "../expectations.ts";
import type { ApiRequest, CallName, ServiceRows } from "../row.ts";

const operations = ["listOperations"] as const;
const puts: readonly CallName[] = ["giveConsent", "withdrawConsent"];
const gets: readonly CallName[] = ["getConsent", "getGivenConsent"];
const hasLimit = ({ path }: ApiRequest) => path.includes("limit=");
const noBooleans = ["true", 1, "given", { given: true }, null, ["email"], undefined];

export const readRows: ServiceRows = {
  "operation-members": [
    { change: { operations, itemMember: "items", values: [[], { id: 1 }, null] }, expect: asUsual },
    {
      change: {
        operations,
        itemMember: "change",
        values: [undefined, null, "+120", { points: 120 }],
      },
      expect: asUsual,
    },
    {
      change: {
        operations,
        itemMember: "balance",
        values: [undefined, null, "120", { before: 0, after: 1 }],
      },
      expect: asUsual,
    },
    {
      change: { operations, itemMember: "createdAt", values: [undefined, null, 1_767_225_600] },
      expect: asUsual,
    },
    { change: { operations, itemMember: "id", values: [7] }, expect: asUsual },
    { change: { operations, itemMember: "id", values: [7.5, undefined] }, expect: noList },
    {
      change: { operations, bodies: [({ items }) => ({ items: [...items, null] })] },
      expect: noList,
    },
  ],

  "operation-type": [
    { change: { operations, itemMember: "type", values: [undefined] }, expect: asUsual },
    {
      change: { operations, itemMember: "type", values: [3, { name: "purchase" }] },
      expect: noList,
    },
  ],

  "operation-list": [
    {
      change: {
        operations,
        bodies: [
          ({ items }) => items,
          ({ items }) => ({ items, total: 5, page: { next: "abc" } }),
          ({ items }) => ({ operations: items, next: null }),
          ({ items }) => ({ data: items, next: null }),
          ({ items }) => ({ results: items, next: null }),
        ],
      },
      expect: asUsual,
    },
    {
      change: {
        operations,
        bodies: [
          ({ items }) => ({ passes: items }),
          ({ items }) => ({ history: items }),
          ({ items }) => ({ Items: items }),
          ({ items }) => ({ data: { items } }),
          ({ items }) => ({ items: { ...items } }), // an object whose members are the indexes
          () => ({ items: null }),
          () => null,
        ],
      },
      expect: noList,
    },
    {
      change: { operations, responses: [{ text: '{"id":"op_1"}\n{"id":"op_2"}' }, bare(204)] },
      expect: noList,
    },
  ],

  "operation-limit": [
    {
      change: {
        operations,
        bodies: [
          ({ items }) => ({ items: items.slice(0, 1) }),
          ({ items }) => ({ items: items.slice(0, 3) }),
        ],
      },
      expect: asUsual,
    },
    // The limit is ignored.
    {
      change: { operations, request: ({ path }) => ({ path: path.replace(/\?limit=\d+/, "") }) },
      expect: asUsual,
    },
    {
      change: { operations, refuses: hasLimit, responses: [problem(422)] },
      expect: { calls: ["listTwoOperations"], end: "validation" },
    },
    {
      change: { operations, refuses: (one) => !hasLimit(one), responses: [problem(400)] },
      expect: { calls: ["listOperations"], end: "rejected" },
    },
  ],

  "consent-customer": [
    {
      change: {
        operations: consents,
        member: "customer",
        values: ["cus_1", null, undefined, [{ id: 1 }], { data: {} }],
      },
      expect: asUsual,
    },
  ],

  "marketing-consent": [
    {
      change: { operations: ["getConsent"], member: "marketingConsent", values: noBooleans },
      expect: { calls: gets, end: "invalid-response" },
    },
    {
      change: { operations: ["setConsent"], member: "marketingConsent", values: noBooleans },
      expect: noState,
    },
  ],

  "consent-put-response": [
    {
      change: {
        operations: ["setConsent"],
        responses: [
          bare(204),
          bare(200),
          { status: 202, body: { status: "queued" } },
          { headers: { "content-type": "text/plain" }, text: "OK" },
        ],
      },
      expect: noState,
    },
    {
      change: {
        operations: ["setConsent"],
        bodies: [() => ({}), () => true, (customer) => ({ id: "card_1", customer })],
      },
      expect: noState,
    },
    { change: { operations: ["setConsent"], responses: [{ status: 201 }] }, expect: asUsual },
    {
      change: { operations: ["setConsent"], responses: [redirect] },
      expect: { calls: puts, end: "invalid-response" },
    },
  ],

  "consent-versions": [
    // A version is required.
    {
      change: {
        operations: ["setConsent"],
        refuses: ({ body }) => !("version" in body),
        responses: [problem(422)],
      },
      expect: { calls: ["withdrawConsent"], end: "validation" },
    },
    // The version is not the newest.
    {
      change: {
        operations: ["setConsent"],
        refuses: ({ body }) => "version" in body,
        responses: [problem(409)],
      },
      expect: { calls: ["giveConsent"], end: "conflict" },
    },
    {
      change: { operations: consents, member: "privacy", values: [{ version: "2026-01" }] },
      expect: asUsual,
    },
  ],

  "key-kinds": [
    {
      change: { operations: ["setConsent"], refuses: () => true, responses: [problem(403)] },
      expect: { calls: puts, end: "forbidden" },
    },
    {
      change: { operations, refuses: () => true, responses: [problem(403)] },
      expect: { calls: noList.calls, end: "forbidden" },
    },
    {
      change: {
        operations: ["getCard", "getConsent", "listOperations"],
        refuses: () => true,
        responses: [problem(404)],
      },
      expect: { calls: ["getCard", ...gets, ...noList.calls], end: "not-found" },
    },
  ],
};
