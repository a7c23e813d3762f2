/**
 * Entry point for browser bundles: throws an error, because the API key must stay on the server.
 */
import { formatErrorLink } from "@loyalty-cards/internal/errors";

// These are the names of index.ts, so that the bundler succeeds and the browser shows the error.
export const cardLinks = undefined;
export const createIssuingClient = undefined;
export const defineTemplate = undefined;
export const deriveIdempotencyKey = undefined;
export const isIssuingError = undefined;
export const IssuingError = undefined;

// spec 5.3
throw new Error(
  `@loyalty-cards/issuing-client holds an API key and must not run in a browser. Call it on your server, and let the page call that. Build a server with --platform=node (esbuild) or --target=node (bun build). Begin a Jest file with /** @jest-environment node */.${formatErrorLink("configuration")}`,
);
