/** Services that decided otherwise about cards and about issuing them. */
import type { MockService } from "../../packages/mock-server/src/index.ts";
import {
  type ApiResponse,
  ending,
  every,
  type Hooks,
  type Members,
  type Mutation,
  mutation,
  type Operation,
  responding,
  respondingTo,
  type Step,
  signUps,
  stored,
  togetherName,
  withMembers,
} from "./mutation.ts";

const cardOperations: readonly Operation[] = ["issueCard", "getCard"];
const json = { "content-type": "application/json" };
export const problem = { "content-type": "application/problem+json" };
const cardSteps: readonly Step[] = [...signUps, "getCard"];

/** A decision about cards: true, and sent. */
const deciding = (row: string, name: string, members: (card: Members) => Members): Mutation =>
  mutation(row, name, { card: (card) => withMembers(card, members(card)) });

/** A card that is told in another way than it is. @param end of the calls that bring it. */
const writing = (
  row: string,
  name: string,
  members: (card: Members) => Members,
  end = "value",
  operations = cardOperations,
): Mutation =>
  mutation(
    row,
    name,
    responding(operations, ({ body }) => ({ body: withMembers(body, members(body as Members)) })),
    { ends: ending(end, ...(operations.includes("issueCard") ? cardSteps : (["getCard"] as const))) },
  );

/** The whole body of a card otherwise. */
const wrapping = (name: string, wrap: (card: unknown) => unknown, end = "invalid-response"): Mutation =>
  mutation(
    "card-members",
    name,
    responding(cardOperations, ({ body }) => ({ body: wrap(body) })),
    { ends: ending(end, ...cardSteps) },
  );

const onGet: readonly Operation[] = ["getCard"];
const absent = (row: string, member: string) =>
  writing(row, `${member} is absent`, () => ({ [member]: undefined }));
const mistyped = (row: string, member: string, value: unknown, operations = cardOperations) =>
  writing(
    row,
    `${member} is ${JSON.stringify(value)}`,
    () => ({ [member]: value }),
    "invalid-response",
    operations,
  );

