/** Signing secrets: validation, rotation, and secrets that a function loads and that are refreshed before they expire. */
import { describeError } from "@loyalty-cards/internal/reporting";
import { toBytes } from "./body.ts";

/** The signing secret as the console shows it. For a rotation it can have an id and an expiry. */
export type Secret = string | Uint8Array | NamedSecret;

interface NamedSecret {
  key: string | Uint8Array;
  /** Reported in outcomes when this secret matched. Never put the secret itself here. */
  id?: string;
  /** The secret is accepted up to and including this moment. */
  notAfter?: Date;
}

/**
 * A secret, several, or a function that loads them. The receiver uses its result for `secretMaxAgeSeconds`, and calls it also after a
 * mismatch, at most every 30 seconds. @inline
 */
export type SecretOption =
  | Secret
  | readonly Secret[]
  | (() => Secret | readonly Secret[] | Promise<Secret | readonly Secret[]>);

/** A validated secret, and the imported keys of the HMAC engines: importing a key costs more than an HMAC in Node 24. */
export interface SigningKey {
  readonly key: string | Uint8Array;
  readonly id: string | undefined;
  readonly notAfterMs: number | undefined;
  nodeKey?: unknown;
  webKey?: unknown;
  /** The key as the two blocks of RFC 2104. */
  pads?: { inner: Uint8Array; outer: Uint8Array };
}

/** An error about an invalid secret. `problem` is the end of a sentence and never contains the secret. */
class InvalidSecretError extends TypeError {
  override readonly name = "TypeError";
  readonly problem: string;

  constructor(problem: string) {
    super(`secret is ${problem}`);
    this.problem = problem;
  }
}

const isSet = "is LOYALTY_SIGNING_SECRET set?";

/** Describes for the log why a `secret` function has no usable result. */
export function describeSecretFailure(error: unknown, options: { logErrorMessages?: boolean }): string {
  return error instanceof InvalidSecretError
    ? `the secret function returned ${error.problem}`
    : `the secret function threw ${describeError(error, options)}.`;
}

/** The keys of validated strings. Strings cannot change, so each is imported once, however often it is passed. */
const cachedKeys = new Map<string, SigningKey>();
const maxCachedKeys = 100;

/** @throws {InvalidSecretError} for a missing, empty or blank secret. With an empty key, anyone could sign. */
export function toSigningKeys(secret: Secret | readonly Secret[] | null | undefined): readonly SigningKey[] {
  if (!Array.isArray(secret)) return [toSigningKey(secret as Secret | null | undefined)];
  if (secret.length === 0) throw new InvalidSecretError("an empty list: pass at least one secret.");
  return secret.map(toSigningKey);
}

function toSigningKey(secret: Secret | null | undefined): SigningKey {
  if (typeof secret !== "string") return createSigningKey(secret);
  let key = cachedKeys.get(secret);
  if (key === undefined) {
    key = createSigningKey(secret);
    if (cachedKeys.size === maxCachedKeys) cachedKeys.clear();
    cachedKeys.set(secret, key);
  }
  return key;
}

function createSigningKey(secret: Secret | null | undefined): SigningKey {
  const named = (secret as NamedSecret | null | undefined)?.key === undefined ? { key: secret } : secret;
  const { key: value, id, notAfter } = named as NamedSecret;
  if (value === undefined || value === null) throw new InvalidSecretError(`${value}: ${isSet}`);
  const bytes = toBytes(value);
  if (bytes === undefined) {
    const type = typeof value === "function" ? "a function" : `a value of type ${typeof value}`;
    throw new InvalidSecretError(`${type}: it must be a string or bytes.`);
  }
  const kind = typeof value === "string" ? "string" : "array of bytes";
  if (bytes.length === 0) throw new InvalidSecretError(`an empty ${kind}: ${isSet}`);
  if (bytes.every(isBlank)) throw new InvalidSecretError("white space only: set LOYALTY_SIGNING_SECRET.");
  const key = typeof value === "string" ? value : new Uint8Array(bytes); // a copy: the caller may change the buffer
  if (typeof key === "string" && key.trim() !== key) {
    const place = key.trimStart() === key ? "ends" : "begins";
    throw new InvalidSecretError(`a string that ${place} with white space: trim it.`);
  }
  const notAfterMs = notAfter?.getTime?.();
  if (notAfter !== undefined && !Number.isFinite(notAfterMs))
    throw new TypeError("notAfter of a secret is not a valid date: pass a Date, or omit it.");
  return { key, id, notAfterMs };
}

