/** A shop for the tests: a service with one template, and a website that calls it. */
import { verifyWebhookSync, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { createMockService, type MockService, type MockServiceOptions, manualClock } from "../src/index.ts";
import { expectDescribed, expectEvent } from "./contract.ts";

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

/** Calls an HTTP surface as a website's server would, holding each answer against the document. */
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
    await expectDescribed(new URL(request.url).pathname, method, response);
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

/** A service on a clock that stands, with a website in front of it. */
export function openShop(options: MockServiceOptions = {}) {
  const service = createMockService({
    clock: manualClock(noon),
    templates: [template],
    log: () => {},
    ...options,
  });
  const call = caller(service.baseUrl, service.fetch, service.apiKeys.website);
  const issue = async (body: unknown = signUp(), headers: Record<string, string> = {}) =>
    call("POST", `/api/v1/templates/${template.id}/passes`, { body, headers });
  return { service, call, issue };
}

/** A receiver in process: verifies, records, and answers what it is told to. */
export function receiver() {
  const events: WebhookEvent[] = [];
  const requests: Request[] = [];
  const answers: (number | Error | Promise<Response>)[] = [];
  let secret = "";
  let service: MockService | undefined;

  async function deliver(request: Request): Promise<Response> {
    requests.push(request.clone());
    const answer = answers.shift() ?? 204;
    if (answer instanceof Error) throw answer;
    if (typeof answer !== "number") return answer;
    const rawBody = new Uint8Array(await request.arrayBuffer());
    const event = verifyWebhookSync({
      rawBody,
      signature: request.headers.get("service-signature"),
      secret,
      now: () => service?.clock.now() ?? Date.now(),
    });
    expectEvent(event.type, event);
    if (answer < 300) events.push(event);
    return new Response(null, { status: answer });
  }

  return {
    deliver,
    events,
    requests,
    /** What the next attempts are answered; 204 when nothing is left. */
    answers,
    subscribe(to: MockService, types: readonly WebhookEvent["type"][]) {
      service = to;
      const endpoint = to.webhooks.createEndpoint({
        url: "https://shop.test/webhooks",
        events: types as never,
      });
      secret = endpoint.secret;
      return endpoint;
    },
    useSecret(next: string) {
      secret = next;
    },
  };
}