export const cardMutations: readonly Mutation[] = [
  deciding("card-members", "members of every kind beside ours", () => ({
    expiresAt: null,
    flags: ["a", 1, null],
    design: { colour: "#fff", nested: { deeply: [{}] } },
    __proto__x: true,
  })),
  deciding("card-members", "members named like those of every object", () => ({
    toString: "card",
    constructor: { name: "Card" },
    valueOf: null,
    toJSON: 1,
  })),
  deciding("card-members", "a hundred more members", () =>
    Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`member${index}`, index])),
  ),
  deciding("card-members", "our members in snake case too", (card) => ({
    loyalty_balance: String(card["loyaltyBalance"]),
  })),
  absent("card-members", "fieldValues"),
  absent("card-members", "loyaltyBalance"),
  mutation(
    "card-members",
    "publicUrl is absent",
    { card: (card) => withMembers(card, { publicUrl: undefined }) },
    { ends: { links: "configuration" } },
  ),
  absent("card-members", "customerId"),
  mistyped("card-members", "id", null),
  mistyped("card-members", "id", 42),
  mistyped("card-members", "id", ""),
  mistyped("card-members", "customerId", 7),
  mistyped("card-members", "publicUrl", { href: "https://cards.test/1" }),
  writing(
    "card-members",
    "loyaltyBalance is text",
    (card) => ({ loyaltyBalance: String(card["loyaltyBalance"]) }),
    "invalid-response",
  ),
  writing(
    "card-members",
    "loyaltyBalance is text with a comma",
    (card) => ({ loyaltyBalance: `${card["loyaltyBalance"]},00` }),
    "invalid-response",
    onGet,
  ),
  writing(
    "card-members",
    "loyaltyBalance is an object",
    (card) => ({ loyaltyBalance: { value: card["loyaltyBalance"], unit: "points" } }),
    "invalid-response",
  ),
  mistyped("card-members", "loyaltyBalance", null),
  mistyped("card-members", "loyaltyBalance", [120], onGet),
  mutation(
    "card-members",
    "loyaltyBalance is beyond every number",
    responding(onGet, ({ body }) => ({
      text: JSON.stringify(body).replace(/"loyaltyBalance":[^,]+/, '"loyaltyBalance":1e999'),
    })),
    { ends: ending("invalid-response", "getCard") },
  ),
  mutation(
    "card-members",
    "publicUrl is a path",
    { card: (card) => withMembers(card, { publicUrl: `/cards/${card["id"]}` }) },
    { ends: { links: "configuration" } },
  ),
  mutation(
    "card-members",
    "publicUrl is a script",
    { card: (card) => withMembers(card, { publicUrl: "javascript:alert(1)" }) },
    { ends: { links: "configuration" } },
  ),
  wrapping("the card in `data`", (card) => ({ data: card })),
  wrapping("the card in `pass`", (card) => ({ pass: card })),
  wrapping("the card in `data`, beside an id of the response", (card) => ({
    id: "req_1",
    object: "response",
    data: card,
  })),
  wrapping("a list of one card", (card) => [card]),
  wrapping("the card as JSON within JSON", (card) => JSON.stringify(card)),
  wrapping("null instead of the card", () => null),
  wrapping("an empty object instead of the card", () => ({})),
  ...[200, 202, 203, 207].map((status) =>
    mutation(
      "card-members",
      `a card is issued with ${status}`,
      responding(["issueCard"], () => ({ status })),
    ),
  ),
  mutation(
    "card-members",
    "a card is issued with 204",
    responding(["issueCard"], () => ({ status: 204, body: undefined })),
    { ends: ending("invalid-response", ...signUps) },
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
    deciding("card-status", `status is ${JSON.stringify(status)}`, () => ({ status })),
  ),
  absent("card-status", "status"),
  mistyped("card-status", "status", 1),
  mistyped("card-status", "status", { code: "active" }),
  mistyped("card-status", "status", null, onGet),

  ...["api", "WEBSITE", "import", ""].map((issuedVia) =>
    deciding("issued-via", `issuedVia is ${JSON.stringify(issuedVia)}`, () => ({ issuedVia })),
  ),
  absent("issued-via", "issuedVia"),
  mistyped("issued-via", "issuedVia", { kind: "website" }),

  deciding("tier-rule", "everybody has a level", (card) => ({ loyaltyTier: card["loyaltyTier"] ?? "Base" })),
  deciding("tier-rule", "levels that are never told", () => ({ loyaltyTier: null })),
  deciding("tier-rule", "the empty text for no level", (card) => ({
    loyaltyTier: card["loyaltyTier"] ?? "",
  })),
  absent("tier-rule", "loyaltyTier"),
  mistyped("tier-rule", "loyaltyTier", { id: 2, name: "Silver" }, onGet),
  mistyped("tier-rule", "loyaltyTier", 2, onGet),
  mistyped("tier-rule", "loyaltyTier", ["Silver"]),
  mistyped("tier-rule", "loyaltyTier", false),

  deciding("field-values", "values of other kinds", () => ({
    fieldValues: { name: null, isVip: true, tags: ["a"], address: { city: "Kraków" } },
  })),
  deciding("field-values", "only the fields of the template", () => ({ fieldValues: {} })),
  deciding("field-values", "keys that look like others", () => ({
    fieldValues: { "": "", " name ": "x", "a/b~c": 1, constructor: "x" },
  })),
  mistyped("field-values", "fieldValues", null),
  mistyped("field-values", "fieldValues", [{ key: "name", value: "Anna" }]),
  mistyped("field-values", "fieldValues", "name=Anna", onGet),

  deciding("points-field", "points under another key", (card) => ({
    fieldValues: { stamps: card["loyaltyBalance"] },
  })),
  deciding("points-field", "points as text", (card) => ({
    fieldValues: { points: `${card["loyaltyBalance"]} pts` },
  })),
  deciding("points-field", "points that lag behind", () => ({ fieldValues: { points: 0 } })),

  deciding("name-field", "the name in upper case", () => ({ fieldValues: { name: "ANNA" } })),
  deciding("name-field", "the name in two fields", () => ({
    fieldValues: { firstName: "Anna", lastName: "Nowak" },
  })),
  mutation(
    "name-field",
    "the name is required, and not taken from the customer",
    refusing(({ body }) => !("name" in ((body as { fieldValues?: object }).fieldValues ?? {})), 422),
    {
      ends: ending(
        "validation",
        "signUpByEmail",
        "signUpCorrected",
        "signUpSalted",
        "signUpAtOtherWebsite",
        "archivedTemplate",
        "wrongKey",
      ),
    },
  ),

  mutation(
    "template-definition",
    "a required field that the shop does not know",
    refusing(() => true, 422),
    { ends: { ...ending("validation", ...signUps), archivedTemplate: "validation", wrongKey: "validation" } },
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
  deciding("template-definition", "defaults of the template's fields", (card) => ({
    fieldValues: { ...(card["fieldValues"] as Members), colour: "green", visits: 0 },
  })),
];

