/** The API key: what is wrong with it, without printing it. */
import { textsOfMissingValues } from "@loyalty-cards/internal/format";
import type { Result } from "@loyalty-cards/internal/result";
import { configurationError, describeInvalidText } from "./errors.ts";

/**
 * @returns a valid key, or the function that returns one; undefined when the key is missing.
 * @throws {IssuingError} `configuration` for any other value.
 */
export function parseApiKeyOption(apiKey: unknown): string | (() => unknown) | undefined {
  if (typeof apiKey === "function") return apiKey as () => unknown;
  if (String(apiKey ?? "").trim() === "") return undefined;
  const { value, failure } = parseApiKey(apiKey);
  if (failure !== undefined) throw configurationError(`apiKey (LOYALTY_API_KEY) ${failure}`);
  return value;
}

/** @returns the key, or what is wrong with it, to follow its name. It never has the key. */
export function parseApiKey(apiKey: unknown): Result<string, string> {
  if (typeof apiKey !== "string" || textsOfMissingValues.includes(apiKey))
    return { failure: `${describeInvalidText(apiKey)}. ${advice}` };
  const mistake = mistakes.find(({ pattern }) => pattern.test(apiKey));
  return mistake === undefined ? { value: apiKey } : { failure: mistake.what };
}

const advice =
  "Set the environment variable LOYALTY_API_KEY, or pass the key, or a function that returns it.";

const mistakes = [
  {
    pattern: /^["']/,
    what: "begins with a quote, which a shell or a .env file did not remove. Remove it.",
  },
  { pattern: /^https?:/i, what: "is an address: is it swapped with baseUrl (LOYALTY_URL)?" },
  {
    pattern: /^whsec_/,
    what: "is a signing secret, which verifies webhooks. Pass a Website key of the service's console.",
  },
  {
    pattern: /[^\x21-\x7e]/,
    what: 'contains a space, a line break or another character that a key cannot have. Pass the key alone, without "Bearer ".',
  },
];
