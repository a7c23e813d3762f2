/** Runs the client and a receiver with a service that one case changes, and says what did not hold. */
import { randomUUID } from "node:crypto";
import { inspect, isDeepStrictEqual } from "node:util";
import { eventExamples } from "@loyalty-cards/openapi/event-examples";
import { operations } from "@loyalty-cards/openapi/operations";
import * as issuing from "../../packages/issuing-client/src/index.ts";
import { createMockService } from "../../packages/mock-server/src/index.ts";
import { fetchReceiver } from "../../packages/webhook-verify/src/adapters/fetch.ts";
import * as verify from "../../packages/webhook-verify/src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: a case puts anything in any member.
export type Members = Record<string, any>;
type Headers = Record<string, string>;
/** A request of the client: its path with the query, and its parsed body. */
export type Call = { operation: string; method: string; path: string; headers: Headers; body: Members };
/** The body is sent as JSON; `text` is sent unchanged instead. */
export type Reply = { status: number; headers: Headers; body?: Members | undefined; text?: string };
type Respond = (request: Call) => Promise<Reply>;
/** One attempt at a delivery: the place of its event, how often it was sent before, and what signs its body. */
interface Attempt {
  index: number;
  number: number;
  now: number; // in seconds
  otherSecret: string; // which did not sign it
  sign(timestamp: number, secret?: string): string;
}

/** Another value of a header. */
export type Header = (old: string, attempt: Attempt) => string;

/** One way in which the real service may differ from docs/assumptions.md, and what is expected then. */
export interface Case {
  name: string;
  /** The operations, or the types of events, that differ. */
  on: RegExp;
  /** Returns new members of a request before the mock service gets it, or a response in its place. */
  request?(request: Call): object | false;
  /** Responds in place of the mock service, or through it. */
  respond?(request: Call, next: Respond): Promise<Reply>;
  /** Returns new members of a response that is a success, or has the status `of`; of 400 means each error. */
  response?(response: Reply & { body: Members }): object;
  of?: number;
  /** The calls with such a name end in `value`, in `undefined`, or with this code of an IssuingError. */
  ends?: [calls: RegExp, end: string];

  /** The events that are sent for one event. */
  events?(event: Members): Members[];
  /** Changes the body of a delivery before it is signed, and its headers afterwards. */
  text?(body: string): string;
  headers?(headers: globalThis.Headers, attempt: Attempt): void;
  toleranceSeconds?: number;
  unexpectedData?: readonly string[]; // the types whose events go to this handler
  otherTypes?: readonly string[];
  /** The status of the receiver, instead of 204. */
  refused?: number;
}

export const eventTypes = Object.keys(eventExamples);
/** A name in two concurrent sign-ups, so that a case can recognize them. */
export const twinName = "Two At Once";
/** How calls end with the mock service that do not end in a value. */
const standardEnds: Record<string, string> = {
  signUpInvalid: "validation",
  archivedTemplate: "not-found",
  wrongKey: "unauthorized",
  unknownCard: "not-found",
};
type State = { cards: Map<string, unknown>; customers: Map<string, { cardIds: string[] }> };

/** Whether each member of a value was sent: in the body, or in a member of it. The client removes members of a wrong type. */
function isWithin(value: unknown, sent: unknown): boolean {
  const isPart = (part: unknown, whole: unknown): boolean =>
    typeof part === "object" && part !== null && typeof whole === "object" && whole !== null
      ? Object.entries(part).every(([name, member]) => isPart(member, (whole as Members)[name]))
      : Object.is(part, whole);
  return value === undefined || [sent, ...Object.values(sent ?? {})].some((body) => isPart(value, body));
}

/** Finds personal data and secrets in logged text. */
const findLeaks = (texts: readonly string[], words: readonly string[]): string[] =>
  texts.filter((text) => words.some((word) => text.includes(word))).map((text) => `leaks: ${text}`);

