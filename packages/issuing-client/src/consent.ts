/** The marketing consent of a card holder. */
import type { Call } from "./call.ts";
import { configurationError } from "./errors.ts";

/** The news-and-offers consent of a card holder (spec 2.6). */
export interface ConsentState {
  /** The card holder (spec 2.6). */
  customer: {
    [member: string]: unknown;
  };
  /** Whether news and offers may be sent; false when withdrawn or never given (spec 2.6). */
  marketingConsent: boolean;
}

/** A change of the news-and-offers consent (spec 4.5). */
export interface ConsentChange {
  /** true gives, false withdraws (spec 4.5). */
  marketing: boolean;
  /** Version label of the consent text, sent only when known (spec 4.5). */
  version?: string | undefined;
}

/** @throws {IssuingError} `invalid-response` when the answer tells nothing about the consent. */
export function readConsent(call: Call, body: unknown): ConsentState {
  const state = consentIn(body);
  if (state !== undefined) return state;
  throw call.unpromised("a consent: marketingConsent is not true or false");
}

/**
 * The state where the answer tells it: what a PUT answers is not shown (spec 4.5). Only true and false tell it: the text "false" would count
 * as consent in an `if`.
 */
export function consentIn(body: unknown): ConsentState | undefined {
  const { marketingConsent } = (body ?? {}) as { marketingConsent?: unknown };
  return typeof marketingConsent === "boolean" ? (body as ConsentState) : undefined;
}

export function checkedChange(change: ConsentChange): ConsentChange {
  const { marketing, version } = change ?? {};
  if (typeof marketing !== "boolean") throw configurationError("marketing must be true or false.");
  if (version !== undefined && typeof version !== "string")
    throw configurationError("version must be a string.");
  return version === undefined ? { marketing } : { marketing, version };
}
