/**
 * Makes every call of the client to a service, and says what did not hold: how a call has to end,
 * a value is what the service sent, a customer gets one card, and nothing leaks.
 */
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import {
  type Card,
  createIssuingClient,
  type IssueCardOptions,
  type IssueCardRequest,
  type IssuingClient,
  isIssuingError,
} from "../../packages/issuing-client/src/index.ts";
import { findLeaks, twinName } from "./expectations.ts";
import { openService, type Respond } from "./hostile-service.ts";
import type { CallEnds, CallName, Members } from "./row.ts";

/** How calls end with the mock service that do not end in a value. */
const usualEnds: { [Name in CallName]?: string } = {
  signUpInvalid: "validation",
  archivedTemplate: "not-found",
  wrongKey: "unauthorized",
  unknownCard: "not-found",
};

/** Of these calls another one's response may be the last that the service sent. */
const isAtOnce = (name: CallName) => name.startsWith("signUpAtOnce");

interface Visitor {
  id: string;
  phone?: string;
  email?: string;
  name?: string;
}

interface SignUp {
  client?: IssuingClient;
  template?: string;
  keySuffix?: string;
}

let phones = 1_000_000;
const createVisitor = () => ({ id: randomUUID(), phone: `+4860${++phones}` });

/** Returns one sentence for each violation. */
export async function checkClient(respond: Respond, expected: CallEnds): Promise<string[]> {
  const website = openWebsite(respond, expected);
  const card = await signUpEverybody(website);
  if (card !== undefined) await useCard(website, card);
  return website.violations;
}

type Website = ReturnType<typeof openWebsite>;

function openWebsite(respond: Respond, expected: CallEnds) {
  const service = openService(respond);
  const anna = { ...createVisitor(), name: "Łucja 寿 О. Іваненко" };
  const bo = { id: randomUUID(), email: "bo.8sx4@example.com", name: "Bo 8sx4" };
  const secrets = [anna.phone, anna.name, bo.email, bo.name, service.apiKeys.website];
  const violations: string[] = [];
  const ends = new Map<CallName, string>();

  const connect = (options: { apiKey?: string; idempotencyNamespace?: string } = {}) =>
    createIssuingClient({
      baseUrl: service.baseUrl,
      apiKey: service.apiKeys.website,
      fetch: service.fetch,
      testing: { random: () => 0 },
      deadlineMs: 3_000,
      ...options,
    });
  const client = connect();

  function check(holds: boolean, violation: string): void {
    if (!holds) violations.push(violation);
  }

  /** Makes a call, and compares how it ends. */
  async function call<Value>(
    name: CallName,
    method: () => Promise<Value>,
  ): Promise<Value | undefined> {
    const usual = usualEnds[name] ?? "value";
    const expectedEnd = expected.calls.includes(name) ? expected.end : usual;
    const { value, end } = await settle(name, method);
    ends.set(name, end);
    check(end === expectedEnd, `${name} ends in ${end} instead of ${expectedEnd}`);
    return value;
  }

  async function settle<Value>(name: CallName, method: () => Promise<Value>) {
    try {
      const value = await method();
      const isSent = isAtOnce(name) || isWithin(value, service.last.body);
      check(isSent, `${name} returns ${inspect(value)}`);
      return { value, end: value === undefined ? "undefined" : "value" };
    } catch (error) {
      const { cardId } = error as { cardId?: string };
      const isSent = cardId === undefined || JSON.stringify(service.last.body)?.includes(cardId);
      check(isAtOnce(name) || isSent === true, `${name} names the card ${cardId}`);
      violations.push(...findLeaks([inspect(error, { depth: 9 }), JSON.stringify(error)], secrets));
      return { end: isIssuingError(error) ? error.code : inspect(error) };
    }
  }

  async function signUp(name: CallName, visitor: Visitor, options: SignUp = {}) {
    const { client: by = client, template = "tpl_club", keySuffix } = options;
    const form = toForm(visitor);
    const userId = visitor.id;
    const key: IssueCardOptions = { userId, ...(keySuffix !== undefined && { keySuffix }) };
    const card = await call(name, () => by.issueCard(template, form, key));
    const counts = [...service.readState().customers.values()].map(({ cardIds }) => cardIds.length);
    const mayIssueAnother = name === "signUpUnderAnotherKey";
    check(mayIssueAnother || Math.max(0, ...counts) < 2, `${name} issues a second card`);
    return card;
  }

  return { service, anna, bo, violations, ends, client, connect, check, call, signUp };
}

