/** The API key: what is wrong with it, without printing it. */
import { textsOfMissingValues } from "@loyalty-cards/internal/format";
import type { Result } from "@loyalty-cards/internal/result";
import { configurationError, describeInvalidText, isPromise } from "./errors.ts";
import { describeMissing } from "./runtime.ts";

/**
 * @returns a valid key, or the function that returns one; undefined when the key is missing.
 * @throws {IssuingError} `configuration` for any other value.
 */
export function parseApiKeyOption(apiKey: unknown): string | (() => unknown) | undefined {
  if (typeof apiKey === "function") return apiKey as () => unknown;
  if (String(apiKey ?? "").trim() === "") return undefined;
  const { value, failure } = readApiKey(apiKey);
  if (failure !== undefined) throw configurationError(failure);
  return value;
}

/** @returns the key, or what is wrong with it, without the key. */
export function readApiKey(apiKey: unknown): Result<string, string> {
  if (isPromise(apiKey) || textsOfMissingValues.includes(apiKey))
    return { failure: `apiKey ${describeInvalidText(apiKey)}. ${advice}` };
  if (typeof apiKey !== "string" || apiKey.trim() === "")
    return { failure: describeMissing("apiKey", "LOYALTY_API_KEY") };
  const mistake = mistakes.find(({ pattern }) => pattern.test(apiKey));
  return mistake === undefined ? { value: apiKey } : { failure: `apiKey ${mistake.what}` };
}

const advice =
  "Set the environment variable LOYALTY_API_KEY, or pass the key, or a function that returns it.";

const mistakes = [
  {
    pattern: /^["']/,
    what: "begins with a quote, which a shell or a .env file did not remove. Remove it.",
  },
  { pattern: /^https?:/i, what: "is an address: are apiKey and baseUrl swapped?" },
  {
    pattern: /^whsec_/,
    what: "is a signing secret, which verifies webhooks. Pass a Website key of the service's console.",
  },
  {
    pattern: /[^\x21-\x7e]/,
    what: 'contains a space, a line break or another character that a key cannot have. Pass the key alone, without "Bearer ".',
  },
];
