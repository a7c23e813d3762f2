/** Errors, rate limits, rights of keys and announcements that differ from the assumptions. */
import {
  type ApiRequest,
  type ApiResponse,
  allSteps,
  type Case,
  type CaseTable,
  consentChanges,
  consents,
  issuing,
  lists,
  type Members,
} from "../case.ts";
import {
  allEnd,
  allOperations,
  bare,
  each,
  ends,
  getKey,
  html,
  instead,
  problem,
  redirect,
  refuse,
  responses,
  responsesWith,
} from "../changes.ts";

/** Changes every error. */
const errors = (change: Parameters<typeof responses>[1]): Case =>
  responses(allOperations, change, ({ status }) => status >= 400);
const errorMembers = (members: Members): Case =>
  errors(({ body }) => ({ body: { ...(body as Members), ...members } }));

/** The first request of each operation gets this response. */
const firstResponse = (response: ApiResponse): Case =>
  instead(allOperations, (request, { count }) =>
    count(`${request.operation} ${getKey(request)}`) === 0 ? response : undefined,
  );
/** Adds headers to every successful response. */
const addHeaders = (more: Record<string, string>): Case =>
  responses(allOperations, ({ headers }) => ({ headers: { ...headers, ...more } }));
const limited = (retryAfter: string) => problem(429, { "retry-after": retryAfter });
const isUnknownCard = ({ path }: ApiRequest) => path.includes("card_of_nobody");

export const errorCases: CaseTable = {
  "problem-type": {
    "types with addresses": errorMembers({ type: "https://errors.cards.test/no", code: "E42" }),
    "error pages": errors({ headers: html, text: "<html><body>Oops</body></html>" }),
    "no bodies": errors({ body: undefined }),
    "a list of errors": errors({ body: [{ message: "no" }] }),
    "members of other kinds": errors({
      body: { type: 7, title: null, status: "no", detail: { text: "no" }, errors: "all" },
    }),
    "errors by member": errors({ body: { title: "No", errors: { "customer.phone": ["is not valid"] } } }),
    "half a body": errors({ text: '{"type":"about:blank","ti' }),
    "a body of a megabyte": errorMembers({ detail: "x".repeat(2 ** 20) }),
    XML: errors({ headers: { "content-type": "application/xml" }, text: "<?xml version='1.0'?><error/>" }),
  },
  unauthorized: {
    "403": ends("forbidden", "wrongKey", responsesWith(401, problem(403))),
    "404": ends("not-found", "wrongKey", responsesWith(401, problem(404))),
    "400": ends("rejected", "wrongKey", responsesWith(401, problem(400))),
    ...allEnd("invalid-response", "wrongKey", {
      "a redirect to a login": responsesWith(401, { ...redirect("/login"), status: 302 }),
      "a login page with 200": responsesWith(401, { status: 200, headers: html, text: "<form>" }),
    }),
  },
  "key-kinds": {
    "a Website key may not change consent": refuse("setConsent", 403, consentChanges),
    "a Website key may not read history": refuse("listOperations", 403, lists),
    "a Website key reads nothing": refuse(["getCard", "getConsent", "listOperations"], 404, [
      "getCard",
      ...consents,
      ...lists,
    ]),
  },
  "card-not-found": {
    "410": refuse("getCard", 410, "unknownCard", isUnknownCard),
    "403": refuse("getCard", 403, "unknownCard", isUnknownCard),
    "400": refuse("getCard", 400, "unknownCard", isUnknownCard),
    "422": refuse("getCard", 422, "unknownCard", isUnknownCard),
    ...allEnd(
      "invalid-response",
      "unknownCard",
      each([null, {}, [], { card: null }], (body) => [
        `200 with ${JSON.stringify(body)}`,
        instead("getCard", (request) =>
          isUnknownCard(request) ? { status: 200, headers: {}, body } : undefined,
        ),
      ]),
    ),
  },
  "unknown-path": {
    "an error page": responsesWith(404, { headers: html, text: "<h1>404</h1>" }),
    ...allEnd("rejected", ["unknownCard", "archivedTemplate"], {
      "410 without a body": responsesWith(404, bare(410)),
      "405 with Allow": responsesWith(404, { ...bare(405), headers: { allow: "GET" } }),
    }),
  },
  "bad-request": allEnd("rejected", "signUpInvalid", {
    "400 for what is 422": responsesWith(422, problem(400)),
    "406 for what is 422": responsesWith(422, bare(406)),
  }),
  "unsupported-media-type": {
    "415 unless a charset is named": refuse(
      ["issueCard", "setConsent"],
      415,
      issuing,
      ({ headers }) => !headers.get("content-type")?.includes("charset"),
    ),
    ...each(["text/plain", "application/vnd.cards+json", "text/html"], (type) => [
      `responses as ${type}`,
      responses(allOperations, { headers: { "content-type": type } }),
    ]),
  },
  "body-too-large": {
    "413 above 100 bytes": refuse(
      "issueCard",
      413,
      ["signUp", "signUpAgain", "signUpByEmail", "signUpAtOnce", "signUpAtOnceToo"],
      ({ body }) => JSON.stringify(body).length > 100,
    ),
    "431 for long headers": refuse("issueCard", 431, issuing, (request) => getKey(request).length > 40),
  },
  "rate-limit": {
    "429 once, without Retry-After": firstResponse(problem(429)),
    "429 once, Retry-After 0": firstResponse(limited("0")),
    "429 once, Retry-After in the past": firstResponse(limited("Thu, 01 Jan 2026 00:00:00 GMT")),
    "429 once, Retry-After that says nothing": firstResponse(limited("soon")),
    "429 once, a negative Retry-After": firstResponse(limited("-1")),
    "503 once instead of 429": firstResponse({ ...limited("0"), status: 503 }),
    "429 always": ends(
      "rate-limited",
      allSteps,
      instead(allOperations, () => limited("0")),
    ),
    "figures of the limit in headers": addHeaders({
      ratelimit: '"default";r=0;t=1',
      "x-ratelimit-remaining": "0",
      "retry-after": "3600",
    }),
  },
  deprecation: {
    "a Deprecation and a Sunset header": addHeaders({
      deprecation: "@1767225600",
      sunset: "Thu, 01 Jan 2026 00:00:00 GMT",
      link: '</v2>; rel="successor-version"',
    }),
    "headers that say nothing": addHeaders({
      deprecation: "yes, soon",
      sunset: "tomorrow",
      warning: '299 - "old"',
    }),
    "410 for the whole version": refuse(allOperations, 410, allSteps),
  },
};
