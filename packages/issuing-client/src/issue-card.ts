/** Issues a card: one key, one request under way, one card. */
import { type Caller, type CallOptions, checkedObject } from "./call.ts";
import { type Card, type Customer, type IssueCardRequest, readCard } from "./cards.ts";
import { TimeUp, within } from "./clock.ts";
import { configurationError, deadlineError, IssuingError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import {
  checkedIdempotencyKey,
  deriveIdempotencyKey,
  randomIdempotencyKey,
  repeatableForMs,
  type UserId,
} from "./idempotency.ts";
import { checkedId } from "./identifier.ts";
import { inFlight } from "./in-flight.ts";
import type { Settings } from "./options.ts";
import { checkedHeaders, jsonOf } from "./request.ts";
import {
  checkedFieldValues,
  type FieldValues,
  matchedValues,
  type Template,
  validatedBy,
} from "./template.ts";

/** What makes a repeated call the same call, and what every method takes. */
export interface IssueCardOptions extends CallOptions {
  /**
   * Your own user's id: the Idempotency-Key is derived from it, the template's id and the client's `idempotencyNamespace`.
   * Present but undefined is an error.
   */
  userId?: UserId;
  /** Or your own key. With neither, a random one keeps retries safe, but not a repeat after a crash. */
  idempotencyKey?: string;
  /** Part of the derived key: another card for the same user on purpose, or a new try after a refusal that the service has stored. */
  salt?: string;
  /** When you first tried this key; once the service may have forgotten it, the call is refused. */
  firstAttemptAt?: Date | number;
}

/** The method `issueCard` of a client. */
export function cardIssuer({ createCaller, start }: Exchange, { clock, idempotencyNamespace }: Settings) {
  const share = inFlight<Card<unknown>>();

  async function issueCard<Fields = FieldValues>(
    template: string | Template<Fields>,
    request: IssueCardRequest<NoInfer<Fields>>,
    given?: IssueCardOptions,
  ): Promise<Card<Fields>> {
    const options = checkedObject("options", given);
    // What is read before the first await is as it is now; what the caller changes later changes nothing.
    const { firstAttemptAt } = options;
    const caller = createCaller(options);
    const headers = checkedHeaders(options.headers);
    const draft = draftOf(template, request);
    const { templateId, unchecked } = draft;
    let { body } = draft;
    const keyFound = idempotencyKeyOf(templateId, options, idempotencyNamespace);

    if (unchecked !== undefined) {
      const result = await inTime(caller, validated(unchecked, keyFound));
      const matched = matchedValues(result, unchecked.fieldValues);
      body = withFieldValues(body, jsonOf("fieldValues", matched ?? {})); // a schema can leave nothing
    }
    const idempotencyKey = await keyFound;
    caller.signal?.throwIfAborted();
    const nowMs = clock.monotonicMs();
    if (caller.endsAtMs - nowMs < 1) throw deadlineError({ outcome: "not-sent", idempotencyKey });
    const repeatableMs = repeatableForMs(firstAttemptAt, clock.now(), idempotencyKey);
    caller.endsAtMs = Math.min(caller.endsAtMs, nowMs + repeatableMs);

    const running = share(idempotencyKey, [templateId, body], () =>
      start(
        { operation: "issueCard", id: templateId, body, idempotencyKey },
        headers,
        caller,
        readCard<unknown>,
      ),
    );
    if (running === undefined) throw mismatch(idempotencyKey);
    const make = await running.wait(caller);
    return make() as Card<Fields>;
  }

  /** The schema's time counts into the call's. */
  function inTime<Result>({ signal, endsAtMs }: Caller, work: Promise<Result>): Promise<Result> {
    return within({ clock, endsAtMs: () => endsAtMs, signal }, work).catch((error) => {
      throw error instanceof TimeUp ? deadlineError({ outcome: "not-sent" }) : error;
    });
  }
  return issueCard;
}

/** A request as it was given, in text. */
interface Draft {
  templateId: string;
  /** Without field values where a schema has yet to check them. */
  body: string;
  unchecked: { schema: NonNullable<Template<unknown>["schema"]>; fieldValues: string } | undefined;
}

function draftOf(template: string | Template<unknown>, request: IssueCardRequest<unknown>): Draft {
  const { id, schema } =
    typeof template === "string" ? { id: template, schema: undefined } : (template ?? {});
  const templateId = checkedId("template id", id);
  const { customer, fieldValues } = request ?? {};
  if (typeof customer !== "object" || customer === null) {
    throw configurationError(
      "request.customer is missing: { customer: { phone, consents: { privacy: { version } } } }.",
    );
  }
  checkConsents(customer.consents);
  const body = customerBody(customer);
  if (schema === undefined) {
    const values = jsonOf("fieldValues", checkedFieldValues(fieldValues) ?? {}); // spec 4.1: also when there is nothing to fill
    return { templateId, body: withFieldValues(body, values), unchecked: undefined };
  }
  return {
    templateId,
    body,
    unchecked: { schema, fieldValues: fieldValues === undefined ? "{}" : jsonOf("fieldValues", fieldValues) },
  };
}

/**
 * Only the program can correct these (spec 2.4): the service would respond with a sentence for the visitor.
 * @throws {IssuingError} `configuration`.
 */
function checkConsents(
  consents: { privacy?: { version?: unknown } | null; marketing?: unknown } | null | undefined,
): void {
  const version = consents?.privacy?.version;
  if (typeof version !== "string" || isBlank(version)) {
    throw configurationError(
      'customer.consents.privacy.version is missing or blank: give the version label of the privacy text that the user accepted, such as { privacy: { version: "2026-01" } }.',
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

/**
 * Blank contacts, as empty form fields and columns give them, are left out: the service would reject the sign-up.
 * @throws {IssuingError} `configuration` for a contact of another type: a phone that became a number has lost its `+` or `0`.
 */
function customerBody(customer: Customer): string {
  for (const name of contacts) {
    const value: unknown = customer[name];
    if (value === undefined || value === null || typeof value === "string") continue;
    const fix = name === "phone" ? 'keep it as text, such as "+48600100200".' : "keep it as text.";
    throw configurationError(`customer.${name} must be a string, and is of type ${typeof value}: ${fix}`);
  }
  const body = jsonOf("customer", { customer });
  if (!contacts.some((name) => isBlank(customer[name]))) return body;
  const { customer: sent } = JSON.parse(body);
  for (const name of contacts) if (isBlank(sent?.[name])) delete sent[name];
  return JSON.stringify({ customer: sent });
}

const withFieldValues = (body: string, fieldValues: string) =>
  `${body.slice(0, -1)},"fieldValues":${fieldValues}}`;

async function validated(
  { schema, fieldValues }: NonNullable<Draft["unchecked"]>,
  keyFound: string | Promise<string>,
) {
  await keyFound; // a mistake in the key comes first
  return validatedBy(schema, JSON.parse(fieldValues));
}

function idempotencyKeyOf(
  templateId: string,
  options: IssueCardOptions,
  namespace: string,
): string | Promise<string> {
  // A random key instead of the missing one would issue a second card.
  for (const name of ["idempotencyKey", "salt", "firstAttemptAt"] as const) {
    if (name in options && options[name] === undefined) {
      throw configurationError(`${name} is present but undefined: set it before this call, or leave it out.`);
    }
  }
  const { userId, idempotencyKey, salt } = options;
  const hasUserId = "userId" in options;
  if (idempotencyKey !== undefined && hasUserId) {
    throw configurationError(
      "Give userId or idempotencyKey, not both: the key is derived from the user's id.",
    );
  }
  if (salt !== undefined && !hasUserId)
    throw configurationError("salt needs userId: it is part of the key that is derived from the user's id.");
  if (salt === "")
    throw configurationError("salt is empty: give a string that is not blank, or leave it out.");
  if (idempotencyKey !== undefined) return checkedIdempotencyKey(idempotencyKey);
  if (hasUserId) {
    const user = userId as UserId; // undefined is refused there
    return deriveIdempotencyKey({ templateId, userId: user, namespace, ...(salt !== undefined && { salt }) });
  }
  if (!("firstAttemptAt" in options)) return randomIdempotencyKey();
  throw configurationError("firstAttemptAt needs the userId or the idempotencyKey of that first attempt.");
}

function mismatch(idempotencyKey: string): IssuingError {
  return new IssuingError(
    "A call with the same idempotency key and other content is under way: one key belongs to one request.",
    { code: "idempotency-mismatch", outcome: "not-sent", idempotencyKey },
  );
}
