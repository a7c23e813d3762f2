/** Errors: their members and messages, and what those of a 4xx or 5xx take from the response. */
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { IssuingError, type IssuingErrorCode, isIssuingError, type ResponseMeta } from "../src/index.ts";
import { isRetryableStatus } from "../src/retry.ts";
import { json, networkError, readText, scripted, signUp, template } from "./scripted.ts";

async function getRejection(response: Response): Promise<IssuingError> {
  const { client } = scripted([response], { maxRetries: 0 });
  const error = await client.issueCard(template.id, signUp, { userId: 1 }).catch((thrown) => thrown);
  if (!isIssuingError(error)) throw new Error("not an IssuingError");
  return error;
}

const general = "Your loyalty card is not available right now.";

const codes: Partial<Record<IssuingErrorCode, number[]>> = {
  unauthorized: [401],
  forbidden: [403],
  "not-found": [404],
  conflict: [409, 423],
  validation: [422],
  "rate-limited": [429],
  rejected: [400, 405, 408, 418, 425],
  server: [500, 501, 503],
};

it.each(
  Object.entries(codes).flatMap(([code, statuses]) => statuses.map((status) => [status, code] as const)),
)("maps the status %i to the code %s, and shows a general message except for a 422", async (status, code) => {
  const detail = "password of db is hunter2";
  const error = await getRejection(json({ detail }, status));
  expect(error).toMatchObject({ status, code, retryable: isRetryableStatus(status), problem: { detail } });
  expect(error.userMessage).toBe(status === 422 ? detail : general);
});

