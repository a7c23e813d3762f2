/** Mutations of the history of a card and of the state of the consent. */
import {
  bare,
  changeResponses,
  consents,
  createProblem,
  lists,
  respondInstead,
  withMembers,
} from "./hooks.ts";
import {
  type ApiRequest,
  type ApiResponse,
  expectEnd,
  type Members,
  type Mutation,
  mutation,
} from "./mutation.ts";

const getItems = (body: unknown) => (body as { items: Members[] }).items;
/** Changes the list of operations. */
const changeList = (
  row: string,
  name: string,
  change: (items: Members[]) => unknown,
  end = "value",
): Mutation =>
  mutation(
    row,
    name,
    changeResponses(["listOperations"], ({ body }) => ({ body: change(getItems(body)) })),
    {
      ends: expectEnd(end, ...lists),
    },
  );
const changeOperations = (
  row: string,
  name: string,
  members: (item: Members) => Members,
  end = "value",
): Mutation =>
  changeList(row, name, (items) => ({ items: items.map((item) => withMembers(item, members(item))) }), end);

const getLimit = ({ path }: ApiRequest) => new URL(path, "http://service.test").searchParams.get("limit");

/** Changes the consent in both operations that return it. */
const changeConsent = (name: string, value: (isGiven: boolean) => unknown): Mutation =>
  mutation(
    "marketing-consent",
    name,
    changeResponses(["getConsent", "setConsent"], ({ body }) => ({
      body: withMembers(body, {
        marketingConsent: value((body as { marketingConsent: boolean }).marketingConsent),
      }),
    })),
    {
      ends: {
        ...expectEnd("invalid-response", ...consents),
        ...expectEnd("undefined", "giveConsent", "withdrawConsent"),
      },
    },
  );
const changeCustomerMember = (name: string, customer: unknown): Mutation =>
  mutation(
    "consent-customer",
    name,
    changeResponses(["getConsent", "setConsent"], ({ body }) => ({ body: withMembers(body, { customer }) })),
  );
const changePutResponse = (
  name: string,
  change: (response: ApiResponse) => Partial<ApiResponse>,
  end = "undefined",
): Mutation =>
  mutation("consent-put-response", name, changeResponses(["setConsent"], change), {
    ends: expectEnd(end, "giveConsent", "withdrawConsent"),
  });

