/** The members of a card. */
import { asUsual, bare, cards, noCard, problem, signUps } from "../expectations.ts";
import type { ServiceRows } from "../row.ts";

const hundredMembers = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [index, 1]));
/** What the service adds to its ids: characters that a path has to escape. */
const idSuffix = "/ü ?#%2F";
const cardOfLodz = { id: "card_1", publicUrl: "https://cards.test/1", shop: "Łódź" };

export const cardRows: ServiceRows = {
  "card-members": [
    {
      change: {
        operations: cards,
        bodies: [
          (card) => ({ ...card, loyalty_balance: "0", more: [null, {}], ...hundredMembers }),
          (card) => ({ ...card, toString: "x", constructor: {}, valueOf: null, toJSON: 1 }),
          ({ fieldValues: _, ...card }) => card,
          ({ customerId: _, ...card }) => card,
          ({ loyaltyBalance: _, ...card }) => card,
        ],
      },
      expect: asUsual,
    },
    {
      change: {
        request: ({ path }) => ({ path: path.replace(encodeURIComponent(idSuffix), "") }),
        bodies: [
          (body) => ("publicUrl" in body ? { ...body, id: `${body["id"]}${idSuffix}` } : body),
        ],
      },
      expect: asUsual,
    },
    {
      change: {
        operations: cards,
        bodies: [
          (card) => ({ ...card, customerId: 7 }),
          (card) => ({ ...card, publicUrl: { href: "https://cards.test/1" } }),
        ],
      },
      expect: noCard,
    },
    {
      change: {
        operations: cards,
        member: "loyaltyBalance",
        values: [null, [120], "0", "120,00", { value: 0, unit: "points" }],
      },
      expect: noCard,
    },
    {
      change: {
        operations: ["getCard"],
        responses: [{ text: '{"id":"c","publicUrl":"https://c.test","loyaltyBalance":1e999}' }],
      },
      expect: { calls: ["getCard"], end: "invalid-response" },
    },
    {
      change: {
        operations: ["issueCard"],
        responses: [{ status: 200 }, { status: 202 }, { status: 203 }, { status: 207 }],
      },
      expect: asUsual,
    },
    {
      change: { operations: ["issueCard"], responses: [bare(204)] },
      expect: { calls: signUps, end: "invalid-response" },
    },
  ],

  "card-required": [
    { change: { operations: cards, member: "id", values: [null, "", 42] }, expect: noCard },
    {
      change: {
        operations: cards,
        member: "publicUrl",
        values: [undefined, "/cards/1", "javascript:alert(1)"],
      },
      expect: noCard,
    },
    {
      change: {
        operations: cards,
        bodies: [
          ({ id, publicUrl }) => ({ id, public_url: publicUrl, loyalty_balance: 0 }),
          (card) => ({ data: card }),
          (card) => ({ pass: card }),
          (card) => [card],
          (card) => ({ id: "req_1", status: "ok", card }),
          (card) => ({ id: "req_1", object: "x", data: card }),
          (card) => JSON.stringify(card), // JSON in a JSON text
          () => null,
          () => ({}),
        ],
      },
      expect: noCard,
    },
  ],

  "card-later": [
    {
      change: {
        operations: ["issueCard"],
        responses: [{ status: 202, body: { id: "job_1" } }, bare(202)],
      },
      expect: { calls: signUps, end: "invalid-response" },
    },
  ],

  "response-charset": [
    {
      change: {
        operations: cards,
        responses: [
          { body: cardOfLodz, headers: { "content-type": "application/json; charset=iso-8859-2" } },
          {
            body: cardOfLodz,
            headers: { "content-type": "application/json; charset=windows-1250" },
          },
        ],
      },
      expect: noCard,
    },
  ],

  "card-status": [
    {
      change: {
        operations: cards,
        member: "status",
        values: ["blocked", "pending", "ACTIVE", "", "🟢", undefined],
      },
      expect: asUsual,
    },
    { change: { operations: cards, member: "status", values: [1, {}, null] }, expect: noCard },
  ],

  "issued-via": [
    {
      change: {
        operations: cards,
        member: "issuedVia",
        values: ["api", "WEBSITE", "import", "", undefined],
      },
      expect: asUsual,
    },
    {
      change: { operations: cards, member: "issuedVia", values: [{ kind: "website" }] },
      expect: noCard,
    },
  ],

  "tier-rule": [
    {
      change: { operations: cards, member: "loyaltyTier", values: ["Base", "", null, undefined] },
      expect: asUsual,
    },
    {
      change: {
        operations: cards,
        member: "loyaltyTier",
        values: [["Silver"], false, { name: "Silver" }, 2],
      },
      expect: noCard,
    },
  ],

  "field-values": [
    {
      change: {
        operations: cards,
        member: "fieldValues",
        values: [
          {},
          { name: null, isVip: true, tags: ["a"], address: { city: "Łódź" } },
          { "": "", " name ": "x", "a/b~c": 1, constructor: "x" },
        ],
      },
      expect: asUsual,
    },
    {
      change: {
        operations: cards,
        member: "fieldValues",
        values: [null, [{ key: "name", value: "Anna" }], "name=Anna"],
      },
      expect: noCard,
    },
  ],

  "points-field": [
    {
      change: {
        operations: cards,
        member: "fieldValues",
        values: [{ stamps: 0 }, { points: "0 pts" }, { points: 7 }],
      },
      expect: asUsual,
    },
  ],

  "name-field": [
    {
      change: {
        operations: cards,
        member: "fieldValues",
        values: [{ name: "ANNA" }, { firstName: "Anna", lastName: "Nowak" }],
      },
      expect: asUsual,
    },
    // A form without a name is refused.
    {
      change: {
        operations: ["issueCard"],
        refuses: ({ body }) => !("name" in body["fieldValues"]),
        responses: [problem(422)],
      },
      expect: {
        calls: [
          "signUpCorrected",
          "signUpWithKeySuffix",
          "signUpElsewhere",
          "archivedTemplate",
          "wrongKey",
        ],
        end: "validation",
      },
    },
  ],
};
