/** Issuing a card: the idempotency key, the body, and one shared request for concurrent calls with one key. */
import type { IssuingSteps, PreparedRequest } from "@loyalty-cards/internal/issuing-steps";
import {
  type CallerOptions,
  type CallLimits,
  type CallOptions,
  parseCallOptions,
  parseObject,
} from "./call-options.ts";
import {
  type Card,
  type Customer,
  type FieldValues,
  getDifferentFields,
  type IssueCardRequest,
  readCard,
  type Template,
} from "./cards.ts";
import { configurationError, deadlineError, IssuingError } from "./errors.ts";
import {
  deriveIdempotencyKeySync,
  formatUserId,
  getRemainingRetentionMs,
  resolveIdempotencyKey,
  type UserId,
} from "./idempotency.ts";
import type { Settings } from "./options.ts";
import type { Pipeline, RunningCall } from "./pipeline.ts";
import { type OperationRequest, parseId, toJson } from "./request.ts";

/** Options of every call of `issueCard`. */
interface IssueCardCallOptions extends CallOptions {
  /**
   * When you first used this key. The call fails with `idempotency-expired` when the service may have forgotten the key. With
   * this option a 409 or 423 means that the earlier attempt may still be running, and is retried.
   */
  firstAttemptAt?: Date | number;
}

interface OptionsWithUserId extends IssueCardCallOptions {
  /** Your own user's id. The Idempotency-Key is derived from it, the template's id and the client's `idempotencyNamespace`. */
  userId: UserId;
  /** Part of the derived key. Change it to issue another card to the same user, or to send a corrected form after a stored 422. */
  keySuffix?: string;
  idempotencyKey?: never;
}

interface OptionsWithIdempotencyKey extends IssueCardCallOptions {
  /** Your own key, instead of `userId`: 1 to 255 visible ASCII characters, without spaces. */
  idempotencyKey: string;
  userId?: never;
  keySuffix?: never;
}

/**
 * Options of `issueCard`: `userId` or `idempotencyKey`, and the options of every method. One of the two is required, because a call
 * with a random key would issue another card each time. Passing `undefined` for `userId`, `idempotencyKey`, `keySuffix` or
 * `firstAttemptAt` throws.
 */
export type IssueCardOptions = OptionsWithUserId | OptionsWithIdempotencyKey;

/** Creates the method `issueCard` of a client, and its steps for the outbox. */
export function createIssueCard(pipeline: Pipeline, settings: Settings) {
  const { clock, limits, baseUrl, idempotencyNamespace } = settings;
  const { deadlineMs } = limits;
  const runningCalls: RunningCalls = Object.create(null);

  async function issueCard<Fields = FieldValues>(
    template: string | Template<Fields>,
    request: IssueCardRequest<NoInfer<Fields>>,
    callOptions: IssueCardOptions,
  ): Promise<Card<Fields>> {
    // Everything is read before the first await, so later changes by the caller have no effect.
    const options = parseObject("options", callOptions);
    const { firstAttemptAt } = options;
    const caller = parseCaller(options, limits, firstAttemptAt);
    const prepared = prepareRequest(template, request);
    const idempotencyKey = await resolveIdempotencyKey(prepared.templateId, options, idempotencyNamespace);
    return send<Fields>(toOperation(prepared, idempotencyKey), firstAttemptAt, caller);
  }

  function parseCaller(
    options: CallOptions,
    defaults: CallLimits,
    firstAttemptAt: Date | number | undefined,
  ) {
    const caller = parseCallOptions(options, defaults, clock);
    caller.hasEarlierAttempt = firstAttemptAt !== undefined && Number(firstAttemptAt) < clock.now();
    return caller;
  }

  /** Sends the request, or waits for the call that sends it already. */
  function send<Fields>(
    operation: IssueCardOperation,
    firstAttemptAt: Date | number | undefined,
    caller: CallerOptions,
  ): Promise<Card<Fields>> {
    const { idempotencyKey } = operation;
    caller.signal?.throwIfAborted();
    const nowMs = clock.monotonicMs();
    if (caller.endsAtMs - nowMs < 1) throw deadlineError({ outcome: "not-sent", idempotencyKey });
    const retentionMs = getRemainingRetentionMs(firstAttemptAt, clock.now(), idempotencyKey);
    caller.endsAtMs = Math.min(caller.endsAtMs, nowMs + retentionMs);

    let running = runningCalls[idempotencyKey];
    if (running === undefined || running.call.signal.aborted) {
      running = pipeline.start(operation, caller);
      trackUntilEnd(runningCalls, idempotencyKey, running);
    } else if (!isSameRequest(running.request, operation)) {
      throw mismatchError(idempotencyKey);
    }
    return pipeline.waitFor(running, caller, (call, response, status) => {
      const card = readCard<Fields>(call, response, status);
      call.notifyDifferentFields(() => getDifferentFields(JSON.parse(operation.body).fieldValues, card));
      return card;
    });
  }

  const steps: IssuingSteps<Card> = {
    baseUrl,
    idempotencyNamespace,
    clock,
    deadlineMs,
    prepare: (template, request) => prepareRequest(template, request as IssueCardRequest<unknown>),
    deriveKey: (input) => ({
      userId: formatUserId(input.userId),
      idempotencyKey: deriveIdempotencyKeySync({ ...input, namespace: idempotencyNamespace }),
    }),
    async send({ idempotencyKey, firstAttemptAt, ...prepared }, options = {}) {
      const caller = parseCaller(options, { ...limits, maxRetries: 0 }, firstAttemptAt);
      return send<FieldValues>(toOperation(prepared, idempotencyKey), firstAttemptAt, caller);
    },
  };
  return { issueCard, steps };
}

