/** Signing secrets: validation, and what a rotation needs. */
import { formatType, textsOfMissingValues } from "@loyalty-cards/internal/format";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
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

/** The problem completes the sentence "secret is …", and never contains the secret. */
export class InvalidSecretError extends TypeError {
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
  requireKnownNames("A secret", named, namedSecretNames, {
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
  if (textsOfMissingValues.includes(key))
    throw new InvalidSecretError(`the text "${key}": ${isSet}`);
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
