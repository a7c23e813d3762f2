/** Clients for tests: one with scripted responses and failures, and one of the mock service. */
import {
  type CallOptions,
  type ClientEvent,
  createIssuingClient,
  type IssuingClient,
  type IssuingClientOptions,
  type IssuingError,
  isIssuingError,
} from "@loyalty-cards/issuing-client";
import { createMockService, manualClock } from "@loyalty-cards/mock-server";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import { createVirtualClock } from "./virtual-clock.ts";

export const template = {
  id: "tpl_club",
  name: "Club",
  fields: [
    { key: "name", type: "name", required: true, label: "Name" },
    { key: "points", type: "number" },
  ],
  tiers: [{ name: "Silver", from: 10 }],
} as const;

export const apiKey = "key_that_nobody_may_see";

export const signUp = {
  fieldValues: { name: "Anna" },
  customer: { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } },
};

type OperationCall = (client: IssuingClient, options?: CallOptions) => Promise<unknown>;
type ReadByCard = (cardId: string, options?: CallOptions) => Promise<unknown>;

const readByCard = Object.keys(operations).map((id): [string, OperationCall] => [
  id,
  (client, options) => (client[id as OperationId] as ReadByCard)("card_1", options),
]);

/**
 * A call of each operation. A method that takes more than the id of a card and options needs an
 * entry.
 */
export const operationCalls = {
  ...Object.fromEntries(readByCard),
  issueCard: (client, options) => client.issueCard(template.id, signUp, { userId: 1, ...options }),
  listOperations: (client, options) => client.listOperations("card_1", {}, options),
  setConsent: (client, options) => client.setConsent("card_1", { marketing: false }, options),
} as Record<OperationId, OperationCall>;

export type Script = Response | Error | ((request: Request) => Response | Promise<Response>);

export const card = { id: "card_1", publicUrl: "https://cards.test/cards/1", loyaltyBalance: 0 };

/** A body that every operation accepts: the examples of the document, merged. */
export const anySuccess: object = Object.assign(
  {},
  ...Object.values(openapi.components.examples).map(({ value }) => value),
  openapi.components.examples.Card.value,
);

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });

/**
 * A client whose fetch returns the scripted responses. Pauses have no length, unless
 * `testing.random` is set.
 */
export function scripted(script: readonly Script[], options: Partial<IssuingClientOptions> = {}) {
  const clock = createVirtualClock();
  const requests: Request[] = [];
  const events: ClientEvent[] = [];
  const left = [...script];
  const client = createIssuingClient({
    baseUrl: "https://cards.test",
    apiKey,
    onEvent(event) {
      events.push(event);
      // A pause ends immediately, and the clock advances by its length.
      if (event.type === "retry") queueMicrotask(() => clock.advance(event.delayMs));
    },
    fetch: async (input, init) => {
      requests.push(new Request(input as string, init));
      const next = left.shift();
      if (next === undefined) throw new Error("the script is over");
      if (next instanceof Error) throw next;
      return typeof next === "function" ? next(new Request(input as string, init)) : next;
    },
    ...options,
    testing: { clock, random: () => 0, ...options.testing },
  });
  return { client, clock, requests, events, left };
}

/** What fetch throws when the network fails. */
export const networkError = (code: string) =>
  Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(code), { code }) });

/** The message without the address of the error page. */
export const readText = ({ message }: Error) => message.replace(/ See https:\S+$/, "");

/** The error of a call that fails. */
export async function catchIssuingError(promise: Promise<unknown>): Promise<IssuingError> {
  const error: unknown = await promise.catch((thrown) => thrown);
  if (!isIssuingError(error)) throw new Error(`not an IssuingError: ${error}`);
  return error;
}

/** Issues a card with scripted responses, under the key `order-1`. */
export const issueScripted = (script: readonly Script[], options = {}) => {
  const run = scripted(script, options);
  return {
    ...run,
    result: run.client.issueCard(template.id, signUp, { idempotencyKey: "order-1" }),
  };
};

/** A client of a mock service. `connect` creates another one. */
export function openWebsite(options: Partial<IssuingClientOptions> = {}) {
  const service = createMockService({ templates: [template], clock: manualClock() });
  const { baseUrl } = service;
  const connect = (own: Partial<IssuingClientOptions>) =>
    createIssuingClient({
      baseUrl,
      apiKey: service.apiKeys.website,
      fetch: (input, init) => service.fetch(new Request(input, init)),
      ...own,
    });
  return { service, connect, client: connect(options) };
}
