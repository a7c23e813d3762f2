/** Mutations of the card in responses. */
import {
  cardOperations,
  cardSteps,
  changeCards,
  changeResponses,
  rejectIssuing,
  withMembers,
} from "./hooks.ts";
import { expectEnd, type Members, type Mutation, mutation, type Operation, signUps } from "./mutation.ts";

/** Changes the card in responses only. @param end of the calls that return a card. */
const changeCardResponses = (
  row: string,
  name: string,
  members: (card: Members) => Members,
  end = "value",
  operations = cardOperations,
): Mutation =>
  mutation(
    row,
    name,
    changeResponses(operations, ({ body }) => ({ body: withMembers(body, members(body as Members)) })),
    { ends: expectEnd(end, ...(operations.includes("issueCard") ? cardSteps : (["getCard"] as const))) },
  );

/** Replaces the body of a card response. */
const replaceCardBody = (
  name: string,
  wrap: (card: unknown) => unknown,
  end = "invalid-response",
): Mutation =>
  mutation(
    "card-required",
    name,
    changeResponses(cardOperations, ({ body }) => ({ body: wrap(body) })),
    { ends: expectEnd(end, ...cardSteps) },
  );

const onGet: readonly Operation[] = ["getCard"];
const withoutMember = (row: string, member: string) =>
  changeCardResponses(row, `${member} is absent`, () => ({ [member]: undefined }));
const withInvalidMember = (row: string, member: string, value: unknown, operations = cardOperations) =>
  changeCardResponses(
    row,
    `${member} is ${JSON.stringify(value)}`,
    () => ({ [member]: value }),
    "invalid-response",
    operations,
  );

