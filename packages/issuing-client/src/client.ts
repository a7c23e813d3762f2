/** The client: five methods, each one operation of the contract. */
import type { CallOptions } from "./call.ts";
import { type Card, type IssueCardRequest, readCard } from "./cards.ts";
import { type ConsentChange, type ConsentState, checkedChange, consentIn, readConsent } from "./consent.ts";
import { configurationError } from "./errors.ts";
import { createExchange, type RequestParts } from "./exchange.ts";
import { checkedLimit, type Operation, readOperations } from "./history.ts";
import {
  checkedFirstAttempt,
  checkedIdempotencyKey,
  deriveIdempotencyKey,
  randomIdempotencyKey,
  type UserId,
} from "./idempotency.ts";
import { checkedId } from "./identifier.ts";
import { checkedOptions, type IssuingClientOptions } from "./options.ts";
import { refuseBrowser } from "./runtime.ts";
import { checkedFieldValues, defineTemplate, type FieldValues, type Template } from "./template.ts";
import type { Api } from "./transport.ts";

export interface IssueCardOptions extends CallOptions {
  /** Your own user's id: the Idempotency-Key is derived from it and the template's id. */
  userId?: UserId | undefined;
  /** Or your own key. With neither, a random one keeps retries safe, but not a repeat after a crash. */
  idempotencyKey?: string | undefined;
  /** When you first tried this key; beyond the 24 h retention the call refuses to go out blind. */
  firstAttemptAt?: Date | number | undefined;
}

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
  const { api, run } = createExchange(settings);

  return {
    api,

    async issueCard<Fields>(
      template: string | Template<Fields>,
      request: IssueCardRequest<Fields>,
      callOptions: IssueCardOptions = {},
    ): Promise<Card<Fields>> {
      const chosen = typeof template === "string" ? defineTemplate<Fields>(template) : template;
      const templateId = checkedId("template id", chosen?.id);
      if (typeof request?.customer !== "object" || request.customer === null) {
        throw configurationError(
          "request.customer is missing: { customer: { phone, consents: { privacy: { version } } } }.",
        );
      }
      const key = await idempotencyKeyOf(templateId, callOptions);
      checkedFirstAttempt(callOptions.firstAttemptAt, settings.clock.now(), key);
      const fieldValues = await checkedFieldValues(chosen, request.fieldValues);
      const body = { customer: request.customer, ...(fieldValues !== undefined && { fieldValues }) } as never;
      return run(
        "issueCard",
        callOptions,
        (parts) => {
          const params = { path: { templateId }, header: { "Idempotency-Key": key } };
          return api.POST("/templates/{templateId}/passes", { ...parts, params, body });
        },
        readCard<Fields>,
        key,
      );
    },

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

async function idempotencyKeyOf(
  templateId: string,
  { userId, idempotencyKey }: IssueCardOptions,
): Promise<string> {
  if (idempotencyKey !== undefined && userId !== undefined) {
    throw configurationError(
      "Give userId or idempotencyKey, not both: the key is derived from the user's id.",
    );
  }
  if (idempotencyKey !== undefined) return checkedIdempotencyKey(idempotencyKey);
  if (userId !== undefined) return deriveIdempotencyKey({ templateId, userId });
  return randomIdempotencyKey();
}
