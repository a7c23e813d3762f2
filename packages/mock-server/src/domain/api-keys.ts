/** API keys of both kinds (spec 5.2). */
export type ApiKeyKind = "website" | "full";

export interface ApiKeyStore {
  apiKeys: Map<string, ApiKeyKind>;
}

/** The seeded keys. They are no secret: they open nothing but a mock. */
export const seededApiKeys: Readonly<Record<ApiKeyKind, string>> = {
  website: "mock_website_key",
  full: "mock_full_key",
};

/** What a card says it was issued via, by the kind of the key (spec 2.1). */
export const issuedVia: Readonly<Record<ApiKeyKind, string>> = { website: "website", full: "api" };

/** The kind of the key in an `Authorization` header, or undefined when it opens nothing. */
export function apiKeyKind(state: ApiKeyStore, authorization: string | null): ApiKeyKind | undefined {
  const key = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  return key === undefined ? undefined : state.apiKeys.get(key);
}
