/** The client: five methods, each one operation of the contract. */
import type { CallOptions } from "./call.ts";
import { type Card, type IssueCardRequest, readCard } from "./cards.ts";
import { type ConsentChange, type ConsentState, checkedChange, consentIn, readConsent } from "./consent.ts";
import { createExchange, type RequestParts } from "./exchange.ts";
import { checkedLimit, type Operation, readOperations } from "./history.ts";
import { checkedId } from "./identifier.ts";
import { cardIssuer, type IssueCardOptions } from "./issue-card.ts";
import { checkedOptions, type IssuingClientOptions } from "./options.ts";
import { refuseBrowser } from "./runtime.ts";
import type { FieldValues, Template } from "./template.ts";
import type { Api } from "./transport.ts";

/** Every method throws {@link IssuingError}, or the caller's `signal.reason`. */
export interface IssuingClient {
  /** Issues a card, finding or creating the customer (spec 4.1). The same user and template give the same card. */
  issueCard<Fields = FieldValues>(
    template: string | Template<Fields>,
    request: IssueCardRequest<Fields>,
    options?: IssueCardOptions,
  ): Promise<Card<Fields>>;
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
  /** The typed openapi-fetch client on the same transport, for what the methods do not offer. */
  readonly api: Api;
}

/** @throws {IssuingError} `configuration`, naming the option and the fix, before any request. */
export function createIssuingClient(options: IssuingClientOptions): IssuingClient {
  refuseBrowser();
  const settings = checkedOptions(options);
  const exchange = createExchange(settings);
  const { api, run } = exchange;

  return {
    api,

    issueCard: cardIssuer(exchange, settings),

    async getCard(cardId, callOptions = {}) {
      const params = { path: { id: checkedId("card id", cardId) } };
      return run(
        "getCard",
        callOptions,
        (parts) => api.GET("/passes/{id}", { ...parts, params }),
        readCard<FieldValues>,
      );
    },

    async listOperations(cardId, query = {}, callOptions = {}) {
      const limit = checkedLimit(query.limit);
      const params = {
        path: { id: checkedId("card id", cardId) },
        query: limit === undefined ? {} : { limit },
      };
      const request = (parts: RequestParts) => api.GET("/passes/{id}/operations", { ...parts, params });
      return run("listOperations", callOptions, request, readOperations);
    },

    async getConsent(cardId, callOptions = {}) {
      const params = { path: { id: checkedId("card id", cardId) } };
      return run(
        "getConsent",
        callOptions,
        (parts) => api.GET("/passes/{id}/consent", { ...parts, params }),
        readConsent,
      );
    },

    async setConsent(cardId, change, callOptions = {}) {
      const params = { path: { id: checkedId("card id", cardId) } };
      const body = checkedChange(change) as { marketing: boolean };
      const request = (parts: RequestParts) => api.PUT("/passes/{id}/consent", { ...parts, params, body });
      return run("setConsent", callOptions, request, (_call, answer) => consentIn(answer));
    },
  };
}
