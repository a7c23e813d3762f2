/**
 * The client: `createIssuingClient`, its method for each operation of the service, and its card
 * links.
 */
import { formatType, textsOfMissingValues } from "@loyalty-cards/internal/format";
import { withIssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import type { OperationId } from "@loyalty-cards/openapi/operations";
import { type Api, createApi, type paths } from "./api.ts";
import { configurationError, describeInvalidText, unknownMember, unknownOption } from "./errors.ts";
import { createIssueCard, createIssuingSteps } from "./issue-card.ts";
import { cardLinks } from "./links.ts";
import {
  type CallOptions,
  callOptionNames,
  getService,
  type IssuingClientOptions,
  parseCallOptions,
  parseOptions,
} from "./options.ts";
import {
  type ConsentChange,
  type FieldValues,
  type IssueCardOptions,
  type IssueCardRequest,
  parseId,
  type Template,
} from "./request.ts";
import {
  type Card,
  type ConsentState,
  type Operation,
  readCard,
  readChangedConsent,
  readConsent,
  readOperations,
} from "./response.ts";
import { type CallContent, createCall, send } from "./send.ts";

/**
 * The operations of the service. Every method throws an {@link IssuingError}, or the caller's
 * `signal.reason`. Options of a method apply to that call; their defaults are the options of the
 * client.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 *
 * const loyalty = createIssuingClient();
 * const card = await loyalty.getCard("card_8sT2kq");
 * console.log(card.loyaltyBalance, card.loyaltyTier ?? "no tier yet");
 * console.log(loyalty.cardLinks(card).addToFirstWallet);
 *
 * const operations = await loyalty.listOperations(card.id, { limit: 10 });
 * for (const { type, change } of operations) console.log(type, change);
 *
 * const { marketingConsent } = await loyalty.getConsent(card.id);
 * const change = { marketing: true, version: "2026-01-news" };
 * if (!marketingConsent) await loyalty.setConsent(card.id, change);
 * ```
 */
export interface IssuingClient<Paths extends object = paths> {
  /**
   * Issues a card, finding or creating the customer ([spec
   * 4.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1)). Within 24 hours
   * the same `userId` and template return the same card, also when two calls run at the same time.
   * @param template the id of a template, with any fields, or a template of `defineTemplate`, with
   * typed fields.
   * @param request the customer with the consents, and the values of the template's fields.
   * @param options `userId`, from which the Idempotency-Key is derived, or your own
   * `idempotencyKey`. One of the two is required.
   * @returns the card, with the fields of the template in `fieldValues`.
   * @throws {IssuingError} `validation` when the service rejects values; `not-found` for an unknown
   * template; `idempotency-expired` when `firstAttemptAt` is 24 hours ago; and the codes of every
   * call, such as `server`, `network` and `deadline`.
   * @example
   * ```ts
   * import { createIssuingClient } from "@loyalty-cards/issuing-client";
   *
   * const loyalty = createIssuingClient();
   * const customer = { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } };
   * const request = { fieldValues: { name: "Anna" }, customer };
   * const card = await loyalty.issueCard("tpl_coffee", request, { userId: 42, deadlineMs: 5_000 });
   * console.log(card.id, card.publicUrl);
   * ```
   */
  issueCard<Fields = FieldValues>(
    template: string | Template<Fields>,
    request: IssueCardRequest<NoInfer<Fields>>,
    options: IssueCardOptions,
  ): Promise<Card<Fields>>;
  /**
   * Reads a card with its balance and tier ([spec
   * 4.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-2)).
   * @throws {IssuingError} `not-found` for an unknown card; `invalid-response` when the response is
   * not a card.
   */
  getCard(cardId: string, options?: CallOptions): Promise<Card>;
  /**
   * Reads the history of a card, newest first ([spec
   * 4.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-3)).
   * @param query `limit`: the maximum number of operations. Default: the service decides.
   * @returns the operations: the response is a list, or has one in `items`, `operations`, `data` or
   * `results`.
   * @throws {IssuingError} `not-found` for an unknown card; `invalid-response` when the response
   * has no list of operations.
   */
  listOperations(
    cardId: string,
    query?: { limit?: number | undefined },
    options?: CallOptions,
  ): Promise<Operation[]>;
  /**
   * Reads the marketing consent of the customer ([spec
   * 4.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-4)).
   * @returns `marketingConsent`, true or false, and the customer as the service shows it.
   * @throws {IssuingError} `not-found` for an unknown card; `invalid-response` when
   * `marketingConsent` is not true or false.
   */
  getConsent(cardId: string, options?: CallOptions): Promise<ConsentState>;
  /**
   * Gives or withdraws the marketing consent of the customer ([spec
   * 4.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-5)).
   * A retry of an earlier call can take effect after a later call.
   * @param change `marketing` and, when known, the `version` of the consent text.
   * @returns the consent after the change; undefined when the response does not have it.
   * @throws {IssuingError} `not-found` for an unknown card.
   */
  setConsent(
    cardId: string,
    change: ConsentChange,
    options?: CallOptions,
  ): Promise<ConsentState | undefined>;
  /**
   * The function `cardLinks`, with the `baseUrl` of this client as the default address of the
   * button images. It sends no request.
   * @throws {IssuingError} `configuration` when an address is not http or https.
   */
  cardLinks: typeof cardLinks;
  /**
   * The typed openapi-fetch client on the same transport, for all other paths of the service. They
   * are written without `/api/v1`, which the client adds. It sends and returns text only, no files.
   * A POST or PATCH is retried only with your own `idempotency-key`. Set one only if the
   * operation honours it.
   * @throws {IssuingError} `configuration` for any other address, before the API key is read or
   * added.
   * @example
   * ```ts
   * import { createIssuingClient } from "@loyalty-cards/issuing-client";
   *
   * const loyalty = createIssuingClient();
   * const params = { path: { id: "card_8sT2kq" } };
   * const { data, error } = await loyalty.api.GET("/passes/{id}", { params });
   * console.log(data?.loyaltyBalance, error?.detail);
   * ```
   */
  readonly api: Api<Paths>;
}

/**
 * Creates a client of the service at `baseUrl`. Create one for the whole program: its calls share
 * connections. Without `baseUrl`, `apiKey` and `idempotencyNamespace` it reads the environment
 * variables `LOYALTY_URL`, `LOYALTY_API_KEY` and `LOYALTY_IDEMPOTENCY_NAMESPACE`. A missing address
 * or key is an error of the first call, so that a build needs neither.
 * @typeParam Paths types `api`: what openapi-typescript generates from the OpenAPI document of your
 * service. Default: the operations of the specification.
 * @throws {IssuingError} `configuration` for an invalid option, naming it and the fix.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 *
 * export const loyalty = createIssuingClient({
 *   baseUrl: "https://cards.example.com",
 *   apiKey: process.env.LOYALTY_API_KEY, // a Website key; keep it on the server
 *   deadlineMs: 5_000, // how long a user is willing to wait
 * });
 * ```
 */
export function createIssuingClient<Paths extends object = paths>(
  options: IssuingClientOptions = {},
): IssuingClient<Paths> {
  const settings = parseOptions(options);
  let api: Api<Paths> | undefined;

  /** Calls an operation of the API whose path has the id of a card. */
  async function callCard<Value>(
    operation: OperationId,
    cardId: string,
    { options, ...content }: CallContent<Value> & { options: CallOptions | undefined },
  ): Promise<Value> {
    const call = createCall(
      operation,
      parseId("card id", cardId, " Pass card.id. Await the call that returns the card."),
      content,
    );
    requireKnownNames(operation, options ?? {}, callOptionNames, unknownOption);
    return send(call, parseCallOptions(options, settings));
  }

  // The compiler reports an operation of the API without a method.
  const client: IssuingClient<Paths> & Record<OperationId, unknown> = {
    issueCard: createIssueCard(settings),
    getCard: (cardId, options) =>
      callCard("getCard", cardId, { read: readCard<FieldValues>, options }),
    async listOperations(cardId, listed, options) {
      const query = formatLimit(listed ?? {});
      return callCard("listOperations", cardId, { query, read: readOperations, options });
    },
    getConsent: (cardId, options) => callCard("getConsent", cardId, { read: readConsent, options }),
    async setConsent(cardId, change, options) {
      const body = serializeChange(change);
      return callCard("setConsent", cardId, { body, read: readChangedConsent, options });
    },
    cardLinks(card, options = {}) {
      requireKnownNames("cardLinks", options, linkNames, unknownOption);
      const { baseUrl = getService(settings).baseUrl, ...others } = options;
      return cardLinks(card, { ...others, baseUrl });
    },
    get api() {
      api ??= createApi(settings);
      return api;
    },
  };
  return withIssuingSteps(client, createIssuingSteps(settings));
}

type LinksOptions = NonNullable<Parameters<typeof cardLinks>[1]>;
const linkNames = { baseUrl: true, wallets: true } satisfies OptionNames<LinksOptions>;

type ListQuery = NonNullable<Parameters<IssuingClient["listOperations"]>[1]>;
const queryNames = { limit: true } satisfies OptionNames<ListQuery>;

/** @throws {IssuingError} `configuration` for an invalid query. */
function formatLimit(query: ListQuery): string {
  requireKnownNames("The query of listOperations", query, queryNames, unknownMember);
  const limit: unknown = query.limit;
  if (limit === undefined) return "";
  if (Number.isSafeInteger(limit) && (limit as number) > 0) return `?limit=${limit}`;
  const given = typeof limit === "number" ? String(limit) : `of type ${formatType(limit)}`;
  throw configurationError(`limit must be a whole number, 1 or more; it is ${given}.`);
}

const changeNames = { marketing: true, version: true } satisfies OptionNames<ConsentChange>;

/** @throws {IssuingError} `configuration` for an invalid change of a consent. */
function serializeChange(change: ConsentChange): string {
  const { marketing, version }: Record<string, unknown> = Object(change);
  if (typeof change !== "boolean")
    requireKnownNames("The change of setConsent", change ?? {}, changeNames, unknownMember);
  const isText = version === undefined || typeof version === "string";
  if (textsOfMissingValues.includes(version))
    throw configurationError(
      `The version of setConsent ${describeInvalidText(version)}: set the version of the text that the user accepted, or leave it out.`,
    );
  if (typeof marketing === "boolean" && isText) return JSON.stringify({ marketing, version });
  throw configurationError(
    'setConsent needs marketing, true or false, and optionally version, a string: setConsent(card.id, { marketing: true, version: "2026-01" }).',
  );
}
