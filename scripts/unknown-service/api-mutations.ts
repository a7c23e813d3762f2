/** Services that decided otherwise about history, consent, errors and API keys. */
import { problem } from "./card-mutations.ts";
import {
  type ApiRequest,
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
  steps,
  withMembers,
} from "./mutation.ts";

const html = { "content-type": "text/html; charset=utf-8" };
const problemOf = (status: number): ApiResponse => ({
  status,
  headers: problem,
  body: { type: "about:blank", title: "No", status, detail: "Please call us." },
});
const bare = (status: number): Partial<ApiResponse> => ({ status, body: undefined });
const itemsOf = (body: unknown) => (body as { items: Members[] }).items;
const lists: readonly Step[] = ["listOperations", "listTwoOperations"];

/** The list of operations otherwise. */
const listing = (row: string, name: string, change: (items: Members[]) => unknown, end = "value"): Mutation =>
  mutation(
    row,
    name,
    responding(["listOperations"], ({ body }) => ({ body: change(itemsOf(body)) })),
    {
      ends: ending(end, ...lists),
    },
  );
const eachOperation = (
  row: string,
  name: string,
  members: (item: Members) => Members,
  end = "value",
): Mutation =>
  listing(row, name, (items) => ({ items: items.map((item) => withMembers(item, members(item))) }), end);

/** What the service does with the requests of some operations instead of its work. */
const instead = (
  operations: readonly Operation[],
  response: (request: ApiRequest) => ApiResponse | undefined,
): Hooks => ({
  async api(request, next) {
    const isOurs = request.operation !== undefined && operations.includes(request.operation);
    return (isOurs ? response(request) : undefined) ?? (await next(request));
  },
});
const limitOf = ({ path }: ApiRequest) => new URL(path, "http://service.test").searchParams.get("limit");

const consents: readonly Step[] = ["getConsent", "getGivenConsent"];
/** The consent written otherwise, in both operations that tell it. */
const consenting = (name: string, value: (isGiven: boolean) => unknown): Mutation =>
  mutation(
    "marketing-consent",
    name,
    responding(["getConsent", "setConsent"], ({ body }) => ({
      body: withMembers(body, {
        marketingConsent: value((body as { marketingConsent: boolean }).marketingConsent),
      }),
    })),
    {
      ends: {
        ...ending("invalid-response", ...consents),
        ...ending("undefined", "giveConsent", "withdrawConsent"),
      },
    },
  );
const holding = (name: string, customer: unknown): Mutation =>
  mutation(
    "consent-customer",
    name,
    responding(["getConsent", "setConsent"], ({ body }) => ({ body: withMembers(body, { customer }) })),
  );
const putting = (
  name: string,
  change: (response: ApiResponse) => Partial<ApiResponse>,
  end = "undefined",
): Mutation =>
  mutation("consent-put-answer", name, responding(["setConsent"], change), {
    ends: ending(end, "giveConsent", "withdrawConsent"),
  });

