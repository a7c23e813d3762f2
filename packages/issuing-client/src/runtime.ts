/** Refuses to run where users could read the API key. */
import { configurationError } from "./errors.ts";

/** spec 5.3 */
export const browserMessage =
  "@loyalty-cards/issuing-client holds an API key and must not run in a browser. Call it on your server (a route handler, a server action, an API route), and let the page call that.";

interface Surroundings {
  document?: unknown;
  process?: { versions?: { node?: unknown } };
}

/** A page has a document and no Node; a test with jsdom has both. @throws {IssuingError} `configuration`. */
export function refuseBrowser(surroundings: Surroundings = globalThis as Surroundings): void {
  const isPage = surroundings.document !== undefined && surroundings.process?.versions?.node === undefined;
  if (isPage) throw configurationError(browserMessage);
}
