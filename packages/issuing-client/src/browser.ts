/** What a bundle for browsers gets instead of the client: an error that says where the client belongs. */
import { browserMessage } from "./runtime.ts";

// The names of index.ts, so that a bundler gets as far as the page, where the reason can be read.
export const cardLinks = undefined;
export const createIssuingClient = undefined;
export const defineTemplate = undefined;
export const deriveIdempotencyKey = undefined;
export const isIssuingError = undefined;
export const IssuingError = undefined;
export const ProblemError = undefined;

throw new Error(browserMessage);
