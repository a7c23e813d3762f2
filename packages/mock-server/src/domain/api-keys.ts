/** API keys of both kinds (spec 5.2): create, revoke, read from a header. */
import type { components } from "@loyalty-cards/openapi/control";
import { type Domain, NotFoundError } from "./context.ts";
import type { ApiKey, ApiKeyKind } from "./state.ts";

/** The seeded keys. They are not secret: they give access to a mock only. */
export const seededApiKeys: Readonly<Record<ApiKeyKind, string>> = {
  website: "mock_website_key",
  full: "mock_full_key",
};

/** The value of `issuedVia` on a card, by the kind of the API key ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
export const issuedVia: Readonly<Record<ApiKeyKind, string>> = { website: "website", full: "api" };

/** @param key the key itself; a generated one by default. */
export function createApiKey(
  { state, generateId, nowMs, notifyChange }: Domain,
  { kind, name = kind === "full" ? "Full key" : "Website key" }: components["schemas"]["ApiKeyInput"],
  key = generateId(`mock_${kind}`),
): ApiKey {
  const apiKey = { id: generateId("key"), kind, name, key, createdAt: new Date(nowMs()).toISOString() };
  state.apiKeys.set(key, apiKey);
  notifyChange();
  return apiKey;
}

/** Revokes a key at once. @throws {RangeError} for an unknown key. */
export function revokeApiKey({ state, notifyChange }: Domain, id: string): void {
  const apiKey = [...state.apiKeys.values()].find((candidate) => candidate.id === id);
  if (apiKey === undefined) throw new NotFoundError(`There is no API key "${id}".`);
  state.apiKeys.delete(apiKey.key);
  notifyChange();
}

/** Returns the key in an `Authorization` header. */
export function parseBearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}
