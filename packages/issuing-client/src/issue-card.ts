/** Issuing a card: the checks of its request, the idempotency key, and the call. */
import { textsOfNoValue } from "@loyalty-cards/internal/format";
import type {
  IssuingSteps,
  KeyedRequest,
  PreparedRequest,
} from "@loyalty-cards/internal/issuing-steps";
import { findNearestName, type OptionNames } from "@loyalty-cards/internal/nearest-name";
import {
  type Card,
  type Customer,
  type FieldValues,
  getDifferentFields,
  type IssueCardRequest,
  parseTemplateId,
  readCard,
  type Template,
} from "./cards.ts";
import { configurationError, describeNoText, type IssuingError, isPromise } from "./errors.ts";
import {
  deriveKey,
  deriveKeySync,
  formatUserId,
  getRemainingRetentionMs,
  type IdempotencyKeyInput,
  parseIdempotencyKey,
  parseKeyAge,
  type UserId,
} from "./idempotency.ts";
import {
  type CallOptions,
  type CallSettings,
  callOptionNames,
  checkNames,
  createNameError,
  getService,
  parseCallOptions,
  type Settings,
} from "./options.ts";
import type { EarlierAttempts } from "./retry.ts";
import { createCall, send } from "./send.ts";

interface IssueCardCallOptions extends CallOptions {
  /**
   * When you first used this key. The call fails with `idempotency-expired` when the service may
   * have forgotten the key. With this option a 409 or 423 means that the earlier attempt may still
   * be running: it is retried until the deadline, not for 5 s only.
   */
  firstAttemptAt?: Date | number;
}

interface OptionsWithUserId extends IssueCardCallOptions {
  /**
   * Your own user's id. The Idempotency-Key is derived from it, the template's id and the client's
   * `idempotencyNamespace`.
   */
  userId: UserId;
  /**
   * Part of the derived key. Change it to issue another card to the same user, or to send a
   * corrected form after a stored 422.
   */
  keySuffix?: string;
  idempotencyKey?: never;
}

/** There is no `userId?: never`, so that the compiler names `userId` when it may be undefined. */
interface OptionsWithIdempotencyKey extends IssueCardCallOptions {
  /** Your own key, instead of `userId`: 1 to 255 visible ASCII characters, without spaces. */
  idempotencyKey: string;
}

/**
 * Options of `issueCard`: `userId` or `idempotencyKey`, and the options of every method. One of the
 * two is required, because a call with a random key would issue another card each time. Passing
 * `undefined` for `userId`, `idempotencyKey`, `keySuffix` or `firstAttemptAt` throws.
 */
export type IssueCardOptions = OptionsWithUserId | OptionsWithIdempotencyKey;

const issueOptionNames = {
  ...callOptionNames,
  userId: true,
  keySuffix: true,
  idempotencyKey: true,
  firstAttemptAt: true,
} satisfies OptionNames<IssueCardOptions>;

/** What the key is made of, without the rule that excludes one or the other. */
type KeyOptions = Required<Pick<OptionsWithUserId, "userId" | "keySuffix">> &
  Pick<IssueCardOptions, "idempotencyKey">;

interface ParsedIssueOptions {
  /** The caller's own key, or what the key is derived from. */
  key: string | Pick<IdempotencyKeyInput, "userId" | "keySuffix">;
  firstAttemptAt: number | undefined;
}

/**
 * Checks the options that only `issueCard` has.
 * @throws {IssuingError} `configuration` when `userId` and `idempotencyKey` are both set or neither
 * is, and when an option is present but undefined.
 */
function parseIssueOptions(options: IssueCardOptions): ParsedIssueOptions {
  for (const name of ["idempotencyKey", "firstAttemptAt"] as const)
    if (name in options && options[name] === undefined)
      throw configurationError(
        `${name} is present but undefined: set it before this call, or leave it out.`,
      );
  const firstAttemptAt = "firstAttemptAt" in options ? Number(options.firstAttemptAt) : undefined;
  const { userId, keySuffix, idempotencyKey } = options as KeyOptions;
  if (idempotencyKey !== undefined) {
    if ("userId" in options || "keySuffix" in options)
      throw configurationError(
        "Set userId or idempotencyKey, not both: the key is derived from the user's id and keySuffix.",
      );
    return { key: parseIdempotencyKey(idempotencyKey), firstAttemptAt };
  }
  if (!("userId" in options))
    throw configurationError(
      "issueCard needs userId or idempotencyKey: pass { userId: user.id }, the id of your own user. Without one of them a repeated call would issue another card.",
    );
  // The derivation rejects what is present but undefined.
  return { key: "keySuffix" in options ? { userId, keySuffix } : { userId }, firstAttemptAt };
}