export const cardMutations: readonly Mutation[] = [
  changeCards("card-members", "members of every kind beside ours", () => ({
    expiresAt: null,
    flags: ["a", 1, null],
    design: { colour: "#fff", nested: { deeply: [{}] } },
    __proto__x: true,
  })),
  changeCards("card-members", "members named like those of every object", () => ({
    toString: "card",
    constructor: { name: "Card" },
    valueOf: null,
    toJSON: 1,
  })),
  changeCards("card-members", "a hundred more members", () =>
    Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`member${index}`, index])),
  ),
  changeCards("card-members", "our members in snake case too", (card) => ({
    loyalty_balance: String(card["loyaltyBalance"]),
  })),
  withoutMember("card-members", "fieldValues"),
  withoutMember("card-members", "loyaltyBalance"),
  withInvalidMember("card-required", "publicUrl", undefined),
  withoutMember("card-members", "customerId"),
  withInvalidMember("card-required", "id", null),
  mutation(
    "card-required",
    "ids are numbers",
    { card: (card) => withMembers(card, { id: 42 }) },
    { ends: expectEnd("invalid-response", ...cardSteps) },
  ),
  withInvalidMember("card-required", "id", ""),
  withInvalidMember("card-members", "customerId", 7),
  withInvalidMember("card-members", "publicUrl", { href: "https://cards.test/1" }),
  changeCardResponses(
    "card-members",
    "loyaltyBalance is text",
    (card) => ({ loyaltyBalance: String(card["loyaltyBalance"]) }),
    "invalid-response",
  ),
  changeCardResponses(
    "card-members",
    "loyaltyBalance is text with a comma",
    (card) => ({ loyaltyBalance: `${card["loyaltyBalance"]},00` }),
    "invalid-response",
    onGet,
  ),
  changeCardResponses(
    "card-members",
    "loyaltyBalance is an object",
    (card) => ({ loyaltyBalance: { value: card["loyaltyBalance"], unit: "points" } }),
    "invalid-response",
  ),
  withInvalidMember("card-members", "loyaltyBalance", null),
  withInvalidMember("card-members", "loyaltyBalance", [120], onGet),
  mutation(
    "card-members",
    "loyaltyBalance is beyond every number",
    changeResponses(onGet, ({ body }) => ({
      text: JSON.stringify(body).replace(/"loyaltyBalance":[^,]+/, '"loyaltyBalance":1e999'),
    })),
    { ends: expectEnd("invalid-response", "getCard") },
  ),
  withInvalidMember("card-required", "publicUrl", "/cards/1"),
  withInvalidMember("card-required", "publicUrl", "javascript:alert(1)"),
  replaceCardBody("the card in snake case", (card) => {
    const { id, publicUrl, loyaltyBalance } = card as Members;
    return { id, public_url: publicUrl, loyalty_balance: loyaltyBalance };
  }),
  replaceCardBody("the card in `card`, beside an id and a status of the response", (card) => ({
    id: "req_1",
    status: "ok",
    card,
  })),
  replaceCardBody("the card in `data`", (card) => ({ data: card })),
  replaceCardBody("the card in `pass`", (card) => ({ pass: card })),
  replaceCardBody("the card in `data`, beside an id of the response", (card) => ({
    id: "req_1",
    object: "response",
    data: card,
  })),
  replaceCardBody("a list of one card", (card) => [card]),
  replaceCardBody("the card as JSON within JSON", (card) => JSON.stringify(card)),
  replaceCardBody("null instead of the card", () => null),
  replaceCardBody("an empty object instead of the card", () => ({})),
  ...[200, 202, 203, 207].map((status) =>
    mutation(
      "card-members",
      `a card is issued with ${status}`,
      changeResponses(["issueCard"], () => ({ status })),
    ),
  ),
  mutation(
    "card-members",
    "a card is issued with 204",
    changeResponses(["issueCard"], () => ({ status: 204, body: undefined })),
    { ends: expectEnd("invalid-response", ...signUps) },
  ),
  ...[{ id: "job_1", status: "pending" }, undefined].map((body) =>
    mutation(
      "card-later",
      `a card is issued later, after 202 with ${body === undefined ? "no body" : "a job"}`,
      changeResponses(["issueCard"], () => ({ status: 202, body })),
      { ends: expectEnd("invalid-response", ...signUps) },
    ),
  ),
  ...["iso-8859-2", "windows-1250"].map((charset) =>
    mutation(
      "response-charset",
      `cards in ${charset}`,
      changeResponses(cardOperations, ({ body }) => ({
        headers: { "content-type": `application/json; charset=${charset}` },
        body: withMembers(body, { shop: "\u0141\u00f3d\u017a" }),
      })),
      { ends: expectEnd("invalid-response", ...cardSteps) },
    ),
  ),
  mutation("card-members", "ids of cards are UUIDs, and need escaping", () => {
    const outer = (id: unknown) => `${id}/ü ?#%2F`;
    const inner = (id: string) => decodeURIComponent(id).replace("/ü ?#%2F", "");
    return {
      card: (card) => withMembers(card, { id: outer(card["id"]) }),
      api: (request, next) =>
        next({
          ...request,
          path: request.path.replace(/(\/passes\/)([^/?]+)/, (_all, before, id) => `${before}${inner(id)}`),
        }),
      event: (event) =>
        event.data?.["passId"] === undefined
          ? [event]
          : [{ ...event, data: { ...event.data, passId: outer(event.data["passId"]) } }],
    };
  }),

  ...["blocked", "pending", "ACTIVE", "", "🟢"].map((status) =>
    changeCards("card-status", `status is ${JSON.stringify(status)}`, () => ({ status })),
  ),
  withoutMember("card-status", "status"),
  withInvalidMember("card-status", "status", 1),
  withInvalidMember("card-status", "status", { code: "active" }),
  withInvalidMember("card-status", "status", null, onGet),

  ...["api", "WEBSITE", "import", ""].map((issuedVia) =>
    changeCards("issued-via", `issuedVia is ${JSON.stringify(issuedVia)}`, () => ({ issuedVia })),
  ),
  withoutMember("issued-via", "issuedVia"),
  withInvalidMember("issued-via", "issuedVia", { kind: "website" }),

  changeCards("tier-rule", "every card has a level", (card) => ({
    loyaltyTier: card["loyaltyTier"] ?? "Base",
  })),
  changeCards("tier-rule", "levels are never sent", () => ({ loyaltyTier: null })),
  changeCards("tier-rule", "the empty text for no level", (card) => ({
    loyaltyTier: card["loyaltyTier"] ?? "",
  })),
  withoutMember("tier-rule", "loyaltyTier"),
  withInvalidMember("tier-rule", "loyaltyTier", { id: 2, name: "Silver" }, onGet),
  withInvalidMember("tier-rule", "loyaltyTier", 2, onGet),
  withInvalidMember("tier-rule", "loyaltyTier", ["Silver"]),
  withInvalidMember("tier-rule", "loyaltyTier", false),

  changeCards("field-values", "values of other kinds", () => ({
    fieldValues: { name: null, isVip: true, tags: ["a"], address: { city: "Kraków" } },
  })),
  changeCards("field-values", "only the fields of the template", () => ({ fieldValues: {} })),
  changeCards("field-values", "keys that look like others", () => ({
    fieldValues: { "": "", " name ": "x", "a/b~c": 1, constructor: "x" },
  })),
  withInvalidMember("field-values", "fieldValues", null),
  withInvalidMember("field-values", "fieldValues", [{ key: "name", value: "Anna" }]),
  withInvalidMember("field-values", "fieldValues", "name=Anna", onGet),

  changeCards("points-field", "points under another key", (card) => ({
    fieldValues: { stamps: card["loyaltyBalance"] },
  })),
  changeCards("points-field", "points as text", (card) => ({
    fieldValues: { points: `${card["loyaltyBalance"]} pts` },
  })),
  changeCards("points-field", "points that lag behind", () => ({ fieldValues: { points: 0 } })),

  changeCards("name-field", "the name in upper case", () => ({ fieldValues: { name: "ANNA" } })),
  changeCards("name-field", "the name in two fields", () => ({
    fieldValues: { firstName: "Anna", lastName: "Nowak" },
  })),
  mutation(
    "name-field",
    "the name is required, and not taken from the customer",
    rejectIssuing(({ body }) => !("name" in ((body as { fieldValues?: object }).fieldValues ?? {})), 422),
    {
      ends: expectEnd(
        "validation",
        "signUpByEmail",
        "signUpCorrected",
        "signUpWithKeySuffix",
        "signUpAtOtherWebsite",
        "archivedTemplate",
        "wrongKey",
      ),
    },
  ),

  mutation(
    "template-definition",
    "a required field that the shop does not know",
    rejectIssuing(() => true, 422),
    {
      ends: {
        ...expectEnd("validation", ...signUps),
        archivedTemplate: "validation",
        wrongKey: "validation",
      },
    },
  ),
  mutation("template-definition", "the template has no fields, and drops what it gets", {
    card: (card) => withMembers(card, { fieldValues: {} }),
    api: (request, next) =>
      next(
        request.operation === "issueCard"
          ? { ...request, body: withMembers(request.body, { fieldValues: {} }) }
          : request,
      ),
  }),
  changeCards("template-definition", "defaults of the template's fields", (card) => ({
    fieldValues: { ...(card["fieldValues"] as Members), colour: "green", visits: 0 },
  })),
];
