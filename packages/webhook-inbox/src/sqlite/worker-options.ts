/** Options of a worker with their defaults, and the retry backoff. */
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import { validateNumber } from "../options.ts";

/** The pauses between attempts. @inline */
export interface Backoff {
  /** The pause after the first failure; each later one is twice as long. Default 1 000. */
  initialDelayMs: number;
  /** Default one hour. */
  maxDelayMs: number;
}

/** With 25 attempts the retries last seven to thirteen hours: about as long as the service's own. */
const defaultBackoff: Backoff = { initialDelayMs: 1_000, maxDelayMs: 3_600_000 };

/** Returns between half and all of the pause, so that events that failed together are not retried together. */
export function retryDelayMs(
  { initialDelayMs, maxDelayMs }: Backoff,
  failures: number,
  random: () => number,
): number {
  const fullMs = Math.min(maxDelayMs, initialDelayMs * 2 ** Math.min(failures - 1, 40));
  return Math.round(fullMs * (0.5 + random() / 2));
}

/** @throws {TypeError} for an invalid `graceMs`. */
export const parseGrace = (graceMs = 10_000): number => validateNumber("graceMs", graceMs, 0, maxTimerMs);

/** Concurrency, attempts, timeouts and polling of a worker. */
export interface SqliteWorkerOptions {
  /** How many handlers run at once. Default 4. */
  concurrency?: number;
  /** After this many failures the event is a dead letter. Default 25, which takes about ten hours. */
  maxAttempts?: number;
  backoff?: Partial<Backoff>;
  /** A handler that takes longer has failed, and its signal is aborted. Default 60 000. */
  handlerTimeoutMs?: number;
  /** After this time without renewal another process may lease the events of a process that died. Default 30 000. */
  leaseMs?: number;
  /** How often to look for events that other processes stored. Default 1 000. */
  pollMs?: number;
}

/** @throws {TypeError} naming the option that is out of range. */
export function validateWorkerOptions(options: SqliteWorkerOptions) {
  const {
    concurrency = 4,
    maxAttempts = 25,
    handlerTimeoutMs = 60_000,
    leaseMs = 30_000,
    pollMs = 1_000,
  } = options;
  const backoff = { ...defaultBackoff, ...options.backoff };
  validateNumber("concurrency", concurrency, 1, 10_000);
  validateNumber("maxAttempts", maxAttempts, 1);
  validateNumber("handlerTimeoutMs", handlerTimeoutMs, 1, maxTimerMs);
  validateNumber("leaseMs", leaseMs, 100, maxTimerMs);
  validateNumber("pollMs", pollMs, 1, maxTimerMs);
  validateNumber("backoff.initialDelayMs", backoff.initialDelayMs, 0);
  validateNumber("backoff.maxDelayMs", backoff.maxDelayMs, backoff.initialDelayMs);
  return { concurrency, maxAttempts, handlerTimeoutMs, leaseMs, pollMs, backoff };
}
