/** The signing secrets a receiver accepts, checked once where they are given. */
import { bytesOf } from "./raw-body.ts";

/** The signing secret as the console shows it, or with a name and an end, for the days of a rotation. */
export type Secret = string | Uint8Array | NamedSecret;

interface NamedSecret {
  key: string | Uint8Array;
  /** Told in outcomes when this secret matched. Never put the secret itself here. */
  id?: string;
  /** The secret counts up to and including this moment. */
  notAfter?: Date;
}

/** A checked secret, and what the engines make of it: once, because bytes as a key cost more than the HMAC in Node 24. */
export interface SigningKey {
  readonly key: string | Uint8Array;
  readonly id: string | undefined;
  readonly notAfterMs: number | undefined;
  forNode?: unknown;
  forWeb?: unknown;
}

/** Space, tab, line breaks, NUL: bytes that nobody chose as a secret. */
const isBlank = (byte: number) => byte <= 32;

const missing = "secret is missing or empty: is the environment variable set?";

/** Checked strings. They cannot change, so an engine's key is made once for each, however often it is given. */
const known = new Map<string, SigningKey>();
const maxKnown = 100;

/** @throws {TypeError} for a missing, empty or blank secret. An empty key would verify what anybody signs. */
export function signingKeys(secret: Secret | readonly Secret[] | null | undefined): readonly SigningKey[] {
  if (!Array.isArray(secret)) return [signingKey(secret as Secret | null | undefined)];
  if (secret.length === 0) throw new TypeError(missing);
  return secret.map(signingKey);
}

function signingKey(secret: Secret | null | undefined): SigningKey {
  if (typeof secret !== "string") return checked(secret);
  let key = known.get(secret);
  if (key === undefined) {
    key = checked(secret);
    if (known.size === maxKnown) known.clear();
    known.set(secret, key);
  }
  return key;
}

function checked(secret: Secret | null | undefined): SigningKey {
  const named = (secret as NamedSecret | null | undefined)?.key === undefined ? { key: secret } : secret;
  const { key: given, id, notAfter } = named as NamedSecret;
  const bytes = bytesOf(given ?? "");
  if (bytes === undefined) throw new TypeError("secret must be a string or bytes.");
  if (bytes.every(isBlank)) throw new TypeError(missing);
  const key = typeof given === "string" ? given : new Uint8Array(bytes); // theirs may change; a Buffer's slice is theirs
  if (typeof key === "string" && key.trim() !== key) {
    throw new TypeError("secret has white space around it: trim it.");
  }
  const notAfterMs = notAfter?.getTime?.();
  if (notAfter !== undefined && !Number.isFinite(notAfterMs))
    throw new TypeError("notAfter of a secret is not a valid date: give a Date, or leave it out.");
  return { key, id, notAfterMs };
}
