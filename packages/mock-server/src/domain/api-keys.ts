/** The two API keys, one of each kind (spec 5.2), and how they are read from a header. */

export type ApiKeyKind = "website" | "full";

/** Not secret: they give access to a mock only. */
export const apiKeys: Readonly<Record<ApiKeyKind, string>> = {
  website: "mock_website_key",
  full: "mock_full_key",
};

/** The value of `issuedVia` on a card, by the kind of the API key ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
export const issuedVia: Readonly<Record<ApiKeyKind, string>> = { website: "website", full: "api" };

/** Names for the log, which never contains a key. */
export const apiKeyNames: Readonly<Record<ApiKeyKind, string>> = {
  website: "Website key",
  full: "Full key",
};

/** Returns the key in an `Authorization` header. */
export function parseBearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

export const findKeyKind = (key: string | undefined) =>
  (["website", "full"] as const).find((kind) => apiKeys[kind] === key);
