/** API keys of both kinds (spec 5.2): made, revoked, and recognised in a header. */
import { NotFoundError } from "./not-found.ts";
import type { Domain } from "./surroundings.ts";

export type ApiKeyKind = "website" | "full";

export interface ApiKey {
  id: string;
  kind: ApiKeyKind;
  /** What people call it. */
  name: string;
  key: string;
  /** ISO 8601. */
  createdAt: string;
}

export interface ApiKeyStore {
  /** By the key itself. */
  apiKeys: Map<string, ApiKey>;
}

export interface ApiKeyInput {
  kind: ApiKeyKind;
  name?: string;
}

/** The seeded keys. They are no secret: they open nothing but a mock. */
export const seededApiKeys: Readonly<Record<ApiKeyKind, string>> = {
  website: "mock_website_key",
  full: "mock_full_key",
};

/** What a card says it was issued via, by the kind of the key (spec 2.1). */
export const issuedVia: Readonly<Record<ApiKeyKind, string>> = { website: "website", full: "api" };

/** @param key what a key of the seed is. @throws {TypeError} for a kind that does not exist. */
export function createApiKey(
  { state, newIdentifier, nowMs, tell }: Domain<ApiKeyStore>,
  { kind, name = kind === "full" ? "Full key" : "Website key" }: ApiKeyInput,
  key = newIdentifier(`mock_${kind}`),
): ApiKey {
  if (!Object.hasOwn(issuedVia, kind))
    throw new TypeError(`kind must be "website" or "full", not "${kind}".`);
  const apiKey = { id: newIdentifier("key"), kind, name, key, createdAt: new Date(nowMs()).toISOString() };
  state.apiKeys.set(key, apiKey);
  tell({ type: "apiKey", id: apiKey.id, action: "created" });
  return apiKey;
}

/** From now on it opens nothing. @throws {RangeError} when there is no such key. */
export function revokeApiKey({ state, tell }: Domain<ApiKeyStore>, id: string): void {
  const apiKey = [...state.apiKeys.values()].find((candidate) => candidate.id === id);
  if (apiKey === undefined) throw new NotFoundError(`There is no API key "${id}".`);
  state.apiKeys.delete(apiKey.key);
  tell({ type: "apiKey", id, action: "removed" });
}

/** The key in an `Authorization` header. */
export function bearerOf(authorization: string | null): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}
