/** A correct receiver with a probe, and receivers whose handler has one mistake that shows in its effects only. */
import { createServer, type IncomingMessage } from "node:http";
import {
  type Delivery,
  isKnownEvent,
  type ReceiverOptions,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { listening, type RunningServer } from "../../../webhook-verify/test/adapter-contract.ts";
import { secret } from "../../../webhook-verify/test/signed-delivery.ts";

export interface StoredCard {
  balance?: number;
  effects?: number;
  /** `createdAt` of the newest event. */
  newest?: string;
}

type Handler = (event: WebhookEvent, delivery: Delivery) => void | Promise<void>;

/** What the handler of a test works with. */
export interface Shop {
  seen: Set<string>;
  getCard(id: string): StoredCard;
}

/** Serves the handler behind `nodeReceiver`, and the probe. */
export function startShop(
  createHandler: (shop: Shop) => Partial<ReceiverOptions>,
  respond: (card: StoredCard) => unknown = ({ balance, effects }) => ({ balance, effects }),
): Promise<RunningServer> {
  const cards = new Map<string, StoredCard>();
  const shop: Shop = {
    seen: new Set(),
    getCard(id) {
      const card = cards.get(id) ?? {};
      cards.set(id, card);
      return card;
    },
  };
  const receive = nodeReceiver({ secret, log: () => {}, timeoutMs: 1_500, ...createHandler(shop) });
  return listening(
    createServer((request, response) => {
      const cardId = readProbedCard(request);
      if (cardId === null) {
        receive(request, response);
        return;
      }
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(respond(cards.get(cardId) ?? {})));
    }),
  );
}

