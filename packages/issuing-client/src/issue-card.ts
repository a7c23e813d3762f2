/** Issues a card: one key, one request under way, one card. */
import { type CallOptions, checkedTimes } from "./call.ts";
import { type Card, type IssueCardRequest, readCard } from "./cards.ts";
import { TimeUp, within } from "./clock.ts";
import { configurationError, IssuingError, type Outcome } from "./errors.ts";
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
import { checkedFieldValues, matchedBy, type Template } from "./template.ts";

/** What makes a repeated call the same call, and what every method takes. */
export interface IssueCardOptions extends CallOptions {
  /** Your own user's id: the Idempotency-Key is derived from it and the template's id. */
  userId?: UserId | undefined;
  /** Or your own key. With neither, a random one keeps retries safe, but not a repeat after a crash. */
  idempotencyKey?: string | undefined;
  /** When you first tried this key; once the service may have forgotten it, the call is refused. */
  firstAttemptAt?: Date | number | undefined;
}

/** Issues a card (spec 4.1). */
export interface IssueCard {
  /** A template by its id: any fields. */
  (template: string, request: IssueCardRequest, options?: IssueCardOptions): Promise<Card>;
  /** A template made by `defineTemplate`: its own fields, in and out. */
  <Fields>(
    template: Template<Fields>,
    request: IssueCardRequest<Fields>,
    options?: IssueCardOptions,
  ): Promise<Card<Fields>>;
}

export function cardIssuer({ run }: Exchange, settings: Settings): IssueCard {
  const { clock } = settings;
  const share = inFlight<Card<unknown>>(clock);

  async function issueCard(
    template: string | Template<unknown>,
    request: IssueCardRequest<unknown>,
    options: IssueCardOptions = {},
  ): Promise<Card<unknown>> {
    // What is read before the first await is as it is now; what the caller changes later changes nothing.
    const { signal, onResponse, firstAttemptAt } = options;
    signal?.throwIfAborted();
    const startedAtMs = clock.monotonicMs();
    const { timeoutMs, deadlineMs: givenMs, maxRetries } = checkedTimes(options, settings.times);
    const headers = checkedHeaders(options.headers);
    const draft = draftOf(template, request);
    const { templateId, unchecked } = draft;
    const keyFound = idempotencyKeyOf(templateId, options);

    let outcome: Outcome = "not-sent";
    let idempotencyKey: string | undefined;
    try {
      const body =
        unchecked === undefined
          ? draft.body
          : withFieldValues(
              draft.body,
              await within({ clock, ms: givenMs, signal }, matchedFieldValues(unchecked, keyFound)),
            );
      const key = await keyFound;
      idempotencyKey = key;
      signal?.throwIfAborted();
      const remainingMs = givenMs - (clock.monotonicMs() - startedAtMs);
      if (remainingMs < 1) throw new TimeUp();
      const deadlineMs = Math.min(remainingMs, repeatableForMs(firstAttemptAt, clock.now(), key));

      const issued = share(
        { key, content: [templateId, body], signal, deadlineMs, onResponse },
        (stop, callers) =>
          run(
            { operation: "issueCard", id: templateId, body, idempotencyKey: key },
            { signal: stop, timeoutMs, deadlineMs, maxRetries, headers },
            readCard<unknown>,
            callers,
          ),
      );
      if (issued === undefined) throw mismatch(key);
      outcome = "unknown";
      return await issued;
    } catch (error) {
      throw error instanceof TimeUp ? deadlineError(outcome, idempotencyKey) : error;
    }
  }
  return issueCard as IssueCard;
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
  // Checked field values can always be written: what cannot is in the customer.
  if (schema === undefined) {
    const body = jsonOf("customer", { customer, fieldValues: checkedFieldValues(fieldValues) });
    return { templateId, body, unchecked: undefined };
  }
  return {
    templateId,
    body: jsonOf("customer", { customer }),
    unchecked: { schema, fieldValues: fieldValues === undefined ? "{}" : jsonOf("fieldValues", fieldValues) },
  };
}

const withFieldValues = (body: string, fieldValues: string | undefined) =>
  fieldValues === undefined ? body : `${body.slice(0, -1)},"fieldValues":${fieldValues}}`;

/** A schema can take its time, and leave nothing of the field values. */
async function matchedFieldValues(
  { schema, fieldValues }: NonNullable<Draft["unchecked"]>,
  keyFound: string | Promise<string>,
): Promise<string | undefined> {
  await keyFound;
  const matched = checkedFieldValues(await matchedBy(schema, JSON.parse(fieldValues)));
  return matched === undefined ? undefined : jsonOf("fieldValues", matched);
}

function idempotencyKeyOf(templateId: string, options: IssueCardOptions): string | Promise<string> {
  const { userId, idempotencyKey, firstAttemptAt } = options;
  if (idempotencyKey !== undefined && userId !== undefined) {
    throw configurationError(
      "Give userId or idempotencyKey, not both: the key is derived from the user's id.",
    );
  }
  if (idempotencyKey !== undefined) return checkedIdempotencyKey(idempotencyKey);
  if (userId !== undefined) return deriveIdempotencyKey({ templateId, userId });
  if (firstAttemptAt === undefined) return randomIdempotencyKey();
  throw configurationError("firstAttemptAt needs the userId or the idempotencyKey of that first attempt.");
}

function mismatch(idempotencyKey: string): IssuingError {
  return new IssuingError(
    "A call with the same idempotency key and other content is under way: one key belongs to one request.",
    { code: "idempotency-mismatch", outcome: "not-sent", idempotencyKey },
  );
}

function deadlineError(outcome: Outcome, idempotencyKey: string | undefined): IssuingError {
  const message = "The call did not succeed before its deadline.";
  return new IssuingError(message, { code: "deadline", outcome, retryable: true, idempotencyKey });
}
