/** One delivery on its way through the receiver: what is known of it so far. */
import type { Answer } from "./answer.ts";
import type { HeadersLike } from "./headers.ts";
import type { Outcome } from "./outcome.ts";
import type { RawBody, ReadLimits } from "./raw-body.ts";

/** As much of a request as a receiver needs, of whichever framework. */
export interface ReceivedRequest {
  method: string;
  headers: HeadersLike;
  /** The bytes that arrived, or a function that reads them: it is called only when the header deserves it. */
  rawBody: RawBody | ((limits: ReadLimits) => Promise<RawBody>);
}

export interface Reading {
  request: ReceivedRequest;
  /** By the receiver's clock, which a test may hold. */
  startedAtMs: number;
  /** Resolves when the answer is due. */
  due: Promise<undefined>;
  report: (outcome: Outcome, answer: Answer) => Answer;
}
