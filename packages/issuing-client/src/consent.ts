/** The marketing consent of a card holder. */
import type { components } from "@loyalty-cards/openapi";
import type { Call } from "./call.ts";
import { configurationError } from "./errors.ts";

/** Whether news and offers may be sent. What is inside `customer` is not shown (spec 2.6). */
export type ConsentState = components["schemas"]["ConsentState"];

/** The news-and-offers consent, given or withdrawn (spec 4.5). */
export interface ConsentChange {
  /** true gives, false withdraws. */
  marketing: boolean;
  /** Version label of the consent text, when known. */
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
