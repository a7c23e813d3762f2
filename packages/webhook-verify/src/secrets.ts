/** Signing secrets: validation, rotation, and secrets that a function loads and that are refreshed before they expire. */
import { describeError } from "@loyalty-cards/internal/reporting";
import { toBytes } from "./body.ts";
import { getNodeCrypto, type SigningKey } from "./hmac.ts";

/** The signing secret as the service's console shows it. For a rotation it can have an id and an expiry. */
export type Secret = string | Uint8Array | NamedSecret;

interface NamedSecret {
  key: string | Uint8Array;
  /** Reported in outcomes when this secret matched. Never put the secret itself here. */
  id?: string;
  /** The secret is accepted up to and including this moment. */
  notAfter?: Date;
}

/** A function is called also after a mismatch, at most every 30 seconds. @inline */
export type SecretOption = Secret | readonly Secret[] | (() => LoadedSecret | Promise<LoadedSecret>);

/** `undefined` is an error of the configuration, which the log reports, and each delivery gets the response 500. @inline */
type LoadedSecret = Secret | readonly Secret[] | undefined;

/** The message begins with `secret is` and never contains the secret. */
class InvalidSecretError extends TypeError {
  constructor(problem: string) {
    super(`secret is ${problem}`);
  }
}

/** Describes for the log why a `secret` function has no usable result. */
export function describeSecretFailure(error: unknown, options: { logErrorMessages?: boolean }): string {
  return error instanceof InvalidSecretError
    ? error.message.replace("secret is", "the secret function returned")
    : `the secret function threw ${describeError(error, options)}.`;
}

/** @throws {InvalidSecretError} for a missing, empty or blank secret. With an empty key, anyone could sign. */
export function toSigningKeys(secret: Secret | readonly Secret[] | null | undefined): readonly SigningKey[] {
  if (!Array.isArray(secret)) return [toSigningKey(secret as Secret | null | undefined)];
  if (secret.length === 0) throw new InvalidSecretError("an empty list: pass at least one secret.");
  return secret.map(toSigningKey);
}

/** Keys of strings by their text: creating one takes longer than an HMAC, and callers of `verifyWebhook` pass the same text each time. */
const knownKeys = new Map<string, SigningKey>();
const maxKnownKeys = 100;

const isSet = "is LOYALTY_SIGNING_SECRET set?";

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
  const isNamed = (secret as NamedSecret | null | undefined)?.key !== undefined;
  const { key, id, notAfter } = (isNamed ? secret : { key: secret }) as NamedSecret;
  if (key === undefined || key === null) throw new InvalidSecretError(`${key}: ${isSet}`);
  const bytes = toBytes(key);
  if (bytes === undefined)
    throw new InvalidSecretError(`a value of type ${typeof key}: it must be a string or bytes.`);
  const form = typeof key === "string" ? "string" : "array of bytes";
  if (bytes.length === 0) throw new InvalidSecretError(`an empty ${form}: ${isSet}`);
  // White space and control characters.
  if (bytes.every((byte) => byte <= 32))
    throw new InvalidSecretError("white space only: set LOYALTY_SIGNING_SECRET.");
  if (typeof key === "string" && key.trim() !== key) {
    const place = key.trimStart() === key ? "ends" : "begins";
    throw new InvalidSecretError(`a string that ${place} with white space: trim it.`);
  }
  const notAfterMs = notAfter === undefined ? Number.POSITIVE_INFINITY : notAfter?.getTime?.();
  if (!(notAfterMs <= Number.POSITIVE_INFINITY))
    throw new TypeError("notAfter of a secret is not a valid date: pass a Date, or omit it.");
  const ownBytes = new Uint8Array(bytes); // the caller may change its bytes
  if (typeof key === "string") bytes.fill(0); // small buffers of Node share memory
  return { bytes: ownBytes, nodeKey: getNodeCrypto()?.createSecretKey(ownBytes), id, notAfterMs };
}