function toForm({ id: _id, name, ...contact }: Visitor): IssueCardRequest {
  const named = name === undefined ? {} : { name };
  const consents = { privacy: { version: "2026-01" } };
  return { customer: { ...contact, ...named, consents }, fieldValues: named };
}

/** @returns the card of the first visitor. */
async function signUpEverybody(website: Website): Promise<Card | undefined> {
  const { anna, bo, check, connect, signUp, call, client } = website;
  const card = await signUp("signUp", anna);
  const again = await signUp("signUpAgain", anna);
  check(!card || !again || card.id === again.id, "signUpAgain returns another card");
  await signUpTwins(website);
  await signUp("signUpByEmail", bo);
  await correct(website);

  // Another website on the same service, with the same user ids.
  const otherWebsite = connect({ idempotencyNamespace: "b" });
  const stranger = { ...createVisitor(), id: anna.id };
  const other = await signUp("signUpElsewhere", stranger, { client: otherWebsite });
  check(!card || card.id !== other?.id, "signUpElsewhere returns the card of another person");

  await signUp("archivedTemplate", createVisitor(), { template: "tpl_archived" });
  await signUp("wrongKey", createVisitor(), { client: connect({ apiKey: "wrong" }) });
  await call("unknownCard", () => client.getCard("card_of_nobody"));
  return card;
}

/** Two processes sign up one visitor at once. */
async function signUpTwins({ signUp, connect, check }: Website): Promise<void> {
  const twin = { ...createVisitor(), name: twinName };
  const cards = await Promise.all([
    signUp("signUpAtOnce", twin, { client: connect() }),
    signUp("signUpAtOnceToo", twin, { client: connect() }),
  ]);
  const ids = cards.flatMap((card) => card?.id ?? []);
  check(new Set(ids).size < 2, "concurrent sign-ups return two cards");
}

/** A visitor corrects an invalid phone. */
async function correct({ signUp, ends }: Website): Promise<void> {
  const careless = { ...createVisitor(), phone: "12" };
  const corrected = { ...careless, phone: "601 234 567" };
  await signUp("signUpInvalid", careless);
  await signUp("signUpCorrected", corrected);
  // A key suffix is only safe after a stored refusal. After an unknown outcome it could issue a
  // second card.
  const isStored = ["signUpInvalid", "signUpCorrected"].every(
    (name) => ends.get(name as CallName) === "validation",
  );
  if (isStored) await signUp("signUpWithKeySuffix", corrected, { keySuffix: "corrected" });
}

async function useCard({ service, client, call, signUp, anna }: Website, { id }: Card) {
  await call("getConsent", () => client.getConsent(id));
  await call("giveConsent", () => client.setConsent(id, { marketing: true, version: "2026-02" }));
  await call("getGivenConsent", () => client.getConsent(id));
  await call("withdrawConsent", () => client.setConsent(id, { marketing: false }));
  const [ownId = ""] = service.readState().cards.keys(); // of the mock service, which has no other
  for (const points of [157, 5.25, 10, 20]) service.cards.purchase(ownId, { points });
  await call("getCard", () => client.getCard(id));
  await call("listOperations", () => client.listOperations(id));
  await call("listTwoOperations", () => client.listOperations(id, { limit: 2 }));
  await signUp("signUpLater", anna);
  await signUp("signUpUnderAnotherKey", { ...anna, id: randomUUID() });
}

/**
 * Whether each member of a value was sent: in the body, or in a member of it. The client removes
 * members of a wrong type, and makes text of an id that is a whole number.
 */
function isWithin(value: unknown, sent: unknown): boolean {
  if (value === undefined) return true;
  return [sent, ...Object.values(sent ?? {})].some((body) => isPart(value, body));
}

function isPart(part: unknown, whole: unknown, name?: string): boolean {
  if (isObject(part) && isObject(whole))
    return Object.entries(part).every(([each, member]) => isPart(member, whole[each], each));
  const isTextOfId = name === "id" && Number.isSafeInteger(whole) && part === String(whole);
  return isTextOfId || Object.is(part, whole);
}

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null;
