/** API keys of the two kinds (spec 5.2): created and revoked, so that a rotation can be tested. */
import type { Domain } from "./context.ts";
import { InputError, NotFoundError } from "./errors.ts";
import { generateId } from "./ids.ts";
import type { ApiKey, ApiKeyKind, ApiKeys } from "./state.ts";

/** The keys at the start. They are not secret, because they give access to a mock only. */
export const defaultApiKeys: ApiKeys = { website: "mock_website_key", full: "mock_full_key" };

/**
 * The value of `issuedVia` on a card, by the kind of the API key ([spec
 * 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)).
 */
export const issuedVia: Readonly<Record<ApiKeyKind, string>> = { website: "website", full: "api" };

/** Names for the log, which never contains a key. */
export const apiKeyTitles: Readonly<Record<ApiKeyKind, string>> = {
  website: "Website key",
  full: "Full key",
};

/** @throws {TypeError} for another kind. */
export function createApiKey({ state, notifyChange }: Domain, kind: ApiKeyKind): ApiKey {
  if (!Object.hasOwn(apiKeyTitles, kind))
    throw new InputError(`There is no kind "${kind}" of API keys: use "website" or "full".`);
  const apiKey = { key: generateId(`mock_${kind}`), kind };
  state.apiKeys.set(apiKey.key, apiKey);
  notifyChange();
  return apiKey;
}

/** @throws {NotFoundError} for a key that is not valid; the message does not contain it. */
export function revokeApiKey({ state, notifyChange }: Domain, key: string): void {
  if (!state.apiKeys.delete(key)) throw new NotFoundError("There is no such API key.");
  notifyChange();
}

/** @returns the newest valid key of each kind that has one. */
export function getNewestKeys({ state }: Domain): Partial<ApiKeys> {
  const newest: Partial<Record<ApiKeyKind, string>> = {};
  for (const { key, kind } of state.apiKeys.values()) newest[kind] = key;
  return newest;
}
