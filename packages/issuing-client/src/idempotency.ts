/**
 * Idempotency keys: derived from your user's id, so that a call after a crash returns the same
 * card; the options of `issueCard` for them; and the 24 hours for which the service stores them.
 */

import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import { textsOfMissingValues } from "@loyalty-cards/internal/format";
import type { KeyedRequest } from "@loyalty-cards/internal/issuing-steps";
import { isAttemptTime, keyLifetimeMs } from "@loyalty-cards/internal/key-retention";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { configurationError, describeInvalidText, IssuingError, unknownMember } from "./errors.ts";

/** Your own user's id: not empty; a number must be a safe integer. */
export type UserId = string | number | bigint;

interface OptionsOfEveryKey {
  /**
   * When you first used this key. The call fails with `idempotency-expired` when the service may
   * have forgotten the key. With this option a 409 or 423 means that the earlier attempt may still
   * be running: it is retried until the deadline, not for 5 s only.
   */
  firstAttemptAt?: Date | number;
}

interface OptionsWithUserId extends OptionsOfEveryKey {
  /**
   * Your own user's id. The Idempotency-Key is derived from it, the template's id and the client's
   * `idempotencyNamespace`.
   */
  userId: UserId;
  /**
   * Part of the derived key. Change it to issue another card to the same user, or to send a
   * corrected form after a stored 422.
   */
  keySuffix?: string;
  idempotencyKey?: never;
}

/** There is no `userId?: never`, so that the compiler names `userId` when it may be undefined. */
interface OptionsWithIdempotencyKey extends OptionsOfEveryKey {
  /** Your own key, instead of `userId`: 1 to 255 visible ASCII characters, without spaces. */
  idempotencyKey: string;
}

/** The options of `issueCard` that decide about the key. */
export type KeyOptions = OptionsWithUserId | OptionsWithIdempotencyKey;

export const keyOptionNames = {
  userId: true,
  keySuffix: true,
  idempotencyKey: true,
  firstAttemptAt: true,
} satisfies OptionNames<KeyOptions>;

/** The caller's own key, or what the key is derived from. */
type GivenKey = string | Pick<IdempotencyKeyInput, "userId" | "keySuffix">;

/**
 * @returns the key, and how long ago it was used first: undefined without `firstAttemptAt`.
 * @throws {IssuingError} `configuration` when `userId` and `idempotencyKey` are both set or neither
 * is, when an option is present but undefined, and for an invalid key or `firstAttemptAt`.
 */
export function parseKeyOptions(
  options: KeyOptions,
  nowMs: number,
): { key: GivenKey; sinceFirstUseMs: number | undefined } {
  for (const name of ["idempotencyKey", "firstAttemptAt"] as const)
    if (name in options && options[name] === undefined)
      throw configurationError(
        `${name} is present but undefined: set it before this call, or leave it out.`,
      );
  const key = parseKey(options);
  const { firstAttemptAt } = options;
  if (firstAttemptAt === undefined) return { key, sinceFirstUseMs: undefined };
  return { key, sinceFirstUseMs: nowMs - parseFirstAttempt(Number(firstAttemptAt), nowMs) };
}

function parseKey(options: KeyOptions): GivenKey {
  const { idempotencyKey } = options;
  if (idempotencyKey === undefined) {
    if (!("userId" in options))
      throw configurationError(
        "issueCard needs userId or idempotencyKey: pass { userId: user.id }, the id of your own user. Without one of them a repeated call would issue another card.",
      );
    // The derivation rejects what is present but undefined.
    const { userId, keySuffix } = options as Required<OptionsWithUserId>;
    return "keySuffix" in options ? { userId, keySuffix } : { userId };
  }
  if ("userId" in options || "keySuffix" in options)
    throw configurationError(
      "Set userId or idempotencyKey, not both: the key is derived from the user's id and keySuffix.",
    );
  return parseIdempotencyKey(idempotencyKey);
}

/** What an idempotency key is derived from. */
export interface IdempotencyKeyInput {
  templateId: string;
  /** Your own user's id. `42`, `"42"` and `42n` are the same user. */
  userId: UserId;
  /** Part of the key. Change it to get a new key for the same user. Default: none. */
  keySuffix?: string;
  /**
   * The `idempotencyNamespace` of the client, which separates user tables with the same ids.
   * Default `""`: none. The environment is not read: a program that sets
   * `LOYALTY_IDEMPOTENCY_NAMESPACE` for the client passes the same namespace.
   */
  namespace?: string;
}

/**
 * Version of the derivation. A change would issue second cards to users who retry after an upgrade.
 */
const version = "lc1";

/**
 * Derives the Idempotency-Key ([spec
 * 4.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1)), the same in every
 * process and runtime, and without personal data. `issueCard` calls it when `userId` is set, with
 * the namespace of the client.
 * @param input the template's id, your own user's id, and optionally `keySuffix` and `namespace`.
 * @returns `lc1_` and 43 characters of base64url.
 * @throws {IssuingError} `configuration` for an invalid `userId`; for a `keySuffix` or `namespace`
 * that is present but undefined, blank or not a string; and for an unknown member.
 * @example
 * ```ts
 * import { deriveIdempotencyKey } from "@loyalty-cards/issuing-client";
 *
 * const user = { templateId: "tpl_coffee", userId: 42, namespace: "production" };
 * console.log(await deriveIdempotencyKey(user)); // the key that issueCard sends for this user
 * ```
 */
