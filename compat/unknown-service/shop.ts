/** A shop: calls every method of the client, and compares each result with the state of the service. */
import { randomUUID } from "node:crypto";
import { inspect, isDeepStrictEqual } from "node:util";
import type { Draw } from "@loyalty-cards/internal/test/draw";
import {
  type Card,
  cardLinks,
  createIssuingClient,
  type Operation as HistoryEntry,
  type IssueCardRequest,
  isIssuingError,
} from "../../packages/issuing-client/src/index.ts";
import type { MockService } from "../../packages/mock-server/src/index.ts";
import { type Changes, type Ends, type Members, type Step, signUps, stored, togetherName } from "./case.ts";

interface ShopOptions {
  service: MockService;
  changes: Changes;
  draw: Draw;
  /** Gets a sentence for each guarantee that does not hold. */
  violations: string[];
  baseUrl: string;
}

export function createShop({ service, changes, draw, violations, baseUrl }: ShopOptions) {
  const ends: Ends = {};
  const createClient = (more = {}) =>
    createIssuingClient({
      baseUrl,
      apiKey: service.apiKeys.website,
      testing: { random: () => 0 },
      deadlineMs: 3_000,
      ...more,
    });
  const client = createClient();
  const createPhone = () => `+4860${1_000_000 + draw.below(8_999_999)}`;
  const anna = {
    phone: createPhone(),
    name: draw.pick(["Anna Nowak", "Łucja Żółć", "О. Іваненко", "寿 山田"]),
  };
  const bo = { email: `${draw.text(9)}@example.com`, name: `Bo ${draw.text(8)}` };
  const personalData = [anna.phone, anna.name, bo.email, bo.name];
  const privacy = { version: "2026-01" };
  const createRequest = (contact: { name?: string; phone?: string }): IssueCardRequest => ({
    customer: { ...contact, consents: { privacy } },
    fieldValues: contact.name === undefined ? {} : { name: contact.name },
  });

  const annasId = randomUUID();
  const history: HistoryEntry[] = [];
  /** The number of cards that the mock service has issued for each user. */
  const cardsOfUser = new Map<string, number>();
  let card: Card | undefined;

  const storedCards = () => stored(service).cards;
  const getCards = () => [...storedCards().keys()].map((id) => changes.card({ ...service.cards.get(id) }));
  /** The card of the first sign-up in the mock service. */
  const getOwnCard = () => [...storedCards().keys()].slice(0, 1).map((id) => service.cards.get(id))[0];
  /** Gives each event another time. */
  const tick = () => service.clock.advance(1_000);

  function check(isTrue: boolean, violation: string): void {
    if (!isTrue) violations.push(violation);
  }

  async function end<Value>(step: Step, call: () => Promise<Value> | Value): Promise<Value | undefined> {
    try {
      const value = await call();
      ends[step] = value === undefined ? "undefined" : "value";
      return value;
    } catch (error) {
      ends[step] = isIssuingError(error) ? error.code : "crash";
      check(isIssuingError(error), `${step} threw ${inspect(error)}`);
      const { cardId } = error as { cardId?: string };
      const isKnown = cardId === undefined || storedCards().has(cardId) || findCard(cardId) !== undefined;
      check(isKnown, `${step} names a card that does not exist: ${cardId}`);
      const text = `${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`;
      violations.push(...findLeaks([text], [...personalData, service.apiKeys.website]));
      return undefined;
    }
  }

  const findCard = (cardId: string) => getCards().find(({ id }) => String(id) === cardId);

  /** Issues a card for a user of the shop, and counts the user's cards. */
  async function issue(
    step: Step,
    userId: string,
    request: IssueCardRequest,
    {
      by = client,
      namespace = "",
      ...options
    }: { by?: typeof client; namespace?: string; keySuffix?: string } = {},
  ): Promise<Card | undefined> {
    const before = storedCards().size;
    const issued = await end(step, () => by.issueCard("tpl_club", request, { userId, ...options }));
    const user = namespace + userId;
    cardsOfUser.set(user, (cardsOfUser.get(user) ?? 0) + storedCards().size - before);
    if (issued !== undefined) compareCard(step, issued);
    return issued;
  }

  /** The card of a sign-up may have its first state: the service may replay the first response. */
  function compareCard(step: Step, returned: Card): void {
    const truth = getCards().find(({ id }) => id === returned.id);
    check(truth !== undefined, `${step} returns a card that does not exist: ${returned.id}`);
    const changing = signUps.includes(step) ? ["loyaltyBalance", "loyaltyTier", "fieldValues", "status"] : [];
    compareMembers(step, returned, truth, changing);
  }

  /** Compares the members that are not absent. */
  function compareMembers(step: Step, returned: object, truth: object = {}, ignored: string[] = []): void {
    for (const [member, value] of Object.entries(truth)) {
      const given = (returned as Members)[member];
      const isEqual = given === undefined || ignored.includes(member) || isDeepStrictEqual(given, value);
      check(isEqual, `${step} returns ${member} = ${inspect(given)}, and the service has ${inspect(value)}`);
    }
  }

  async function compareHistory(step: Step, call: () => Promise<HistoryEntry[]>): Promise<void> {
    let place = -1;
    for (const operation of (await end(step, call)) ?? []) {
      const found = history.findIndex(({ id }) => id === operation.id);
      check(found > place, `${step} returns an operation at a wrong place: ${operation.id}`);
      compareMembers(step, operation, history[found]);
      place = found;
    }
  }

  async function compareConsent(
    step: Step,
    customerId: string,
    call: () => Promise<{ marketingConsent: boolean } | undefined>,
  ): Promise<void> {
    const returned = await end(step, call);
    const marketingConsent = stored(service).customers.get(customerId)?.marketing.isGiven;
    if (returned !== undefined) compareMembers(step, returned, { marketingConsent });
  }

  /** The form is sent twice, by two processes. */
  async function signUpTwiceAtOnce(): Promise<void> {
    const userId = randomUUID();
    const request = createRequest({ phone: createPhone(), name: togetherName });
    const before = storedCards().size;
    const submit = (step: Step) => end(step, () => createClient().issueCard("tpl_club", request, { userId }));
    const both = await Promise.all([submit("signUpAtOnce"), submit("signUpAtOnceToo")]);
    cardsOfUser.set(userId, storedCards().size - before);
    // The order is random; the call with the unexpected end is counted as the second.
    const { signUpAtOnce = "", signUpAtOnceToo = "" } = ends;
    if (signUpAtOnce !== "value")
      Object.assign(ends, { signUpAtOnce: signUpAtOnceToo, signUpAtOnceToo: signUpAtOnce });
    const ids = new Set(both.flatMap((each) => each?.id ?? []));
    check(ids.size < 2, "two concurrent sign-ups return two cards");
  }

  return {
    ends,
    personalData,
    getCards,

    async signUp(): Promise<void> {
      card = await issue("signUp", annasId, createRequest(anna));
      const again = await issue("signUpAgain", annasId, createRequest(anna));
      check(!card || !again || card.id === again.id, "signUpAgain returns another card");
      await signUpTwiceAtOnce();
      const consents = { privacy, marketing: {} };
      await issue("signUpByEmail", randomUUID(), { customer: { ...bo, phone: "", consents } });

      const careless = randomUUID();
      const corrected = createRequest({ phone: "601 234 567" });
      await issue("signUpInvalid", careless, createRequest({ phone: "12" }));
      await issue("signUpCorrected", careless, corrected);
      // A key suffix is only safe after a stored refusal. After an unknown outcome it could issue a second card.
      if (ends.signUpInvalid === "validation" && ends.signUpCorrected === "validation")
        await issue("signUpWithKeySuffix", careless, corrected, { keySuffix: "corrected" });

      // Another website on the same service, with the same user ids.
      const namespace = "staging";
      const by = createClient({ idempotencyNamespace: namespace });
      const request = createRequest({ phone: createPhone() });
      const other = await issue("signUpAtOtherWebsite", annasId, request, { by, namespace });
      check(!card || card.id !== other?.id, "signUpAtOtherWebsite returns the card of another person");

      const issueOther = (by: typeof client, template: string) =>
        by.issueCard(template, createRequest({ phone: createPhone() }), { userId: randomUUID() });
      await end("archivedTemplate", () => issueOther(client, "tpl_archived"));
      await end("wrongKey", () => issueOther(createClient({ apiKey: "wrong-key" }), "tpl_club"));
      await end("unknownCard", () => client.getCard("card_of_nobody"));
    },

    async useCards(): Promise<void> {
      const own = getOwnCard();
      if (own === undefined) return;
      service.cards.addToWallet(own.id, "apple");
      await tick();
      service.cards.removeFromWallet(own.id, "apple");
      await tick();
      service.cards.addToWallet(own.id, "google");
      if (card === undefined) return;
      const { id, publicUrl } = card;
      const { customerId } = own;
      const links = await end("links", () => cardLinks({ publicUrl }));
      check(links === undefined || links.page === publicUrl, `links gives ${links?.page} for ${publicUrl}`);
      await compareConsent("getConsent", customerId, () => client.getConsent(id));
      await tick();
      await compareConsent("giveConsent", customerId, () =>
        client.setConsent(id, { marketing: true, version: "2026-02" }),
      );
      await compareConsent("getGivenConsent", customerId, () => client.getConsent(id));
      await tick();
      await compareConsent("withdrawConsent", customerId, () => client.setConsent(id, { marketing: false }));
    },

    async collectPoints(): Promise<void> {
      const own = getOwnCard();
      if (own === undefined) return;
      const { cards } = service;
      const operations = [
        () => cards.purchase(own.id, { points: 120 + draw.below(80) }),
        () => cards.reward(own.id, { points: 5.25 }),
        () => cards.redeem(own.id, { points: 10 }),
        () => cards.correct(own.id, { change: -1 }),
        () => cards.cancel(history.find(({ type }) => type === "reward")?.id ?? ""),
      ];
      for (const operation of operations) {
        await tick();
        history.unshift(operation());
      }
    },

    async comeBack(): Promise<void> {
      if (card !== undefined) {
        const { id } = card;
        const returned = await end("getCard", () => client.getCard(id));
        if (returned !== undefined) compareCard("getCard", returned);
        await compareHistory("listOperations", () => client.listOperations(id));
        await compareHistory("listTwoOperations", () => client.listOperations(id, { limit: 2 }));
        await issue("signUpLater", annasId, createRequest(anna));
        await issue("signUpUnderAnotherKey", randomUUID(), createRequest(anna));
      }
      for (const count of cardsOfUser.values()) check(count < 2, `a user has ${count} cards`);
    },
  };
}

/** Finds personal data and secrets in logged text. */
export function findLeaks(texts: readonly string[], words: readonly string[]): string[] {
  return texts.flatMap((text) =>
    words
      .filter((word) => text.includes(word))
      .map(() => `a secret or personal data in: ${text.slice(0, 300)}`),
  );
}