type Keys = readonly SigningKey[];

/** The minimum time between two calls because of mismatches, which anyone can cause. */
const reloadPauseMs = 30_000;
/** The pause after a failed call, so that the next requests do not all repeat it. */
const failurePauseMs = 1_000;
/** After this time another call is allowed, because a call that hangs would block all deliveries. */
const loadTimeoutMs = 10_000;
/** The share of the maximum age after which the secrets are refreshed in the background, so that deliveries rarely wait. */
const refreshShare = 0.8;

export function createSecretSource(option: SecretOption, maxAgeMs: number, clock: { monotonicMs(): number }) {
  if (typeof option !== "function") {
    const keys = toSigningKeys(option);
    return { tryAtStart: () => {}, current: async () => keys, reload: async () => undefined };
  }
  const callFunction = option;
  /** The age counts from the start of the call: the secret may have been replaced while it ran. */
  let loaded: { keys: Keys; startedMs: number } | undefined;
  let pending: { keys: Promise<Keys>; startedMs: number } | undefined;
  let failure: { error: unknown; atMs: number } | undefined;
  let reloadedMs = Number.NEGATIVE_INFINITY;

  async function callOnce(startedMs: number): Promise<Keys> {
    await undefined; // `pending` is set before the function is called, which may throw
    try {
      const keys = toSigningKeys(await callFunction());
      if (loaded === undefined || loaded.startedMs <= startedMs) loaded = { keys, startedMs };
      return keys;
    } catch (error) {
      failure = { error, atMs: clock.monotonicMs() };
      throw error;
    } finally {
      if (pending?.startedMs === startedMs) pending = undefined;
    }
  }

  const isPending = (nowMs: number) => pending !== undefined && nowMs - pending.startedMs < loadTimeoutMs;

  /** One call at a time, shared by all deliveries that wait for it. */
  function load(nowMs: number): Promise<Keys> {
    if (pending === undefined || !isPending(nowMs)) pending = { keys: callOnce(nowMs), startedMs: nowMs };
    return pending.keys;
  }

  function loadFirst(onFailure: (error: unknown) => void): void {
    if (loaded !== undefined || pending !== undefined || failure !== undefined) return;
    load(clock.monotonicMs()).catch((error) => {
      failure = undefined; // the first delivery calls the function again
      onFailure(error);
    });
  }

  return {
    /**
     * Calls the function before the first delivery needs its result, to find out early that it fails. Never throws, and does not
     * delay the program. Does nothing where timers cannot be started yet, such as in the global scope of Workers.
     */
    tryAtStart(onFailure: (error: unknown) => void): void {
      try {
        const timer: unknown = setTimeout(() => loadFirst(onFailure), 0);
        (timer as { unref?: () => void }).unref?.(); // Node: a program that has nothing else to do may end
      } catch {
        // The first delivery calls the function.
      }
    },
    /** The current keys. Rejects when the function returned no usable secret. */
    async current(): Promise<Keys> {
      const nowMs = clock.monotonicMs();
      const recent = failure !== undefined && nowMs - failure.atMs < failurePauseMs ? failure : undefined;
      const ageMs = nowMs - (loaded?.startedMs ?? Number.NEGATIVE_INFINITY);
      if (loaded === undefined || ageMs >= maxAgeMs) {
        if (recent !== undefined) throw recent.error;
        return load(nowMs);
      }
      if (ageMs >= maxAgeMs * refreshShare && recent === undefined) load(nowMs).catch(() => {});
      return loaded.keys;
    },
    /** Loads again after a mismatch. Returns undefined when it is too early, the secrets are fixed, or loading failed. */
    async reload(): Promise<Keys | undefined> {
      const nowMs = clock.monotonicMs();
      if (!isPending(nowMs)) {
        if (nowMs - reloadedMs < reloadPauseMs) return undefined;
        reloadedMs = nowMs;
      }
      return load(nowMs).catch(() => undefined);
    },
  };
}
