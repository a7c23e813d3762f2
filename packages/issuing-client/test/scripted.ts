/** A client whose service is a script, for the tests: one answer, or failure, after the other. */
import { type ClientEvent, createIssuingClient, type IssuingClientOptions } from "../src/index.ts";
import { standingClock } from "./standing-clock.ts";

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

export type Script = Response | Error | ((request: Request) => Response | Promise<Response>);

export const card = { id: "card_1", publicUrl: "https://cards.test/cards/1", loyaltyBalance: 0 };
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });

/** A client whose fetch answers as scripted; pauses last no time unless `random` says otherwise. */
export function scripted(
  script: readonly Script[],
  options: Partial<IssuingClientOptions> = {},
  decorated = (given: IssuingClientOptions) => given,
) {
  const clock = standingClock();
  const requests: Request[] = [];
  const events: ClientEvent[] = [];
  const left = [...script];
  const given: IssuingClientOptions = {
    baseUrl: "https://cards.test",
    apiKey,
    clock,
    random: () => 0,
    onEvent(event) {
      events.push(event);
      // Pauses and deadlines pass at once; whoever asks for the time sees that they did.
      if (event.type === "retry") queueMicrotask(() => clock.advance(event.pauseMs));
    },
    fetch: async (input, init) => {
      requests.push(new Request(input as string, init));
      const next = left.shift();
      if (next === undefined) throw new Error("the script is over");
      if (next instanceof Error) throw next;
      return typeof next === "function" ? next(new Request(input as string, init)) : next;
    },
    ...options,
  };
  return { client: createIssuingClient(decorated(given)), clock, requests, events, left };
}

/** What fetch throws when the network fails. */
export const networkError = (code: string) =>
  Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(code), { code }) });