/** Refuses requests that issue a card before the mock service sees them. */
function refusing(
  isMeant: (request: { body: unknown; headers: Headers }) => boolean,
  status: number,
  body: unknown = { type: "about:blank", title: "No", status, detail: "Please correct this." },
): Hooks {
  return {
    async api(request, next) {
      return request.operation === "issueCard" && isMeant(request)
        ? { status, headers: problem, body }
        : await next(request);
    },
  };
}

const keyOf = ({ headers }: { headers: Headers }) => headers.get("idempotency-key") ?? "";
const phoneOf = (body: unknown) => (body as { customer?: { phone?: string } } | undefined)?.customer?.phone;
const customerIn = (service: MockService, body: unknown) =>
  [...stored(service).customers.values()].find(({ phone }) => phone !== undefined && phone === phoneOf(body));
const nameOf = (body: unknown) => (body as { customer?: { name?: string } } | undefined)?.customer?.name;

/** Responds otherwise when a key that brought a card is sent again. */
const replaying = (change: (response: ApiResponse) => Partial<ApiResponse>) => (): Hooks => {
  const firsts = new Map<string, ApiResponse>();
  return {
    async api(request, next) {
      const response = await next(request);
      if (request.operation !== "issueCard" || response.status >= 300) return response;
      const first = firsts.get(keyOf(request));
      if (first === undefined) firsts.set(keyOf(request), response);
      return first === undefined ? response : { ...first, ...change(response) };
    },
  };
};
const replays: readonly Step[] = ["signUpAgain", "signUpAtOnceToo", "signUpLater"];

/** Another key for the service than the one that the client sent. */
const keying = (rewrite: (key: string, path: string, headers: Headers) => string): Hooks => ({
  api(request, next) {
    const headers = new Headers(request.headers);
    const key = headers.get("idempotency-key");
    if (key !== null) headers.set("idempotency-key", rewrite(key, request.path, headers));
    return next({ ...request, headers });
  },
});

/** The first request of a key waits for the second; what becomes of the second is the service's decision. */
const whileUnderWay = (second: (attempt: number) => ApiResponse | undefined) => (): Hooks => {
  let attempts = 0;
  let arrived = () => {};
  const secondArrived = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  return {
    async api(request, next) {
      if (nameOf(request.body) !== togetherName) return await next(request);
      attempts += 1;
      if (attempts === 1) {
        await secondArrived;
        return await next(request);
      }
      arrived();
      return second(attempts - 1) ?? (await next(request));
    },
  };
};
const busy = (status: number): ApiResponse => ({
  status,
  headers: problem,
  body: { status, title: "Under way" },
});

