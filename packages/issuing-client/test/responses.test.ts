/** Bodies of successes: HTML, other charsets, and none. Through every method and `client.api`. */
import { describe, expect, it } from "vitest";
import type { IssuingClient, IssuingError } from "../src/index.ts";
import { card, json, operationCalls, scripted, signUp } from "./scripted.ts";

const page = "<!doctype html><title>Log in</title>";
const body = (text: string | Uint8Array | null, type?: string, status = 200) =>
  new Response(text as string | null, {
    status,
    headers: type === undefined ? {} : { "content-type": type },
  });
const params = { path: { id: "card_1" } };
/** A path and method that the contract does not have. */
const callApi = (client: IssuingClient, method: string, init: object = {}) =>
  (client.api as unknown as Record<string, (path: string, init: object) => Promise<{ data?: unknown }>>)[
    method
  ]?.("/passes/{id}", { params, ...init });

const calls: Record<string, (client: IssuingClient) => Promise<unknown>> = {
  ...operationCalls,
  "client.api.GET": (client) => client.api.GET("/passes/{id}", { params }),
  "client.api.PUT": (client) =>
    client.api.PUT("/passes/{id}/consent", { params, body: { marketing: false } }),
  "client.api.GET as text": (client) => client.api.GET("/passes/{id}", { params, parseAs: "text" }),
};
const catchError = (call: Promise<unknown>): Promise<IssuingError> =>
  call.then(
    () => Promise.reject(new Error("did not reject")),
    (error) => error,
  );

describe.each(Object.entries(calls))("%s", (_name, call) => {
  it.each([
    ["an HTML page", () => body(page, "text/html; charset=utf-8")],
    [
      "an HTML page after white space and a comment",
      () => body(`\n <!-- proxy -->\n<HTML lang="en">`, "text/html"),
    ],
    ["an HTML page that says that it is JSON", () => body(page, "application/json")],
    ["an HTML page without a content type", () => body(new TextEncoder().encode(page))],
    ["an HTML fragment", () => body("<p>Log in</p>", "text/html")],
  ])("fails with %s", async (_page, respond) => {
    const { client, requests } = scripted([respond(), respond(), respond()]);
    const error = await catchError(call(client));
    expect(error).toMatchObject({ code: "invalid-response", outcome: "unknown", retryable: true });
    expect(error.message).toContain("an HTML page. Is baseUrl the address of the service?");
    expect(requests).toHaveLength(3);
  });

  it.each(["iso-8859-1", "windows-1250", '"UTF-16LE"'])(
    "fails with a body in the charset %s that is not ASCII, instead of returning wrong letters",
    async (charset) => {
      const text = JSON.stringify({ ...card, items: [], marketingConsent: true, customerId: "\u017b" });
      const { client } = scripted([body(text, `application/json; charset=${charset}`)]);
      const error = await catchError(call(client));
      expect(error).toMatchObject({ code: "invalid-response", outcome: "unknown", retryable: false });
      expect(error.message).toContain("a body whose charset is not UTF-8");
    },
  );

  it.each(["iso-8859-1", "utf-8", "UTF8", '"utf-8"', "us-ascii"])(
    "accepts ASCII in the charset %s, because it is the same text in UTF-8",
    async (charset) => {
      const text = JSON.stringify({ ...card, items: [], marketingConsent: true });
      const { client } = scripted([body(text, `application/json;charset=${charset}`)]);
      await call(client);
    },
  );
});

it("does not show the detail of a 422 whose charset is not UTF-8", async () => {
  const problem = body('{"detail":"Z\u0142y numer"}', "application/problem+json; charset=iso-8859-2", 422);
  const error = await catchError(scripted([problem]).client.issueCard("t", signUp, { userId: 1 }));
  expect(error).toMatchObject({ code: "validation", outcome: "rejected" });
  expect(error.userMessage).not.toContain("numer");
});

describe("setConsent", () => {
  it.each([
    ["empty", () => body(null, undefined, 204)],
    ["empty, with the type of a page", () => body("", "text/html")],
    ["nothing, with 200", () => body(null)],
    ["nothing, with a length", () => new Response("", { headers: { "content-length": "0" } })],
    ["text", () => body("OK", "text/plain")],
    ["other JSON", () => json({ ok: true })],
    ["text without a type", () => body(new TextEncoder().encode("OK"))],
    ["XML", () => body("<ok/>", "application/xml")],
    ["JSON with the type of a page", () => body('{"ok":true}', "text/html")],
  ])("resolves with undefined when the body of a success is %s", async (_name, respond) => {
    const { client, requests } = scripted([respond()]);
    expect(await client.setConsent("card_1", { marketing: false })).toBeUndefined();
    expect(requests).toHaveLength(1);
  });
});

describe("issueCard", () => {
  it.each([200, 201, 204])(
    "fails with an empty body and the status %i, and a card may exist",
    async (status) => {
      const respond = () => body(null, undefined, status);
      const { client, requests } = scripted([respond(), respond(), respond()]);
      const error = await catchError(client.issueCard("t", signUp, { userId: 1 }));
      expect(error).toMatchObject({ code: "invalid-response", outcome: "unknown", retryable: true });
      expect(requests).toHaveLength(3);
    },
  );
});

describe("client.api", () => {
  const methods = ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"];

  it.each(methods.flatMap((method) => [200, 201, 202, 204].map((status) => [method, status] as const)))(
    "resolves %s with %i and no body, after one request",
    async (method, status) => {
      const { client, requests, events } = scripted([body(null, undefined, status)]);
      const result = await callApi(client, method);
      expect(result).toMatchObject({ response: { status } });
      expect(result?.data ?? undefined).toSatisfy(
        (data) => data === undefined || Object.keys(data).length === 0,
      );
      expect(requests).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ type: "response", status });
    },
  );

  it("returns a body that is not JSON as the caller asked for it", async () => {
    const { client } = scripted([body("OK", "text/plain")]);
    expect(await callApi(client, "GET", { parseAs: "text" })).toMatchObject({ data: "OK" });
  });

  it.each([200, 202])(
    "retries a %i whose body is not JSON, and fails with an IssuingError",
    async (status) => {
      const cut = () => body('{"id":"card_1"', "application/json", status);
      const { client, requests } = scripted([cut(), cut(), cut()]);
      expect(await catchError(client.api.GET("/passes/{id}", { params }))).toMatchObject({
        code: "invalid-response",
        retryable: true,
      });
      expect(requests).toHaveLength(3);
    },
  );

  it("retries DELETE, which is idempotent, and not PATCH", async () => {
    const unavailable = () => json({}, 503);
    const deleting = scripted([unavailable(), body(null, undefined, 204)]);
    expect(await callApi(deleting.client, "DELETE")).toMatchObject({ response: { status: 204 } });
    const patching = scripted([unavailable(), body(null, undefined, 204)]);
    expect(await callApi(patching.client, "PATCH")).toMatchObject({ response: { status: 503 } });
    expect([deleting.requests.length, patching.requests.length]).toEqual([2, 1]);
  });
});
