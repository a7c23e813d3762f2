/** Options of the client: defaults, environment variables, validation, and the check that it does not run in a browser. */
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { version } from "../package.json";
import type { ClientEvent } from "./call.ts";
import { type CallLimits, type LimitOptions, parseHeaders, parseLimits } from "./call-options.ts";
import { type Clock, systemClock } from "./clock.ts";
import { configurationError } from "./errors.ts";
import { parseKeyPart } from "./idempotency.ts";
import { nodeTransport } from "./node-transport.ts";
import { type Fetch, fetchTransport, type Transport } from "./transport.ts";

/** Options of `createIssuingClient`. */
export interface IssuingClientOptions extends LimitOptions {
  /** Address of the service, without `/api/v1`. Default: the environment variable `LOYALTY_URL`. */
  baseUrl?: string | URL | undefined;
  /**
   * A Website or Full key, or a function that returns one. It never appears in logs, errors and events. Default: the
   * environment variable `LOYALTY_API_KEY`.
   */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /**
   * Part of every key that is derived from a `userId`. Set it when several user tables use one service, such as staging and
   * production: without it, user 1 of one gets the card of user 1 of the other. Default: the environment variable
   * `LOYALTY_IDEMPOTENCY_NAMESPACE`, else `""`, which is none.
   */
  idempotencyNamespace?: string;
  /**
   * Sends the requests, for a proxy, certificates of your own, or tests: the global `fetch`, that of undici, or another function like
   * them. Default: node:http and node:https with connections that are kept alive on Node.js; in other runtimes the global `fetch`.
   */
  fetch?: Fetch | undefined;
  /** Allows `http://` for hosts other than this machine. Default false. */
  allowInsecureHttp?: boolean | undefined;
  /** Your program, such as `"my-shop/1.2"`, appended to `User-Agent: loyalty-cards/<version>`. Visible ASCII and single spaces. */
  userAgent?: string | undefined;
  /** Extra headers of every call, such as `{ "accept-language": "pl" }`. Those of a call take precedence. The rules are those of a call. */
  headers?: Record<string, string> | undefined;
  /** Called with attempts, retries and the end of each call, for logs and metrics. */
  onEvent?: ((event: ClientEvent) => void) | undefined;
  /** Only tests set this: the clock, and the random numbers from 0 to 1 for the jitter of delays. */
  testing?: { clock?: Clock | undefined; random?: (() => number) | undefined } | undefined;
}

/** Validated options. */
export interface Settings {
  baseUrl: string;
  apiKey: string | (() => Promise<string>);
  idempotencyNamespace: string;
  transport: Transport;
  /** The value of the `user-agent` header. */
  userAgent: string;
  limits: CallLimits;
  /** Names in lower case. */
  headers: Record<string, string>;
  clock: Clock;
  random: () => number;
  onEvent: ((event: ClientEvent) => void) | undefined;
}

const defaultLimits: CallLimits = { timeoutMs: 10_000, deadlineMs: 30_000, maxRetries: 2 };

/** @throws {IssuingError} `configuration`, naming the option and the fix. */
export function parseOptions(options: IssuingClientOptions): Settings {
  if (typeof options !== "object" || options === null) {
    throw configurationError("createIssuingClient needs options: { baseUrl, apiKey }.");
  }
  const { baseUrl = readEnvironment("LOYALTY_URL"), apiKey = readEnvironment("LOYALTY_API_KEY") } = options;
  const { fetch, onEvent, testing } = options;
  const { clock = systemClock, random = Math.random } = testing ?? {};
  for (const [name, value] of Object.entries({ fetch, onEvent })) {
    if (value !== undefined && typeof value !== "function")
      throw configurationError(`${name} must be a function.`);
  }
  return {
    baseUrl: parseBaseUrl(String(baseUrl ?? ""), options.allowInsecureHttp ?? false),
    apiKey:
      typeof apiKey === "function"
        ? async () => parseApiKey(await callApiKeyFunction(apiKey))
        : parseApiKey(apiKey),
    idempotencyNamespace: getNamespace(options),
    transport: selectTransport(fetch),
    userAgent: formatUserAgent(options.userAgent),
    limits: parseLimits(options, defaultLimits),
    headers: parseHeaders(options.headers),
    clock,
    random,
    onEvent,
  };
}

