/**
 * The keys of a receiver: fixed ones, or those of a `secret` function, which are loaded again after
 * a mismatch and before they expire.
 */
import { describeError } from "@loyalty-cards/internal/reporting";
import type { Result } from "@loyalty-cards/internal/result";
import { InvalidSecretError, type Secret, toSigningKeys } from "./secrets.ts";
import type { SigningKey } from "./signature.ts";

/** A function is called also after a mismatch, at most every 30 seconds. @inline */
export type SecretOption =
  | Secret
  | readonly Secret[]
  | (() => LoadedSecret | Promise<LoadedSecret>);

/**
 * `undefined` is an error of the configuration, which the log reports, and each delivery gets the
 * response 500. @inline
 */
type LoadedSecret = Secret | readonly Secret[] | undefined;

type Keys = readonly SigningKey[];

/** The keys, or for the log why a `secret` function has no usable result. */
type LoadedKeys = Result<Keys, string>;

/** The keys of a receiver. */
export interface SecretSource {
  /**
   * Calls the function before the first delivery needs its result, to find out early that it fails.
   * Never throws, and does not delay the program. Does nothing where timers cannot be started yet,
   * such as in the global scope of Workers.
   */
  tryAtStart(onFailure: (failure: string) => void): void;
  /** The current keys. */
  current(): Promise<LoadedKeys>;
  /**
   * Loads again after a mismatch. Returns undefined when it is too early, the secrets are fixed,
   * or loading failed.
   */
  reload(): Promise<Keys | undefined>;
}

interface SecretSourceOptions {
  maxAgeMs: number;
  clock: { monotonicMs(): number };
  logErrorMessages: boolean;
}

/** @throws {TypeError} for secrets that are not valid; those of a function are checked later. */
export function createSecretSource(
  option: SecretOption,
  options: SecretSourceOptions,
): SecretSource {
  if (typeof option === "function") return createLoadingSource(option, options);
  const keys = { value: toSigningKeys(option) };
  return { tryAtStart: () => {}, current: async () => keys, reload: async () => undefined };
}

/** The minimum time between two calls because of mismatches, which anyone can cause. */
const reloadPauseMs = 30_000;
/** The pause after a failed call, so that the next requests do not all repeat it. */
const failurePauseMs = 1_000;
/**
 * After this time another call is allowed, because a call that hangs would block all deliveries.
 */
const loadTimeoutMs = 10_000;
/**
 * The share of the maximum age after which the secrets are refreshed in the background, so that
 * deliveries rarely wait.
 */
const refreshShare = 0.8;

/** The last results of a `secret` function. Times are on the monotonic clock. */
interface LoadResults {
  /**
   * The age of the keys counts from the start of the call: the secret may have been replaced while
   * it ran.
   */
  loaded: { value: Keys; startedMs: number } | undefined;
  failed: { failure: string; atMs: number } | undefined;
}

/**
 * Decides what a delivery uses, and whether the function is called for later ones.
 * @returns no `usable` result when the delivery waits for a call.
 */
export function decideLoad(
  { loaded, failed }: LoadResults,
  maxAgeMs: number,
  nowMs: number,
): { usable: LoadedKeys | undefined; isAging: boolean } {
  const hasJustFailed = failed !== undefined && nowMs - failed.atMs < failurePauseMs;
  const ageMs = nowMs - (loaded?.startedMs ?? Number.NEGATIVE_INFINITY);
  if (ageMs >= maxAgeMs) return { usable: hasJustFailed ? failed : undefined, isAging: false };
  return { usable: loaded, isAging: ageMs >= maxAgeMs * refreshShare && !hasJustFailed };
}

function createLoadingSource(
  loadSecret: () => LoadedSecret | Promise<LoadedSecret>,
  { maxAgeMs, clock, logErrorMessages }: SecretSourceOptions,
): SecretSource {
  const results: LoadResults = { loaded: undefined, failed: undefined };
  let running: { keys: Promise<LoadedKeys>; startedMs: number } | undefined;
  let reloadedMs = Number.NEGATIVE_INFINITY;

  const isRunning = (nowMs: number) =>
    running !== undefined && nowMs - running.startedMs < loadTimeoutMs;

  /** Calls the function, or joins the call that is running, unless that hangs. */
  function refresh(nowMs: number): Promise<LoadedKeys> {
    if (running !== undefined && isRunning(nowMs)) return running.keys;
    running = { keys: load(nowMs), startedMs: nowMs };
    return running.keys;
  }

  async function load(startedMs: number): Promise<LoadedKeys> {
    await undefined; // `running` is set before the function is called, which may throw
    try {
      const value = toSigningKeys(await loadSecret());
      const isNewest = startedMs >= (results.loaded?.startedMs ?? Number.NEGATIVE_INFINITY);
      if (isNewest) results.loaded = { value, startedMs };
      return { value };
    } catch (error) {
      const failure = describeFailure(error, logErrorMessages);
      const atMs = clock.monotonicMs();
      // A late failure says nothing: the platform may have frozen the process meanwhile.
      if (atMs - startedMs < loadTimeoutMs) results.failed = { failure, atMs };
      return { failure };
    } finally {
      if (running?.startedMs === startedMs) running = undefined;
    }
  }

  async function tryFirst(onFailure: (failure: string) => void): Promise<void> {
    const earlierCall = running ?? results.loaded ?? results.failed; // for a delivery
    if (earlierCall !== undefined) return;
    const { failure } = await refresh(clock.monotonicMs());
    if (failure === undefined) return;
    // No pause follows this failure: the first delivery calls the function again.
    results.failed = undefined;
    onFailure(failure);
  }

  return {
    tryAtStart(onFailure) {
      try {
        const timer: unknown = setTimeout(() => tryFirst(onFailure), 0);
        // On Node.js, a program that has nothing else to do may end.
        (timer as { unref?: () => void }).unref?.();
      } catch {
        // The first delivery calls the function.
      }
    },
    async current() {
      const nowMs = clock.monotonicMs();
      const { usable, isAging } = decideLoad(results, maxAgeMs, nowMs);
      if (isAging) void refresh(nowMs);
      return usable ?? refresh(nowMs);
    },
    async reload() {
      const nowMs = clock.monotonicMs();
      if (!isRunning(nowMs)) {
        if (nowMs - reloadedMs < reloadPauseMs) return undefined;
        reloadedMs = nowMs;
      }
      return (await refresh(nowMs)).value;
    },
  };
}

function describeFailure(error: unknown, logErrorMessages: boolean): string {
  return error instanceof InvalidSecretError
    ? `the secret function returned ${error.problem}`
    : `the secret function threw ${describeError(error, { logErrorMessages })}.`;
}
