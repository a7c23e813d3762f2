/** A custom transport, typed with the exported names only. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createIssuingClient, type Transport, UnreadableBodyError } from "@loyalty-cards/issuing-client";
import { expect, it } from "vitest";
import { apiKey, card, networkError, signUp } from "./scripted.ts";

/** Responds with scripted texts, and records requests and aborts. */
function createCustomTransport(texts: readonly (string | Error)[]) {
  const requests: Parameters<Transport>[1][] = [];
  const aborted: unknown[] = [];
  const transport: Transport = (_url, request) => {
    const text = texts[requests.length];
    requests.push(request);
    return {
      response: Promise.resolve({
        status: 200,
        header: (name) => (name === "x-request-id" ? "req_1" : null),
        headers: () => new Headers({ "x-request-id": "req_1" }),
        async text(maxBytes) {
          if (text === undefined) return new Promise<string>(() => {});
          if (text instanceof Error) throw text;
          if (text.length > maxBytes) throw new UnreadableBodyError(`more than ${maxBytes} bytes`, false);
          return text;
        },
        discard() {},
      }),
      abort: (reason) => void aborted.push(reason),
    };
  };
  const client = createIssuingClient({
    baseUrl: "https://cards.test",
    apiKey,
    transport,
    testing: { random: () => 0 },
  });
  return { client, requests, aborted };
}

it("sends requests through a custom transport", async () => {
  const { client, requests } = createCustomTransport([JSON.stringify(card)]);
  const requestIds: unknown[] = [];
  const onResponse = ({ requestId }: { requestId?: string }) => void requestIds.push(requestId);
  expect(await client.issueCard("tpl_club", signUp, { userId: 1, onResponse })).toEqual(card);
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({ method: "POST", headers: { authorization: `Bearer ${apiKey}` } });
  expect(JSON.parse(requests[0]?.body ?? "")).toEqual(signUp);
  expect(requestIds).toEqual(["req_1"]);
});

it("retries when a custom transport fails", async () => {
  const { client, requests } = createCustomTransport([networkError("ECONNRESET"), JSON.stringify(card)]);
  expect(await client.getCard("card_1")).toEqual(card);
  expect(requests).toHaveLength(2);
});

it("does not retry when a custom transport rejects a body that is too long", async () => {
  const { client, requests } = createCustomTransport(["x".repeat(5 * 1024 * 1024)]);
  await expect(client.getCard("card_1")).rejects.toMatchObject({
    code: "invalid-response",
    retryable: false,
    message: expect.stringContaining("more than 4194304 bytes"),
  });
  expect(requests).toHaveLength(1);
});

it("recognizes the UnreadableBodyError of another copy of the package, such as the CommonJS build", async () => {
  const copy = await import("../src/transport.ts?copy" as string);
  const { client, requests } = createCustomTransport([
    new copy.UnreadableBodyError("more than 3 bytes", false),
  ]);
  await expect(client.getCard("card_1")).rejects.toMatchObject({
    code: "invalid-response",
    message: expect.stringContaining("more than 3 bytes"),
  });
  expect(requests).toHaveLength(1);
});

it("aborts the request of a custom transport when the caller aborts", async () => {
  const { client, aborted } = createCustomTransport([]);
  const controller = new AbortController();
  const call = client.getCard("card_1", { signal: controller.signal });
  controller.abort("the visitor left");
  await expect(call).rejects.toBe("the visitor left");
  expect(aborted).toEqual(["the visitor left"]);
});

/** The `@example` of `Transport`. */
const fetchExample: Transport = (url, { method, headers, body = null }) => {
  const controller = new AbortController();
  const { signal } = controller;
  const sent = fetch(url, { method, headers, body, signal, redirect: "manual" });
  return {
    response: sent.then((response) => ({
      status: response.status,
      header: (name) => response.headers.get(name),
      headers: () => response.headers,
      text: () => response.text(),
      discard: () => void response.body?.cancel().catch(() => {}),
    })),
    abort: (reason) => controller.abort(reason),
  };
};

it("sends requests through the transport of the documentation's example", async () => {
  const server = createServer((_request, response) => void response.end(JSON.stringify(card)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createIssuingClient({ baseUrl, apiKey, transport: fetchExample });
  expect(await client.getCard("card_1")).toEqual(card);
  server.close();
});
