/** When a request goes out again, and after how long: policy as data, obeyed by retry.ts. */

export const retryPolicy = {
  /** The longest first pause; each further one may be twice as long. */
  firstPauseMs: 300,
  longestPauseMs: 5_000,
  /** Retries that all calls of a client may make before a success or time gives some back. */
  budget: 20,
  /** How long it takes until time gives one retry back. */
  budgetRegainMs: 2_000,
} as const;

/** Timeouts, too early, too many; and every 5xx (spec 4.1.4) but 501, which no waiting changes. */
const retryableClientFaults: ReadonlySet<number> = new Set([408, 425, 429]);

export function isRetryableStatus(status: number): boolean {
  return retryableClientFaults.has(status) || (status >= 500 && status !== 501);
}

/** GET, PUT, or POST with an Idempotency-Key: sending it twice does it once. */
export function isRepeatable(method: string, headers: Readonly<Record<string, string>>): boolean {
  return (
    method === "GET" || method === "HEAD" || method === "PUT" || Object.hasOwn(headers, "idempotency-key")
  );
}

/**
 * Full jitter, from the first pause on, so that callers who failed together do not come back together.
 * @param retry 1 for the first one.
 * @param random from 0 to 1.
 */
export function ownPauseMs(retry: number, random: () => number): number {
  const { firstPauseMs, longestPauseMs } = retryPolicy;
  return Math.round(random() * Math.min(longestPauseMs, firstPauseMs * 2 ** (retry - 1)));
}
