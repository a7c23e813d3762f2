/** Cards that differ from the assumptions, in the service or only in its responses. */
import {
  type ApiRequest,
  type CaseTable,
  cardSteps,
  eventTypes,
  issuing,
  type Members,
  type Step,
  signUps,
} from "../case.ts";
import {
  allEnd,
  bare,
  bodies,
  bodyMembers,
  cardOperations,
  cards,
  each,
  ends,
  eventData,
  eventMembers,
  refuse,
  requests,
  responses,
  several,
  values,
} from "../changes.ts";

const cardResponses = (change: Parameters<typeof cards>[0]) => bodyMembers(cardOperations, change);
const cardBodies = (change: (card: Members) => unknown) => bodies(cardOperations, change);
const readCards = (change: Parameters<typeof cards>[0]) => bodyMembers("getCard", change);
const absent = (member: string) => values(member, [undefined], cardResponses);
/** Values that the client refuses in the response of every operation that returns a card. */
const invalid = (member: string, items: readonly unknown[]) =>
  allEnd("invalid-response", cardSteps, values(member, items, cardResponses));
/** The same, only when the card is read. */
const invalidWhenRead = (member: string, items: readonly unknown[]) =>
  allEnd("invalid-response", "getCard", values(member, items, readCards));

const addEscapes = (id: unknown) => `${id}/ü ?#%2F`;
const unescapePath = (path: string) =>
  path.replace(
    /(\/passes\/)([^/?]+)/,
    (_all, before, id) => before + decodeURIComponent(id).replace("/ü ?#%2F", ""),
  );
const hasNoName = ({ body }: ApiRequest) =>
  !("name" in ((body as { fieldValues?: object }).fieldValues ?? {}));
const withoutName: readonly Step[] = [
  "signUpByEmail",
  "signUpCorrected",
  "signUpWithKeySuffix",
  "signUpAtOtherWebsite",
  "archivedTemplate",
  "wrongKey",
];

