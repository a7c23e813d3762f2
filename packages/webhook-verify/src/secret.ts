/** The signing secrets a receiver accepts, checked once where they are given. */
import { bytesOf } from "./raw-body.ts";

/** The signing secret as the console shows it, or with a name and an end, for the days of a rotation. */
export type Secret =
  | string
  | Uint8Array
  | {
      key: string | Uint8Array;
      /** Told in outcomes when this secret matched. Never put the secret itself here. */
      id?: string;
      /** The secret counts up to and including this moment. */
      notAfter?: Date;
    };

/** A checked secret. One object per secret, so that engines can keep what they derive from it. */
export interface SigningKey {
  readonly key: string | Uint8Array;
  readonly id?: string;
  readonly notAfterMs: number;
}

/** Space, tab, line breaks. */
const isBlank = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13);

/** @throws {TypeError} for a missing, empty or blank secret. An empty key would verify what anybody signs. */
export function signingKeys(secret: Secret | readonly Secret[] | null | undefined): readonly SigningKey[] {
  const secrets = Array.isArray(secret)
    ? (secret as readonly Secret[])
    : [secret as Secret | null | undefined];
  if (secrets.length === 0) throw new TypeError("secret is an empty list: give at least one signing secret.");
  return secrets.map(signingKey);
}

function signingKey(secret: Secret | null | undefined): SigningKey {
  if (secret === undefined || secret === null) {
    throw new TypeError("secret is missing: give the signing secret that the console showed once.");
  }
  const named = typeof secret === "object" && "key" in secret ? secret : { key: secret };
  const key = typeof named.key === "string" ? named.key : bytesOf(named.key);
  if (key === undefined) throw new TypeError("secret must be a string or bytes.");
  if (typeof key === "string" ? key.trim() === "" : key.every(isBlank)) {
    throw new TypeError("secret is empty: is the environment variable set?");
  }
  if (typeof key === "string" && key.trim() !== key) {
    throw new TypeError("secret begins or ends with white space: a line break from a file? Trim it.");
  }
  const notAfterMs = named.notAfter === undefined ? Number.POSITIVE_INFINITY : named.notAfter.getTime();
  if (Number.isNaN(notAfterMs)) throw new TypeError("notAfter of a secret is not a valid date.");
  return named.id === undefined ? { key, notAfterMs } : { key, notAfterMs, id: named.id };
}