/** Makes every call of the client. A value must be what the service sent, and a customer must not get two cards. */
export async function useClient({ on = /./, ...changed }: Partial<Case>): Promise<string[]> {
  const found: string[] = [];
  const check = (isTrue: boolean, violation: string) => void (isTrue || found.push(violation));
  const fields = [{ key: "name", type: "name" } as const, { key: "points", type: "number" } as const];
  const templates = ["tpl_club", "tpl_archived"].map((id) => ({ id, name: "Club", fields }));
  const service = createMockService({ templates, log: () => {} }); // which logs a key with another body
  service.templates.archive("tpl_archived");
  const { baseUrl, apiKeys, cards } = service;
  const readState = () => service.snapshot().state as State;

  async function next({ method, path, headers, body }: Call): Promise<Reply> {
    const init = { method, headers, body: JSON.stringify(body) ?? null };
    const response = await service.fetch(new Request(baseUrl + path, init));
    const text = await response.text();
    const own = { status: response.status, headers: Object.fromEntries(response.headers) };
    return text === "" ? own : { ...own, body: JSON.parse(text) };
  }
  async function respond(request: Call): Promise<Reply> {
    if (!on.test(request.operation)) return next(request);
    const other = { ...request, ...changed.request?.(request) };
    if ("status" in other) return other as unknown as Reply;
    const response = await (changed.respond?.(other, next) ?? next(other));
    const { body = {}, status } = response;
    const isMeant = status < 300 ? changed.of === undefined : changed.of === 400 || changed.of === status;
    return isMeant ? { ...response, ...changed.response?.({ ...response, body }) } : response;
  }
  let sent: unknown; // the last body
  async function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init);
    const { method } = request;
    const headers = Object.fromEntries(request.headers);
    const path = request.url.slice(baseUrl.length);
    const [operation = ""] = Object.entries(operations).flatMap(([name, known]) => {
      const pattern = new RegExp(`^/api/v1${known.path.replace(/\{\w+\}/, "[^/]+")}(\\?|$)`);
      return method === known.method && pattern.test(path) ? [name] : [];
    });
    const received = await request.text();
    const body = received === "" ? undefined : JSON.parse(received);
    const { text, ...response } = await respond({ operation, method, path, headers, body });
    const json = text ?? JSON.stringify(response.body);
    sent = text ?? (json && JSON.parse(json));
    return new Response(json ?? null, response);
  }
  const testing = { random: () => 0 };
  const options = { baseUrl, apiKey: apiKeys.website, fetch, testing, deadlineMs: 3_000 };
  const client = issuing.createIssuingClient(options);

  let phones = 1_000_000;
  const createVisitor = () => ({ id: randomUUID(), phone: `+4860${++phones}` });
  const anna = { ...createVisitor(), name: "Łucja 寿 О. Іваненко" };
  const bo = { id: randomUUID(), phone: "", email: "bo.8sx4@example.com", name: "Bo 8sx4" };
  const words = [anna.phone, anna.name, bo.email, bo.name, apiKeys.website];
  const ends: Record<string, string> = {};

  /** Makes a call, and compares how it ends. */
  async function call<Value>(step: string, method: () => Promise<Value>): Promise<Value | undefined> {
    try {
      const value = await method();
      ends[step] = value === undefined ? "undefined" : "value";
      check(isWithin(value, sent) || step.includes("AtOnce"), `${step} returns ${inspect(value)}`);
      return value;
    } catch (error) {
      ends[step] = issuing.isIssuingError(error) ? error.code : inspect(error);
      const { cardId } = error as { cardId?: string };
      const isSent = cardId === undefined || JSON.stringify(sent)?.includes(cardId);
      check(isSent || step.includes("AtOnce"), `${step} names the card ${cardId}`);
      found.push(...findLeaks([inspect(error, { depth: 9 }), JSON.stringify(error)], words));
      return undefined;
    } finally {
      const [calls, end] = changed.ends ?? [];
      const expected = (calls?.test(step) ? end : standardEnds[step]) ?? "value";
      check(ends[step] === expected, `${step} ends in ${ends[step]} instead of ${expected}`);
    }
  }
  async function signUp(step: string, form: Members, more: Members = {}, by = client, template = "tpl_club") {
    const { id: userId, name, ...contact } = form;
    const customer = { ...contact, ...(name && { name }), consents: { privacy: { version: "2026-01" } } };
    const request = { customer, fieldValues: name ? { name } : {} } as issuing.IssueCardRequest;
    const card = await call(step, () => by.issueCard(template, request, { userId, ...more }));
    const counts = [...readState().customers.values()].map(({ cardIds }) => cardIds.length);
    check(step === "signUpUnderAnotherKey" || Math.max(0, ...counts) < 2, `${step} issues a second card`);
    return card;
  }

  const card = await signUp("signUp", anna);
  const again = await signUp("signUpAgain", anna);
  check(!card || !again || card.id === again.id, "signUpAgain returns another card");
  const twin = { ...createVisitor(), name: twinName };
  const steps = ["signUpAtOnce", "signUpAtOnceToo"];
  const submit = (step: string) => signUp(step, twin, {}, issuing.createIssuingClient(options));
  const twins = await Promise.all(steps.map(submit));
  check(new Set(twins.flatMap((one) => one?.id ?? [])).size < 2, "concurrent sign-ups return two cards");
  await signUp("signUpByEmail", bo);
  const careless = { ...createVisitor(), phone: "12" };
  const corrected = { ...careless, phone: "601 234 567" };
  await signUp("signUpInvalid", careless);
  await signUp("signUpCorrected", corrected);
  // A key suffix is only safe after a stored refusal. After an unknown outcome it could issue a second card.
  if (ends["signUpInvalid"] === "validation" && ends["signUpCorrected"] === "validation")
    await signUp("signUpWithKeySuffix", corrected, { keySuffix: "corrected" });
  // Another website on the same service, with the same user ids.
  const otherWebsite = issuing.createIssuingClient({ ...options, idempotencyNamespace: "b" });
  const other = await signUp("signUpElsewhere", { ...createVisitor(), id: anna.id }, {}, otherWebsite);
  check(!card || card.id !== other?.id, "signUpElsewhere returns the card of another person");
  await signUp("archivedTemplate", createVisitor(), {}, client, "tpl_archived");
  await signUp("wrongKey", createVisitor(), {}, issuing.createIssuingClient({ ...options, apiKey: "wrong" }));
  await call("unknownCard", () => client.getCard("card_of_nobody"));
  if (card === undefined) return found;

  const { id } = card;
  await call("getConsent", () => client.getConsent(id));
  await call("giveConsent", () => client.setConsent(id, { marketing: true, version: "2026-02" }));
  await call("getGivenConsent", () => client.getConsent(id));
  await call("withdrawConsent", () => client.setConsent(id, { marketing: false }));
  const [ownId = ""] = readState().cards.keys();
  for (const points of [157, 5.25, 10, 20]) cards.purchase(ownId, { points });
  await call("getCard", () => client.getCard(id));
  await call("listOperations", () => client.listOperations(id));
  await call("listTwoOperations", () => client.listOperations(id, { limit: 2 }));
  await signUp("signUpLater", anna);
  await signUp("signUpUnderAnotherKey", { ...anna, id: randomUUID() });
  return found;
}

