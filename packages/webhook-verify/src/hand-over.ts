/** What becomes of a verified event: taken over in time, answered, and processed after the answer. */
import { type Answer, answers } from "./answer.ts";
import { unexpectedData, type WebhookEvent } from "./event.ts";
import { type HeadersLike, singleHeaderOf } from "./headers.ts";
import type { Reporter, VerifiedFacts } from "./outcome.ts";
import type { Reading } from "./reading.ts";
import { type Delivery, type TakeOverOptions, takeOver } from "./take-over.ts";
import type { Verified } from "./verify.ts";

export interface HandOverOptions extends TakeOverOptions {
  process?: (event: WebhookEvent, delivery: Delivery) => unknown;
}

export type HandOver = (reading: Reading, verified: Verified, body: Uint8Array) => Promise<Answer>;

/** A delivery whose name and signal are found for whoever asks: most never do. */
class Arrival implements Delivery {
  readonly rawBody: Uint8Array;
  readonly receivedAt: Date;
  readonly #headers: HeadersLike;
  #controller: AbortController | undefined;

  constructor(headers: HeadersLike, rawBody: Uint8Array, receivedAtMs: number) {
    this.#headers = headers;
    this.rawBody = rawBody;
    this.receivedAt = new Date(receivedAtMs);
  }

  get id(): string | undefined {
    return singleHeaderOf(this.#headers, "service-delivery");
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(new Error("The answer was due."));
  }
}

export function handingOver(options: HandOverOptions, reporting: Reporter): HandOver {
  const { process } = options;

  return async function handOver(reading, { event, key, skewSeconds }, body) {
    const { headers } = reading.request;
    const { id, type } = event;
    const delivery = new Arrival(headers, body, reading.startedAtMs);
    const unexpected = unexpectedData(event);
    if (unexpected.length > 0) reporting.dataDiffers(event, unexpected);
    const facts = (): VerifiedFacts => ({
      event: { id, type },
      secretId: key.id,
      skewSeconds,
      contradictsHeader: contradicts(headers, event),
      ...(unexpected.length > 0 && { unexpectedData: unexpected }),
    });
    reading.whenDue = () => {
      delivery.abort();
      reporting.handlerTooSlow();
      return reading.report(
        () => ({ outcome: "failed", reason: "too-slow", ...facts() }),
        answers.notTakenOver,
      );
    };

    const taken = await takeOver(options, event, delivery);
    const { state } = taken;
    if (state === "failed") {
      const { error } = taken;
      reporting.handlerFailed(event, error, "answered 503, so the service delivers it again.");
      return reading.report(
        () => ({ outcome: state, reason: "not-taken-over", error, ...facts() }),
        answers.notTakenOver,
      );
    }
    // Written out: a spread costs more than the signature, because each copy gets a shape of its own.
    const answer: Answer =
      state === "in-progress" ? answers.notTakenOver : { status: 204, headers: {}, event };
    if (process !== undefined && (state === "verified" || state === "stored")) {
      answer.afterAnswer = async () => {
        try {
          await process(event, delivery);
        } catch (error) {
          reporting.processFailed({ id, type }, error);
        }
      };
    }
    return reading.report(() => ({ outcome: state, ...facts() }), answer);
  };
}

/** The header is not signed: a type in it that differs from the body's is reported and otherwise ignored. */
function contradicts(headers: HeadersLike, event: WebhookEvent): boolean {
  const announced = singleHeaderOf(headers, "service-event");
  return announced !== undefined && announced !== event.type;
}
