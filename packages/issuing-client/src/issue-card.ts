/** Issues a card: one key, one request under way, one card. */
import { type CallOptions, checkedTimes } from "./call.ts";
import { type Card, type IssueCardRequest, readCard } from "./cards.ts";
import { TimeUp } from "./clock.ts";
import { configurationError, IssuingError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import {
  checkedFirstAttempt,
  checkedIdempotencyKey,
  deriveIdempotencyKey,
  randomIdempotencyKey,
  type UserId,
} from "./idempotency.ts";
import { checkedId } from "./identifier.ts";
import { fingerprintOf, inFlight } from "./in-flight.ts";
import type { Settings } from "./options.ts";
import { checkedFieldValues, defineTemplate, type FieldValues, type Template } from "./template.ts";

export interface IssueCardOptions extends CallOptions {
  /** Your own user's id: the Idempotency-Key is derived from it and the template's id. */
  userId?: UserId | undefined;
  /** Or your own key. With neither, a random one keeps retries safe, but not a repeat after a crash. */
  idempotencyKey?: string | undefined;
  /** When you first tried this key; beyond the 24 h retention the call refuses to go out blind. */
  firstAttemptAt?: Date | number | undefined;
}

export type IssueCard = <Fields = FieldValues>(
  template: string | Template<Fields>,
  request: IssueCardRequest<Fields>,
  options?: IssueCardOptions,
) => Promise<Card<Fields>>;

export function cardIssuer({ api, run }: Exchange, settings: Settings): IssueCard {
  const share = inFlight<Card<unknown>>(settings.clock);

  return async function issueCard<Fields>(
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
    const { signal, onResponse } = callOptions;
    const { deadlineMs } = checkedTimes(callOptions, settings.times);
    const key = await idempotencyKeyOf(templateId, callOptions);
    checkedFirstAttempt(callOptions.firstAttemptAt, settings.clock.now(), key);
    const fieldValues = await checkedFieldValues(chosen, request.fieldValues);
    const body = { customer: request.customer, ...(fieldValues !== undefined && { fieldValues }) };
    const fingerprint = fingerprintOf([templateId, body]);

    const issued = share({ key, fingerprint, signal, deadlineMs, onResponse }, (stop, tell) =>
      run(
        "issueCard",
        { ...callOptions, signal: stop, onResponse: tell },
        (parts) => {
          const params = { path: { templateId }, header: { "Idempotency-Key": key } };
          return api.POST("/templates/{templateId}/passes", { ...parts, params, body: body as never });
        },
        readCard<Fields>,
        key,
      ),
    );
    if (issued === undefined) throw mismatch(key);
    return (await issued.catch(asDeadline(key))) as Card<Fields>;
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

function mismatch(idempotencyKey: string): IssuingError {
  return new IssuingError(
    "A call with the same idempotency key and other content is under way: one key belongs to one request.",
    { code: "idempotency-mismatch", outcome: "not-sent", idempotencyKey },
  );
}

/** For a caller who joined another's request and could not wait for its end. */
function asDeadline(idempotencyKey: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof TimeUp)) throw error;
    throw new IssuingError("The call did not succeed before its deadline.", {
      code: "deadline",
      outcome: "unknown",
      retryable: true,
      idempotencyKey,
    });
  };
}
