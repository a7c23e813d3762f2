/** A shop for the tests: a service with one template, and a website that calls it. Everything is validated against the document. */
import { createGate } from "@loyalty-cards/internal/test/resources";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { verifyWebhookSync, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, onTestFinished } from "vitest";
import { createMockService, type MockService, type MockServiceOptions, manualClock } from "../src/index.ts";

export const template = {
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

/** Calls an HTTP surface as a website's server would, and validates each response against the document. */
export function caller(baseUrl: string, fetch: (request: Request) => Promise<Response>, apiKey: string) {
  return async (method: string, path: string, { body, key = apiKey, headers = {} }: CallOptions = {}) => {
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

export const signUp = (
  customer: Record<string, unknown> = {},
  fieldValues: object = { firstName: "Anna" },
) => ({
  fieldValues,
  customer: { consents: { privacy: { version: "2026-01" } }, ...customer },
});

/** A request that issues a card, for callers that need the response as it is. */
export const issueRequest = (
  { baseUrl, apiKeys, templateId }: MockService,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) =>
  new Request(`${baseUrl}/api/v1/templates/${templateId}/passes`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKeys.website}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(signUp()),
    ...(signal && { signal }),
  });

/** A service on a clock that stands still, and a website that calls it. `lines` is what the service logged. */
export function openShop(options: MockServiceOptions = {}) {
  const lines: string[] = [];
  const service = createMockService({
    clock: manualClock(noon),
    templates: [template],
    log: (line) => void lines.push(line),
    ...options,
  });
  onTestFinished(() => expectDescribedEvents(service));
  const call = caller(service.baseUrl, service.fetch, service.apiKeys.website);
  const issue = async (body: unknown = signUp(), headers: Record<string, string> = {}) =>
    call("POST", `/api/v1/templates/${template.id}/passes`, { body, headers });
  return { service, lines, call, issue };
}

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

/** A receiver in process: verifies and records each webhook, and responds as the test configures. */
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
  const { service, call, issue } = openShop({ deliver: inbox.deliver });
  const endpoint = inbox.subscribe(service, Object.keys(openapi.webhooks));
  const { id } = (await issue(signUp({ phone: "+48600100200" }))).body;
  service.cards.purchase(id, { points: 120 });
  service.cards.addToWallet(id, "apple");
  service.cards.removeFromWallet(id, "apple");
  await call("PUT", `/api/v1/passes/${id}/consent`, { body: { marketing: true } });
  service.webhooks.sendTest(endpoint.id);
  await service.idle();
  return inbox.events;
}

/** The warnings of all requests, oldest first. */
export const warningsOf = (service: MockService) => service.requests().flatMap(({ warnings }) => warnings);

export const withoutKey = { key: null };

/** A shop, and calls of the control API, which needs no key. */
export async function openControlledShop(options: Parameters<typeof openShop>[0] = {}) {
  const shop = openShop(options);
  const get = async (path: string) => (await shop.call("GET", path, withoutKey)).body;
  const send = (method: string, path: string, body?: unknown) =>
    shop.call(method, path, { ...withoutKey, ...(body !== undefined && { body }) });
  const post = (path: string, body?: unknown) => send("POST", path, body);
  return { ...shop, get, send, post };
}

/** A shop with an endpoint for balance.changed, and a card. @param responses the responses of the receiver; 204 after them. */
export async function shopWithEndpoint(responses: (number | Error | Promise<Response>)[] = []) {
  const inbox = receiver();
  inbox.responses.push(...responses);
  const shop = openShop({ deliver: inbox.deliver, deliveryTimeoutMs: 500 });
  const endpoint = inbox.subscribe(shop.service, ["balance.changed"]);
  const { body } = await shop.issue();
  const purchase = async () => {
    shop.service.cards.purchase(body.id, { points: 1 });
    await shop.service.idle();
  };
  return { ...shop, inbox, endpoint, purchase };
}

const ajv = new Ajv2020({ strict: false, allErrors: true }); // the document has x- members
addFormats.default(ajv);
ajv.addSchema({ $id: "document", ...openapi });

interface Described {
  responses: Record<string, { content?: Record<string, { schema: { $ref: string } }> } | undefined>;
}

/** Throws unless the document describes this status for the operation, and the response has its media type and its shape. */
export async function expectDescribedResponse(path: string, method: string, response: Response) {
  const { status, headers } = response;
  const template = Object.keys(openapi.paths).find((known) =>
    new RegExp(`^/api/v1${known.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  const operation = (openapi.paths as unknown as Record<string, Record<string, Described>>)[template ?? ""]?.[
    method.toLowerCase()
  ];
  if (operation === undefined) return;
  const described = operation.responses[status] ?? operation.responses[`${String(status)[0]}XX`];
  if (described === undefined) throw new Error(`${method} ${template} must not respond ${status}`);
  const isProblem = status >= 400;
  if (!isProblem && described.content === undefined) return expect(await response.clone().text()).toBe("");
  expect(headers.get("content-type")).toBe(isProblem ? "application/problem+json" : "application/json");
  const body: unknown = await response.clone().json();
  if (isProblem) {
    validate("/components/schemas/Problem", body);
    expect(body).toMatchObject({ status });
  } else {
    validate(described.content?.["application/json"]?.schema.$ref.slice(1) ?? "", body);
  }
}

/** Throws unless the document describes an event of this type and shape. */
export function expectDescribedEvent(type: string, event: unknown): void {
  const webhooks = openapi.webhooks as unknown as Record<
    string,
    { post: { requestBody: { content: { "application/json": { schema: { $ref: string } } } } } }
  >;
  validate(webhooks[type]?.post.requestBody.content["application/json"].schema.$ref.slice(1) ?? type, event);
}

/** Validates the events of a service, also those that no endpoint received. */
export function expectDescribedEvents(service: MockService): void {
  const { recentEvents } = service.snapshot().state as { recentEvents: { type: string }[] };
  for (const event of recentEvents) expectDescribedEvent(event.type, event);
}

function validate(pointer: string, value: unknown): void {
  const check = ajv.getSchema(`document#${pointer}`);
  if (check === undefined) throw new Error(`the document has no ${pointer}`);
  if (check(value) !== true) throw new Error(`not as ${pointer} describes: ${ajv.errorsText(check.errors)}`);
}