export const historyMutations: readonly Mutation[] = [
  eachOperation("operation-members", "members of every kind beside ours", () => ({
    shop: { id: 1 },
    items: [],
    note: null,
  })),
  eachOperation("operation-members", "only id and type", () => ({
    change: undefined,
    balance: undefined,
    createdAt: undefined,
  })),
  eachOperation("operation-members", "numbers as text", ({ change, balance }) => ({
    change: `${change}`,
    balance: `${balance}`,
  })),
  eachOperation("operation-members", "numbers with a currency", ({ change }) => ({
    change: { points: change },
    balance: { before: 0, after: 1 },
  })),
  eachOperation("operation-members", "createdAt in seconds", () => ({ createdAt: 1_767_225_600 })),
  eachOperation("operation-members", "null for what is not told", () => ({
    change: null,
    balance: null,
    createdAt: null,
  })),
  eachOperation("operation-members", "numbers as ids", () => ({ id: 7 }), "invalid-response"),
  eachOperation("operation-members", "no ids", () => ({ id: undefined }), "invalid-response"),
  listing(
    "operation-members",
    "null among the operations",
    (items) => ({ items: [...items, null] }),
    "invalid-response",
  ),

  eachOperation("operation-type", "numbers as types", () => ({ type: 3 }), "invalid-response"),
  eachOperation(
    "operation-type",
    "objects as types",
    ({ type }) => ({ type: { name: type } }),
    "invalid-response",
  ),
  eachOperation("operation-type", "no types", () => ({ type: undefined })),
  mutation("operation-type", "types of another set in events", {
    event: (event) =>
      event.type === "balance.changed"
        ? [
            {
              ...event,
              data: {
                ...event.data,
                operation: { ...(event.data["operation"] as Members), type: "TRANSFER" },
              },
            },
          ]
        : [event],
  }),

  listing("operation-list", "a bare list", (items) => items),
  ...["operations", "data", "results"].map((wrapper) =>
    listing("operation-list", `the list in \`${wrapper}\``, (items) => ({ [wrapper]: items, next: null })),
  ),
  ...["passes", "history", "Items", "content"].map((wrapper) =>
    listing(
      "operation-list",
      `the list in \`${wrapper}\``,
      (items) => ({ [wrapper]: items }),
      "invalid-response",
    ),
  ),
  listing("operation-list", "with a cursor and a total", (items) => ({
    items,
    total: 5,
    page: { next: "abc" },
  })),
  listing("operation-list", "the list two levels down", (items) => ({ data: { items } }), "invalid-response"),
  listing("operation-list", "null instead of the list", () => ({ items: null }), "invalid-response"),
  listing("operation-list", "null as the response", () => null, "invalid-response"),
  listing(
    "operation-list",
    "operations by their ids",
    (items) => ({ items: Object.fromEntries(items.map((item) => [item["id"], item])) }),
    "invalid-response",
  ),
  mutation(
    "operation-list",
    "one operation on each line",
    responding(["listOperations"], ({ body }) => ({
      text: itemsOf(body)
        .map((item) => JSON.stringify(item))
        .join("\n"),
    })),
    { ends: ending("invalid-response", ...lists) },
  ),
  mutation(
    "operation-list",
    "204 when the list is empty, and always",
    responding(["listOperations"], () => bare(204)),
    {
      ends: ending("invalid-response", ...lists),
    },
  ),

  listing("operation-limit", "at most one operation", (items) => ({ items: items.slice(0, 1) })),
  listing("operation-limit", "at most three operations", (items) => ({ items: items.slice(0, 3) })),
  mutation("operation-limit", "the limit is ignored", {
    api: (request, next) => next({ ...request, path: request.path.replace(/\?limit=\d+/, "") }),
  }),
  mutation(
    "operation-limit",
    "a limit below ten is 422",
    instead(["listOperations"], (request) => (limitOf(request) === "2" ? problemOf(422) : undefined)),
    {
      ends: { listTwoOperations: "validation" },
    },
  ),
  mutation(
    "operation-limit",
    "a limit is required",
    instead(["listOperations"], (request) => (limitOf(request) === null ? problemOf(400) : undefined)),
    {
      ends: { listOperations: "rejected" },
    },
  ),

  mutation("consent-owner", "consent belongs to a card", {
    event: (event) =>
      event.type === "consent.changed"
        ? [
            {
              ...event,
              data: { ...event.data, passIds: ((event.data["passIds"] ?? []) as unknown[]).slice(0, 1) },
            },
          ]
        : [event],
  }),
  mutation("consent-owner", "events of consent name no cards", {
    event: (event) =>
      event.type === "consent.changed" ? [{ ...event, data: { ...event.data, passIds: [] } }] : [event],
  }),
  mutation(
    "consent-owner",
    "events of consent have one card instead of a list",
    {
      event: (event) => {
        if (event.type !== "consent.changed") return [event];
        const { passIds, ...data } = event.data;
        return [{ ...event, data: { ...data, passId: (passIds as unknown[])[0] ?? "card_1" } }];
      },
    },
    { unknown: ["consent.changed"] },
  ),

  holding("the id instead of the customer", "cus_1"),
  holding("null instead of the customer", null),
  holding("no customer", undefined),
  holding("a list of customers", [{ id: "cus_1" }]),
  holding("the customer deep within", { data: { attributes: { id: 1, name: null } } }),

  consenting("true and false as text", String),
  consenting("1 and 0", Number),
  consenting("given and withdrawn", (isGiven) => (isGiven ? "given" : "withdrawn")),
  consenting("an object with the time", (isGiven) => ({ given: isGiven, at: "2026-01-01T00:00:00Z" })),
  consenting("null when it was never given", (isGiven) => (isGiven ? { version: "2026" } : null)),
  consenting("a list of channels", (isGiven) => (isGiven ? ["email", "sms"] : [])),
  consenting("absent", () => undefined),
  ...(["given", 1, null, { email: true }] as const).map((value) =>
    mutation("marketing-consent", `${JSON.stringify(value)} in events`, {
      event: (event) =>
        event.type === "consent.changed"
          ? [{ ...event, data: { ...event.data, marketingConsent: value } }]
          : [event],
    }),
  ),

  putting("204", () => bare(204)),
  putting("200 without a body", () => bare(200)),
  putting("202, and done later", () => ({ status: 202, body: { status: "queued" } })),
  putting("OK as text", () => ({ headers: { "content-type": "text/plain" }, text: "OK" })),
  putting("an empty object", () => ({ body: {} })),
  putting("true", () => ({ body: true })),
  putting("the card", ({ body }) => ({ body: { id: "card_1", customer: body } })),
  putting("201 with the state", () => ({ status: 201 }), "value"),
  putting(
    "a redirect to the state",
    () => ({ status: 303, headers: { location: "/api/v1/passes/1/consent" }, body: undefined }),
    "invalid-response",
  ),

  mutation(
    "consent-versions",
    "a version is required",
    instead(["setConsent"], ({ body }) => ("version" in (body as Members) ? undefined : problemOf(422))),
    {
      ends: { withdrawConsent: "validation" },
    },
  ),
  mutation(
    "consent-versions",
    "409 for a version that is not the newest",
    instead(["setConsent"], ({ body }) =>
      (body as Members)["version"] === "2026-02" ? problemOf(409) : undefined,
    ),
    {
      ends: { giveConsent: "conflict" },
    },
  ),
  mutation(
    "consent-versions",
    "the state tells the versions",
    responding(["getConsent", "setConsent"], ({ body }) => ({
      body: withMembers(body, { privacy: { version: "2026-01" }, marketing: { version: null } }),
    })),
  ),
];

