/** How a worker can be set, with every default in one place. */
import { checkedNumber, longestTimerMs } from "../number-option.ts";
import { type Backoff, defaultBackoff } from "./backoff.ts";

/** How many events at once, how often, and with which pauses. */
export interface SqliteWorkerOptions {
  /** How many handlers run at once. Default 4. */
  concurrency?: number;
  /** After this many failures the event is a dead letter. Default 25, which takes about ten hours. */
  maxAttempts?: number;
  backoff?: Partial<Backoff>;
  /** A handler that takes longer has failed, and its signal is aborted. Default 60 000. */
  handlerTimeoutMs?: number;
  /** How soon another process takes over what this one held when it died. Default 30 000. */
  leaseMs?: number;
  /** How often to look for events that other processes stored. Default 1 000. */
  pollMs?: number;
}

/** @throws {TypeError} for a number that makes no sense; the message names it. */
export function checkedOptions(options: SqliteWorkerOptions) {
  const {
    concurrency = 4,
    maxAttempts = 25,
    handlerTimeoutMs = 60_000,
    leaseMs = 30_000,
    pollMs = 1_000,
  } = options;
  const backoff = { ...defaultBackoff, ...options.backoff };
  checkedNumber("concurrency", concurrency, 1, 10_000);
  checkedNumber("maxAttempts", maxAttempts, 1);
  checkedNumber("handlerTimeoutMs", handlerTimeoutMs, 1, longestTimerMs);
  checkedNumber("leaseMs", leaseMs, 100, longestTimerMs);
  checkedNumber("pollMs", pollMs, 1, longestTimerMs);
  checkedNumber("backoff.firstMs", backoff.firstMs, 0);
  checkedNumber("backoff.mostMs", backoff.mostMs, backoff.firstMs);
  return { concurrency, maxAttempts, handlerTimeoutMs, leaseMs, pollMs, backoff };
}
