/** Mutations of the idempotency key: replays, scopes, concurrent requests, failures before and after the card is issued. */

import {
  changeReplays,
  createProblem,
  findCustomer,
  getKey,
  getName,
  inProgress,
  json,
  rejectIssuing,
  replays,
} from "./hooks.ts";
import {
  type ApiResponse,
  expectEnd,
  type Hooks,
  type Mutation,
  mutation,
  signUps,
  stored,
  togetherName,
} from "./mutation.ts";

/** The service gets another key than the client sent. */
const rewriteKeys = (rewrite: (key: string, path: string, headers: Headers) => string): Hooks => ({
  api(request, next) {
    const headers = new Headers(request.headers);
    const key = headers.get("idempotency-key");
    if (key !== null) headers.set("idempotency-key", rewrite(key, request.path, headers));
    return next({ ...request, headers });
  },
});

/** The first request with a key waits for the second one; `second` is the response to that. */
const respondToConcurrent = (second: (attempt: number) => ApiResponse | undefined) => (): Hooks => {
  let attempts = 0;
  let arrived = () => {};
  const secondArrived = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  return {
    async api(request, next) {
      if (getName(request.body) !== togetherName) return await next(request);
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

/** The service works on the first request with each key until its fifth one. */
const loseFirstResponse = (status: number) => (): Hooks => {
  const attempts = new Map<string, number>();
  return {
    async api(request, next) {
      // Of two processes with one key, the second has no earlier attempt: its 409 is final.
      if (request.operation !== "issueCard" || getName(request.body) === togetherName)
        return await next(request);
      const key = getKey(request);
      const attempt = (attempts.get(key) ?? 0) + 1;
      attempts.set(key, attempt);
      if (attempt > 4) return await next(request);
      if (attempt > 1) return inProgress(status);
      await next(request);
      return createProblem(504);
    },
  };
};

/** Fails once for each key, before or after the card was issued. */
const failOnce = (when: "before" | "after", response: ApiResponse) => (): Hooks => {
  const failed = new Set<string>();
  return {
    async api(request, next) {
      if (request.operation !== "issueCard" || failed.has(getKey(request))) return await next(request);
      failed.add(getKey(request));
      if (when === "after") await next(request);
      return response;
    },
  };
};

export const idempotencyMutations: readonly Mutation[] = [
  ...["idempotent-replayed", "idempotency-replayed"].map((name) =>
    mutation(
      "replay-header",
      `a replay is marked by ${name}`,
      changeReplays(({ headers }) => ({ headers: { ...headers, [name]: "true" } })),
    ),
  ),

  mutation(
    "idempotency-replay",
    "a replay is 200",
    changeReplays(() => ({ status: 200 })),
  ),
  mutation(
    "idempotency-replay",
    "a replay is the first response",
    changeReplays(() => ({})),
  ),
  mutation(
    "idempotency-replay",
    "a replay carries a header",
    changeReplays((response) => ({ ...response, headers: { ...json, "idempotency-replayed": "true" } })),
  ),
  mutation(
    "idempotency-replay",
    "a replay is 409",
    changeReplays(() => inProgress(409)),
    { ends: expectEnd("conflict", ...replays) },
  ),
  mutation(
    "idempotency-replay",
    "a replay is 422",
    changeReplays(() => inProgress(422)),
    { ends: expectEnd("validation", ...replays) },
  ),
  mutation(
    "idempotency-replay",
    "a replay redirects to the card",
    changeReplays(() => ({ status: 303, headers: { location: "/api/v1/passes/1" }, body: undefined })),
    {
      ends: expectEnd("invalid-response", ...replays),
    },
  ),
  mutation(
    "idempotency-replay",
    "a replay has an empty body",
    changeReplays(() => ({ status: 200, body: undefined })),
    {
      ends: expectEnd("invalid-response", ...replays),
    },
  ),

  mutation(
    "idempotency-scope",
    "keys belong to a template",
    rewriteKeys((key, path) => `${path.length}-${key}`),
  ),
  mutation(
    "idempotency-scope",
    "keys belong to an API key",
    rewriteKeys((key, _path, headers) => `${(headers.get("authorization") ?? "").slice(-6)}-${key}`),
  ),
  mutation(
    "idempotency-scope",
    "keys belong to an address",
    rewriteKeys((key) => `127.0.0.1-${key}`),
  ),

  mutation(
    "idempotency-namespace",
    "all websites of the service share their keys",
    rewriteKeys((key) => `shared-${key}`),
  ),
  mutation(
    "idempotency-namespace",
    "each website has keys of its own",
    rewriteKeys((key, _path, headers) => `${(headers.get("host") ?? "").length}-${key}`),
  ),

  mutation(
    "idempotency-successes",
    "refusals are stored under a key",
    () => {
      const stored = new Map<string, ApiResponse>();
      return {
        async api(request, next) {
          const known = request.operation === "issueCard" ? stored.get(getKey(request)) : undefined;
          if (known !== undefined) return known;
          const response = await next(request);
          if (request.operation === "issueCard" && [404, 422].includes(response.status))
            stored.set(getKey(request), response);
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
          if (refused.has(getKey(request))) return inProgress(409);
          const response = await next(request);
          if (response.status === 422) refused.add(getKey(request));
          return response;
        },
      };
    },
    { ends: { signUpCorrected: "conflict" } },
  ),
  mutation(
    "idempotency-successes",
    "409 while the first call runs",
    respondToConcurrent(() => inProgress(409)),
    { ends: { signUpAtOnceToo: "conflict" } },
  ),
  mutation(
    "idempotency-successes",
    "423 while the first call runs",
    respondToConcurrent(() => inProgress(423)),
    { ends: { signUpAtOnceToo: "conflict" } },
  ),
  ...[409, 423].map((status) =>
    mutation(
      "idempotency-successes",
      `${status} three times after a 504 of a proxy, while the first request runs`,
      loseFirstResponse(status),
    ),
  ),
  ...[425, 503].map((status) =>
    mutation(
      "idempotency-successes",
      `${status} once while the first call runs`,
      respondToConcurrent((attempt) => (attempt === 1 ? inProgress(status) : undefined)),
    ),
  ),
  mutation("idempotency-successes", "500 after the card was issued", failOnce("after", inProgress(500))),
  mutation(
    "idempotency-successes",
    "502 with an error page before the card is issued",
    failOnce("before", {
      status: 502,
      headers: { "content-type": "text/html" },
      body: undefined,
      text: "<h1>Bad gateway</h1>",
    }),
  ),
  mutation(
    "idempotency-successes",
    "half a response after the card was issued",
    failOnce("after", {
      status: 201,
      headers: json,
      body: undefined,
      text: '{"id":"card_1","publicUrl":',
    }),
  ),

  mutation(
    "idempotency-key-form",
    "at most 32 characters",
    rejectIssuing((request) => getKey(request).length > 32, 400),
    {
      ends: {
        ...expectEnd("rejected", ...signUps, "signUpInvalid"),
        archivedTemplate: "rejected",
        wrongKey: "rejected",
      },
    },
  ),
  mutation(
    "idempotency-key-form",
    "UUIDs only",
    rejectIssuing((request) => !/^[\da-f-]{36}$/.test(getKey(request)), 422),
    {
      ends: {
        ...expectEnd("validation", ...signUps),
        archivedTemplate: "validation",
        wrongKey: "validation",
      },
    },
  ),
  mutation(
    "idempotency-key-form",
    "only the first 40 characters count",
    rewriteKeys((key) => key.slice(0, 40)),
  ),
  mutation(
    "idempotency-key-form",
    "keys in upper case are the same",
    rewriteKeys((key) => key.toLowerCase()),
  ),

  mutation("another-key", "the card that the customer has", ({ service }) => ({
    async api(request, next) {
      const [id] = findCustomer(service, request.body)?.cardIds ?? [];
      const isOurs = request.operation === "issueCard" && getName(request.body) !== togetherName;
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
        const isKnown = findCustomer(service, request.body) !== undefined;
        const hasKey = stored(service).cardIdByKey.has(getKey(request));
        return request.operation === "issueCard" && isKnown && !hasKey
          ? inProgress(422)
          : await next(request);
      },
    }),
    { ends: { signUpUnderAnotherKey: "validation" } },
  ),
];