/** The id of the card when the request is one to the probe. */
export function readProbedCard(request: IncomingMessage): string | null {
  if (request.method !== "GET") return null;
  return new URL(request.url ?? "/", "http://localhost").searchParams.get("card");
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Stores a balance whatever was before. */
function store(card: StoredCard, balance: number, createdAt: string) {
  card.balance = balance;
  card.effects = (card.effects ?? 0) + 1;
  card.newest = createdAt;
}

const handleBalances =
  (
    handle: (
      event: Extract<WebhookEvent, { type: "balance.changed" }>,
      delivery: Delivery,
    ) => void | Promise<void>,
  ): Handler =>
  (event, delivery) =>
    isKnownEvent(event) && event.type === "balance.changed" ? handle(event, delivery) : undefined;

/** The correct handler, in which a mistake replaces a step. */
function createHandler(
  { seen, getCard }: Shop,
  {
    getId = ({ id }: WebhookEvent, _delivery: Delivery) => id,
    isNewer = (createdAt: string, newest: string | undefined, _card: string) =>
      newest === undefined || createdAt > newest,
    apply = store,
  } = {},
): Handler {
  return handleBalances((event, delivery) => {
    const id = getId(event, delivery);
    if (seen.has(id)) return;
    seen.add(id);
    const card = getCard(event.data.passId);
    if (isNewer(event.createdAt, card.newest, event.data.passId)) {
      apply(card, event.data.balance, event.createdAt);
    }
  });
}

/** Calls the handler one event after the other, some time after the response. */
function afterResponse(handler: Handler, delayMs: number): Handler {
  let last = Promise.resolve();
  return (event, delivery) => {
    last = last.then(() => pause(delayMs)).then(() => handler(event, delivery));
  };
}

export const correctShops: [name: string, createOptions: (shop: Shop) => Partial<ReceiverOptions>][] = [
  ["a handler that awaits its effect", (shop) => ({ handler: createHandler(shop) })],
  [
    "a handler that works one event after the other, 150 ms after the response",
    (shop) => ({ handler: afterResponse(createHandler(shop), 150) }),
  ],
  [
    "a handler that works 400 ms after the response, in parallel",
    (shop) => {
      const handler = createHandler(shop);
      return { handler: (event, delivery) => void pause(400).then(() => handler(event, delivery)) };
    },
  ],
  [
    "a handler that only stores the balance and does not count effects",
    ({ getCard }) => ({
      handler: handleBalances(({ createdAt, data }) => {
        const card = getCard(data.passId);
        if (card.newest !== undefined && createdAt <= card.newest) return;
        card.balance = data.balance;
        card.newest = createdAt;
      }),
    }),
  ],
  [
    "a handler that rejects every third balance once",
    (shop) => {
      const handler = createHandler(shop);
      const rejected = new Set<string>();
      return {
        handler(event, delivery) {
          const isOfEffects = /"passId":"card_doctor_/.test(JSON.stringify(event.data));
          if (isOfEffects && Number(event.id.split("_").at(-1)) % 3 === 0 && !rejected.has(event.id)) {
            rejected.add(event.id);
            throw new Error("The database is locked.");
          }
          return handler(event, delivery);
        },
      };
    },
  ],
];

/** Each handler with one mistake, and the exact findings that the doctor must report. */
export const wrongShops: [
  mistake: string,
  createOptions: (shop: Shop) => Partial<ReceiverOptions>,
  findings: string[],
][] = [
  ["ignores balances", () => ({ handler: () => {} }), ["fail effect-missing"]],
  [
    "fails after the response",
    () => ({ afterResponse: () => Promise.reject(new Error("column does not exist")) }),
    ["fail effect-missing"],
  ],
  [
    "adds the change to the balance",
    ({ seen, getCard }) => ({
      handler: handleBalances(({ id, createdAt, data }) => {
        const card = getCard(data.passId);
        if (!seen.has(id)) store(card, (card.balance ?? 0) + Number(data.change), createdAt);
        seen.add(id);
      }),
    }),
    ["fail effect-balance"],
  ],
  [
    "stores the balance and fails before the other effect",
    ({ getCard }) => ({
      handler: handleBalances(
        ({ data }) => void Object.assign(getCard(data.passId), { balance: data.balance, effects: 0 }),
      ),
    }),
    ["fail effect-balance"],
  ],
  [
    "does not deduplicate",
    ({ getCard }) => ({
      handler: handleBalances(({ createdAt, data }) => {
        const card = getCard(data.passId);
        if (createdAt >= (card.newest ?? "")) store(card, data.balance, createdAt);
      }),
    }),
    ["fail effect-duplicate", "fail effect-concurrent-duplicate"],
  ],
  [
    "does not deduplicate, and works after the response",
    ({ getCard }) => ({
      handler: afterResponse(
        handleBalances(({ createdAt, data }) => {
          const card = getCard(data.passId);
          if (createdAt >= (card.newest ?? "")) store(card, data.balance, createdAt);
        }),
        100,
      ),
    }),
    ["fail effect-duplicate", "fail effect-concurrent-duplicate"],
  ],
  [
    "deduplicates by the delivery id",
    (shop) => ({
      handler: createHandler(shop, {
        getId: (_event, { id }) => id ?? "",
        isNewer: (createdAt, newest = "") => createdAt >= newest,
      }),
    }),
    ["fail effect-duplicate", "fail effect-concurrent-duplicate"],
  ],
  [
    "looks for the event id, and stores it after the effect",
    ({ seen, getCard }) => ({
      handler: handleBalances(async ({ id, createdAt, data }) => {
        if (seen.has(id)) return;
        await pause(20);
        const card = getCard(data.passId);
        if (createdAt >= (card.newest ?? "")) store(card, data.balance, createdAt);
        seen.add(id);
      }),
    }),
    ["fail effect-concurrent-duplicate"],
  ],
  [
    "has the effect before and after the response",
    ({ seen, getCard }) => {
      const apply = handleBalances(({ createdAt, data }) => {
        const card = getCard(data.passId);
        if (createdAt >= (card.newest ?? "")) store(card, data.balance, createdAt);
      });
      const isFirst = (id: string) => !seen.has(id) && seen.add(id) !== undefined;
      return {
        handler: (event, delivery) => (isFirst(`handler ${event.id}`) ? apply(event, delivery) : undefined),
        afterResponse: (event, delivery) =>
          isFirst(`afterResponse ${event.id}`) ? apply(event, delivery) : undefined,
      };
    },
    ["fail effect-duplicate", "fail effect-concurrent-duplicate"],
  ],
  [
    "stores every balance",
    (shop) => ({ handler: createHandler(shop, { isNewer: () => true }) }),
    ["fail effect-order"],
  ],
  [
    "takes the time of arrival for the time of the event",
    (shop) => ({
      handler: createHandler(shop, {
        isNewer: (_createdAt, newest) => newest === undefined || new Date().toISOString() > newest,
      }),
    }),
    ["fail effect-order"],
  ],
  [
    "compares createdAt in whole seconds",
    (shop) => ({
      handler: createHandler(shop, {
        isNewer: (createdAt, newest = "") => createdAt.slice(0, 19) >= newest.slice(0, 19),
      }),
    }),
    ["fail effect-order"],
  ],
  [
    "keeps the highest balance",
    (shop) => ({
      handler: createHandler(shop, {
        isNewer: () => true,
        apply: (card, balance, createdAt) => store(card, Math.max(balance, card.balance ?? 0), createdAt),
      }),
    }),
    ["fail effect-order"],
  ],
  [
    "reads the newest createdAt, and stores the balance some time later",
    ({ seen, getCard }) => ({
      handler: handleBalances(async ({ id, createdAt, data }) => {
        if (seen.has(id)) return;
        seen.add(id);
        const { newest = "" } = getCard(data.passId);
        await pause(30);
        if (createdAt > newest) store(getCard(data.passId), data.balance, createdAt);
      }),
    }),
    ["fail effect-order"],
  ],
  [
    "keeps one newest event for all cards",
    (shop) => {
      let newestOfAll = "";
      return {
        handler: createHandler(shop, {
          isNewer(createdAt) {
            if (createdAt <= newestOfAll) return false;
            newestOfAll = createdAt;
            return true;
          },
        }),
      };
    },
    ["fail effect-dropped"],
  ],
  [
    "keeps one newest event of a card for all types",
    (shop) => {
      const handler = createHandler(shop);
      return {
        handler(event, delivery) {
          if (!isKnownEvent(event) || event.type !== "card.added") return handler(event, delivery);
          shop.getCard(event.data.passId).newest = event.createdAt;
        },
      };
    },
    ["fail effect-dropped"],
  ],
];
