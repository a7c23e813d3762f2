/** The client: five methods, each one operation of the contract. */

import { type Api, createApi } from "./api.ts";
import { type CallOptions, checkedObject } from "./call.ts";
import { type Card, readCard } from "./cards.ts";
import { type ConsentChange, type ConsentState, checkedChange, consentIn, readConsent } from "./consent.ts";
import { createExchange } from "./exchange.ts";
import { checkedLimit, type Operation, readOperations } from "./history.ts";
import { checkedId } from "./identifier.ts";
import { cardIssuer, type IssueCard } from "./issue-card.ts";
import { checkedOptions, type IssuingClientOptions } from "./options.ts";
import { refuseBrowser } from "./runtime.ts";
import type { FieldValues } from "./template.ts";

/** Every method throws {@link IssuingError}, or the caller's `signal.reason`. */
export interface IssuingClient {
  /** Issues a card, finding or creating the customer (spec 4.1). Within 24 hours the same user and template give the same card. */
  issueCard: IssueCard;
  /** Reads a card with balance and level (spec 4.2). */
  getCard(cardId: string, options?: CallOptions): Promise<Card>;
  /** The history of a card, newest first (spec 4.3). */
  listOperations(
    cardId: string,
    query?: { limit?: number | undefined },
    options?: CallOptions,
  ): Promise<Operation[]>;
  /** Reads the news-and-offers consent (spec 4.4). */
  getConsent(cardId: string, options?: CallOptions): Promise<ConsentState>;
  /** Gives or withdraws it (spec 4.5). Undefined when the service tells nothing in return. */
  setConsent(cardId: string, change: ConsentChange, options?: CallOptions): Promise<ConsentState | undefined>;
  /**
   * The typed openapi-fetch client on the same transport, for what the methods do not offer. It sends only to paths below
   * `baseUrl` and `/api/v1/`.
   * @throws {IssuingError} `configuration` for any other address, before the API key is looked up or added.
   */
  readonly api: Api;
}

/**
 * Makes a client of the service at `baseUrl`. One is enough for a program: its calls share connections and retries. Without
 * `baseUrl` and `apiKey` it reads the environment variables `LOYALTY_URL` and `LOYALTY_API_KEY`.
 * @throws {IssuingError} `configuration`, naming the option and the fix, before any request.
 */
export function createIssuingClient(options: IssuingClientOptions = {}): IssuingClient {
  refuseBrowser();
  const settings = checkedOptions(options);
  const exchange = createExchange(settings);
  const { run, sendForApi } = exchange;
  let api: Api | undefined;

  return {
    issueCard: cardIssuer(exchange, settings),

    async getCard(cardId, callOptions) {
      const id = checkedId("card id", cardId);
      return run({ operation: "getCard", id }, callOptions, readCard<FieldValues>);
    },

    async listOperations(cardId, given, callOptions) {
      const id = checkedId("card id", cardId);
      const { limit } = checkedObject("query", given);
      const query = limit === undefined ? "" : `?limit=${checkedLimit(limit)}`;
      return run({ operation: "listOperations", id, query }, callOptions, readOperations);
    },

    async getConsent(cardId, callOptions) {
      const id = checkedId("card id", cardId);
      return run({ operation: "getConsent", id }, callOptions, readConsent);
    },

    async setConsent(cardId, change, callOptions) {
      const id = checkedId("card id", cardId);
      const body = JSON.stringify(checkedChange(change));
      return run({ operation: "setConsent", id, body }, callOptions, (_call, data) => consentIn(data));
    },

    get api() {
      api ??= createApi(settings.baseUrl, sendForApi);
      return api;
    },
  };
}
