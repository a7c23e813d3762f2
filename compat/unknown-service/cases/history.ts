/** Histories and consents that differ from the assumptions. */
import {
  type ApiRequest,
  type ApiResponse,
  type Case,
  type Cases,
  type CaseTable,
  consentChanges,
  consents,
  lists,
  type Members,
} from "../case.ts";
import {
  allEnd,
  bare,
  bodies,
  bodyMembers,
  consentOperations,
  each,
  ends,
  eventMembers,
  redirect,
  refuse,
  requests,
  responses,
} from "../changes.ts";

type List = { items: Members[] };
const list = (change: (items: Members[]) => unknown): Case =>
  bodies("listOperations", ({ items }: List) => change(items));
/** Changes members of each operation. */
const operations = (change: (item: Members) => Members): Case =>
  list((items) => ({ items: items.map((item) => ({ ...item, ...change(item) })) }));
const hasLimit = ({ path }: ApiRequest) => path.includes("limit=");

const marketing = (value: (isGiven: boolean) => unknown): Case =>
  bodyMembers(consentOperations, ({ marketingConsent }) => ({
    marketingConsent: value(marketingConsent as boolean),
  }));
const customer = (value: unknown): Case => bodyMembers(consentOperations, { customer: value });
const consentEvents = (change: (data: Members) => Members): Case => eventMembers("consent.changed", change);
const getIds = ({ passIds }: Members) => (passIds ?? []) as unknown[];
const putResponse = (change: Partial<ApiResponse>): Case => responses("setConsent", change);
const hasVersion = ({ body }: ApiRequest) => "version" in (body as Members);

const inList = (names: readonly string[], more: Members = {}): Cases =>
  each(names, (name) => [`the list in \`${name}\``, list((items) => ({ [name]: items, ...more }))]);

export const historyCases: CaseTable = {
  "operation-members": {
    "members of every kind beside ours": operations(() => ({ shop: { id: 1 }, items: [], note: null })),
    "only id and type": operations(() => ({ change: undefined, balance: undefined, createdAt: undefined })),
    "numbers as text": operations(({ change, balance }) => ({ change: `${change}`, balance: `${balance}` })),
    "numbers with a currency": operations(({ change }) => ({
      change: { points: change },
      balance: { before: 0, after: 1 },
    })),
    "createdAt in seconds": operations(() => ({ createdAt: 1_767_225_600 })),
    "null for unknown members": operations(() => ({ change: null, balance: null, createdAt: null })),
    ...allEnd("invalid-response", lists, {
      "numbers as ids": operations(() => ({ id: 7 })),
      "no ids": operations(() => ({ id: undefined })),
      "null among the operations": list((items) => ({ items: [...items, null] })),
    }),
  },
  "operation-type": {
    ...allEnd("invalid-response", lists, {
      "numbers as types": operations(() => ({ type: 3 })),
      "objects as types": operations(({ type }) => ({ type: { name: type } })),
    }),
    "no types": operations(() => ({ type: undefined })),
    "types of another set in events": eventMembers("balance.changed", ({ operation }) => ({
      operation: { ...(operation as Members), type: "TRANSFER" },
    })),
  },
  "operation-list": {
    "a bare list": list((items) => items),
    "with a cursor and a total": list((items) => ({ items, total: 5, page: { next: "abc" } })),
    ...inList(["operations", "data", "results"], { next: null }),
    ...allEnd("invalid-response", lists, {
      ...inList(["passes", "history", "Items", "content"]),
      "the list two levels down": list((items) => ({ data: { items } })),
      "null instead of the list": list(() => ({ items: null })),
      "null as the response": list(() => null),
      "operations by their ids": list((items) => ({
        items: Object.fromEntries(items.map((item) => [item["id"], item])),
      })),
      "one operation on each line": responses("listOperations", ({ body }) => ({
        text: (body as List).items.map((item) => JSON.stringify(item)).join("\n"),
      })),
      "204 when the list is empty, and always": responses("listOperations", bare(204)),
    }),
  },
  "operation-limit": {
    "at most one operation": list((items) => ({ items: items.slice(0, 1) })),
    "at most three operations": list((items) => ({ items: items.slice(0, 3) })),
    "the limit is ignored": requests("listOperations", ({ path }) => ({
      path: path.replace(/\?limit=\d+/, ""),
    })),
    "a limit below ten is 422": refuse("listOperations", 422, "listTwoOperations", hasLimit),
    "a limit is required": refuse("listOperations", 400, "listOperations", (request) => !hasLimit(request)),
  },
  "consent-owner": {
    "consent belongs to a card": consentEvents((data) => ({ passIds: getIds(data).slice(0, 1) })),
    "events of consent name no cards": consentEvents(() => ({ passIds: [] })),
    "events of consent have one card instead of a list": {
      ...consentEvents((data) => ({ passIds: undefined, passId: getIds(data)[0] ?? "card_1" })),
      unexpectedData: ["consent.changed"],
    },
  },
  "consent-customer": {
    "the id instead of the customer": customer("cus_1"),
    "null instead of the customer": customer(null),
    "no customer": customer(undefined),
    "a list of customers": customer([{ id: "cus_1" }]),
    "the customer deep within": customer({ data: { attributes: { id: 1, name: null } } }),
  },
  "marketing-consent": {
    ...allEnd(
      "undefined",
      consentChanges,
      allEnd("invalid-response", consents, {
        "true and false as text": marketing(String),
        "1 and 0": marketing(Number),
        "given and withdrawn": marketing((isGiven) => (isGiven ? "given" : "withdrawn")),
        "an object with the time": marketing((isGiven) => ({ given: isGiven, at: "2026-01-01T00:00:00Z" })),
        "null when it was never given": marketing((isGiven) => (isGiven ? { version: "2026" } : null)),
        "a list of channels": marketing((isGiven) => (isGiven ? ["email", "sms"] : [])),
        absent: marketing(() => undefined),
      }),
    ),
    ...each(["given", 1, null, { email: true }], (value) => [
      `${JSON.stringify(value)} in events`,
      consentEvents(() => ({ marketingConsent: value })),
    ]),
  },
  "consent-put-response": {
    ...allEnd("undefined", consentChanges, {
      "204": putResponse(bare(204)),
      "200 without a body": putResponse(bare(200)),
      "202, and done later": putResponse({ status: 202, body: { status: "queued" } }),
      "OK as text": putResponse({ headers: { "content-type": "text/plain" }, text: "OK" }),
      "an empty object": putResponse({ body: {} }),
      true: putResponse({ body: true }),
      "the card": bodies("setConsent", (body) => ({ id: "card_1", customer: body })),
    }),
    "201 with the state": putResponse({ status: 201 }),
    "a redirect to the state": ends(
      "invalid-response",
      consentChanges,
      putResponse(redirect("/api/v1/passes/1/consent")),
    ),
  },
  "consent-versions": {
    "a version is required": refuse("setConsent", 422, "withdrawConsent", (request) => !hasVersion(request)),
    "409 for a version that is not the newest": refuse("setConsent", 409, "giveConsent", hasVersion),
    "the state contains the versions": bodyMembers(consentOperations, {
      privacy: { version: "2026-01" },
      marketing: { version: null },
    }),
  },
};
