/**
 * A shop on the mock service: a service with one template, a website that calls it, and a receiver
 * of its events. Everything is validated against the document.
 */
import {
  createMockService,
  type MockService,
  type MockServiceOptions,
  manualClock,
} from "@loyalty-cards/mock-server";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { verifyWebhookSync, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { onTestFinished } from "vitest";
import { expectDescribedEvent, expectDescribedEvents, expectDescribedResponse } from "./schemas.ts";

export const shopTemplate = {
  id: "tpl_club",
  name: "Club",
  fields: [
    { key: "firstName", type: "name", required: true, label: "First name" },
    { key: "points", type: "number" },
  ],
  tiers: [
    { name: "Gold", from: 100 },
    { name: "Silver", from: 10 },
  ],
} as const;

export const noon = Date.parse("2026-03-01T12:00:00.000Z");

export interface CallOptions {
  body?: unknown;
  /** null sends none. */
  key?: string | null;
  headers?: Record<string, string>;
}

/**
 * Calls an HTTP surface as a website's server would, and validates each response against the
 * document.
 */
export function caller(
  baseUrl: string,
  fetch: (request: Request) => Promise<Response>,
  apiKey: string,
) {
  return async (
    method: string,
    path: string,
    { body, key = apiKey, headers = {} }: CallOptions = {},
  ) => {
    const request = new Request(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const response = await fetch(request);
    await expectDescribedResponse(new URL(request.url).pathname, method, response);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === "" ? undefined : JSON.parse(text),
    };
  };
}

/** The body of a request that issues a card. */
export const toSignUp = (
  customer: Record<string, unknown> = {},
  fieldValues: object = { firstName: "Anna" },
) => ({
  fieldValues,
  customer: { consents: { privacy: { version: "2026-01" } }, ...customer },
});

/**
 * A service on a clock that stands still, and a website that calls it. `lines` is what the service
 * logged.
 */
export function openMockShop(options: MockServiceOptions = {}) {
  const lines: string[] = [];
  const service = createMockService({
    clock: manualClock(noon),
    templates: [shopTemplate],
    log: (line) => void lines.push(line),
    ...options,
  });
  onTestFinished(() => expectDescribedEvents(service));
  const call = caller(service.baseUrl, service.fetch, service.apiKeys.website);
  const issue = async (body: unknown = toSignUp(), headers: Record<string, string> = {}) =>
    call("POST", `/api/v1/templates/${shopTemplate.id}/passes`, { body, headers });
  return { service, lines, call, issue };
}

/**
 * A receiver in process: verifies and records each webhook, and responds as the test configures.
 */
export function receiver() {
  const events: WebhookEvent[] = [];
  const requests: Request[] = [];
  const responses: (number | Error | Promise<Response>)[] = [];
  let secret = "";
  let service: MockService | undefined;

  async function deliver(request: Request): Promise<Response> {
    requests.push(request.clone());
    const response = responses.shift() ?? 204;
    if (response instanceof Error) throw response;
    if (typeof response !== "number") return response;
    const rawBody = new Uint8Array(await request.arrayBuffer());
    const event = verifyWebhookSync({
      rawBody,
      signature: request.headers.get("service-signature"),
      secret,
      now: () => service?.clock.now() ?? Date.now(),
    });
    expectDescribedEvent(event.type, event);
    if (response < 300) events.push(event);
    return new Response(null, { status: response });
  }

  return {
    deliver,
    events,
    requests,
    /** The responses of the next attempts; 204 after them. */
    responses,
    subscribe(to: MockService, types: readonly WebhookEvent["type"][]) {
      service = to;
      const endpoint = to.webhooks.createEndpoint({
        url: "https://shop.test/webhooks",
        events: types as never,
      });
      secret = endpoint.secret;
      return endpoint;
    },
    useSecret(next: string, of = service) {
      secret = next;
      service = of;
    },
  };
}

/** Makes a service emit an event of each type, and returns what its endpoint received. */
export async function receiveEveryEvent(): Promise<WebhookEvent[]> {
  const inbox = receiver();
  const { service, call, issue } = openMockShop({ deliver: inbox.deliver });
  const endpoint = inbox.subscribe(service, Object.keys(openapi.webhooks));
  const { id } = (await issue(toSignUp({ phone: "+48600100200" }))).body;
  service.cards.purchase(id, { points: 120 });
  service.cards.addToWallet(id, "apple");
  service.cards.removeFromWallet(id, "apple");
  await call("PUT", `/api/v1/passes/${id}/consent`, { body: { marketing: true } });
  service.webhooks.sendTest(endpoint.id);
  await service.idle();
  return inbox.events;
}
