/**
 * Signing secrets: validation, rotation, and secrets that a function loads and that are refreshed
 * before they expire.
 */
import { formatType, textsOfNoValue } from "@loyalty-cards/internal/format";
import { type OptionNames, requireKnownOptions } from "@loyalty-cards/internal/known-options";
import { describeError } from "@loyalty-cards/internal/reporting";
import type { Result } from "@loyalty-cards/internal/result";
import { toBytes } from "./body.ts";
import { getNodeCrypto, type SigningKey } from "./signature.ts";

/**
 * The signing secret as the service's console shows it. For a rotation it can have an id and an
 * expiry.
 */
export type Secret = string | Uint8Array | NamedSecret;

/** A secret with what a rotation needs. */
interface NamedSecret {
  /** The signing secret as the service's console shows it. */
  key: string | Uint8Array;
  /** Reported in outcomes when this secret matched. Never put the secret itself here. */
  id?: string;
  /** The secret is accepted up to and including this moment. */
  notAfter?: Date;
}

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

/** The problem completes the sentence "secret is …", and never contains the secret. */
class InvalidSecretError extends TypeError {
  readonly problem: string;

  constructor(problem: string) {
    super(`secret is ${problem}`);
    this.problem = problem;
  }
}

/**
 * @throws {InvalidSecretError} for a missing, empty or blank secret. With an empty key, anyone
 * could sign.
 */
export function toSigningKeys(
  secret: Secret | readonly Secret[] | null | undefined,
): readonly SigningKey[] {
  if (!Array.isArray(secret)) return [toSigningKey(secret as Secret | null | undefined)];
  if (secret.length === 0) throw new InvalidSecretError("an empty list: pass at least one secret.");
  return secret.map(toSigningKey);
}

/**
 * The keys of strings by their text, because creating one takes longer than an HMAC, and callers of
 * `verifyWebhook` pass the same text each time.
 */
const knownKeys = new Map<string, SigningKey>();
const maxKnownKeys = 100;

const isSet = "is LOYALTY_SIGNING_SECRET set? Node.js reads a .env file with --env-file=.env.";

function toSigningKey(secret: Secret | null | undefined): SigningKey {
  if (typeof secret !== "string") return createSigningKey(secret);
  let key = knownKeys.get(secret);
  if (key === undefined) {
    key = createSigningKey(secret);
    if (knownKeys.size === maxKnownKeys) knownKeys.clear();
    knownKeys.set(secret, key);
  }
  return key;
}

function createSigningKey(secret: Secret | null | undefined): SigningKey {
  const { key, id, notAfter } = toNamedSecret(secret);
  const bytes = copyKey(key);
  const notAfterMs = notAfter === undefined ? Number.POSITIVE_INFINITY : notAfter?.getTime?.();
  if (!(notAfterMs <= Number.POSITIVE_INFINITY))
    throw new InvalidSecretError(
      "an object whose notAfter is not a valid date: pass a Date, or omit it.",
    );
  return { bytes, nodeKey: getNodeCrypto()?.createSecretKey(bytes), id, notAfterMs };
}

const namedSecretNames = {
  key: true,
  id: true,
  notAfter: true,
} satisfies OptionNames<NamedSecret>;

/** With a misspelt `notAfter`, a leaked secret would stay valid. */
function toNamedSecret(secret: Secret | null | undefined): NamedSecret {
  const isNamed = typeof secret === "object" && secret !== null && toBytes(secret) === undefined;
  if (!isNamed || "then" in secret) return { key: secret as string | Uint8Array };
  const named = secret as NamedSecret;
  if (named.key === undefined)
    throw new InvalidSecretError(
      "an object without a key: pass { key, id?, notAfter? }. Is the variable of key set?",
    );
  requireKnownOptions("A secret", named, namedSecretNames, {
    noun: "member",
    toError: (message) => new InvalidSecretError(`an object with an unknown member: ${message}`),
  });
  return named;
}

/** Copies the bytes, because the caller may change its own. */
function copyKey(key: string | Uint8Array | null | undefined): Uint8Array {
  if (key === undefined || key === null) throw new InvalidSecretError(`${key}: ${isSet}`);
  const bytes = toBytes(key as unknown);
  if (bytes === undefined)
    throw new InvalidSecretError(
      `a value of type ${formatType(key)}: it must be a string or bytes.`,
    );
  const form = typeof key === "string" ? "string" : "array of bytes";
  if (bytes.length === 0) throw new InvalidSecretError(`an empty ${form}: ${isSet}`);
  // All bytes are white space or control characters.
  if (bytes.every((byte) => byte <= 32))
    throw new InvalidSecretError("white space only: set LOYALTY_SIGNING_SECRET.");
  if (textsOfNoValue.includes(key)) throw new InvalidSecretError(`the text "${key}": ${isSet}`);
  if (typeof key === "string" && /^["']/.test(key))
    throw new InvalidSecretError(
      "a string that begins with a quote, which a shell or a .env file did not remove: remove it.",
    );
  if (typeof key === "string" && key.trim() !== key) {
    const place = key.trimStart() === key ? "ends" : "begins";
    throw new InvalidSecretError(`a string that ${place} with white space: trim it.`);
  }
  const copy = new Uint8Array(bytes);
  // Node puts the bytes of short strings into memory that later buffers of the program share: there
  // the secret could be read by mistake.
  if (typeof key === "string") bytes.fill(0);
  return copy;
}

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
    const wasCalled = running ?? results.loaded ?? results.failed; // for a delivery
    if (wasCalled !== undefined) return;
    const { failure } = await refresh(clock.monotonicMs());
    if (failure === undefined) return;
    results.failed = undefined; // the first delivery calls the function again
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
