/** The calls of a shop against a mutated service; after each call, the result is compared with the state of the service. */

import { randomUUID } from "node:crypto";
import { inspect, isDeepStrictEqual } from "node:util";
import {
  type Card,
  cardLinks,
  createIssuingClient,
  type Operation as HistoryEntry,
  type IssueCardRequest,
  isIssuingError,
} from "../../../packages/issuing-client/src/index.ts";
import type { MockService } from "../../../packages/mock-server/src/index.ts";
import { findLeaks } from "./deliveries.ts";
import { type Draw, type Hooks, type Members, type Step, signUps, stored, togetherName } from "./mutation.ts";

interface StoryOptions {
  service: MockService;
  hooks: Required<Hooks>;
  draw: Draw;
  violations: string[];
  baseUrl: string;
}

/** The program of a shop: every call of the client, and after each what it brought beside what is true. */
export function createStory({ service, hooks, draw, violations, baseUrl }: StoryOptions) {
  const ends: Partial<Record<Step, string>> = {};
  const createClient = (apiKey: string, more = {}) =>
    createIssuingClient({ baseUrl, apiKey, testing: { random: () => 0 }, deadlineMs: 3_000, ...more });
  const client = createClient(service.apiKeys.website);
  const phone = () => `+4860${1_000_000 + draw.below(8_999_999)}`;
  const anna = { phone: phone(), name: draw.pick(["Anna Nowak", "Łucja Żółć", "О. Іваненко", "寿 山田"]) };
  const bo = { email: `${draw.text(9)}@example.com`, name: `Bo ${draw.text(8)}` };
  const createCustomer = (contact: object): IssueCardRequest["customer"] => ({
    ...contact,
    consents: { privacy: { version: "2026-01" } },
  });
  const createRequest = (contact: object): IssueCardRequest => ({
    customer: createCustomer(contact),
    fieldValues: "name" in contact ? { name: String(contact.name) } : {},
  });
  const personalData = [anna.phone, anna.name, bo.email, bo.name];
  const history: HistoryEntry[] = [];
  /** The number of cards that the mock service has issued for each user. */
  const cardsOfUser = new Map<string, number>();
  let card: Card | undefined;

  async function end<Value>(step: Step, call: () => Promise<Value> | Value): Promise<Value | undefined> {
    try {
      const value = await call();
      ends[step] = value === undefined ? "undefined" : "value";
      return value;
    } catch (error) {
      ends[step] = isIssuingError(error) ? error.code : "crash";
      if (!isIssuingError(error)) violations.push(`${step} threw ${inspect(error)}`);
      const isKnown = (cardId: string) =>
        storedCards().has(cardId) || truths().some(({ id }) => String(id) === cardId);
      if (isIssuingError(error) && error.cardId !== undefined && !isKnown(error.cardId))
        violations.push(`${step} names a card that does not exist: ${error.cardId}`);
      const text = `${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`;
      violations.push(...findLeaks([text], [...personalData, service.apiKeys.website]));
      return undefined;
    }
  }

  const storedCards = () => stored(service).cards;
  const truths = () => [...storedCards().keys()].map((id) => hooks.card({ ...service.cards.get(id) }));

  /** Issues a card for a user of the shop, and counts the user's cards. */
  async function issue(
    step: Step,
    userId: string,
    contact: object,
    { by = client, request = createRequest(contact), namespace = "", more = {} } = {},
  ): Promise<Card | undefined> {
    const before = storedCards().size;
    const issued = await end(step, () => by.issueCard("tpl_club", request, { userId, ...more }));
    const user = namespace + userId;
    cardsOfUser.set(user, (cardsOfUser.get(user) ?? 0) + storedCards().size - before);
    if (issued !== undefined) compareCard(step, issued);
    return issued;
  }

  /** The card of a sign-up may have its first state: the service may replay the first response. */
  function compareCard(step: Step, returned: Card): void {
    const truth = truths().find(({ id }) => id === returned.id);
    if (truth === undefined)
      return void violations.push(`${step} returns a card that does not exist: ${returned.id}`);
    const isReplay = signUps.includes(step);
    const members: Members = { ...returned };
    for (const [member, value] of Object.entries(truth)) {
      const given = members[member];
      const isAsIssued =
        isReplay && ["loyaltyBalance", "loyaltyTier", "fieldValues", "status"].includes(member);
      if (given === undefined || isAsIssued || isDeepStrictEqual(given, value)) continue;
      violations.push(`${step} returns ${member} = ${inspect(given)}, and the service has ${inspect(value)}`);
    }
  }

  function compareHistory(step: Step, returned: readonly HistoryEntry[]): void {
    let place = -1;
    for (const operation of returned) {
      const entry: Members = { ...operation };
      const found = history.findIndex(({ id }) => id === entry["id"]);
      const wrong = Object.entries(history[found] ?? {}).filter(
        ([member, value]) => entry[member] !== undefined && !isDeepStrictEqual(entry[member], value),
      );
      if (found <= place) violations.push(`${step} returns an operation at a wrong place: ${entry["id"]}`);
      for (const [member] of wrong) violations.push(`${step} returns ${member} = ${inspect(entry[member])}`);
      place = found;
    }
  }

  function compareConsent(
    step: Step,
    returned: { marketingConsent: unknown } | undefined,
    customerId: string,
  ): void {
    if (returned === undefined) return;
    const isGiven = stored(service).customers.get(customerId)?.marketing.isGiven;
    if (returned.marketingConsent === isGiven) return;
    violations.push(
      `${step} returns marketingConsent = ${inspect(returned.marketingConsent)}, and it is ${isGiven}`,
    );
  }

  return {
    ends,
    personalData,

    async signUp(): Promise<void> {
      const user = randomUUID();
      card = await issue("signUp", user, anna);
      const again = await issue("signUpAgain", user, anna);
      if (card && again && card.id !== again.id) violations.push("signUpAgain returns another card");

      // The form is sent twice, by two processes.
      const twice = randomUUID();
      const contact = { phone: phone(), name: togetherName };
      const before = storedCards().size;
      const both = await Promise.all(
        (["signUpAtOnce", "signUpAtOnceToo"] as const).map((step) =>
          end(step, () =>
            createClient(service.apiKeys.website).issueCard("tpl_club", createRequest(contact), {
              userId: twice,
            }),
          ),
        ),
      );
      cardsOfUser.set(twice, storedCards().size - before);
      // The order is random; the call with the unexpected end is counted as the second.
      if (ends.signUpAtOnce !== "value")
        [ends.signUpAtOnce, ends.signUpAtOnceToo] = [ends.signUpAtOnceToo ?? "", ends.signUpAtOnce ?? ""];
      if (new Set(both.flatMap((each) => each?.id ?? [])).size > 1)
        violations.push("two concurrent sign-ups return two cards");

      const marketing = { consents: { privacy: { version: "2026-01" }, marketing: {} } };
      await issue("signUpByEmail", randomUUID(), bo, {
        request: { customer: { ...bo, phone: "", ...marketing } },
      });
      const careless = randomUUID();
      await issue("signUpInvalid", careless, { phone: "12" });
      await issue("signUpCorrected", careless, { phone: "601 234 567" });
      // A key suffix is only safe after a stored refusal. After an unknown outcome it could issue a second card.
      if (ends.signUpInvalid === "validation" && ends.signUpCorrected === "validation")
        await issue(
          "signUpWithKeySuffix",
          careless,
          { phone: "601 234 567" },
          { more: { keySuffix: "corrected" } },
        );
      // Another website on the same service, with the same user ids.
      const staging = createClient(service.apiKeys.website, { idempotencyNamespace: "staging" });
      const contactThere = { phone: phone() };
      const cardThere = await issue("signUpAtOtherWebsite", user, contactThere, {
        by: staging,
        namespace: "staging",
      });
      if (cardThere !== undefined && cardThere.id === card?.id)
        violations.push("signUpAtOtherWebsite returns the card of another person");
      await end("archivedTemplate", () =>
        client.issueCard("tpl_archived", createRequest({ phone: phone() }), { userId: randomUUID() }),
      );
      await end("wrongKey", () =>
        createClient("wrong-key").issueCard("tpl_club", createRequest({ phone: phone() }), {
          userId: randomUUID(),
        }),
      );
      await end("unknownCard", () => client.getCard("card_of_nobody"));
    },

    async useCards(): Promise<void> {
      const own = ownCard();
      if (own === undefined) return;
      service.cards.addToWallet(own.id, "apple");
      await tick();
      service.cards.removeFromWallet(own.id, "apple");
      await tick();
      service.cards.addToWallet(own.id, "google");
      if (card === undefined) return;
      const { id } = card;
      const { customerId } = own;
      const links = await end("links", () => cardLinks(card as Card));
      if (links !== undefined && links.page !== card.publicUrl)
        violations.push(`links gives ${links.page} for ${card.publicUrl}`);
      compareConsent("getConsent", await end("getConsent", () => client.getConsent(id)), customerId);
      await tick();
      const given = await end("giveConsent", () =>
        client.setConsent(id, { marketing: true, version: "2026-02" }),
      );
      compareConsent("giveConsent", given, customerId);
      compareConsent(
        "getGivenConsent",
        await end("getGivenConsent", () => client.getConsent(id)),
        customerId,
      );
      await tick();
      const withdrawn = await end("withdrawConsent", () => client.setConsent(id, { marketing: false }));
      compareConsent("withdrawConsent", withdrawn, customerId);
    },

    /** Purchases and other operations, after the signing secret was replaced. */
    async collectPoints(): Promise<void> {
      const own = ownCard();
      if (own === undefined) return;
      const { cards } = service;
      const reward = { points: 5.25 };
      const entries = [
        () => cards.purchase(own.id, { points: 120 + draw.below(80) }),
        () => cards.reward(own.id, reward),
        () => cards.redeem(own.id, { points: 10 }),
        () => cards.correct(own.id, { change: -1 }),
        () => cards.cancel(history.find(({ type }) => type === "reward")?.id ?? ""),
      ];
      for (const entry of entries) {
        await tick();
        history.unshift(entry());
      }
    },

    async comeBack(): Promise<void> {
      const own = ownCard();
      if (card === undefined || own === undefined) return void countCards();
      const { id } = card;
      const returned = await end("getCard", () => client.getCard(id));
      if (returned !== undefined) compareCard("getCard", returned);
      const all = await end("listOperations", () => client.listOperations(id));
      if (all !== undefined) compareHistory("listOperations", all);
      const two = await end("listTwoOperations", () => client.listOperations(id, { limit: 2 }));
      if (two !== undefined) compareHistory("listTwoOperations", two);
      await issue("signUpLater", lastUser(), anna);
      await issue("signUpUnderAnotherKey", randomUUID(), anna);
      countCards();
    },
  };

  /** The card of the first sign-up in the mock service. */
  function ownCard(): ReturnType<MockService["cards"]["get"]> | undefined {
    const [id] = storedCards().keys();
    return id === undefined ? undefined : service.cards.get(id);
  }

  function lastUser(): string {
    return [...cardsOfUser.keys()][0] ?? "";
  }

  function countCards(): void {
    for (const count of cardsOfUser.values()) if (count > 1) violations.push(`a user has ${count} cards`);
  }

  /** Gives each event another time. */
  function tick(): Promise<unknown> {
    return service.clock.advance(1_000);
  }
}
