/** Customers, templates, validation and idempotency keys that differ from the assumptions. */
import { once } from "node:events";
import type { MockService } from "../../../packages/mock-server/src/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  type Case,
  type CaseTable,
  issuing,
  type Members,
  type Run,
  replays,
  stored,
  togetherName,
} from "../case.ts";
import {
  allEnd,
  bare,
  bodyMembers,
  cards,
  each,
  ends,
  getCustomer,
  getKey,
  html,
  instead,
  json,
  problem,
  redirect,
  refuse,
  requests,
  responses,
  responsesWith,
  several,
} from "../changes.ts";

const getPhone = (request: ApiRequest) => String(getCustomer(request)["phone"] ?? "");
const isInvalid = (request: ApiRequest) => getPhone(request) === "12";
const isTogether = (request: ApiRequest) => getCustomer(request)["name"] === togetherName;
const isArchived = ({ path }: ApiRequest) => path.includes("tpl_archived");

const findCustomer = (service: MockService, request: ApiRequest) =>
  [...stored(service).customers.values()].find(
    ({ phone }) => phone !== undefined && phone === getPhone(request),
  );
const isSecondCard = (request: ApiRequest, { service }: Run) =>
  findCustomer(service, request) !== undefined && !stored(service).cardIdByKey.has(getKey(request));

/** Changes the customer in the request, before the mock service gets it. */
const customers = (change: (customer: Members) => Members): Case =>
  requests("issueCard", (request) => {
    const customer = getCustomer(request);
    return { body: { ...(request.body as Members), customer: { ...customer, ...change(customer) } } };
  });

/** The mock service gets another key than the client sent. */
const keys = (rewrite: (key: string, request: ApiRequest) => string): Case =>
  requests("issueCard", (request) => {
    const headers = new Headers(request.headers);
    headers.set("idempotency-key", rewrite(getKey(request), request));
    return { headers };
  });

/** Handles requests that issue a card in place of the mock service. */
const issuingBy = (api: Required<Case>["api"]): Case => ({
  api: (request, next, run) => (request.operation === "issueCard" ? api(request, next, run) : next(request)),
});

/** A replay has the first response with these changes. */
const replay = (change: (response: ApiResponse) => Partial<ApiResponse>): Case =>
  issuingBy(async (request, next, { responses }) => {
    const response = await next(request);
    if (response.status >= 300) return response;
    const first = responses.get(getKey(request));
    if (first !== undefined) return { ...first, ...change(response) };
    responses.set(getKey(request), response);
    return response;
  });

/** Of two concurrent requests the first waits until the second arrived; `second` responds to that one and its retries. */
const concurrent = (second: (attempt: number) => ApiResponse | undefined): Case =>
  issuingBy(async (request, next, { count, signals }) => {
    if (!isTogether(request)) return await next(request);
    const attempt = count("together");
    if (attempt === 0) await once(signals, "second");
    else signals.emit("second");
    return (attempt === 0 ? undefined : second(attempt)) ?? (await next(request));
  });

/** The response to the first request with each key is lost, and the service works on it until the fifth. */
const loseFirstResponse = (status: number): Case =>
  issuingBy(async (request, next, { count }) => {
    // Of two processes with one key, the second has no earlier attempt: its 409 is final.
    const attempt = isTogether(request) ? 4 : count(getKey(request));
    if (attempt >= 4) return await next(request);
    if (attempt > 0) return problem(status);
    await next(request);
    return problem(504);
  });

/** Fails once for each key, before or after the card was issued. */
const failOnce = (when: "before" | "after", response: ApiResponse): Case =>
  issuingBy(async (request, next, { count }) => {
    if (count(getKey(request)) > 0) return await next(request);
    if (when === "after") await next(request);
    return response;
  });

/** Stores responses with these statuses under their key, and responds with them or with `later`. */
const storeRefusals = (statuses: readonly number[], later?: ApiResponse): Case =>
  issuingBy(async (request, next, { responses }) => {
    const refusal = responses.get(getKey(request));
    if (refusal !== undefined) return later ?? refusal;
    const response = await next(request);
    if (statuses.includes(response.status)) responses.set(getKey(request), response);
    return response;
  });