/** Every error of one status otherwise. */
const erring = (
  row: string,
  name: string,
  status: number,
  change: (response: ApiResponse) => Partial<ApiResponse>,
  ends: Partial<Record<Step, string>>,
) => mutation(row, name, respondingTo(status, change), { ends });
const isError = ({ status }: ApiResponse) => status >= 400;
const anyError = (name: string, change: (response: ApiResponse) => Partial<ApiResponse>): Mutation =>
  mutation("problem-type", name, responding(every, change, isError));

/** Every first request of each operation meets this response. */
const onceEach = (response: ApiResponse) => (): Hooks => {
  const met = new Set<string>();
  return instead(every, ({ operation = "", headers }) => {
    const name = `${operation} ${headers.get("idempotency-key")}`;
    if (met.has(name)) return undefined;
    met.add(name);
    return response;
  });
};
const limited = (retryAfter: string | undefined, status = 429): ApiResponse => ({
  ...problemOf(status),
  headers: { ...problem, ...(retryAfter !== undefined && { "retry-after": retryAfter }) },
});

const everyStep = (end: string): Partial<Record<Step, string>> => {
  const { links: _, ...rest } = ending(end, ...(Object.keys(steps) as Step[]));
  return rest;
};
const announcing = (name: string, headers: Record<string, string>): Mutation =>
  mutation(
    "deprecation",
    name,
    responding(every, (response) => ({ headers: { ...response.headers, ...headers } })),
  );
const forbiddenTo = (
  name: string,
  operations: readonly Operation[],
  status: number,
  ends: Partial<Record<Step, string>>,
): Mutation =>
  mutation(
    "key-kinds",
    name,
    instead(operations, () => problemOf(status)),
    { ends },
  );