type IssueCardOperation = OperationRequest & { body: string; idempotencyKey: string };

function toOperation({ templateId, body }: PreparedRequest, idempotencyKey: string): IssueCardOperation {
  return { operation: "issueCard", id: templateId, body, idempotencyKey };
}

/**
 * Running calls by idempotency key. This is not a Map, because V8 keeps entries that were deleted from a busy Map until a full garbage
 * collection, which adds a tenth to the processor time of a call.
 */
type RunningCalls = Record<string, RunningCall | undefined>;

function trackUntilEnd(calls: RunningCalls, key: string, running: RunningCall): void {
  calls[key] = running;
  running.result.then(() => {
    if (calls[key] === running) delete calls[key];
  });
}

/** Whether template and body are equal. The order of the members of the JSON does not matter. */
function isSameRequest(one: OperationRequest, other: OperationRequest): boolean {
  return (
    one.id === other.id && (one.body === other.body || sortMembers(one.body) === sortMembers(other.body))
  );
}

function sortMembers(json = "null"): string {
  return JSON.stringify(JSON.parse(json), (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

function mismatchError(idempotencyKey: string): IssuingError {
  return new IssuingError(
    "Another call with the same idempotency key and a different request is running: use one key for one request.",
    { code: "idempotency-mismatch", outcome: "not-sent", idempotencyKey },
  );
}

/** Validates template and request, and returns what is sent. @throws {IssuingError} `configuration`. */
export function prepareRequest(
  template: string | Template<unknown>,
  request: IssueCardRequest<unknown>,
): PreparedRequest {
  const templateId = parseId("template id", typeof template === "string" ? template : template?.id);
  const { customer, fieldValues = {} } = request ?? {}; // spec 4.1: {} when there is nothing to fill
  if (typeof customer !== "object" || customer === null) {
    throw configurationError(
      "request.customer is missing: { customer: { phone, consents: { privacy: { version } } } }.",
    );
  }
  checkConsents(customer.consents);
  checkContacts(customer);
  checkFieldValues(fieldValues);
  const json = toJson("customer", customer);
  const customerJson = contacts.some((name) => isBlank(customer[name])) ? removeBlankContacts(json) : json;
  return {
    templateId,
    body: `{"customer":${customerJson},"fieldValues":${toJson("fieldValues", fieldValues)}}`,
  };
}

/**
 * Validates consents before the request ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)): they are set by the program, not by
 * the visitor who would see the service's message.
 * @throws {IssuingError} `configuration`.
 */
function checkConsents(
  consents: { privacy?: { version?: unknown } | null; marketing?: unknown } | null | undefined,
): void {
  const version = consents?.privacy?.version;
  if (typeof version !== "string" || isBlank(version)) {
    throw configurationError(
      'customer.consents.privacy.version is missing or blank: set the version of the privacy text that the user accepted, such as customer: { consents: { privacy: { version: "2026-01" } } }.',
    );
  }
  const marketing = consents?.marketing;
  if (marketing === undefined || (typeof marketing === "object" && marketing !== null)) return;
  throw configurationError(
    "customer.consents.marketing must be an object, { version } or {}: leave it out when the user did not opt in to news and offers.",
  );
}

const contacts = ["phone", "email", "name"] as const;

const isBlank = (value: unknown) => value === null || (typeof value === "string" && value.trim() === "");

/** @throws {IssuingError} `configuration` for a contact that is not text: a phone that became a number has lost its `+` or `0`. */
function checkContacts(customer: Customer): void {
  for (const name of contacts) {
    const value: unknown = customer[name];
    if (value === undefined || value === null || typeof value === "string") continue;
    const fix = name === "phone" ? 'keep it as text, such as "+48600100200".' : "keep it as text.";
    throw configurationError(
      `customer.${name} must be a string, not ${typeof value === "object" ? "an" : "a"} ${typeof value}: ${fix}`,
    );
  }
}

/** Removes empty form fields and columns, which the service would reject. */
function removeBlankContacts(json: string): string {
  const customer = JSON.parse(json);
  for (const name of contacts) if (isBlank(customer?.[name])) delete customer[name];
  return JSON.stringify(customer);
}

/** @throws {IssuingError} `configuration` for values that JSON would change or drop. */
function checkFieldValues(values: unknown): void {
  const prototype = typeof values === "object" && values !== null ? Object.getPrototypeOf(values) : undefined;
  // A plain object can belong to another realm, such as that of a test runner. Its prototype has no prototype.
  const isPlain =
    prototype === null || (prototype !== undefined && Object.getPrototypeOf(prototype) === null);
  if (!isPlain || Array.isArray(values)) throw configurationError("fieldValues must be a plain object.");
  for (const [key, value] of Object.entries(values as object)) {
    const isSendable = typeof value === "string" || Number.isFinite(value) || value === undefined;
    if (!isSendable) throw configurationError(`fieldValues.${key} must be a string or a finite number.`);
  }
}
