/**
 * What a shop does with the service, as a table: the five operations, their errors, replays and
 * retries, and deliveries. `msw-and-http.test.ts` runs it.
 */
import type {
  ClientEvent,
  IssuingClient,
  IssuingClientOptions,
} from "@loyalty-cards/issuing-client";
import { operationCalls, signUp, template } from "@loyalty-cards/testing/scripted-client";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { expect } from "vitest";
import type { FaultInput, MockService } from "../../src/index.ts";

export interface Shop {
  service: MockService;
  client: IssuingClient;
  /** Another client of the service. */
  connect(options: IssuingClientOptions): IssuingClient;
  /** What the clients reported. */
  events: ClientEvent[];
  /** The attempts of every delivery, as statuses of the receiver. */
  readAttempts(): (number | undefined)[];
  /** The events that the receiver of the shop verified. */
  received: WebhookEvent[];
  /** Its signing secret, and how many of the next events its handler does not handle. */
  receiver: { secret: string; failures: number };
}

/** Issues the card of user 1. */
const issue = ({ client }: Shop) => client.issueCard(template.id, signUp, { userId: 1 });

export interface ServiceRow {
  title: string;
  /** Injected before the call. */
  faults?: readonly FaultInput[];
  run(shop: Shop): Promise<unknown>;
  /** Members of the value, or of the IssuingError. */
  expected: unknown;
  /** How many cards the service has in the end. */
  cards?: number;
}

const fivePurchases = [1, 2, 3, 4, 5];

export const operationRows: ServiceRow[] = [
  {
    title: "issueCard returns the card with its address and the values of the form",
    run: issue,
    expected: {
      id: expect.stringMatching(/^card_/),
      publicUrl: expect.stringMatching(/^http/),
      fieldValues: { name: "Anna" },
      loyaltyBalance: 0,
      loyaltyTier: null,
      issuedVia: "website",
    },
    cards: 1,
  },
  {
    title: "getCard returns the current balance and tier",
    async run(shop) {
      const { id } = await issue(shop);
      shop.service.cards.purchase(id, { points: 12 });
      return shop.client.getCard(id);
    },
    expected: { loyaltyBalance: 12, loyaltyTier: "Silver" },
  },
  {
    title: "listOperations returns the newest operations, as many as asked for",
    async run(shop) {
      const { id } = await issue(shop);
      for (const points of fivePurchases) shop.service.cards.purchase(id, { points });
      return shop.client.listOperations(id, { limit: 2 });
    },
    expected: [
      { type: "purchase", change: 5, balance: 15 },
      { type: "purchase", change: 4, balance: 10 },
    ],
  },
  {
    title: "getConsent returns the consent of the customer",
    async run(shop) {
      const { id } = await issue(shop);
      return shop.client.getConsent(id);
    },
    expected: { marketingConsent: false, customer: { phone: "+48600100200" } },
  },
  {
    title: "setConsent returns the new consent, also when it is repeated",
    async run(shop) {
      const { id } = await issue(shop);
      const given = { marketing: true, version: "2026-02" };
      return [await shop.client.setConsent(id, given), await shop.client.setConsent(id, given)];
    },
    expected: [{ marketingConsent: true }, { marketingConsent: true }],
  },
];

const operations = Object.entries(operationCalls);

const errorRows: ServiceRow[] = [
  ...operations.map(
    ([operation, call]): ServiceRow => ({
      title: `${operation} with a wrong key ends as unauthorized`,
      run: ({ connect }) => call(connect({ apiKey: "wrong" })),
      expected: { code: "unauthorized", status: 401, outcome: "rejected", attempts: 1 },
      cards: 0,
    }),
  ),
  ...operations
    .filter(([operation]) => operation !== "issueCard")
    .map(
      ([operation, call]): ServiceRow => ({
        title: `${operation} of an unknown card ends as not-found`,
        run: ({ client }) => call(client),
        expected: { code: "not-found", status: 404, outcome: "rejected", attempts: 1 },
      }),
    ),
  {
    title: "an unknown template ends as not-found",
    run: ({ client }) => client.issueCard("tpl_none", signUp, { userId: 1 }),
    expected: { code: "not-found", status: 404, outcome: "rejected" },
    cards: 0,
  },
  {
    title: "a form without a required field ends as validation, and names the field",
    run: ({ client }) =>
      client.issueCard(template.id, { ...signUp, fieldValues: {} }, { userId: 1 }),
    expected: {
      code: "validation",
      status: 422,
      outcome: "rejected",
      retryable: false,
      fields: [{ pointer: "/fieldValues/name" }],
    },
    cards: 0,
  },
  {
    title: "a service that keeps failing ends as server, after three attempts",
    faults: [{ phase: "before", kind: "status", status: 503 }],
    run: issue,
    expected: { code: "server", status: 503, outcome: "unknown", retryable: true, attempts: 3 },
    cards: 0,
  },
  {
    title: "a rate limit ends as rate-limited, after three attempts",
    faults: [{ phase: "before", kind: "status", status: 429, retryAfterSeconds: 0 }],
    run: issue,
    expected: { code: "rate-limited", status: 429, outcome: "rejected", attempts: 3 },
    cards: 0,
  },
  {
    title: "a connection that keeps breaking ends as network",
    faults: [{ phase: "before", kind: "reset" }],
    run: issue,
    expected: { code: "network", outcome: "unknown", retryable: true, attempts: 3 },
    cards: 0,
  },
  {
    title: "a service that does not respond ends as timeout",
    faults: [{ phase: "before", kind: "hang" }],
    run: ({ connect }) =>
      connect({ timeoutMs: 100, maxRetries: 0 }).issueCard(template.id, signUp, { userId: 1 }),
    expected: { code: "timeout", outcome: "unknown", attempts: 1 },
    cards: 0,
  },
  {
    title: "a page of a gateway in the place of a card ends as invalid-response",
    faults: [{ phase: "before", kind: "html", status: 200 }],
    run: issue,
    expected: { code: "invalid-response", outcome: "unknown", attempts: 3 },
    cards: 0,
  },
];

