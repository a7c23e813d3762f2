/** What surrounds the client: it refuses to run where users could read the API key, and reads the environment's variables. */
import { configurationError } from "./errors.ts";

/** spec 5.3 */
export const browserMessage =
  "@loyalty-cards/issuing-client holds an API key and must not run in a browser. Call it on your server (a route handler, a server action, an API route), and let the page call that.";

interface Surroundings {
  document?: unknown;
  process?: { versions?: { node?: unknown } };
  /** What a worker of a browser has, and a few server runtimes imitate. */
  WorkerNavigator?: unknown;
  navigator?: { userAgent?: unknown };
  Deno?: unknown;
  EdgeRuntime?: unknown;
}

/**
 * A variable of the environment; undefined where there is none, as on Workers, or where reading it is not allowed, as on Deno.
 */
export function environmentVariable(
  name: string,
  { process }: { process?: { env?: Record<string, string | undefined> } } = globalThis,
): string | undefined {
  try {
    return process?.env?.[name];
  } catch {
    return undefined;
  }
}

/** A page, or a worker of one. A test with jsdom has a document too, but also Node. */
function isBrowser({
  document,
  process,
  WorkerNavigator,
  navigator,
  Deno,
  EdgeRuntime,
}: Surroundings): boolean {
  const isServer = [process?.versions?.node, Deno, EdgeRuntime].some((mark) => mark !== undefined);
  if (isServer || navigator?.userAgent === "Cloudflare-Workers") return false;
  return document !== undefined || WorkerNavigator !== undefined;
}

/** @throws {IssuingError} `configuration`. */
export function refuseBrowser(surroundings: Surroundings = globalThis as Surroundings): void {
  if (isBrowser(surroundings)) throw configurationError(browserMessage);
}
