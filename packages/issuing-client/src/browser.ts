/** Entry point for browser bundles: throws an error, because the API key must stay on the server. */
import { formatErrorLink } from "@loyalty-cards/internal/format";
import { browserMessage } from "./runtime.ts";

// The same names as in index.ts, so that the bundler succeeds and the error appears in the browser.
export const cardLinks = undefined;
export const createIssuingClient = undefined;
export const defineTemplate = undefined;
export const deriveIdempotencyKey = undefined;
export const isIssuingError = undefined;
export const IssuingError = undefined;

throw new Error(browserMessage + formatErrorLink("configuration"));