const lostResponses = ["reset", "destroy", "truncate", "hang"] as const;

const retryRows: ServiceRow[] = [
  {
    title: "two failures before the work are retried, and one card is issued",
    faults: [{ phase: "before", kind: "status", status: 503, times: 2 }],
    async run(shop) {
      await issue(shop);
      return shop.events.map(({ type }) => type);
    },
    expected: ["attempt", "retry", "attempt", "retry", "attempt", "response"],
    cards: 1,
  },
  ...lostResponses.map(
    (kind): ServiceRow => ({
      title: `a response lost by ${kind} is asked for again, and one card is issued`,
      faults: [{ phase: "after-commit", kind, times: 1 }],
      run: ({ connect }) =>
        connect({ timeoutMs: 500 }).issueCard(template.id, signUp, { userId: 1 }),
      expected: { id: expect.stringMatching(/^card_/) },
      cards: 1,
    }),
  ),
  {
    title: "a failed read is retried",
    async run(shop) {
      const { id } = await issue(shop);
      shop.service.faults.add({ phase: "before", kind: "reset", times: 2 });
      return shop.client.getCard(id);
    },
    expected: { loyaltyBalance: 0 },
  },
  {
    title: "a request that arrives while the first one runs is repeated until it has the card",
    faults: [{ phase: "before", kind: "in-progress", durationMs: 300 }],
    async run(shop) {
      const first = await issue(shop);
      const second = await issue(shop);
      return first.id === second.id;
    },
    expected: true,
    cards: 1,
  },
  {
    title: "30 calls for one user at once return one card",
    async run(shop) {
      const cards = await Promise.all(Array.from({ length: 30 }, () => issue(shop)));
      return new Set(cards.map(({ id }) => id)).size;
    },
    expected: 1,
    cards: 1,
  },
  {
    title: "another form of the same user returns the first card, and fields-differ is reported",
    async run(shop) {
      const { id } = await issue(shop);
      const other = { ...signUp, fieldValues: { name: "Bo" } };
      const again = await shop.client.issueCard(template.id, other, { userId: 1 });
      const reported = shop.events.filter(({ type }) => type === "fields-differ");
      return { isSame: again.id === id, reported };
    },
    expected: { isSame: true, reported: [{ fieldKeys: ["name"] }] },
    cards: 1,
  },
  {
    title: "a corrected form with a key suffix gets the card after a 422",
    async run({ client }) {
      const empty = { ...signUp, fieldValues: {} };
      await client.issueCard(template.id, empty, { userId: 1 }).catch(() => {});
      return client.issueCard(template.id, signUp, { userId: 1, keySuffix: "corrected" });
    },
    expected: { fieldValues: { name: "Anna" } },
    cards: 1,
  },
];

/** Issues a card, and buys something with it. */
async function buy(shop: Shop): Promise<void> {
  const { id } = await issue(shop);
  shop.service.cards.purchase(id, { points: 12 });
  await shop.service.idle();
}

const deliveryRows: ServiceRow[] = [
  {
    title: "a purchase is delivered, and the receiver verifies the signature",
    async run(shop) {
      await buy(shop);
      return { events: shop.received, attempts: shop.readAttempts() };
    },
    expected: {
      events: [{ type: "balance.changed", data: { balance: 12, change: 12 } }],
      attempts: [204],
    },
  },
  {
    title: "a delivery that fails is signed and sent again until the receiver accepts it",
    async run(shop) {
      shop.receiver.failures = 2;
      await buy(shop);
      await shop.service.clock.advanceToNextDelivery();
      await shop.service.clock.advanceToNextDelivery();
      return { events: shop.received, attempts: shop.readAttempts() };
    },
    expected: { events: [{ type: "balance.changed" }], attempts: [503, 503, 204] },
  },
  {
    title: "a delivery that is signed with another secret is rejected",
    async run(shop) {
      shop.receiver.secret = "whsec_of_another_endpoint";
      await buy(shop);
      return { events: shop.received, attempts: shop.readAttempts() };
    },
    expected: { events: [], attempts: [401] },
  },
];

export const rows = [...operationRows, ...errorRows, ...retryRows, ...deliveryRows];
