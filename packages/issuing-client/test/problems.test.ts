/** ProblemError: code, problem details and the message for the user. */
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  IssuingError,
  type IssuingErrorCode,
  isIssuingError,
  ProblemError,
  type ResponseMeta,
} from "../src/index.ts";
import { isRetryableStatus } from "../src/retry.ts";
import { json, readText, scripted, signUp, template } from "./scripted.ts";

async function getProblemError(response: Response): Promise<ProblemError> {
  const { client } = scripted([response], { maxRetries: 0 });
  const error = await client.issueCard(template.id, signUp, { userId: 1 }).catch((thrown) => thrown);
  if (!(error instanceof ProblemError)) throw new Error("not a ProblemError");
  return error;
}

const general = "Your loyalty card is not available right now.";

it.each([
  [400, "rejected"],
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "not-found"],
  [405, "rejected"],
  [408, "rejected"],
  [409, "conflict"],
  [418, "rejected"],
  [422, "validation"],
  [423, "conflict"],
  [425, "rejected"],
  [429, "rate-limited"],
  [500, "server"],
  [501, "server"],
  [503, "server"],
] as [number, IssuingErrorCode][])("maps the status %i to the code %s", async (status, code) => {
  const error = await getProblemError(json({ detail: "internal: stack at line 7" }, status));
  expect(error).toMatchObject({ status, code, retryable: isRetryableStatus(status) });
});

it.each([400, 401, 403, 404, 409, 429, 500, 503])(
  "does not show the detail of a %i to the user",
  async (status) => {
    const { userMessage, problem } = await getProblemError(
      json({ detail: "password of db is hunter2" }, status),
    );
    expect(userMessage).toBe(general);
    expect(problem.detail).toBe("password of db is hunter2");
  },
);

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
    const { problem, userMessage } = await getProblemError(response);
    expect(problem).toMatchObject({ type: "about:blank", status: 502, ...members });
    expect([problem.title, problem.detail, userMessage]).toEqual([undefined, undefined, general]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it.each([[undefined], [""], ["  "], [7], ["x".repeat(1001)]])(
    "shows a general message for a 422 whose detail is %j",
    async (detail) => {
      expect((await getProblemError(json({ detail }, 422))).userMessage).toBe(general);
    },
  );
});

it("shows the detail of a 422 of up to 1000 characters", async () => {
  const detail = "x".repeat(1000);
  expect((await getProblemError(json({ detail }, 422))).userMessage).toBe(detail);
});

it("has the delay of Retry-After and the request id of the response", async () => {
  const error = await getProblemError(json({}, 429, { "retry-after": "7", "x-request-id": "req_9" }));
  expect(error).toMatchObject({ retryAfterMs: 7000, requestId: "req_9" });
});

it.each(["req_9", "01HQ:a/b.c+d=", "Root=1-67891233-abcdef012345678912345678", "x".repeat(128)])(
  "has the request id %s, in the error and in the metadata",
  async (id) => {
    const metas: ResponseMeta[] = [];
    const { client } = scripted([json({}, 404, { "request-id": id })]);
    const call = client.getCard("card_1", { onResponse: (meta) => void metas.push(meta) });
    expect(await call.catch((error) => error)).toMatchObject({ requestId: id });
    expect(metas).toMatchObject([{ requestId: id }]);
  },
);

it.each(["", "a b", "req_1, req_2", "<script>", "x".repeat(129), "\u00e9", "a;b", '"a"'])(
  "has no request id when the header is %j, which is not an id",
  async (id) => {
    const metas: ResponseMeta[] = [];
    const { client } = scripted([json({}, 404, { "x-request-id": id })]);
    const call = client.getCard("card_1", { onResponse: (meta) => void metas.push(meta) });
    expect("requestId" in (await call.catch((error) => error))).toBe(false);
    expect(metas[0]).not.toHaveProperty("requestId");
  },
);

describe("isIssuingError", () => {
  it("returns true for errors of another copy of the package", async () => {
    const copy = await import("../src/errors.ts?copy" as string);
    const foreign = new copy.IssuingError("x", { code: "network", outcome: "unknown" });
    expect(foreign instanceof IssuingError).toBe(false);
    expect(isIssuingError(foreign)).toBe(true);
  });

  it.each([undefined, null, "IssuingError", {}, new Error("x"), { name: "IssuingError", code: "network" }])(
    "returns false for %s",
    (value) => expect(isIssuingError(value)).toBe(false),
  );
});

it("does not print text that the service sent", async () => {
  const said = "anna@example.com\nforged log line";
  const error = await getProblemError(json({ title: said, detail: said, echo: said }, 422));
  expect([error.problem.title, error.problem.detail, error.userMessage]).toEqual([said, said, said]);
  expect(inspect(error) + JSON.stringify(error) + error.stack).not.toContain("anna@example.com");
});

it("is an IssuingError with the name ProblemError and a message for the log", async () => {
  const error = await getProblemError(json({ title: "Teapot" }, 418));
  expect([error.name, readText(error), error instanceof IssuingError]).toEqual([
    "ProblemError",
    "The service responded 418 to issueCard.",
    true,
  ]);
});