/** The method `issueCard` of a client. */
export async function issueCard<Fields>(
  settings: Settings,
  input: {
    template: string | Template<Fields>;
    request: IssueCardRequest<NoInfer<Fields>>;
    options: IssueCardOptions;
  },
): Promise<Card<Fields>> {
  // Everything is read synchronously, so later changes by the caller have no effect.
  const options = Object(input.options) as IssueCardOptions;
  checkOrder(input);
  if (typeof input.options === "object") checkNames("issueCard", options, issueOptionNames);
  const callSettings = parseCallOptions(options, settings);
  const prepared = prepareRequest(input.template, input.request);
  const { templateId } = prepared;
  const namespace = settings.idempotencyNamespace;
  const { key, firstAttemptAt } = parseIssueOptions(options);
  if (callSettings.headers["idempotency-key"] !== undefined)
    throw configurationError(
      'headers must not have "idempotency-key" in issueCard: use the option idempotencyKey.',
    );
  const idempotencyKey =
    typeof key === "string" ? key : await deriveKey({ ...key, templateId, namespace });
  const keyAgeMs =
    firstAttemptAt === undefined ? "new" : parseKeyAge(firstAttemptAt, callSettings.clock.now());
  return sendCard({ ...prepared, idempotencyKey, keyAgeMs }, callSettings, "unknown");
}

/** @throws {IssuingError} `configuration` for arguments in another order. */
function checkOrder({ template, request, options }: Record<string, unknown>): void {
  const isOneObject = typeof template === "object" && request === undefined;
  const isSwapped = "customer" in Object(template) || "customer" in Object(options);
  if (!isOneObject && !isSwapped && typeof request !== "string") return;
  throw configurationError(
    `issueCard takes the template, then the request, then the options: issueCard("tpl_…", { customer, fieldValues }, { userId }). The first argument is ${describeType(template)}, the second ${describeType(request)}.`,
  );
}

const describeType = (value: unknown) =>
  typeof value === "object" ? "an object" : `of type ${typeof value}`;

/**
 * Sends a prepared request under its key, while the service still stores the key.
 * @param earlier what the attempts before this call mean, when there were some.
 */
function sendCard<Fields>(
  request: KeyedRequest,
  settings: CallSettings,
  earlier: EarlierAttempts,
): Promise<Card<Fields>> {
  const { clock } = settings;
  const { templateId, body, idempotencyKey, keyAgeMs } = request;
  const remainingMs = getRemainingRetentionMs(request);
  const endsAtMs = Math.min(settings.endsAtMs, clock.monotonicMs() + remainingMs);
  // A negative age is that of an earlier attempt by a clock that was ahead.
  const hasEarlierAttempt = typeof keyAgeMs === "number" && keyAgeMs !== 0;
  const call = createCall<Card<Fields>>("issueCard", templateId, {
    body,
    idempotencyKey,
    earlier: hasEarlierAttempt ? earlier : "none",
    read: readCard<Fields>,
    findDifferentFields: (card) => getDifferentFields(JSON.parse(body).fieldValues, card),
  });
  return send(call, { ...settings, endsAtMs });
}

const requestNames = {
  customer: true,
  fieldValues: true,
} satisfies OptionNames<IssueCardRequest>;

const customerNames = {
  phone: true,
  email: true,
  name: true,
  consents: true,
} satisfies OptionNames<Customer>;

const consentNames = { privacy: true, marketing: true } satisfies OptionNames<Customer["consents"]>;

/**
 * Validates template and request, and returns what is sent.
 * @throws {IssuingError} `configuration`.
 */
function prepareRequest(
  template: string | Template<unknown>,
  request: IssueCardRequest<unknown>,
): PreparedRequest {
  const { id = template }: { id?: unknown } = Object(template);
  const templateId = parseTemplateId(id);
  for (const name of Object.keys(Object(request)))
    if (!Object.hasOwn(requestNames, name)) throw createMemberError(name);
  // spec 4.1: {} when there is nothing to fill
  const { customer, fieldValues = {} } = request ?? {};
  if (typeof customer !== "object" || customer === null)
    throw configurationError(describeMissingCustomer(request));
  for (const name in customer) if (!Object.hasOwn(customerNames, name)) checkCustomerMember(name);
  const { phone, email, name, consents } = customer;
  checkConsents(consents);
  checkFieldValues(fieldValues);
  // Getters of a class are not copied, so the known members are read by name.
  const sent: Record<string, unknown> = { ...customer, phone, email, name, consents };
  for (const contact of contacts) {
    checkContact(contact, sent[contact]);
    // The service would reject an empty form field or column.
    if (isBlank(sent[contact])) delete sent[contact];
  }
  try {
    return { templateId, body: JSON.stringify({ customer: sent, fieldValues }) };
  } catch {
    throw configurationError(
      "customer cannot be serialized as JSON: it has a bigint or a circular reference.",
    );
  }
}