/** Delivers two events of each type as the case changes them, and compares what the receiver did with what was sent. */
export async function useReceiver({ on = /./, refused, ...changed }: Partial<Case>): Promise<string[]> {
  const secrets = ["whsec_new", "whsec_old"];
  const logged: string[] = [];
  const handled: string[] = [];
  const statuses = new Set<number>();
  const unexpectedData = new Set<string>();
  const otherTypes = new Set<string>();
  const log = (line: string) => void logged.push(line);
  const routes: verify.EventHandlers = {
    "card.added": ({ data }) => data.passId.length,
    "card.removed": ({ data }) => data.passId.length,
    "balance.changed": ({ data }) => data.passId.length + data.balance.toFixed().length,
    "tier.changed": ({ data }) => data.passId.length,
    "consent.changed": ({ data }) => data.passIds.map((passId) => passId.length),
    ping: () => {},
    unexpectedData: ({ type }) => unexpectedData.add(type),
    otherTypes: ({ type }) => otherTypes.add(type),
  };
  const { toleranceSeconds = 300 } = changed;
  const handle = verify.onEvents(routes, { log });
  const handler: typeof handle = async (event, delivery) => {
    await handle(event, delivery);
    handled.push(event.id);
  };
  const dedupe = verify.memoryDedupe();
  const receive = fetchReceiver({ secret: secrets, toleranceSeconds, log, dedupe, handler });
  const events = Object.values(eventExamples as Members)
    .flatMap((event) => [event, { ...event, id: `${event.id}_2` }])
    .flatMap((event) => (on.test(event.type) && changed.events?.(event)) || [event]);
  // A duplicate before the other events, and one after them.
  for (const [place, event] of [...events, ...events].flatMap((one) => [one, one]).entries()) {
    const json = JSON.stringify(event);
    const rawBody = changed.text?.(json) ?? json;
    const [secret = "", otherSecret = ""] = place % 4 < 2 ? secrets : [...secrets].reverse();
    const now = Math.floor(Date.now() / 1000);
    const sign: Attempt["sign"] = (timestamp, other = secret) =>
      verify.signWebhookSync({ rawBody, secret: other, timestamp });
    const headers = new globalThis.Headers({
      "content-type": "application/json",
      "service-event": String(event.type),
      "service-delivery": "dlv_1",
      "service-signature": sign(now),
    });
    changed.headers?.(headers, { index: place >> 1, number: place % 2, now, otherSecret, sign });
    const request = new Request("https://shop.test/", { method: "POST", headers, body: rawBody });
    statuses.add((await receive(request)).status);
  }
  const ids = new Set(events.map(({ id }) => String(id)));
  const facts: [what: string, is: unknown, expected: unknown][] = [
    ["the statuses", [...statuses], [refused ?? 204]],
    ["the handled events", handled.sort(), refused === undefined ? [...ids].sort() : []],
    ["the types with unexpected data", unexpectedData, new Set(changed.unexpectedData)],
    ["the other types", otherTypes, new Set(changed.otherTypes)],
    ["the log", findLeaks(logged, secrets), []],
  ];
  return facts
    .filter(([, is, expected]) => !isDeepStrictEqual(is, expected))
    .map(([what, is, expected]) => `${what}: ${inspect(is)} instead of ${inspect(expected)}`);
}