export const errorMutations: readonly Mutation[] = [
  anyError("types with addresses", ({ body }) => ({
    body: withMembers(body, { type: "https://errors.cards.test/no", code: "E42" }),
  })),
  anyError("error pages", () => ({ headers: html, text: "<html><body>Oops</body></html>" })),
  anyError("no bodies", ({ status }) => bare(status)),
  anyError("a list of errors", () => ({ body: [{ message: "no" }] })),
  anyError("members of other kinds", () => ({
    body: { type: 7, title: null, status: "no", detail: { text: "no" }, errors: "all" },
  })),
  anyError("errors by member", () => ({
    body: { title: "No", errors: { "customer.phone": ["is not valid"] } },
  })),
  anyError("half a body", () => ({ text: '{"type":"about:blank","ti' })),
  anyError("a body of a megabyte", ({ body }) => ({
    body: withMembers(body, { detail: "x".repeat(2 ** 20) }),
  })),
  anyError("XML", () => ({
    headers: { "content-type": "application/xml" },
    text: "<?xml version='1.0'?><error/>",
  })),

  erring("unauthorized", "403", 401, () => problemOf(403), { wrongKey: "forbidden" }),
  erring("unauthorized", "404", 401, () => problemOf(404), { wrongKey: "not-found" }),
  erring("unauthorized", "400", 401, () => problemOf(400), { wrongKey: "rejected" }),
  erring(
    "unauthorized",
    "a redirect to a login",
    401,
    () => ({ status: 302, headers: { location: "/login" }, body: undefined }),
    { wrongKey: "invalid-response" },
  ),
  erring(
    "unauthorized",
    "a login page with 200",
    401,
    () => ({ status: 200, headers: html, text: "<form>" }),
    { wrongKey: "invalid-response" },
  ),

  ...([410, 403, 400, 422] as const).map((status) =>
    mutation(
      "card-not-found",
      String(status),
      instead(["getCard"], ({ path }) => (path.includes("card_of_nobody") ? problemOf(status) : undefined)),
      {
        ends: {
          unknownCard: { 410: "rejected", 403: "forbidden", 400: "rejected", 422: "validation" }[status],
        },
      },
    ),
  ),
  ...([null, {}, [], { card: null }] as const).map((body) =>
    mutation(
      "card-not-found",
      `200 with ${JSON.stringify(body)}`,
      instead(["getCard"], ({ path }) =>
        path.includes("card_of_nobody") ? { status: 200, headers: {}, body } : undefined,
      ),
      { ends: { unknownCard: "invalid-response" } },
    ),
  ),

  erring("unknown-path", "an error page", 404, () => ({ headers: html, text: "<h1>404</h1>" }), {}),
  erring("unknown-path", "410 without a body", 404, () => bare(410), {
    unknownCard: "rejected",
    archivedTemplate: "rejected",
  }),
  erring(
    "unknown-path",
    "405 with Allow",
    404,
    () => ({ status: 405, headers: { allow: "GET" }, body: undefined }),
    { unknownCard: "rejected", archivedTemplate: "rejected" },
  ),

  mutation(
    "bad-request",
    "400 for what is 422",
    respondingTo(422, () => problemOf(400)),
    { ends: { signUpInvalid: "rejected" } },
  ),
  mutation(
    "bad-request",
    "406 for what is 422",
    respondingTo(422, () => bare(406)),
    { ends: { signUpInvalid: "rejected" } },
  ),

  mutation(
    "unsupported-media-type",
    "415 unless a charset is named",
    instead(["issueCard", "setConsent"], ({ headers }) =>
      headers.get("content-type")?.includes("charset") ? undefined : problemOf(415),
    ),
    {
      ends: { ...ending("rejected", ...signUps, "signUpInvalid", "archivedTemplate", "wrongKey") },
    },
  ),
  ...["text/plain", "application/vnd.cards+json", "text/html"].map((type) =>
    mutation(
      "unsupported-media-type",
      `responses as ${type}`,
      responding(every, () => ({ headers: { "content-type": type } })),
    ),
  ),

  mutation(
    "body-too-large",
    "413 above 100 bytes",
    instead(["issueCard"], ({ body }) => (JSON.stringify(body).length > 100 ? problemOf(413) : undefined)),
    {
      ends: {
        signUp: "rejected",
        signUpAgain: "rejected",
        signUpByEmail: "rejected",
        signUpAtOnce: "rejected",
        signUpAtOnceToo: "rejected",
      },
    },
  ),
  mutation(
    "body-too-large",
    "431 for long headers",
    instead(["issueCard"], ({ headers }) =>
      (headers.get("idempotency-key") ?? "").length > 40 ? problemOf(431) : undefined,
    ),
    {
      ends: ending("rejected", ...signUps, "signUpInvalid", "archivedTemplate", "wrongKey"),
    },
  ),

  ...(
    [
      ["without Retry-After", undefined],
      ["Retry-After 0", "0"],
      ["Retry-After in the past", "Thu, 01 Jan 2026 00:00:00 GMT"],
      ["Retry-After that says nothing", "soon"],
      ["a negative Retry-After", "-1"],
    ] as const
  ).map(([name, value]) => mutation("rate-limit", `429 once, ${name}`, onceEach(limited(value)))),
  mutation("rate-limit", "503 once instead of 429", onceEach(limited("0", 503))),
  mutation(
    "rate-limit",
    "429 always",
    instead(every, () => limited("0")),
    { ends: everyStep("rate-limited") },
  ),
  mutation(
    "rate-limit",
    "figures of the limit in headers",
    responding(every, (response) => ({
      headers: {
        ...response.headers,
        ratelimit: '"default";r=0;t=1',
        "x-ratelimit-remaining": "0",
        "retry-after": "3600",
      },
    })),
  ),

  forbiddenTo(
    "a Website key may not change consent",
    ["setConsent"],
    403,
    ending("forbidden", "giveConsent", "withdrawConsent"),
  ),
  forbiddenTo("a Website key may not read history", ["listOperations"], 403, ending("forbidden", ...lists)),
  forbiddenTo(
    "a Website key reads nothing",
    ["getCard", "getConsent", "listOperations"],
    404,
    ending("not-found", "getCard", "unknownCard", ...consents, ...lists),
  ),

  announcing("a Deprecation and a Sunset header", {
    deprecation: "@1767225600",
    sunset: "Thu, 01 Jan 2026 00:00:00 GMT",
    link: '</v2>; rel="successor-version"',
  }),
  announcing("headers that say nothing", {
    deprecation: "yes, soon",
    sunset: "tomorrow",
    warning: '299 - "old"',
  }),
  mutation(
    "deprecation",
    "410 for the whole version",
    instead(every, () => problemOf(410)),
    { ends: everyStep("rejected") },
  ),
];