export const issuingCases: CaseTable = {
  "customer-members": {
    "a birthday is required": refuse("issueCard", 422, issuing, (request) => !isInvalid(request)),
    "names are not kept": customers(() => ({ name: undefined })),
    "a card holds its customer": cards((card) => ({
      customer: { id: card["customerId"], phone: null, tags: [] },
    })),
  },
  "blank-members": {
    ...each([null, ""], (value) => [
      `${value === null ? "null" : "empty"} members are 422`,
      refuse("issueCard", 422, [], (request) => Object.values(getCustomer(request)).includes(value)),
    ]),
    "blank members are 400": refuse("issueCard", 400, [], ({ body }) => JSON.stringify(body).includes('" "')),
  },
  "phone-format": {
    "only E.164": refuse("issueCard", 422, ["signUpCorrected", "signUpWithKeySuffix"], (request) =>
      /^\d+ /.test(getPhone(request)),
    ),
    "any text is a phone number": ends(
      "value",
      "signUpInvalid",
      customers(({ phone }) => (phone === "12" ? { phone: "+48600000012" } : {})),
    ),
    "400 for a malformed number": ends("rejected", "signUpInvalid", responsesWith(422, { status: 400 })),
  },
  "customer-match": {
    "a customer for each card": cards((card) => ({ customerId: `cus_of_${card["id"]}` })),
    "email addresses are compared letter by letter": customers(({ email }) =>
      typeof email === "string" ? { email: `x-${email}` } : {},
    ),
    "409 for a customer who is known": refuse("issueCard", 409, "signUpUnderAnotherKey", isSecondCard),
  },
  "another-key": {
    "the card that the customer has": instead("issueCard", (request, { service }) => {
      const [id] = findCustomer(service, request)?.cardIds ?? [];
      if (id === undefined || isTogether(request)) return undefined;
      return { status: 200, headers: json, body: service.cards.get(id) };
    }),
    "422 for a second card": refuse("issueCard", 422, "signUpUnderAnotherKey", isSecondCard),
  },
  "customer-blanks": {
    "the newest sign-up overwrites the customer": bodyMembers("getConsent", {
      customer: { id: "cus_1", name: "Overwritten", phone: "+48600000000" },
    }),
    "a blank email stays blank": customers(({ phone }) => (phone === undefined ? {} : { email: undefined })),
  },
  "marketing-at-issue": {
    "no event for consent given at sign-up": several("consent.changed", (event) =>
      (event.data["passIds"] as unknown[] | undefined)?.length ? [event] : [],
    ),
    "an event for each sign-up, also without a change": several("consent.changed", (event) => [
      { ...event, id: `${event.id}_before` },
      event,
    ]),
    "consent at sign-up has to be confirmed": customers(({ consents }) => ({
      consents: { privacy: (consents as Members)["privacy"] },
    })),
  },
  "archived-templates": {
    "410 for an archived template": refuse("issueCard", 410, "archivedTemplate", isArchived),
    "403 for an archived template": refuse("issueCard", 403, "archivedTemplate", isArchived),
    "409 for an archived template": refuse("issueCard", 409, "archivedTemplate", isArchived),
    "422 for an archived template": refuse("issueCard", 422, "archivedTemplate", isArchived),
    "cards are issued all the same": ends(
      "value",
      "archivedTemplate",
      requests("issueCard", ({ path }) => ({ path: path.replace("tpl_archived", "tpl_club") })),
    ),
    "an error page for an archived template": responsesWith(404, {
      headers: html,
      text: "<!doctype html><title>Not found</title>",
    }),
  },
  "validation-order": {
    "the fields are checked before the template": ends(
      "validation",
      "archivedTemplate",
      responses("issueCard", problem(422), ({ status }) => status === 404),
    ),
    "the template is looked for before the API key": ends(
      "not-found",
      "wrongKey",
      responsesWith(401, problem(404)),
    ),
    "fields are checked before an idempotency key is looked for": refuse("issueCard", 422, [], isInvalid),
  },
  "replay-header": each(["idempotent-replayed", "idempotency-replayed"], (name) => [
    `a replay is marked by ${name}`,
    replay(({ headers }) => ({ headers: { ...headers, [name]: "true" } })),
  ]),
  "idempotency-replay": {
    "a replay is 200": replay(() => ({ status: 200 })),
    "a replay is the first response": replay(() => ({})),
    "a replay carries a header": replay((response) => ({
      ...response,
      headers: { ...json, "idempotency-replayed": "true" },
    })),
    "a replay is 409": ends(
      "conflict",
      replays,
      replay(() => problem(409)),
    ),
    "a replay is 422": ends(
      "validation",
      replays,
      replay(() => problem(422)),
    ),
    ...allEnd("invalid-response", replays, {
      "a replay redirects to the card": replay(() => redirect("/api/v1/passes/1")),
      "a replay has an empty body": replay(() => bare(200)),
    }),
  },
  "idempotency-scope": {
    "keys belong to a template": keys((key, { path }) => `${path.length}-${key}`),
    "keys belong to an API key": keys(
      (key, { headers }) => `${headers.get("authorization")?.slice(-6)}-${key}`,
    ),
    "keys belong to an address": keys((key) => `127.0.0.1-${key}`),
  },
  "idempotency-namespace": {
    "all websites of the service share their keys": keys((key) => `shared-${key}`),
    "each website has keys of its own": keys((key, { headers }) => `${headers.get("host")?.length}-${key}`),
  },
  "idempotency-key-form": {
    "at most 32 characters": refuse("issueCard", 400, issuing, (request) => getKey(request).length > 32),
    "UUIDs only": refuse("issueCard", 422, issuing, (request) => !/^[\da-f-]{36}$/.test(getKey(request))),
    "only the first 40 characters count": keys((key) => key.slice(0, 40)),
    "keys in upper case are the same": keys((key) => key.toLowerCase()),
  },
  "idempotency-successes": {
    "refusals are stored under a key": ends("validation", "signUpCorrected", storeRefusals([404, 422])),
    "another body under the key of a refusal is 409": ends(
      "conflict",
      "signUpCorrected",
      storeRefusals([422], problem(409)),
    ),
    ...allEnd(
      "conflict",
      "signUpAtOnceToo",
      each([409, 423], (status) => [
        `${status} while the first call runs`,
        concurrent(() => problem(status)),
      ]),
    ),
    ...each([409, 423], (status) => [
      `${status} three times after a 504 of a proxy, while the first request runs`,
      loseFirstResponse(status),
    ]),
    ...each([425, 503], (status) => [
      `${status} once while the first call runs`,
      concurrent((attempt) => (attempt === 1 ? problem(status) : undefined)),
    ]),
    "500 after the card was issued": failOnce("after", problem(500)),
    "502 with an error page before the card is issued": failOnce("before", {
      ...bare(502),
      headers: html,
      text: "<h1>Bad gateway</h1>",
    }),
    "half a response after the card was issued": failOnce("after", {
      ...bare(201),
      headers: json,
      text: '{"id":"card_1","publicUrl":',
    }),
  },
};
