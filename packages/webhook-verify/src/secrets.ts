/** Signing secrets: validation, rotation, and secrets that a function loads and that are refreshed before they expire. */
import { toBytes } from "./body.ts";

/** The signing secret as the console shows it, or with an id and an end, for a rotation. */
export type Secret = string | Uint8Array | NamedSecret;

interface NamedSecret {
  key: string | Uint8Array;
  /** Reported in outcomes when this secret matched. Never put the secret itself here. */
  id?: string;
  /** The secret is accepted up to and including this moment. */
  notAfter?: Date;
}

/**
 * A secret, several, or a function that loads them. Its result is used for `secretMaxAgeSeconds`. The function is also called after a
 * mismatch, at most every 30 seconds.
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
}

const missing = "secret is missing or empty: is the environment variable set?";

/** Validated strings. They cannot change, so each is imported once, however often it is passed. */
const cachedKeys = new Map<string, SigningKey>();
const maxCachedKeys = 100;

/** @throws {TypeError} for a missing, empty or blank secret. With an empty key, anyone could sign. */
export function toSigningKeys(secret: Secret | readonly Secret[] | null | undefined): readonly SigningKey[] {
  if (!Array.isArray(secret)) return [toSigningKey(secret as Secret | null | undefined)];
  if (secret.length === 0) throw new TypeError(missing);
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
  const bytes = toBytes(value ?? "");
  if (bytes === undefined) throw new TypeError("secret must be a string or bytes.");
  if (bytes.every(isBlank)) throw new TypeError(missing);
  const key = typeof value === "string" ? value : new Uint8Array(bytes); // a copy: the caller may change the buffer
  if (typeof key === "string" && key.trim() !== key) {
    throw new TypeError("secret has white space around it: trim it.");
  }
  const notAfterMs = notAfter?.getTime?.();
  if (notAfter !== undefined && !Number.isFinite(notAfterMs))
    throw new TypeError("notAfter of a secret is not a valid date: pass a Date, or omit it.");
  return { key, id, notAfterMs };
}

/** Space, tab, line breaks, NUL: never a secret on purpose. */
const isBlank = (byte: number) => byte <= 32;

type Keys = readonly SigningKey[];

export interface SecretSource {
  /** The current keys, without a promise when they are cached. Rejects when the function returned no usable secret. */
  current(): Keys | Promise<Keys>;
  /** Loads again after a mismatch. Undefined when it is too early, the secrets are fixed, or loading failed. */
  reload(): Promise<Keys | undefined>;
}

export interface SecretSourceOptions {
  maxAgeMs: number;
  /** Milliseconds of a monotonic clock. */
  monotonicNow: () => number;
}

/** Anyone can cause a mismatch, so mismatches must not cause a call each. */
const reloadPauseMs = 30_000;
/** The pause after a failed call, so that not every request repeats it. */
const failurePauseMs = 1_000;
/** After this time another call is allowed: one that hangs would block all deliveries. */
const loadTimeoutMs = 10_000;
/** The share of the maximum age after which the secrets are refreshed in the background, so that deliveries rarely wait. */
const refreshShare = 0.8;

export function createSecretSource(option: SecretOption, options: SecretSourceOptions): SecretSource {
  if (typeof option !== "function") {
    const keys = toSigningKeys(option);
    return { current: () => keys, reload: async () => undefined };
  }
  const { maxAgeMs, monotonicNow } = options;
  /** The age counts from the start of the call: the secret may have been replaced while it ran. */
  let loaded: { keys: Keys; startedMs: number } | undefined;
  let pending: { keys: Promise<Keys>; startedMs: number } | undefined;
  let failedMs = Number.NEGATIVE_INFINITY;
  let reloadedMs = Number.NEGATIVE_INFINITY;

  async function callFunction(startedMs: number): Promise<Keys> {
    try {
      const keys = toSigningKeys(await (option as () => Promise<Secret>)());
      if (loaded === undefined || loaded.startedMs <= startedMs) loaded = { keys, startedMs };
      return keys;
    } catch (error) {
      failedMs = monotonicNow();
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

  return {
    current() {
      const nowMs = monotonicNow();
      const hasJustFailed = nowMs - failedMs < failurePauseMs;
      const ageMs = loaded === undefined ? Number.POSITIVE_INFINITY : nowMs - loaded.startedMs;
      if (loaded !== undefined && ageMs < maxAgeMs) {
        if (ageMs >= maxAgeMs * refreshShare && !hasJustFailed) load(nowMs).catch(() => {});
        return loaded.keys;
      }
      if (hasJustFailed) throw new TypeError("The secret function failed less than a second ago.");
      return load(nowMs);
    },
    async reload() {
      const nowMs = monotonicNow();
      if (!isPending(nowMs)) {
        if (nowMs - reloadedMs < reloadPauseMs) return undefined;
        reloadedMs = nowMs;
      }
      return load(nowMs).catch(() => undefined);
    },
  };
}
