/** Issuing a card: from the arguments of `issueCard` to its call, and its steps for the outbox. */
import { formatType } from "@loyalty-cards/internal/format";
import type { IssuingSteps, KeyedRequest } from "@loyalty-cards/internal/issuing-steps";
import { keyLifetimeMs } from "@loyalty-cards/internal/key-retention";
import { requireKnownNames } from "@loyalty-cards/internal/known-options";
import { configurationError, unknownOption } from "./errors.ts";
import {
  deriveKey,
  deriveKeySync,
  formatUserId,
  parseKeyOptions,
  requireUnexpiredKey,
} from "./idempotency.ts";
import { type CallSettings, getService, parseCallOptions, type Settings } from "./options.ts";
import {
  type FieldValues,
  type IssueCardOptions,
  type IssueCardRequest,
  issueOptionNames,
  prepareRequest,
  type Template,
} from "./request.ts";
import { type Card, isObject, readCard } from "./response.ts";
import type { EarlierAttempts } from "./retry.ts";
import { createCall, send } from "./send.ts";

/** Creates the method `issueCard` of a client. */
export const createIssueCard =
  (settings: Settings) =>
  async <Fields = FieldValues>(
    template: string | Template<Fields>,
    request: IssueCardRequest<NoInfer<Fields>>,
    options: IssueCardOptions,
  ): Promise<Card<Fields>> => {
    // Everything is read synchronously, so later changes by the caller have no effect.
    checkOrder(template, request, options);
    const given = Object(options) as IssueCardOptions;
    if (typeof options === "object")
      requireKnownNames("issueCard", given, issueOptionNames, unknownOption);
    const callSettings = parseCallOptions(given, settings);
    const prepared = prepareRequest(template, request);
    const { key, sinceFirstUseMs } = parseKeyOptions(given, callSettings.clock.now());
    if (callSettings.headers["idempotency-key"] !== undefined)
      throw configurationError(
        'headers must not have "idempotency-key" in issueCard: use the option idempotencyKey.',
      );
    const { templateId } = prepared;
    const { idempotencyNamespace: namespace } = settings;
    const idempotencyKey =
      typeof key === "string" ? key : await deriveKey({ ...key, templateId, namespace });
    const keyed = { ...prepared, idempotencyKey, sinceFirstUseMs };
    // No attempt of this call comes after the service has forgotten the key.
    const remainingMs = keyLifetimeMs - (sinceFirstUseMs ?? 0);
    const keyEndsAtMs = callSettings.clock.monotonicMs() + remainingMs;
    const endsAtMs = Math.min(callSettings.endsAtMs, keyEndsAtMs);
    const earlier = sinceFirstUseMs === undefined ? "none" : "may-have-issued";
    return sendCard(keyed, { ...callSettings, endsAtMs }, earlier);
  };

/** @throws {IssuingError} `configuration` for arguments in another order. */
function checkOrder(template: unknown, request: unknown, options: unknown): void {
  const isOneObject = typeof template === "object" && request === undefined;
  const isSwapped = "customer" in Object(template) || "customer" in Object(options);
  if (!isOneObject && !isSwapped && typeof request !== "string") return;
  throw configurationError(
    `issueCard takes the template, then the request, then the options: issueCard("tpl_…", { customer, fieldValues }, { userId }). The first argument is of type ${formatType(template)}, the second of type ${formatType(request)}.`,
  );
}

/** Sends a prepared request under its key. */
function sendCard<Fields>(
  request: KeyedRequest,
  settings: CallSettings,
  earlier: EarlierAttempts,
): Promise<Card<Fields>> {
  requireUnexpiredKey(request);
  const { templateId, body, idempotencyKey } = request;
  const call = createCall<Card<Fields>>("issueCard", templateId, {
    body,
    idempotencyKey,
    earlier,
    read: readCard<Fields>,
    findDifferentFields: (card) => getDifferentFields(JSON.parse(body).fieldValues, card),
  });
  return send(call, settings);
}

/**
 * Returns the keys of the fields whose value on the card differs from the one that was sent. The
 * service removes surrounding spaces (`customer-match` in the assumptions) and may return a number
 * as text; neither is a difference.
 */
function getDifferentFields(
  sent: Readonly<Record<string, unknown>>,
  { fieldValues }: { fieldValues?: unknown },
): string[] {
  if (!isObject(fieldValues)) return [];
  // `String` throws for some objects that JSON can have, such as { "toString": 1 }.
  const normalize = (value: unknown) => (typeof value === "object" ? value : String(value).trim());
  return Object.keys(sent).filter(
    (key) =>
      Object.hasOwn(fieldValues, key) && normalize(sent[key]) !== normalize(fieldValues[key]),
  );
}

/** The steps of `issueCard` as separate functions, for the outbox. */
export function createIssuingSteps(settings: Settings): IssuingSteps<Card> {
  const { clock, deadlineMs, idempotencyNamespace } = settings;
  return {
    get baseUrl() {
      return getService(settings).baseUrl;
    },
    idempotencyNamespace,
    clock,
    deadlineMs,
    prepare: (template, request) => prepareRequest(template, request as IssueCardRequest<unknown>),
    formatUserId,
    deriveKey: (input) => deriveKeySync({ ...input, namespace: idempotencyNamespace }),
    async send(request, options = {}) {
      const callSettings = parseCallOptions({ ...options, maxRetries: 0 }, settings);
      const earlier = request.sinceFirstUseMs === undefined ? "none" : "judged-by-caller";
      return sendCard<FieldValues>(request, callSettings, earlier);
    },
  };
}
