/** Mutations of errors: bodies, statuses, rate limits, key kinds, deprecation headers. */
import {
  allOperations,
  bare,
  changeResponses,
  changeResponsesWithStatus,
  consents,
  createProblem,
  html,
  lists,
  problem,
  respondInstead,
  withMembers,
} from "./hooks.ts";
import {
  type ApiResponse,
  expectEnd,
  type Hooks,
  type Mutation,
  mutation,
  type Operation,
  type Step,
  signUps,
  steps,
} from "./mutation.ts";

/** Changes every error with one status. */
const changeProblem = (
  row: string,
  name: string,
  status: number,
  change: (response: ApiResponse) => Partial<ApiResponse>,
  ends: Partial<Record<Step, string>>,
) => mutation(row, name, changeResponsesWithStatus(status, change), { ends });
const isError = ({ status }: ApiResponse) => status >= 400;
const changeErrors = (name: string, change: (response: ApiResponse) => Partial<ApiResponse>): Mutation =>
  mutation("problem-type", name, changeResponses(allOperations, change, isError));

/** The first request of each operation gets this response. */
const respondOnce = (response: ApiResponse) => (): Hooks => {
  const met = new Set<string>();
  return respondInstead(allOperations, ({ operation = "", headers }) => {
    const name = `${operation} ${headers.get("idempotency-key")}`;
    if (met.has(name)) return undefined;
    met.add(name);
    return response;
  });
};
const rateLimited = (retryAfter: string | undefined, status = 429): ApiResponse => ({
  ...createProblem(status),
  headers: { ...problem, ...(retryAfter !== undefined && { "retry-after": retryAfter }) },
});

const everyStep = (end: string): Partial<Record<Step, string>> => {
  const { links: _, ...rest } = expectEnd(end, ...(Object.keys(steps) as Step[]));
  return rest;
};
const addHeaders = (name: string, headers: Record<string, string>): Mutation =>
  mutation(
    "deprecation",
    name,
    changeResponses(allOperations, (response) => ({ headers: { ...response.headers, ...headers } })),
  );
const forbid = (
  name: string,
  operations: readonly Operation[],
  status: number,
  ends: Partial<Record<Step, string>>,
): Mutation =>
  mutation(
    "key-kinds",
    name,
    respondInstead(operations, () => createProblem(status)),
    { ends },
  );

