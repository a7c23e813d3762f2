/** What becomes of a verified event: taken over in time, answered, and processed after the answer. */
import { type Answer, answers } from "./answer.ts";
import type { WebhookEvent } from "./event.ts";
import { type HeadersLike, singleHeaderOf } from "./headers.ts";
import type { Reporter } from "./outcome.ts";
import type { Reading } from "./reading.ts";
import { type Delivery, type TakeOverOptions, takeOver } from "./take-over.ts";
import type { Verified } from "./verify.ts";

export interface HandOverOptions extends TakeOverOptions {
  process?: (event: WebhookEvent, delivery: Delivery) => void | Promise<void>;
}

export type HandOver = (reading: Reading, verified: Verified, body: Uint8Array) => Promise<Answer>;

/** A delivery whose signal is made for whoever asks: it is dear. */
class Arrival implements Delivery {
  readonly id: string | undefined;
  readonly rawBody: Uint8Array;
  readonly receivedAt: Date;
  #controller: AbortController | undefined;

  constructor(id: string | undefined, rawBody: Uint8Array, receivedAtMs: number) {
    this.id = id;
    this.rawBody = rawBody;
    this.receivedAt = new Date(receivedAtMs);
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

const answered503 = "answered 503, so the service delivers it again.";

export function handingOver(options: HandOverOptions, reporting: Reporter): HandOver {
  async function handOver(reading: Reading, result: Verified, body: Uint8Array): Promise<Answer> {
    const { event, key, skewSeconds } = result;
    const { headers } = reading.request;
    const delivery = new Arrival(singleHeaderOf(headers, "service-delivery"), body, reading.startedAtMs);
    const facts = {
      event: { id: event.id, type: event.type },
      secretId: key.id,
      skewSeconds,
      contradictsHeader: contradicts(headers, event),
    };

    const takingOver = takeOver(options, event, delivery);
    const taken = await Promise.race([takingOver, reading.due]);
    if (taken === undefined) {
      delivery.abort();
      // It goes on; when it succeeds in the end, the next copy is a duplicate and nobody else would process the event.
      void takingOver.then((end) => {
        if (end.state === "verified" || end.state === "stored")
          void processed(event, delivery).afterAnswer?.();
        if (end.state === "failed") reporting.handlerFailed(facts.event, end.error, answered503);
      });
      return reading.report({ outcome: "failed", reason: "too-slow", ...facts }, answers.notTakenOver);
    }
    switch (taken.state) {
      case "failed": {
        const { error } = taken;
        reporting.handlerFailed(facts.event, error, answered503);
        return reading.report(
          { outcome: "failed", reason: "not-taken-over", error, ...facts },
          answers.notTakenOver,
        );
      }
      case "in-progress":
        return reading.report({ outcome: "in-progress", ...facts }, answers.notTakenOver);
      case "duplicate":
        return reading.report({ outcome: "duplicate", ...facts }, { ...answers.takenOver, event });
      case "stored":
      case "verified":
        return {
          ...reading.report({ outcome: taken.state, ...facts }, { ...answers.takenOver, event }),
          ...processed(event, delivery),
        };
    }
  }

  function processed(event: WebhookEvent, delivery: Delivery): Pick<Answer, "afterAnswer"> {
    const { process } = options;
    if (process === undefined) return {};
    return {
      async afterAnswer() {
        try {
          await process(event, delivery);
        } catch (error) {
          reporting.processFailed({ id: event.id, type: event.type }, error);
        }
      },
    };
  }

  return handOver;
}

/** The header is not signed: a type in it that differs from the body's is reported and otherwise ignored. */
function contradicts(headers: HeadersLike, event: WebhookEvent): boolean {
  const announced = singleHeaderOf(headers, "service-event");
  return announced !== undefined && announced !== event.type;
}