export const cardCases: CaseTable = {
  "card-members": {
    "members of every kind beside ours": cards({
      expiresAt: null,
      flags: ["a", 1, null],
      design: { colour: "#fff", nested: { deeply: [{}] } },
      __proto__x: true,
    }),
    "members named like those of every object": cards({
      toString: "card",
      constructor: { name: "Card" },
      valueOf: null,
      toJSON: 1,
    }),
    "a hundred more members": cards(
      Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`member${index}`, index])),
    ),
    "our members in snake case too": cards((card) => ({ loyalty_balance: String(card["loyaltyBalance"]) })),
    "ids of cards are UUIDs, and need escaping": {
      ...cards((card) => ({ id: addEscapes(card["id"]) })),
      api: (request, next) => next({ ...request, path: unescapePath(request.path) }),
      event: (event) => {
        const { passId } = event.data ?? {};
        return [
          passId === undefined ? event : { ...event, data: { ...event.data, passId: addEscapes(passId) } },
        ];
      },
    },
    ...absent("fieldValues"),
    ...absent("loyaltyBalance"),
    ...absent("customerId"),
    ...invalid("customerId", [7]),
    ...invalid("publicUrl", [{ href: "https://cards.test/1" }]),
    ...invalid("loyaltyBalance", [null]),
    ...invalidWhenRead("loyaltyBalance", [[120]]),
    ...allEnd("invalid-response", cardSteps, {
      "loyaltyBalance is text": cardResponses((card) => ({ loyaltyBalance: String(card["loyaltyBalance"]) })),
      "loyaltyBalance is an object": cardResponses(({ loyaltyBalance: value }) => ({
        loyaltyBalance: { value, unit: "points" },
      })),
    }),
    ...allEnd("invalid-response", "getCard", {
      "loyaltyBalance is text with a comma": readCards(({ loyaltyBalance: value }) => ({
        loyaltyBalance: `${value},00`,
      })),
      "loyaltyBalance is beyond every number": responses("getCard", ({ body }) => ({
        text: JSON.stringify(body).replace(/"loyaltyBalance":[^,]+/, '"loyaltyBalance":1e999'),
      })),
    }),
    ...each([200, 202, 203, 207], (status) => [
      `a card is issued with ${status}`,
      responses("issueCard", { status }),
    ]),
    "a card is issued with 204": ends("invalid-response", signUps, responses("issueCard", bare(204))),
  },
  "card-required": {
    ...invalid("id", [null, ""]),
    ...invalid("publicUrl", ["/cards/1", "javascript:alert(1)"]),
    ...allEnd("invalid-response", cardSteps, {
      "publicUrl is undefined": cardResponses({ publicUrl: undefined }),
      "ids are numbers": cards({ id: 42 }),
      "the card in snake case": cardBodies(({ id, publicUrl, loyaltyBalance }) => ({
        id,
        public_url: publicUrl,
        loyalty_balance: loyaltyBalance,
      })),
      "the card in `card`, beside an id and a status of the response": cardBodies((card) => ({
        id: "req_1",
        status: "ok",
        card,
      })),
      "the card in `data`, beside an id of the response": cardBodies((data) => ({
        id: "req_1",
        object: "response",
        data,
      })),
      "the card in `data`": cardBodies((data) => ({ data })),
      "the card in `pass`": cardBodies((pass) => ({ pass })),
      "a list of one card": cardBodies((card) => [card]),
      "the card as JSON within JSON": cardBodies((card) => JSON.stringify(card)),
      "null instead of the card": cardBodies(() => null),
      "an empty object instead of the card": cardBodies(() => ({})),
    }),
  },
  "card-later": allEnd("invalid-response", signUps, {
    "a card is issued later, after 202 with a job": responses("issueCard", {
      status: 202,
      body: { id: "job_1", status: "pending" },
    }),
    "a card is issued later, after 202 with no body": responses("issueCard", bare(202)),
  }),
  "response-charset": allEnd(
    "invalid-response",
    cardSteps,
    each(["iso-8859-2", "windows-1250"], (charset) => [
      `cards in ${charset}`,
      responses(cardOperations, ({ body }) => ({
        headers: { "content-type": `application/json; charset=${charset}` },
        body: { ...(body as Members), shop: "\u0141\u00f3d\u017a" },
      })),
    ]),
  ),
  "card-status": {
    ...values("status", ["blocked", "pending", "ACTIVE", "", "🟢"], cards),
    ...absent("status"),
    ...invalid("status", [1, { code: "active" }]),
    ...invalidWhenRead("status", [null]),
  },
  "issued-via": {
    ...values("issuedVia", ["api", "WEBSITE", "import", ""], cards),
    ...absent("issuedVia"),
    ...invalid("issuedVia", [{ kind: "website" }]),
  },
  "tier-rule": {
    "every card has a level": cards((card) => ({ loyaltyTier: card["loyaltyTier"] ?? "Base" })),
    "levels are never sent": cards({ loyaltyTier: null }),
    "the empty text for no level": cards((card) => ({ loyaltyTier: card["loyaltyTier"] ?? "" })),
    ...absent("loyaltyTier"),
    ...invalid("loyaltyTier", [["Silver"], false]),
    ...invalidWhenRead("loyaltyTier", [{ id: 2, name: "Silver" }, 2]),
  },
  "field-values": {
    "values of other kinds": cards({
      fieldValues: { name: null, isVip: true, tags: ["a"], address: { city: "Kraków" } },
    }),
    "only the fields of the template": cards({ fieldValues: {} }),
    "keys that look like others": cards({
      fieldValues: { "": "", " name ": "x", "a/b~c": 1, constructor: "x" },
    }),
    ...invalid("fieldValues", [null, [{ key: "name", value: "Anna" }]]),
    ...invalidWhenRead("fieldValues", ["name=Anna"]),
  },
  "points-field": {
    "points under another key": cards((card) => ({ fieldValues: { stamps: card["loyaltyBalance"] } })),
    "points as text": cards((card) => ({ fieldValues: { points: `${card["loyaltyBalance"]} pts` } })),
    "points that lag behind": cards({ fieldValues: { points: 0 } }),
  },
  "name-field": {
    "the name in upper case": cards({ fieldValues: { name: "ANNA" } }),
    "the name in two fields": cards({ fieldValues: { firstName: "Anna", lastName: "Nowak" } }),
    "the name is required, and not taken from the customer": refuse("issueCard", 422, withoutName, hasNoName),
  },
  "template-definition": {
    "a required field that the shop does not know": refuse("issueCard", 422, issuing),
    "the template has no fields, and drops what it gets": {
      ...cards({ fieldValues: {} }),
      ...requests("issueCard", ({ body }) => ({ body: { ...(body as Members), fieldValues: {} } })),
    },
    "defaults of the template's fields": cards((card) => ({
      fieldValues: { ...(card["fieldValues"] as Members), colour: "green", visits: 0 },
    })),
  },
  "points-expiry": {
    "the level changes alone when purchases expire": several("tier.changed", (event) => [
      event,
      {
        id: `${event.id}_expiry`,
        type: event.type,
        createdAt: new Date(Date.parse(String(event.createdAt)) + 1).toISOString(),
        data: { ...event.data, tier: null, previous: event.data["tier"] },
      },
    ]),
    "an operation of another type": eventMembers("balance.changed", ({ operation }) => ({
      operation: { ...(operation as Members), type: "expiry" },
    })),
    "expiry without an operation": eventMembers("balance.changed", { operation: null }),
    "an event of its own": {
      ...several("balance.changed", (event) => [
        event,
        { ...event, id: `${event.id}_x`, type: "points.expired" },
      ]),
      otherTypes: ["points.expired"],
    },
    "balances as text": {
      ...eventMembers("balance.changed", ({ balance }) => ({ balance: String(balance) })),
      unexpectedData: ["balance.changed"],
    },
    "changes as text": eventMembers("balance.changed", ({ change }) => ({ change: `+${change}` })),
    "no data at all": {
      ...eventData(eventTypes, () => undefined),
      unexpectedData: eventTypes.filter((type) => type !== "ping"),
    },
    "members of every kind beside ours": eventMembers(eventTypes, {
      reason: { code: 1 },
      toString: null,
      tags: [],
    }),
  },
};
