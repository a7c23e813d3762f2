/** Detects the runtime, reads its environment variables, and refuses to run in a browser. */
import { configurationError } from "./errors.ts";

/** @returns undefined where no environment exists (Workers) or reading it is not allowed (Deno). */
export function readEnvironment(
  name: string,
  { process }: { process?: { env?: Record<string, string | undefined> } } = globalThis,
): string | undefined {
  try {
    return process?.env?.[name];
  } catch {
    return undefined;
  }
}

/** The error in a browser ([spec 5.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-3)). */
export const browserMessage =
  "@loyalty-cards/issuing-client holds an API key and must not run in a browser. Call it on your server (a route handler, a server action, an API route), and let the page call that. If this is your server, its bundle was built for browsers, the default of some bundlers: use --platform=node (esbuild) or --target=node (bun build).";

/** What distinguishes the runtimes. */
interface Globals {
  process?: { versions?: { node?: unknown; bun?: unknown } };
  navigator?: { userAgent?: unknown };
  Deno?: unknown;
  EdgeRuntime?: unknown;
  document?: unknown;
  /** Present in web workers, and in some server runtimes. */
  WorkerNavigator?: unknown;
}

/** Returns "node" for Node.js only, although others have `process` too. jsdom has a document, but runs on Node.js. */
export function getRuntime(globals: Globals = globalThis as Globals): "node" | "other-server" | "browser" {
  const { process, navigator, Deno, EdgeRuntime, document, WorkerNavigator } = globals;
  const { node, bun } = process?.versions ?? {};
  const isOther = [bun, Deno, EdgeRuntime].some((mark) => mark !== undefined);
  if (isOther || navigator?.userAgent === "Cloudflare-Workers") return "other-server";
  if (node !== undefined) return "node";
  return document === undefined && WorkerNavigator === undefined ? "other-server" : "browser";
}

/** @throws {IssuingError} `configuration` in a page or a web worker. */
export function requireServer(globals: Globals = globalThis as Globals): void {
  if (getRuntime(globals) === "browser") throw configurationError(browserMessage);
}
