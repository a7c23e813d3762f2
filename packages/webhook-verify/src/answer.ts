/** What the service is answered, case by case. Refusals say nothing about why: that goes to `onOutcome`. */
import type { WebhookEvent } from "./event.ts";

export interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The verified event; only when there is one. */
  event?: WebhookEvent;
  /** What remains to be done once the answer is out. Never rejects. */
  afterAnswer?: () => Promise<void>;
}

/** Seconds; the service's own first pause (spec 8). */
const retryLater = { "retry-after": "60" };
/** The rest of an unread body must not be waited for. */
const close = { connection: "close" };

export const answers = {
  refused: { status: 401, headers: {} }, // spec 5.8
  notAnEvent: { status: 400, headers: {} },
  wrongMethod: { status: 405, headers: { allow: "POST" } },
  unreadable: { status: 400, headers: close },
  tooSlow: { status: 408, headers: close },
  tooLarge: { status: 413, headers: close },
  encoded: { status: 415, headers: { "accept-encoding": "identity" } },
  misconfigured: { status: 500, headers: {} },
  notTakenOver: { status: 503, headers: retryLater },
} satisfies Record<string, Answer>;