export async function deriveIdempotencyKey(input: IdempotencyKeyInput): Promise<string> {
  requireKnownNames("deriveIdempotencyKey", input, inputNames, unknownMember);
  return deriveKey(input);
}

const inputNames = {
  templateId: true,
  userId: true,
  keySuffix: true,
  namespace: true,
} satisfies OptionNames<IdempotencyKeyInput>;

/** Derives the same key. The names of its input are known. */
export async function deriveKey(input: IdempotencyKeyInput): Promise<string> {
  const text = toKeyText(input);
  return `${version}_${digestSync(text) ?? (await digest(text))}`;
}

/** Derives the same key without a promise, which needs node:crypto. */
export function deriveKeySync(input: IdempotencyKeyInput): string {
  const hash = digestSync(toKeyText(input));
  if (hash !== undefined) return `${version}_${hash}`;
  throw configurationError(
    "This runtime has no node:crypto, which the outbox needs: run it on Node.js.",
  );
}

/**
 * Returns the text that is hashed. Each part follows its length, so that different inputs never
 * give the same text.
 */
function toKeyText(input: IdempotencyKeyInput): string {
  const { templateId, userId } = input;
  const namespace = "namespace" in input ? parseNamespace("namespace", input.namespace) : "";
  if (typeof templateId !== "string" || templateId === "")
    throw configurationError("templateId is missing or empty.");
  const keySuffix = "keySuffix" in input ? requireText("keySuffix", input.keySuffix) : "";
  const parts = [version, templateId, formatUserId(userId), keySuffix];
  if (namespace !== "") parts.push(namespace); // an empty part would make another key
  const text = parts.map((part) => `${part.length}:${part}`).join("");
  if (text.isWellFormed()) return text;
  throw configurationError("templateId, userId, keySuffix and namespace must be well-formed text.");
}

/**
 * An empty namespace is none, because an environment variable can be empty.
 * @throws {IssuingError} `configuration` also for what a shell or a .env file did not remove: the
 * keys would be others, and each user would get a second card.
 */
export function parseNamespace(name: string, value: unknown): string {
  if (value === "") return "";
  const namespace = requireText(name, value);
  if (namespace === namespace.trim() && !/^["']/.test(namespace)) return namespace;
  throw configurationError(
    `${name} begins with a quote, or has white space around it, such as a line break. Remove it.`,
  );
}

/**
 * @throws {IssuingError} `configuration` for a value that is blank or not text: the key could be
 * another person's.
 */
function requireText(name: string, value: unknown): string {
  if (textsOfMissingValues.includes(value))
    throw configurationError(`${name} ${describeInvalidText(value)}. Set it, or leave it out.`);
  if (typeof value === "string" && value.trim() !== "") return value;
  throw configurationError(
    `${name} is present but undefined, blank or not text: set it, or leave it out.`,
  );
}

/**
 * @throws {IssuingError} `configuration` for a value that is not a user id. The message has no
 * value, which may be personal data.
 */
export function formatUserId(userId: unknown): string {
  if (typeof userId === "bigint" || Number.isSafeInteger(userId)) return String(userId);
  if (textsOfMissingValues.includes(userId))
    throw configurationError(
      `userId is the text "${userId}", which all users would share: pass the id of the user. Is its saving awaited?`,
    );
  if (typeof userId === "string" && userId.trim() !== "") return userId;
  if (userId === undefined || userId === null)
    throw configurationError(`userId is ${userId}: await the saving of the user, and pass its id.`);
  throw configurationError(
    `userId must be a non-empty string, a safe integer or a bigint, not this ${typeof userId}. Await the saving of the user, and pass its id.`,
  );
}

/** node:crypto, which is loaded for the first key, because loading takes milliseconds. */
let nodeCrypto:
  | { hash?(algorithm: "sha256", text: string, encoding: "base64url"): string }
  | undefined;

/**
 * Returns the SHA-256 of a text in base64url: synchronously, because WebCrypto takes longer than
 * the rest of a call's own work.
 */
function digestSync(text: string): string | undefined {
  nodeCrypto ??= getBuiltinModule("node:crypto") as typeof nodeCrypto;
  return nodeCrypto?.hash?.("sha256", text, "base64url");
}

/** Returns what `digestSync` returns, in runtimes without node:crypto. */
async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)),
  );
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * @throws {IssuingError} `configuration`, without the key: it can be a secret that was pasted by
 * mistake.
 */
export function parseIdempotencyKey(key: unknown): string {
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw configurationError(
    "idempotencyKey must be 1 to 255 visible ASCII characters, without spaces.",
  );
}

/** @throws {IssuingError} `configuration` for a `firstAttemptAt` that is not a time in the past. */
function parseFirstAttempt(atMs: number, nowMs: number): number {
  if (isAttemptTime(atMs, nowMs)) return atMs;
  throw configurationError(
    "firstAttemptAt must be a Date or a time in milliseconds, after 2000 and not in the future. A time in seconds is in 1970.",
  );
}

/**
 * @throws {IssuingError} `idempotency-expired` when the service may have forgotten the key: the
 * call could issue a second card.
 */
export function requireUnexpiredKey({ sinceFirstUseMs = 0, idempotencyKey }: KeyedRequest): void {
  if (sinceFirstUseMs < keyLifetimeMs) return;
  throw new IssuingError(
    "The first attempt was 24 hours ago: the service may have forgotten the key, and a new attempt could issue a second card. Look for the card first.",
    { code: "idempotency-expired", outcome: "unknown", idempotencyKey },
  );
}
