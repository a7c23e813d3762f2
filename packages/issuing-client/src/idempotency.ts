/** The key under which a card is issued once: derived from your own user's id, so that it survives a crash. */
import { configurationError, IssuingError } from "./errors.ts";

/** Your own user's id: not empty, and a number only when it is a safe integer. */
export type UserId = string | number | bigint;

/** What a key is derived from. */
export interface DeriveInput {
  templateId: string;
  /** Your own user's id. `42`, `"42"` and `42n` are the same user. */
  userId: UserId;
  /** Another salt, another card: for a deliberate second issue to the same user. Default: none. */
  salt?: string;
  /** The `idempotencyNamespace` of the client: keeps apart user tables that have the same ids. Default `""`: none. */
  namespace?: string;
}

/** The version of the derivation; a change of it would issue second cards to users who retry across the change. */
const version = "lc1";

/** spec 8 */
const retentionMs = 24 * 3_600_000;

/**
 * Derives the Idempotency-Key (spec 4.1): stable across processes and runtimes, and without personal data. `issueCard` calls it when
 * it has a `userId`.
 * @param input the template's id, your own user's id, and optionally `salt` and `namespace`.
 * @returns `lc1_` and 43 characters of base64url.
 * @throws {IssuingError} `configuration` for a `userId` that is empty or no id, and for a `salt` or `namespace` that is
 * present but undefined, blank or not a string.
 * @example
 * ```ts
 * import { deriveIdempotencyKey } from "@loyalty-cards/issuing-client";
 *
 * const idempotencyKey = await deriveIdempotencyKey({ templateId: "tpl_coffee", userId: 42, namespace: "production" });
 * console.log(idempotencyKey); // the key that issueCard sends for this user
 * ```
 */
export async function deriveIdempotencyKey(input: DeriveInput): Promise<string> {
  const { templateId, userId } = input;
  if (typeof templateId !== "string" || templateId === "")
    throw configurationError("templateId is missing or empty.");
  const parts = [version, templateId, userIdText(userId), keyPart("salt", input)];
  // A part of its own only where there is one: keys without a namespace stay the same.
  const namespace = keyPart("namespace", input);
  if (namespace !== "") parts.push(namespace);
  if (!parts.every((part) => part.isWellFormed()))
    throw configurationError("templateId, userId, salt and namespace must be well-formed text.");
  // Each part is preceded by its length, so that no two inputs can read the same when joined.
  const text = new TextEncoder().encode(parts.map((part) => `${part.length}:${part}`).join(""));
  return `${version}_${base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", text)))}`;
}

/**
 * The salt or the namespace; `""` when there is none.
 * @throws {IssuingError} `configuration` when it is present but undefined, blank or not a string: the key would be another
 * person's.
 */
export function keyPart<Name extends string>(name: Name, options: { [Key in Name]?: unknown }): string {
  if (!(name in options)) return "";
  const value = options[name];
  if (value === "") return "";
  if (typeof value === "string" && value.trim() !== "" && value.isWellFormed()) return value;
  throw configurationError(
    `${name} is present but ${value === undefined ? "undefined" : "not text"}: give a string that is not blank, or leave it out.`,
  );
}

function userIdText(userId: unknown): string {
  if (typeof userId === "bigint") return String(userId);
  if (typeof userId === "number" && Number.isSafeInteger(userId)) return String(userId);
  if (typeof userId === "string" && userId.trim() !== "") return userId;
  throw configurationError(
    "userId must be a non-empty string, a safe integer or a bigint: is the user saved already?",
  );
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

/** A key for a call that brought none: it makes retries safe, but nobody can repeat it after a crash. */
export const randomIdempotencyKey = () => crypto.randomUUID();

/** @throws {IssuingError} `configuration`; the key is never quoted, for it may be the wrong secret pasted. */
export function checkedIdempotencyKey(key: unknown): string {
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw configurationError("idempotencyKey must be 1 to 255 visible ASCII characters, without spaces.");
}

/** No card was issued before; a current time in seconds, read as milliseconds, is. */
const earliestMs = Date.UTC(2001, 0, 1);

/** Clocks differ, and a request takes its time: this long before the end of the retention no attempt begins. */
const retentionMarginMs = 60_000;

/**
 * How long a call with this key may still be repeated.
 * @returns milliseconds; infinite when the first attempt is this one.
 * @throws {IssuingError} `idempotency-expired` once the service may have forgotten the key: a repeat would issue anew.
 */
export function repeatableForMs(
  firstAttemptAt: Date | number | undefined,
  nowMs: number,
  key: string,
): number {
  if (firstAttemptAt === undefined) return Number.POSITIVE_INFINITY;
  const atMs = firstAttemptAt === null ? Number.NaN : Number(firstAttemptAt);
  if (!Number.isFinite(atMs) || atMs > nowMs + retentionMarginMs) {
    throw configurationError(
      "firstAttemptAt must be a Date or a time in milliseconds, and not in the future.",
    );
  }
  if (atMs < earliestMs) {
    throw configurationError(
      "firstAttemptAt is before 2001: is it a time in seconds? It must be a Date or a time in milliseconds.",
    );
  }
  const remainingMs = atMs + retentionMs - retentionMarginMs - nowMs;
  if (remainingMs > 0) return remainingMs;
  throw new IssuingError(
    "The first attempt is 24 hours ago: the service may have forgotten the key, and a repeat could issue a second card. Look for the card first.",
    { code: "idempotency-expired", outcome: "unknown", idempotencyKey: key },
  );
}
