/** Requests, receivers and shops for the tests of the mock service. */
import { openMockShop, receiver, toSignUp } from "@loyalty-cards/testing/mock-shop";
import { createGate } from "@loyalty-cards/testing/resources";
import type { MockService } from "../src/index.ts";

/** A request that issues a card, for callers that need the response as it is. */
export const issueRequest = (
  { baseUrl, apiKeys, templateId }: MockService,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) =>
  new Request(`${baseUrl}/api/v1/templates/${templateId}/passes`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKeys.website}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(toSignUp()),
    ...(signal && { signal }),
  });

/** A receiver in process that responds with this status. */
export const respondWith = (status: number) => () => new Response(null, { status });

/** A response that comes when the test calls `respond`. */
export function deferResponse() {
  const { opened, open } = createGate<Response>();
  return { response: opened, respond: (status: number) => open(new Response(null, { status })) };
}

/** Creates an endpoint for pings, and sends one to it. */
export function sendPing({ webhooks }: MockService, url = "https://shop.test/") {
  const { id, secret } = webhooks.createEndpoint({ url, events: ["ping"] });
  return { id, secret, sent: webhooks.sendTest(id) };
}

/** The warnings of all requests, oldest first. */
export const getWarnings = (service: MockService) =>
  service.requests().flatMap(({ warnings }) => warnings);

export const withoutKey = { key: null };

/** A shop, and calls of the control API, which needs no key. */
export async function openControlledShop(options: Parameters<typeof openMockShop>[0] = {}) {
  const shop = openMockShop(options);
  const get = async (path: string) => (await shop.call("GET", path, withoutKey)).body;
  const send = (method: string, path: string, body?: unknown) =>
    shop.call(method, path, { ...withoutKey, ...(body !== undefined && { body }) });
  const post = (path: string, body?: unknown) => send("POST", path, body);
  return { ...shop, get, send, post };
}

/**
 * A shop with an endpoint for balance.changed, and a card.
 * @param responses the responses of the receiver; 204 after them.
 */
export async function shopWithEndpoint(responses: (number | Error | Promise<Response>)[] = []) {
  const inbox = receiver();
  inbox.responses.push(...responses);
  const shop = openMockShop({ deliver: inbox.deliver, deliveryTimeoutMs: 500 });
  const endpoint = inbox.subscribe(shop.service, ["balance.changed"]);
  const { body } = await shop.issue();
  const purchase = async () => {
    shop.service.cards.purchase(body.id, { points: 1 });
    await shop.service.idle();
  };
  return { ...shop, inbox, endpoint, purchase };
}