export const errorMutations: readonly Mutation[] = [
  changeErrors("types with addresses", ({ body }) => ({
    body: withMembers(body, { type: "https://errors.cards.test/no", code: "E42" }),
  })),
  changeErrors("error pages", () => ({ headers: html, text: "<html><body>Oops</body></html>" })),
  changeErrors("no bodies", ({ status }) => bare(status)),
  changeErrors("a list of errors", () => ({ body: [{ message: "no" }] })),
  changeErrors("members of other kinds", () => ({
    body: { type: 7, title: null, status: "no", detail: { text: "no" }, errors: "all" },
  })),
  changeErrors("errors by member", () => ({
    body: { title: "No", errors: { "customer.phone": ["is not valid"] } },
  })),
  changeErrors("half a body", () => ({ text: '{"type":"about:blank","ti' })),
  changeErrors("a body of a megabyte", ({ body }) => ({
    body: withMembers(body, { detail: "x".repeat(2 ** 20) }),
  })),
  changeErrors("XML", () => ({
    headers: { "content-type": "application/xml" },
    text: "<?xml version='1.0'?><error/>",
  })),

  changeProblem("unauthorized", "403", 401, () => createProblem(403), { wrongKey: "forbidden" }),
  changeProblem("unauthorized", "404", 401, () => createProblem(404), { wrongKey: "not-found" }),
  changeProblem("unauthorized", "400", 401, () => createProblem(400), { wrongKey: "rejected" }),
  changeProblem(
    "unauthorized",
    "a redirect to a login",
    401,
    () => ({ status: 302, headers: { location: "/login" }, body: undefined }),
    { wrongKey: "invalid-response" },
  ),
  changeProblem(
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
      respondInstead(["getCard"], ({ path }) =>
        path.includes("card_of_nobody") ? createProblem(status) : undefined,
      ),
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
      respondInstead(["getCard"], ({ path }) =>
        path.includes("card_of_nobody") ? { status: 200, headers: {}, body } : undefined,
      ),
      { ends: { unknownCard: "invalid-response" } },
    ),
  ),

  changeProblem("unknown-path", "an error page", 404, () => ({ headers: html, text: "<h1>404</h1>" }), {}),
  changeProblem("unknown-path", "410 without a body", 404, () => bare(410), {
    unknownCard: "rejected",
    archivedTemplate: "rejected",
  }),
  changeProblem(
    "unknown-path",
    "405 with Allow",
    404,
    () => ({ status: 405, headers: { allow: "GET" }, body: undefined }),
    { unknownCard: "rejected", archivedTemplate: "rejected" },
  ),

  mutation(
    "bad-request",
    "400 for what is 422",
    changeResponsesWithStatus(422, () => createProblem(400)),
    { ends: { signUpInvalid: "rejected" } },
  ),
  mutation(
    "bad-request",
    "406 for what is 422",
    changeResponsesWithStatus(422, () => bare(406)),
    { ends: { signUpInvalid: "rejected" } },
  ),

  mutation(
    "unsupported-media-type",
    "415 unless a charset is named",
    respondInstead(["issueCard", "setConsent"], ({ headers }) =>
      headers.get("content-type")?.includes("charset") ? undefined : createProblem(415),
    ),
    {
      ends: { ...expectEnd("rejected", ...signUps, "signUpInvalid", "archivedTemplate", "wrongKey") },
    },
  ),
  ...["text/plain", "application/vnd.cards+json", "text/html"].map((type) =>
    mutation(
      "unsupported-media-type",
      `responses as ${type}`,
      changeResponses(allOperations, () => ({ headers: { "content-type": type } })),
    ),
  ),

  mutation(
    "body-too-large",
    "413 above 100 bytes",
    respondInstead(["issueCard"], ({ body }) =>
      JSON.stringify(body).length > 100 ? createProblem(413) : undefined,
    ),
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
    respondInstead(["issueCard"], ({ headers }) =>
      (headers.get("idempotency-key") ?? "").length > 40 ? createProblem(431) : undefined,
    ),
    {
      ends: expectEnd("rejected", ...signUps, "signUpInvalid", "archivedTemplate", "wrongKey"),
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
  ).map(([name, value]) => mutation("rate-limit", `429 once, ${name}`, respondOnce(rateLimited(value)))),
  mutation("rate-limit", "503 once instead of 429", respondOnce(rateLimited("0", 503))),
  mutation(
    "rate-limit",
    "429 always",
    respondInstead(allOperations, () => rateLimited("0")),
    { ends: everyStep("rate-limited") },
  ),
  mutation(
    "rate-limit",
    "figures of the limit in headers",
    changeResponses(allOperations, (response) => ({
      headers: {
        ...response.headers,
        ratelimit: '"default";r=0;t=1',
        "x-ratelimit-remaining": "0",
        "retry-after": "3600",
      },
    })),
  ),

  forbid(
    "a Website key may not change consent",
    ["setConsent"],
    403,
    expectEnd("forbidden", "giveConsent", "withdrawConsent"),
  ),
  forbid("a Website key may not read history", ["listOperations"], 403, expectEnd("forbidden", ...lists)),
  forbid(
    "a Website key reads nothing",
    ["getCard", "getConsent", "listOperations"],
    404,
    expectEnd("not-found", "getCard", "unknownCard", ...consents, ...lists),
  ),

  addHeaders("a Deprecation and a Sunset header", {
    deprecation: "@1767225600",
    sunset: "Thu, 01 Jan 2026 00:00:00 GMT",
    link: '</v2>; rel="successor-version"',
  }),
  addHeaders("headers that say nothing", {
    deprecation: "yes, soon",
    sunset: "tomorrow",
    warning: '299 - "old"',
  }),
  mutation(
    "deprecation",
    "410 for the whole version",
    respondInstead(allOperations, () => createProblem(410)),
    { ends: everyStep("rejected") },
  ),
];