/** Returns the transport over `fetch`; without it over node:http on Node.js, and fetch in other runtimes, even those that have node:http. */
function selectTransport(fetch: Fetch | undefined): Transport {
  const isNode = getRuntime(globalThis as Globals) === "node";
  return (fetch === undefined && isNode ? nodeTransport() : undefined) ?? fetchTransport(fetch);
}

/** @throws {IssuingError} `configuration` for a blank namespace, and for an option that is present but undefined. */
function getNamespace(options: IssuingClientOptions): string {
  if ("idempotencyNamespace" in options) return parseKeyPart("idempotencyNamespace", options);
  const name = "LOYALTY_IDEMPOTENCY_NAMESPACE";
  return parseKeyPart(name, { [name]: readEnvironment(name) ?? "" });
}

function parseBaseUrl(text: string, allowInsecureHttp: boolean): string {
  if (text.trim() === "") {
    throw configurationError(
      "baseUrl is missing or empty. Set the environment variable LOYALTY_URL, or the option.",
    );
  }
  // "localhost:4010" is a URL too, with the scheme "localhost:".
  if (!/^https?:/i.test(text) && !text.includes("://")) throw configurationError(formatMissingScheme(text));
  if (!URL.canParse(text)) {
    throw configurationError(
      'baseUrl is not a URL: set the address of the service, such as "https://cards.example.com".',
    );
  }
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw configurationError(`baseUrl must begin with https://, not ${url.protocol}`);
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !allowInsecureHttp) {
    throw configurationError(
      `baseUrl is ${url.origin}, which would send the API key unencrypted: use https://. For a service on a private network, set allowInsecureHttp: true.`,
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw configurationError("baseUrl must be an address only: without user, password, query or fragment.");
  }
  const address = url.origin + url.pathname.replace(/\/+$/, "");
  if (address.endsWith("/api/v1"))
    throw configurationError("baseUrl must not end in /api/v1: the client appends it.");
  return address;
}

/** Only a loopback address is quoted: other text can be an API key that was set by mistake. */
function formatMissingScheme(text: string): string {
  const url = URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;
  return url !== undefined && isLoopback(url.hostname)
    ? `baseUrl has no scheme: write "http://${url.host}".`
    : 'baseUrl has no scheme: write https:// before the host, as in "https://cards.example.com".';
}

function formatUserAgent(program: unknown): string {
  const own = `loyalty-cards/${version}`;
  if (program === undefined) return own;
  if (typeof program === "string" && /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(program))
    return `${own} ${program}`;
  throw configurationError('userAgent must be visible ASCII, such as "my-shop/1.2", or be left out.');
}

async function callApiKeyFunction(apiKey: () => string | Promise<string>): Promise<string> {
  try {
    return await apiKey();
  } catch {
    // The function's error is dropped: it can quote the key.
    throw configurationError("The apiKey function failed; nothing was sent.");
  }
}

/** The message never contains the key. */
function parseApiKey(apiKey: unknown): string {
  if (typeof apiKey !== "string" || apiKey.trim() === "") {
    throw configurationError(
      "apiKey is missing or empty. Set the environment variable LOYALTY_API_KEY, or the option.",
    );
  }
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw configurationError(
      "apiKey has a character that a header cannot contain. Is it a space, or a line break from a file?",
    );
  }
  return apiKey;
}

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
  "@loyalty-cards/issuing-client holds an API key and must not run in a browser. Call it on your server (a route handler, a server action, an API route), and let the page call that.";

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
function getRuntime(globals: Globals): "node" | "other-server" | "browser" {
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