/** Whether a byte is white space or a control character. A secret of such bytes only is a mistake. */
const isBlank = (byte: number) => byte <= 32;

type Keys = readonly SigningKey[];

export interface SecretSource {
  /**
   * Calls a `secret` function before the first delivery needs its result, to find out early that it fails. Never throws or rejects,
   * and does not delay the program. Does nothing where timers cannot be started yet, such as in the global scope of Workers.
   */
  tryAtStart(onFailure: (error: unknown) => void): void;
  /** Returns the current keys, without a promise when they are cached. Rejects when the function returned no usable secret. */
  current(): Keys | Promise<Keys>;
  /** Loads again after a mismatch. Returns undefined when it is too early, the secrets are fixed, or loading failed. */
  reload(): Promise<Keys | undefined>;
}

/** The minimum time between two calls because of mismatches, which anyone can cause. */
const reloadPauseMs = 30_000;
/** The pause after a failed call, so that the next requests do not all repeat it. */
const failurePauseMs = 1_000;
/** After this time another call is allowed, because a call that hangs would block all deliveries. */
const loadTimeoutMs = 10_000;
/** The share of the maximum age after which the secrets are refreshed in the background, so that deliveries rarely wait. */
const refreshShare = 0.8;

export function createSecretSource(
  option: SecretOption,
  { maxAgeMs, monotonicMs }: { maxAgeMs: number; monotonicMs: () => number },
): SecretSource {
  if (typeof option !== "function") {
    const keys = toSigningKeys(option);
    return { tryAtStart: () => {}, current: () => keys, reload: async () => undefined };
  }
  /** The age counts from the start of the call: the secret may have been replaced while it ran. */
  let loaded: { keys: Keys; startedMs: number } | undefined;
  let pending: { keys: Promise<Keys>; startedMs: number } | undefined;
  let failedMs = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let reloadedMs = Number.NEGATIVE_INFINITY;

  async function callFunction(startedMs: number): Promise<Keys> {
    try {
      const keys = toSigningKeys(await (option as () => Promise<Secret>)());
      if (loaded === undefined || loaded.startedMs <= startedMs) loaded = { keys, startedMs };
      return keys;
    } catch (error) {
      failure = error;
      failedMs = monotonicMs();
      throw error;
    }
  }

  const isPending = (nowMs: number) => pending !== undefined && nowMs - pending.startedMs < loadTimeoutMs;

  /** One call at a time, shared by all deliveries that wait for it. */
  function load(nowMs: number): Promise<Keys> {
    if (pending === undefined || !isPending(nowMs)) {
      const own = { keys: callFunction(nowMs), startedMs: nowMs };
      const clear = () => {
        if (pending === own) pending = undefined;
      };
      own.keys.then(clear, clear);
      pending = own;
    }
    return pending.keys;
  }

  async function loadFirst(onFailure: (error: unknown) => void): Promise<void> {
    if (loaded !== undefined || pending !== undefined || failedMs !== Number.NEGATIVE_INFINITY) return;
    try {
      await load(monotonicMs());
    } catch (error) {
      failedMs = Number.NEGATIVE_INFINITY; // the first delivery calls the function again
      onFailure(error);
    }
  }

  return {
    tryAtStart(onFailure) {
      try {
        const timer: unknown = setTimeout(() => void loadFirst(onFailure), 0);
        (timer as { unref?: () => void }).unref?.(); // Node: a program that has nothing else to do may end
      } catch {
        // The first delivery calls the function.
      }
    },
    current() {
      const nowMs = monotonicMs();
      const hasJustFailed = nowMs - failedMs < failurePauseMs;
      const ageMs = loaded === undefined ? Number.POSITIVE_INFINITY : nowMs - loaded.startedMs;
      if (loaded !== undefined && ageMs < maxAgeMs) {
        if (ageMs >= maxAgeMs * refreshShare && !hasJustFailed) load(nowMs).catch(() => {});
        return loaded.keys;
      }
      if (hasJustFailed) throw failure;
      return load(nowMs);
    },
    async reload() {
      const nowMs = monotonicMs();
      if (!isPending(nowMs)) {
        if (nowMs - reloadedMs < reloadPauseMs) return undefined;
        reloadedMs = nowMs;
      }
      return load(nowMs).catch(() => undefined);
    },
  };
}