describe("an error response without problem details", () => {
  it.each([
    [
      "an HTML page",
      new Response("<h1>Bad Gateway</h1>", { status: 502, headers: { "content-type": "text/html" } }),
      {},
    ],
    ["an empty body", new Response(null, { status: 502 }), {}],
    [
      "JSON without members of problem details",
      json({ error: { code: "db" } }, 502),
      { error: { code: "db" } },
    ],
    ["a list", json([1], 502), {}],
    ["a string", json("oops", 502), {}],
    ["members of other types", json({ type: 1, title: {}, detail: [], status: "x" }, 502), {}],
    ["a status that contradicts HTTP's", json({ status: 200 }, 502), {}],
    ["a __proto__ member", new Response('{"__proto__":{"polluted":1}}', { status: 502 }), {}],
  ])("has the type about:blank when its body is %s", async (_name, response, members) => {
    const { problem, userMessage } = await getRejection(response);
    expect(problem).toMatchObject({ type: "about:blank", status: 502, ...members });
    expect([problem?.title, problem?.detail, userMessage]).toEqual([undefined, undefined, general]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it.each([undefined, "", "  ", 7, "x".repeat(1001), "x".repeat(1000)])(
    "shows the detail of a 422 if it is a text of up to 1000 characters: %j",
    async (detail) => {
      const { userMessage } = await getRejection(json({ detail }, 422));
      expect(userMessage).toBe(detail === "x".repeat(1000) ? detail : general);
    },
  );
});

it("has the delay of Retry-After and the request id of the response", async () => {
  const error = await getRejection(json({}, 429, { "retry-after": "7", "x-request-id": "req_9" }));
  expect(error).toMatchObject({ retryAfterMs: 7000, requestId: "req_9" });
});

it.each([
  ...["req_9", "01HQ:a/b.c+d=", "Root=1-67891233-abcdef012345678912345678", "x".repeat(128)].map((id) => [
    id,
    true,
  ]),
  ...["", "a b", "req_1, req_2", "<script>", "x".repeat(129), "\u00e9", "a;b", '"a"'].map((id) => [
    id,
    false,
  ]),
] as [string, boolean][])("has the request id %j in the error and in the metadata: %s", async (id, isId) => {
  for (const name of ["request-id", "x-request-id"]) {
    const metas: ResponseMeta[] = [];
    const { client } = scripted([json({}, 404, { [name]: id })]);
    const call = client.getCard("card_1", { onResponse: (meta) => void metas.push(meta) });
    for (const { requestId } of [await call.catch((error) => error), metas[0]])
      expect(requestId).toBe(isId ? id : undefined);
  }
});

describe("isIssuingError", () => {
  it("returns true for errors of another copy of the package", async () => {
    const copy = await import("../src/errors.ts?copy" as string);
    const foreign = new copy.IssuingError("x", { code: "network", outcome: "unknown" });
    expect(foreign instanceof IssuingError).toBe(false);
    expect(isIssuingError(foreign)).toBe(true);
  });

  it("returns true for the symbol that all versions share, and false for other values", () => {
    expect(isIssuingError({ [Symbol.for("@loyalty-cards/issuing-client/error")]: true })).toBe(true);
    const named = { name: "IssuingError", code: "network" };
    for (const value of [undefined, null, "IssuingError", {}, new Error("x"), named])
      expect(isIssuingError(value)).toBe(false);
  });
});

it("does not print text that the service sent", async () => {
  const said = "anna@example.com\nforged log line";
  const error = await getRejection(json({ title: said, detail: said, echo: said }, 422));
  expect([error.problem?.title, error.problem?.detail, error.userMessage]).toEqual([said, said, said]);
  expect(inspect(error) + JSON.stringify(error) + error.stack).not.toContain("anna@example.com");
});

const catchError = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable("the call succeeded"),
    (error) => error,
  );

it("marks a configuration error as not sent and not retryable", async () => {
  const { client } = scripted([]);
  const error = await catchError(client.getCard(""));
  expect(error).toBeInstanceOf(IssuingError);
  expect({ ...error }).toStrictEqual({
    name: "IssuingError",
    code: "configuration",
    outcome: "not-sent",
    retryable: false,
    attempts: 0,
  });
  expect("cause" in error).toBe(false);
});

it("has only the documented members in the error of a 4xx", async () => {
  const { client } = scripted([json({}, 404)]);
  const error = await catchError(client.getCard("card_1"));
  expect(error).toBeInstanceOf(IssuingError);
  expect(error.fields).toEqual([]);
  expect(error).toBeInstanceOf(IssuingError);
  expect(readText(error)).toMatch(/^The service responded 404 to getCard: /);
  expect({ ...error }).toStrictEqual({
    name: "IssuingError",
    code: "not-found",
    status: 404,
    outcome: "rejected",
    retryable: false,
    attempts: 1,
  });
});

it("names the runtime's error code when a connection fails", async () => {
  const { client } = scripted([networkError("ECONNRESET")], { maxRetries: 0 });
  const error = await catchError(client.issueCard("tpl_club", signUp, { idempotencyKey: "order-1" }));
  expect(error).toMatchObject({ code: "network", retryable: true, cause: { code: "ECONNRESET" } });
  expect([readText(error), error.cause.message]).toEqual([
    "The connection to https://cards.test failed (ECONNRESET).",
    "ECONNRESET",
  ]);
});

it.each([
  [401, /apiKey/],
  [403, /apiKey/],
  [404, /service at https:/],
  [422, /no detail/],
])("says what to check in the message of a %i", async (status, where) => {
  const { client } = scripted([json({}, status)]);
  expect((await catchError(client.getCard("card_1"))).message).toMatch(where);
});

describe("the address of the error page", () => {
  const link = " See https://loyalty-cards.github.io/loyalty-cards/errors/not-found";
  const countLinks = (text: string) => text.split("https://loyalty-cards.github.io/").length - 1;

  it("ends the message, and is not in the message for the user", async () => {
    const { client } = scripted([json({}, 404)]);
    const error = await catchError(client.getCard("card_1"));
    expect(error.message.endsWith(link)).toBe(true);
    expect(countLinks(error.userMessage)).toBe(0);
  });
});