export const historyMutations: readonly Mutation[] = [
  changeOperations("operation-members", "members of every kind beside ours", () => ({
    shop: { id: 1 },
    items: [],
    note: null,
  })),
  changeOperations("operation-members", "only id and type", () => ({
    change: undefined,
    balance: undefined,
    createdAt: undefined,
  })),
  changeOperations("operation-members", "numbers as text", ({ change, balance }) => ({
    change: `${change}`,
    balance: `${balance}`,
  })),
  changeOperations("operation-members", "numbers with a currency", ({ change }) => ({
    change: { points: change },
    balance: { before: 0, after: 1 },
  })),
  changeOperations("operation-members", "createdAt in seconds", () => ({ createdAt: 1_767_225_600 })),
  changeOperations("operation-members", "null for unknown members", () => ({
    change: null,
    balance: null,
    createdAt: null,
  })),
  changeOperations("operation-members", "numbers as ids", () => ({ id: 7 }), "invalid-response"),
  changeOperations("operation-members", "no ids", () => ({ id: undefined }), "invalid-response"),
  changeList(
    "operation-members",
    "null among the operations",
    (items) => ({ items: [...items, null] }),
    "invalid-response",
  ),

  changeOperations("operation-type", "numbers as types", () => ({ type: 3 }), "invalid-response"),
  changeOperations(
    "operation-type",
    "objects as types",
    ({ type }) => ({ type: { name: type } }),
    "invalid-response",
  ),
  changeOperations("operation-type", "no types", () => ({ type: undefined })),
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

  changeList("operation-list", "a bare list", (items) => items),
  ...["operations", "data", "results"].map((wrapper) =>
    changeList("operation-list", `the list in \`${wrapper}\``, (items) => ({ [wrapper]: items, next: null })),
  ),
  ...["passes", "history", "Items", "content"].map((wrapper) =>
    changeList(
      "operation-list",
      `the list in \`${wrapper}\``,
      (items) => ({ [wrapper]: items }),
      "invalid-response",
    ),
  ),
  changeList("operation-list", "with a cursor and a total", (items) => ({
    items,
    total: 5,
    page: { next: "abc" },
  })),
  changeList(
    "operation-list",
    "the list two levels down",
    (items) => ({ data: { items } }),
    "invalid-response",
  ),
  changeList("operation-list", "null instead of the list", () => ({ items: null }), "invalid-response"),
  changeList("operation-list", "null as the response", () => null, "invalid-response"),
  changeList(
    "operation-list",
    "operations by their ids",
    (items) => ({ items: Object.fromEntries(items.map((item) => [item["id"], item])) }),
    "invalid-response",
  ),
  mutation(
    "operation-list",
    "one operation on each line",
    changeResponses(["listOperations"], ({ body }) => ({
      text: getItems(body)
        .map((item) => JSON.stringify(item))
        .join("\n"),
    })),
    { ends: expectEnd("invalid-response", ...lists) },
  ),
  mutation(
    "operation-list",
    "204 when the list is empty, and always",
    changeResponses(["listOperations"], () => bare(204)),
    {
      ends: expectEnd("invalid-response", ...lists),
    },
  ),

  changeList("operation-limit", "at most one operation", (items) => ({ items: items.slice(0, 1) })),
  changeList("operation-limit", "at most three operations", (items) => ({ items: items.slice(0, 3) })),
  mutation("operation-limit", "the limit is ignored", {
    api: (request, next) => next({ ...request, path: request.path.replace(/\?limit=\d+/, "") }),
  }),
  mutation(
    "operation-limit",
    "a limit below ten is 422",
    respondInstead(["listOperations"], (request) =>
      getLimit(request) === "2" ? createProblem(422) : undefined,
    ),
    {
      ends: { listTwoOperations: "validation" },
    },
  ),
  mutation(
    "operation-limit",
    "a limit is required",
    respondInstead(["listOperations"], (request) =>
      getLimit(request) === null ? createProblem(400) : undefined,
    ),
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
    { unexpectedData: ["consent.changed"] },
  ),

  changeCustomerMember("the id instead of the customer", "cus_1"),
  changeCustomerMember("null instead of the customer", null),
  changeCustomerMember("no customer", undefined),
  changeCustomerMember("a list of customers", [{ id: "cus_1" }]),
  changeCustomerMember("the customer deep within", { data: { attributes: { id: 1, name: null } } }),

  changeConsent("true and false as text", String),
  changeConsent("1 and 0", Number),
  changeConsent("given and withdrawn", (isGiven) => (isGiven ? "given" : "withdrawn")),
  changeConsent("an object with the time", (isGiven) => ({ given: isGiven, at: "2026-01-01T00:00:00Z" })),
  changeConsent("null when it was never given", (isGiven) => (isGiven ? { version: "2026" } : null)),
  changeConsent("a list of channels", (isGiven) => (isGiven ? ["email", "sms"] : [])),
  changeConsent("absent", () => undefined),
  ...(["given", 1, null, { email: true }] as const).map((value) =>
    mutation("marketing-consent", `${JSON.stringify(value)} in events`, {
      event: (event) =>
        event.type === "consent.changed"
          ? [{ ...event, data: { ...event.data, marketingConsent: value } }]
          : [event],
    }),
  ),

  changePutResponse("204", () => bare(204)),
  changePutResponse("200 without a body", () => bare(200)),
  changePutResponse("202, and done later", () => ({ status: 202, body: { status: "queued" } })),
  changePutResponse("OK as text", () => ({ headers: { "content-type": "text/plain" }, text: "OK" })),
  changePutResponse("an empty object", () => ({ body: {} })),
  changePutResponse("true", () => ({ body: true })),
  changePutResponse("the card", ({ body }) => ({ body: { id: "card_1", customer: body } })),
  changePutResponse("201 with the state", () => ({ status: 201 }), "value"),
  changePutResponse(
    "a redirect to the state",
    () => ({ status: 303, headers: { location: "/api/v1/passes/1/consent" }, body: undefined }),
    "invalid-response",
  ),

  mutation(
    "consent-versions",
    "a version is required",
    respondInstead(["setConsent"], ({ body }) =>
      "version" in (body as Members) ? undefined : createProblem(422),
    ),
    {
      ends: { withdrawConsent: "validation" },
    },
  ),
  mutation(
    "consent-versions",
    "409 for a version that is not the newest",
    respondInstead(["setConsent"], ({ body }) =>
      (body as Members)["version"] === "2026-02" ? createProblem(409) : undefined,
    ),
    {
      ends: { giveConsent: "conflict" },
    },
  ),
  mutation(
    "consent-versions",
    "the state contains the versions",
    changeResponses(["getConsent", "setConsent"], ({ body }) => ({
      body: withMembers(body, { privacy: { version: "2026-01" }, marketing: { version: null } }),
    })),
  ),
];
