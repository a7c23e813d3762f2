/** Repeated rows: which failures send a row again, after which pause, and the queue of the rows that may be sent. */
import type { IssuingError, IssuingErrorCode } from "../errors.ts";
import type { PreparedRow } from "./row.ts";

export const repeatPolicy = {
  /** A row is `unknown` after so many failures while the service was healthy. */
  maxFailures: 10,
  /** The pause of a row after its first failure; it doubles with each failure. */
  initialDelayMs: 500,
  maxDelayMs: 10_000,
  /** When only rows are left that have failed so often, and nothing has succeeded for this time, they are `unknown`. */
  patienceMs: 5 * 60_000,
} as const;

/** The API key is refused, or cannot be read: no other row would succeed. */
export const stoppingCodes: ReadonlySet<IssuingErrorCode> = new Set([
  "unauthorized",
  "forbidden",
  "configuration",
]);

/** Whether a row is sent again after this failure. */
export function shouldRepeat({ code, cardId, retryable }: IssuingError, mayExist: boolean): boolean {
  if (cardId !== undefined) return false; // the card exists, and another attempt would get the same response
  // 409 after an attempt without a response: the service can still be working on that attempt.
  return retryable || code === "invalid-response" || (code === "conflict" && mayExist);
}

/** The run when a row failed. */
interface RunState {
  /** Requests of other rows succeed, so that the failure says something about this row. */
  isServiceHealthy: boolean;
  isSourceRead: boolean;
  /** Since the last issued card. */
  sinceSuccessMs: number;
  random: () => number;
}

/** Counts the failure of a row. @returns the pause before the row is sent again; undefined when its result is `unknown`. */
export function countFailure(
  row: Pick<PreparedRow<unknown>, "failures" | "countedFailures">,
  code: IssuingErrorCode,
  { isServiceHealthy, isSourceRead, sinceSuccessMs, random }: RunState,
): number | undefined {
  const { maxFailures, initialDelayMs, maxDelayMs, patienceMs } = repeatPolicy;
  const isRateLimited = code === "rate-limited";
  row.failures += 1;
  if (code === "conflict" || (!isRateLimited && isServiceHealthy)) row.countedFailures += 1;
  const isLastOfMany = isSourceRead && row.failures >= maxFailures && sinceSuccessMs >= patienceMs;
  if (row.countedFailures >= maxFailures || (isLastOfMany && !isRateLimited)) return undefined;
  const delayMs = Math.min(maxDelayMs, initialDelayMs * 2 ** (row.failures - 1));
  return delayMs * (0.5 + random() / 2);
}

/** Rows that may be sent, in this order; a row that has failed, after its pause. */
export class SendQueue<Row> {
  readonly #rows: PreparedRow<Row>[] = [];

  add(row: PreparedRow<Row>): void {
    this.#rows.push(row);
  }

  /** Removes all rows. */
  takeAll(): PreparedRow<Row>[] {
    return this.#rows.splice(0);
  }

  /** @returns how long until a row may be sent; undefined when there is none. */
  getDelayMs(nowMs: number): number | undefined {
    const [first] = this.#rows;
    if (first === undefined || first.notBeforeMs <= nowMs) return first && 0;
    return Math.max(0, Math.min(...this.#rows.map(({ notBeforeMs }) => notBeforeMs)) - nowMs);
  }

  /** @returns the first row whose pause has ended. */
  take(nowMs: number): PreparedRow<Row> | undefined {
    const position = this.#rows.findIndex(({ notBeforeMs }) => notBeforeMs <= nowMs);
    return position < 0 ? undefined : this.#rows.splice(position, 1)[0];
  }
}
