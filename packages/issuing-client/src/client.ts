/** The client: five methods, each one operation of the contract. */

import { type Api, createApi } from "./api.ts";
import { type CallOptions, checkedObject } from "./call.ts";
import { type Card, type IssueCardRequest, readCard } from "./cards.ts";
import { type ConsentChange, type ConsentState, checkedChange, consentIn, readConsent } from "./consent.ts";
import { createExchange } from "./exchange.ts";
import { checkedLimit, type Operation, readOperations } from "./history.ts";
import { checkedId } from "./identifier.ts";
import { cardIssuer, type IssueCardOptions } from "./issue-card.ts";
import { checkedOptions, type IssuingClientOptions } from "./options.ts";
import { refuseBrowser } from "./runtime.ts";
import type { FieldValues, Template } from "./template.ts";

/**
 * The operations of the service. Every method throws an {@link IssuingError}, or the caller's `signal.reason`. The options of a
 * method are used for this call only; their defaults are those of the client.
 */
export interface IssuingClient {
  /**
   * Issues a card, finding or creating the customer (spec 4.1). Within 24 hours the same `userId` and template return the same card.
   * Calls with the same key, template and body share one request while it runs. Each keeps its own `deadlineMs` and `signal`, and
   * gets a card or an error of its own. The request has the `headers` of the first caller, and the longest `timeoutMs` and greatest
   * `maxRetries` of all callers; it ends when the last of them has left.
   * @param template a template's id, which takes any fields, or a template made by `defineTemplate`, which types them.
   * @param request the customer with the consents, and the values of the template's fields.
   * @param options `userId`, from which the Idempotency-Key is derived, or `idempotencyKey`; default: a random key.
   * @returns the card, with the fields of the template in `fieldValues`.
   * @throws {IssuingError} `validation` for what the service or the template's schema rejects; `not-found` for an unknown template;
   * `idempotency-mismatch` when a call with the same key and other content is running; `idempotency-expired` when `firstAttemptAt` is
   * 24 hours ago; and the codes of every call, such as `server`, `network` and `deadline`.
   * @example
   * ```ts
   * import { createIssuingClient } from "@loyalty-cards/issuing-client";
   *
   * const loyalty = createIssuingClient();
   * const card = await loyalty.issueCard(
   *   "tpl_coffee",
   *   {
   *     fieldValues: { name: "Anna" },
   *     customer: { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } },
   *   },
   *   { userId: 42, deadlineMs: 5_000 },
   * );
   * console.log(card.id, card.publicUrl);
   * ```
   */
  issueCard<Fields = FieldValues>(
    template: string | Template<Fields>,
    request: IssueCardRequest<NoInfer<Fields>>,
    options?: IssueCardOptions,
  ): Promise<Card<Fields>>;
  /**
   * Reads a card with its balance and level (spec 4.2).
   * @param cardId the `id` of the card.
   * @throws {IssuingError} `not-found` for an unknown card; `invalid-response` when the response is not a card.
   * @example
   * ```ts
   * import { createIssuingClient } from "@loyalty-cards/issuing-client";
   *
   * const loyalty = createIssuingClient();
   * const { loyaltyBalance, loyaltyTier } = await loyalty.getCard("card_8sT2kq");
   * console.log(loyaltyBalance, loyaltyTier ?? "no level yet");
   * ```
   */
  getCard(cardId: string, options?: CallOptions): Promise<Card>;
  /**
   * Reads the history of a card, newest first (spec 4.3).
   * @param cardId the `id` of the card.
   * @param query `limit`: at most this many operations, 1 or more. Default: what the service decides.
   * @throws {IssuingError} `not-found` for an unknown card; `invalid-response` when the response has no list of operations.
   * @example
   * ```ts
   * import { createIssuingClient } from "@loyalty-cards/issuing-client";
   *
   * const loyalty = createIssuingClient();
   * for (const { type, change } of await loyalty.listOperations("card_8sT2kq", { limit: 10 })) console.log(type, change);
   * ```
   */
  listOperations(
    cardId: string,
    query?: { limit?: number | undefined },
    options?: CallOptions,
  ): Promise<Operation[]>;
  /**
   * Reads the news-and-offers consent of the card's holder (spec 4.4).
   * @param cardId the `id` of the card.
   * @throws {IssuingError} `not-found` for an unknown card; `invalid-response` when `marketingConsent` is not true or false.
   * @example
   * ```ts
   * import { createIssuingClient } from "@loyalty-cards/issuing-client";
   *
   * const loyalty = createIssuingClient();
   * const { marketingConsent } = await loyalty.getConsent("card_8sT2kq");
   * console.log(marketingConsent ? "subscribed" : "not subscribed");
   * ```
   */
  getConsent(cardId: string, options?: CallOptions): Promise<ConsentState>;
  /**
   * Gives or withdraws the news-and-offers consent of the card's holder (spec 4.5).
   * @param cardId the `id` of the card.
   * @param change `marketing` and, when known, the `version` of the consent text.
   * @returns the consent after the change; undefined when the response does not have it.
   * @throws {IssuingError} `not-found` for an unknown card.
   * @example
   * ```ts
   * import { createIssuingClient } from "@loyalty-cards/issuing-client";
   *
   * const loyalty = createIssuingClient();
   * await loyalty.setConsent("card_8sT2kq", { marketing: true, version: "2026-01-news" });
   * ```
   */
  setConsent(cardId: string, change: ConsentChange, options?: CallOptions): Promise<ConsentState | undefined>;
  /**
   * The typed openapi-fetch client on the same transport, for what the methods do not offer. It sends only to paths below
   * `baseUrl` and `/api/v1/`.
   * @throws {IssuingError} `configuration` for any other address, before the API key is looked up or added.
   * @example
   * ```ts
   * import { createIssuingClient } from "@loyalty-cards/issuing-client";
   *
   * const loyalty = createIssuingClient();
   * const { data, error } = await loyalty.api.GET("/passes/{id}", { params: { path: { id: "card_8sT2kq" } } });
   * console.log(data?.loyaltyBalance, error?.detail);
   * ```
   */
  readonly api: Api;
}

/**
 * Creates a client of the service at `baseUrl`. One is enough for a program: its calls share connections and retries. Without
 * `baseUrl` and `apiKey` it reads the environment variables `LOYALTY_URL` and `LOYALTY_API_KEY`.
 * @throws {IssuingError} `configuration`, naming the option and the fix, before any request.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 *
 * export const loyalty = createIssuingClient({
 *   baseUrl: "https://cards.example.com",
 *   apiKey: process.env.LOYALTY_API_KEY, // a Website key: stays on the server
 *   deadlineMs: 5_000, // what your user is willing to wait
 * });
 * ```
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