/** The error for a member that the request does not have, with the place where it belongs. */
function createMemberError(name: string): IssuingError {
  let place: string | undefined;
  if (Object.hasOwn(issueOptionNames, name)) place = "the third argument";
  if (Object.hasOwn(customerNames, name)) place = "customer";
  if (name === "fields") place = "fieldValues";
  const owner = "The request of issueCard";
  if (place === undefined)
    return createNameError(owner, name, { names: requestNames, noun: "member" });
  return configurationError(
    `${owner} has no member "${name}": pass it in ${place}, as in issueCard("tpl_…", { customer, fieldValues }, { userId }).`,
  );
}

/**
 * @throws {IssuingError} `configuration` for a member that is probably misspelt. The service may
 * know others, so they are sent.
 */
function checkCustomerMember(name: string): void {
  const nearest = findNearestName(name, Object.keys(customerNames));
  if (nearest === undefined) return;
  throw configurationError(
    `customer has no member ${JSON.stringify(name)}. Did you mean ${nearest}?`,
  );
}

function describeMissingCustomer(request: unknown): string {
  if (isPromise(request)) return "The request of issueCard is a promise: await it.";
  const type = Object.prototype.toString.call(request).slice(8, -1);
  const given = type === "Object" ? "" : ` The request is of type ${type}.`;
  return `request.customer is missing: { customer: { phone, consents: { privacy: { version } } } }.${given}`;
}

const isBlank = (value: unknown) =>
  value === null || (typeof value === "string" && value.trim() === "");

/**
 * Validates consents (spec 2.4): the program sets them, so the user could not correct a 422.
 * @throws {IssuingError} `configuration`.
 */
function checkConsents(
  consents: { privacy?: { version?: unknown } | null; marketing?: unknown } | null | undefined,
): void {
  const version = consents?.privacy?.version;
  if (typeof version !== "string" || isBlank(version) || textsOfNoValue.includes(version))
    throw configurationError(
      `customer.consents.privacy.version ${describeNoText(version)}: set the version of the privacy text that the user accepted, such as customer: { consents: { privacy: { version: "2026-01" } } }.`,
    );
  for (const name of Object.keys(consents ?? {}))
    if (!Object.hasOwn(consentNames, name))
      throw createNameError("customer.consents", name, { names: consentNames, noun: "member" });
  if (consents?.marketing !== undefined) checkMarketing(consents.marketing);
}

function checkMarketing(marketing: unknown): void {
  if (typeof marketing !== "object" || marketing === null)
    throw configurationError(
      "customer.consents.marketing must be an object, { version } or {}: leave it out when the user did not opt in to news and offers.",
    );
  const { version } = marketing as { version?: unknown };
  if (version === undefined) return;
  if (typeof version === "string" && !textsOfNoValue.includes(version)) return;
  throw configurationError(
    `customer.consents.marketing.version ${describeNoText(version)}: set the version of the text that the user accepted, or leave it out.`,
  );
}

const contacts = ["phone", "email", "name"] as const;

/**
 * @throws {IssuingError} `configuration` for a contact that is not text: a phone that became a
 * number has lost its `+` or `0`.
 */
function checkContact(name: string, value: unknown): void {
  if (value === undefined || value === null || typeof value === "string") return;
  const fix = name === "phone" ? 'keep it as text, such as "+48600100200".' : "keep it as text.";
  throw configurationError(
    `customer.${name} must be a string, not ${typeof value === "object" ? "an" : "a"} ${typeof value}: ${fix}`,
  );
}

/** @throws {IssuingError} `configuration` for values that JSON would change or drop. */
function checkFieldValues(values: unknown): asserts values is FieldValues {
  // A list is not allowed, nor a Map or FormData, whose entries JSON would drop.
  if (Object.prototype.toString.call(values) !== "[object Object]")
    throw configurationError("fieldValues must be a plain object.");
  for (const [key, value] of Object.entries(values as object)) {
    const isSendable = typeof value === "string" || Number.isFinite(value) || value === undefined;
    if (!isSendable)
      throw configurationError(`fieldValues.${key} must be a string or a finite number.`);
  }
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
      return sendCard<FieldValues>(request, callSettings, "known-to-caller");
    },
  };
}
