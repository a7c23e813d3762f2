/** One delivery on its way through the receiver: what is known of it so far, and what to say when time is up. */
import { type Answer, answers } from "./answer.ts";
import type { HeadersLike } from "./headers.ts";
import type { Misconfiguration, Outcome, Rejection, Reporter } from "./outcome.ts";
import type { RawBody, ReadLimits } from "./raw-body.ts";
import type { TimeLimit } from "./time-limit.ts";

/** As much of a request as a receiver needs, of whichever framework. */
export interface ReceivedRequest {
  method: string;
  headers: HeadersLike;
  /** The bytes that arrived, or a function that reads them: it is called only when the header deserves it. */
  rawBody: RawBody | ((limits: ReadLimits) => Promise<RawBody>);
}

export class Reading {
  readonly request: ReceivedRequest;
  /** By the receiver's clock, which a test may hold. */
  readonly startedAtMs: number;
  /** Whether the answer had to go out while work went on. */
  isDue = false;
  readonly #reporting: Reporter;
  readonly #beganMs = performance.now();

  constructor(request: ReceivedRequest, startedAtMs: number, reporting: Reporter) {
    this.request = request;
    this.startedAtMs = startedAtMs;
    this.#reporting = reporting;
  }

  /** The answer when time is up, by what is waited for: the body at first. */
  whenDue: () => Answer = () => this.rejected("too-slow", answers.tooSlow);

  /** One outcome for one answer: what is found after it went out is told to nobody. */
  report(outcome: () => Outcome, answer: Answer): Answer {
    if (!this.isDue) this.#reporting.report(outcome, answer, this.#beganMs);
    return answer;
  }

  rejected(reason: Rejection, answer: Answer, skewSeconds?: number): Answer {
    if (!this.isDue) this.#reporting.rejected(reason, skewSeconds);
    return this.report(
      () => ({ outcome: "rejected", reason, ...(skewSeconds !== undefined && { skewSeconds }) }),
      answer,
    );
  }

  misconfigured(reason: Misconfiguration, answer: Answer): Answer {
    return this.report(() => ({ outcome: "misconfigured", reason }), answer);
  }

  /** The response when something threw that nothing expects to throw: the service delivers again. */
  unexpectedError(error: unknown): Answer {
    this.#reporting.unexpectedError(error, "responded 503, so the service delivers it again.");
    return this.report(() => ({ outcome: "error", error }), answers.notTakenOver);
  }

  /** Never rejects. The answer of the work, or the one that is due before it ends. The work goes on; what it leaves to do is done. */
  answerWithin(limit: TimeLimit, work: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve) => {
      const end = limit(this.#beganMs, () => {
        try {
          resolve(this.whenDue());
        } catch (error) {
          resolve(this.unexpectedError(error)); // thrown from a timer, it would end the process
        }
        this.isDue = true;
      });
      const respond = (answer: Answer) => {
        end();
        if (this.isDue) void answer.afterAnswer?.();
        resolve(answer);
      };
      work.then(respond, (error) => respond(this.unexpectedError(error)));
    });
  }
}