/** Fails once for each key, before or after the card was issued. */
const failingOnce = (when: "before" | "after", response: ApiResponse) => (): Hooks => {
  const failed = new Set<string>();
  return {
    async api(request, next) {
      if (request.operation !== "issueCard" || failed.has(keyOf(request))) return await next(request);
      failed.add(keyOf(request));
      if (when === "after") await next(request);
      return response;
    },
  };
};

const changingCustomer = (change: (customer: Members) => Members): Hooks => ({
  api(request, next) {
    const { customer } = (request.body ?? {}) as { customer?: Members };
    if (request.operation !== "issueCard" || customer === undefined) return next(request);
    return next({ ...request, body: withMembers(request.body, { customer: change(customer) }) });
  },
});

export const issuingMutations: readonly Mutation[] = [
  mutation(
    "customer-members",
    "a birthday is required",
    refusing(({ body }) => phoneOf(body) !== "12", 422),
    {
      ends: { ...ending("validation", ...signUps), archivedTemplate: "validation", wrongKey: "validation" },
    },
  ),
  mutation(
    "customer-members",
    "names are not kept",
    changingCustomer((customer) => ({ ...customer, name: undefined })),
  ),
  deciding("customer-members", "a card holds its customer", (card) => ({
    customer: { id: card["customerId"], phone: null, tags: [] },
  })),

  mutation(
    "phone-format",
    "only E.164",
    refusing(({ body }) => /^\d+ /.test(phoneOf(body) ?? ""), 422),
    {
      ends: ending("validation", "signUpCorrected", "signUpSalted"),
    },
  ),
  mutation(
    "phone-format",
    "any text is a phone number",
    changingCustomer((customer) =>
      customer["phone"] === "12" ? { ...customer, phone: "+48600000012" } : customer,
    ),
    { ends: { signUpInvalid: "value" } },
  ),
  mutation(
    "phone-format",
    "400 for a malformed number",
    respondingTo(422, () => ({ status: 400 })),
    {
      ends: { signUpInvalid: "rejected" },
    },
  ),

  deciding("customer-match", "a customer for each card", (card) => ({ customerId: `cus_of_${card["id"]}` })),
  mutation(
    "customer-match",
    "e-mail addresses are compared letter by letter",
    changingCustomer((customer) =>
      typeof customer["email"] === "string" ? { ...customer, email: `x-${customer["email"]}` } : customer,
    ),
  ),
  mutation(
    "customer-match",
    "409 for a customer who is known",
    ({ service }) => ({
      async api(request, next) {
        const hasKey = stored(service).issuedUnderKey.has(keyOf(request));
        const isKnown = customerIn(service, request.body) !== undefined;
        return request.operation === "issueCard" && isKnown && !hasKey ? busy(409) : await next(request);
      },
    }),
    { ends: { signUpUnderAnotherKey: "conflict" } },
  ),

  mutation(
    "customer-blanks",
    "the newest sign-up overwrites the customer",
    responding(["getConsent"], ({ body }) => ({
      body: withMembers(body, { customer: { id: "cus_1", name: "Overwritten", phone: "+48600000000" } }),
    })),
  ),
  mutation(
    "customer-blanks",
    "a blank e-mail stays blank",
    changingCustomer((customer) =>
      customer["phone"] === undefined ? customer : { ...customer, email: undefined },
    ),
  ),

  mutation("marketing-at-issue", "no event for consent given at sign-up", {
    event: (event) =>
      event.type === "consent.changed" && Number(((event.data["passIds"] as unknown[]) ?? []).length) === 0
        ? []
        : [event],
  }),
  mutation("marketing-at-issue", "an event for each sign-up, also without a change", {
    event: (event) =>
      event.type === "consent.changed"
        ? [{ ...event, id: `${event.id}_before`, data: { ...event.data } }, event]
        : [event],
  }),
  mutation(
    "marketing-at-issue",
    "consent at sign-up has to be confirmed",
    changingCustomer((customer) => ({
      ...customer,
      consents: { privacy: (customer["consents"] as Members)["privacy"] },
    })),
  ),

  mutation(
    "idempotency-replay",
    "a replay is 200",
    replaying(() => ({ status: 200 })),
  ),
  mutation(
    "idempotency-replay",
    "a replay is the first response",
    replaying(() => ({})),
  ),
  mutation(
    "idempotency-replay",
    "a replay carries a header",
    replaying((response) => ({ ...response, headers: { ...json, "idempotency-replayed": "true" } })),
  ),
  mutation(
    "idempotency-replay",
    "a replay is 409",
    replaying(() => busy(409)),
    { ends: ending("conflict", ...replays) },
  ),
  mutation(
    "idempotency-replay",
    "a replay is 422",
    replaying(() => busy(422)),
    { ends: ending("validation", ...replays) },
  ),
  mutation(
    "idempotency-replay",
    "a replay redirects to the card",
    replaying(() => ({ status: 303, headers: { location: "/api/v1/passes/1" }, body: undefined })),
    {
      ends: ending("invalid-response", ...replays),
    },
  ),
  mutation(
    "idempotency-replay",
    "a replay has an empty body",
    replaying(() => ({ status: 200, body: undefined })),
    {
      ends: ending("invalid-response", ...replays),
    },
  ),

  mutation(
    "idempotency-scope",
    "keys belong to a template",
    keying((key, path) => `${path.length}-${key}`),
  ),
  mutation(
    "idempotency-scope",
    "keys belong to an API key",
    keying((key, _path, headers) => `${(headers.get("authorization") ?? "").slice(-6)}-${key}`),
  ),
  mutation(
    "idempotency-scope",
    "keys belong to an address",
    keying((key) => `127.0.0.1-${key}`),
  ),

  mutation(
    "idempotency-namespace",
    "all websites of the service share their keys",
    keying((key) => `shared-${key}`),
  ),
  mutation(
    "idempotency-namespace",
    "each website has keys of its own",
    keying((key, _path, headers) => `${(headers.get("host") ?? "").length}-${key}`),
  ),

  mutation(
    "idempotency-successes",
    "refusals are stored under a key",
    () => {
      const stored = new Map<string, ApiResponse>();
      return {
        async api(request, next) {
          const known = request.operation === "issueCard" ? stored.get(keyOf(request)) : undefined;
          if (known !== undefined) return known;
          const response = await next(request);
          if (request.operation === "issueCard" && [404, 422].includes(response.status))
            stored.set(keyOf(request), response);
          return response;
        },
      };
    },
    { ends: { signUpCorrected: "validation" } },
  ),
  mutation(
    "idempotency-successes",
    "another body under the key of a refusal is 409",
    () => {
      const refused = new Set<string>();
      return {
        async api(request, next) {
          if (refused.has(keyOf(request))) return busy(409);
          const response = await next(request);
          if (response.status === 422) refused.add(keyOf(request));
          return response;
        },
      };
    },
    { ends: { signUpCorrected: "conflict" } },
  ),
  mutation(
    "idempotency-successes",
    "409 while the first call runs",
    whileUnderWay(() => busy(409)),
    { ends: { signUpAtOnceToo: "conflict" } },
  ),
  mutation(
    "idempotency-successes",
    "423 while the first call runs",
    whileUnderWay(() => busy(423)),
    { ends: { signUpAtOnceToo: "rejected" } },
  ),
  ...[425, 503].map((status) =>
    mutation(
      "idempotency-successes",
      `${status} once while the first call runs`,
      whileUnderWay((attempt) => (attempt === 1 ? busy(status) : undefined)),
    ),
  ),
  mutation("idempotency-successes", "500 after the card was issued", failingOnce("after", busy(500))),
  mutation(
    "idempotency-successes",
    "502 with an error page before the card is issued",
    failingOnce("before", {
      status: 502,
      headers: { "content-type": "text/html" },
      body: undefined,
      text: "<h1>Bad gateway</h1>",
    }),
  ),
  mutation(
    "idempotency-successes",
    "half a response after the card was issued",
    failingOnce("after", {
      status: 201,
      headers: json,
      body: undefined,
      text: '{"id":"card_1","publicUrl":',
    }),
  ),

  mutation(
    "idempotency-key-form",
    "at most 32 characters",
    refusing((request) => keyOf(request).length > 32, 400),
    {
      ends: {
        ...ending("rejected", ...signUps, "signUpInvalid"),
        archivedTemplate: "rejected",
        wrongKey: "rejected",
      },
    },
  ),
  mutation(
    "idempotency-key-form",
    "UUIDs only",
    refusing((request) => !/^[\da-f-]{36}$/.test(keyOf(request)), 422),
    {
      ends: { ...ending("validation", ...signUps), archivedTemplate: "validation", wrongKey: "validation" },
    },
  ),
  mutation(
    "idempotency-key-form",
    "only the first 40 characters count",
    keying((key) => key.slice(0, 40)),
  ),
  mutation(
    "idempotency-key-form",
    "keys in upper case are the same",
    keying((key) => key.toLowerCase()),
  ),

  mutation("another-key", "the card that the customer has", ({ service }) => ({
    async api(request, next) {
      const [id] = customerIn(service, request.body)?.cardIds ?? [];
      const isOurs = request.operation === "issueCard" && nameOf(request.body) !== togetherName;
      return isOurs && id !== undefined
        ? { status: 200, headers: json, body: service.cards.get(id) }
        : await next(request);
    },
  })),
  mutation(
    "another-key",
    "422 for a second card",
    ({ service }) => ({
      async api(request, next) {
        const isKnown = customerIn(service, request.body) !== undefined;
        const hasKey = stored(service).issuedUnderKey.has(keyOf(request));
        return request.operation === "issueCard" && isKnown && !hasKey ? busy(422) : await next(request);
      },
    }),
    { ends: { signUpUnderAnotherKey: "validation" } },
  ),

  mutation(
    "validation-order",
    "the fields are checked before the template",
    {
      async api(request, next) {
        const response = await next(request);
        return response.status === 404 && request.operation === "issueCard" ? busy(422) : response;
      },
    },
    { ends: { archivedTemplate: "validation" } },
  ),
  mutation(
    "validation-order",
    "the template is looked for before the API key",
    respondingTo(401, () => busy(404)),
    { ends: { wrongKey: "not-found" } },
  ),
  mutation("validation-order", "fields are checked before an idempotency key is looked for", {
    async api(request, next) {
      return phoneOf(request.body) === "12" ? busy(422) : await next(request);
    },
  }),

  ...[
    ["null members are 422", null],
    ["empty members are 422", ""],
  ].map(([name, value]) =>
    mutation(
      "blank-members",
      String(name),
      refusing(
        ({ body }) =>
          Object.values((body as { customer: Members }).customer).some((member) => member === value),
        422,
      ),
    ),
  ),
  mutation(
    "blank-members",
    "blank members are 400",
    refusing(({ body }) => JSON.stringify(body).includes('" "'), 400),
  ),

  ...([410, 403, 409, 422] as const).map((status) =>
    mutation(
      "archived-templates",
      `${status} for an archived template`,
      {
        async api(request, next) {
          return request.path.includes("tpl_archived") ? busy(status) : await next(request);
        },
      },
      {
        ends: {
          archivedTemplate: { 410: "rejected", 403: "forbidden", 409: "conflict", 422: "validation" }[status],
        },
      },
    ),
  ),
  mutation(
    "archived-templates",
    "cards are issued all the same",
    {
      api: (request, next) => next({ ...request, path: request.path.replace("tpl_archived", "tpl_club") }),
    },
    { ends: { archivedTemplate: "value" } },
  ),
  mutation(
    "archived-templates",
    "an error page for an archived template",
    responding(
      every,
      () => ({
        headers: { "content-type": "text/html" },
        text: "<!doctype html><title>Not found</title>",
      }),
      ({ status }) => status === 404,
    ),
  ),
];
