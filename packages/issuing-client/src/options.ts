/** Options of the client: defaults, environment variables, validation. */
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import type { Clock } from "@loyalty-cards/internal/issuing-steps";
import { version } from "../package.json";
import { type ClientEvent, type ResponseMeta, type Transport, toHeaders } from "./call.ts";
import { systemClock } from "./clock.ts";
import { configurationError, isPromise } from "./errors.ts";
import { parseNamespace } from "./idempotency.ts";
import { createFetchTransport, type Fetch } from "./transport-fetch.ts";
import { createNodeTransport } from "./transport-node.ts";

/** Time limits and retries, of all calls of a client or of one call. */
interface LimitOptions {
  /** Time limit of one attempt, including the body of the response, in milliseconds. Default 10 000; of a call, the value of its client. */
  timeoutMs?: number | undefined;
  /** Time limit of a whole call with its attempts, delays and bodies, in milliseconds. Default 30 000; of a call, the value of its client. */
  deadlineMs?: number | undefined;
  /**
   * Maximum number of retries; 0 disables all. Retries after a 409 or 423 to a request with an idempotency key are not counted: they have
   * a time limit of their own. Default 2; of a call, the value of its client.
   */
  maxRetries?: number | undefined;
}

/** Options of every method. */
export interface CallOptions extends LimitOptions {
  /** Aborts the call, which then rejects with `signal.reason`. */
  signal?: AbortSignal | undefined;
  /**
   * Extra headers. A `user-agent` is appended to the client's. `authorization`, `accept` and, in `issueCard`, `idempotency-key` are
   * replaced by the client's. `content-*`, `expect`, `host`, `proxy-*` and headers of the connection, such as `te`, throw.
   */
  headers?: Record<string, string> | undefined;
  /** Called once, with the usable response that ends the call, also when it is a 4xx or 5xx. */
  onResponse?: ((meta: ResponseMeta) => void) | undefined;
}

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
   * `LOYALTY_IDEMPOTENCY_NAMESPACE`, else `""`, which is none. Passing `undefined` throws.
   */
  idempotencyNamespace?: string;
  /**
   * Sends the requests, for example through a proxy. Default: node:http and node:https on Node.js, with connections that stay open; in
   * other runtimes the global `fetch`, as it is at the time of each call. On Node.js 20, 22 and 24 prefer that of undici 7.30: with the
   * global one, a response with more than five content encodings whose connection closes early ends the process.
   */
  fetch?: Fetch | undefined;
  /** Allows `http://` for hosts other than this machine. Default false. */
  allowInsecureHttp?: boolean | undefined;
  /** Your program, such as `"my-shop/1.2"`, appended to `User-Agent: loyalty-cards/<version>`. */
  userAgent?: string | undefined;
  /** Extra headers of every call, such as `{ "accept-language": "pl" }`. Those of a call take precedence. The rules are those of a call. */
  headers?: Record<string, string> | undefined;
  /** Called with attempts, retries and the end of each call, for logs and metrics. */
  onEvent?: ((event: ClientEvent) => void) | undefined;
  /** Only tests set this: the clock, and the random numbers from 0 to 1 for the jitter of delays. */
  testing?: { clock?: Clock | undefined; random?: (() => number) | undefined } | undefined;
}

type Limits = Record<keyof LimitOptions, number>;

const defaultLimits: Limits = { timeoutMs: 10_000, deadlineMs: 30_000, maxRetries: 2 };

/**
 * Validates the options of a client. A missing address or key is an error of the first call, so that a module which creates a client
 * can be built without them.
 * @throws {IssuingError} `configuration`, naming the option and the fix.
 */
export function parseOptions(options: IssuingClientOptions) {
  const { onEvent, testing } = options;
  const fetch = options.fetch ?? undefined;
  const { clock = systemClock, random = Math.random } = testing ?? {};
  requireFunction("fetch", fetch);
  requireFunction("onEvent", onEvent);
  const baseUrl = parseBaseUrl(options);
  const { "user-agent": userAgent = "" } = parseHeaders({
    "user-agent": `loyalty-cards/${version} ${options.userAgent ?? ""}`,
  });
  return Object.freeze({
    /** The address of the service, and what sends to it; undefined when the address is missing. */
    service: baseUrl === undefined ? undefined : { baseUrl, transport: selectTransport(baseUrl, fetch) },
    /** A valid key, or the function that returns one; undefined when it is missing. */
    apiKey: getApiKey(options),
    idempotencyNamespace: getNamespace(options),
    /** The value of the `user-agent` header. */
    userAgent,
    limits: parseLimits(options, defaultLimits),
    headers: parseHeaders(options.headers ?? {}),
    clock,
    random,
    onEvent,
  });
}

/** Validated options of a client. */
export type Settings = ReturnType<typeof parseOptions>;

/** @throws {IssuingError} `configuration` for an invalid option; the `reason` of a signal that is aborted already. */
export function parseCallOptions(options: CallOptions | null | undefined, settings: Settings) {
  const { signal, headers, onResponse } = options ?? {};
  requireFunction("onResponse", onResponse);
  const { timeoutMs, deadlineMs, maxRetries } = parseLimits(options ?? {}, settings.limits);
  signal?.throwIfAborted();
  return {
    signal: signal ?? undefined,
    /** The deadline, on the monotonic clock. */
    endsAtMs: settings.clock.monotonicMs() + deadlineMs,
    timeoutMs,
    maxRetries,
    /** Those of the client, and those of the call. */
    headers: headers ? { ...settings.headers, ...parseHeaders(headers) } : settings.headers,
    onResponse: onResponse ?? undefined,
  };
}

/** Validated options of a call. */
export type CallSettings = ReturnType<typeof parseCallOptions>;

function requireFunction(name: string, value: unknown): void {
  if (value === undefined || value === null || typeof value === "function") return;
  throw configurationError(`${name} must be a function.`);
}

/** @throws {IssuingError} `configuration` for a value that cannot be a path segment. */
export function parseId(name: string, id: unknown, advice = ""): string {
  if (typeof id !== "string" || id.trim() === "")
    throw configurationError(
      isPromise(id) ? `The ${name} is a promise: await it.` : `The ${name} is missing or empty.${advice}`,
    );
  // Dot segments would change the path; all other characters are encoded.
  if (id === "." || id === "..") throw configurationError(`The ${name} is "${id}", which is not an id.`);
  if (id.isWellFormed()) return id;
  throw configurationError(`The ${name} is not well-formed text.`);
}

export const parseTemplateId = (id: unknown): string =>
  parseId("template id", id, " Is LOYALTY_TEMPLATE_ID set? Copy the id from the service's console.");

function parseLimits(options: LimitOptions, defaults: Limits): Limits {
  const maxRetries = options.maxRetries ?? defaults.maxRetries;
  if (!Number.isInteger(maxRetries) || maxRetries < 0)
    throw configurationError(`maxRetries must be a whole number, 0 or more, not ${String(maxRetries)}.`);
  return {
    timeoutMs: parseMs("timeoutMs", options.timeoutMs ?? defaults.timeoutMs),
    deadlineMs: parseMs("deadlineMs", options.deadlineMs ?? defaults.deadlineMs),
    maxRetries,
  };
}

function parseMs(name: string, value: unknown): number {
  if (typeof value === "number" && value > 0) return value;
  throw configurationError(`${name} must be a number of milliseconds above 0, not ${String(value)}.`);
}

/** Headers of the connection and of the body, which the client or the transport sets. */
const reservedHeaders =
  /^(connection|content-.*|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

/** @returns names in lower case, and values without surrounding white space. @throws {IssuingError} `configuration`, without a value. */
function parseHeaders(headers: Record<string, string>): Record<string, string> {
  const parsed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (reservedHeaders.test(name.toLowerCase()))
      throw configurationError(
        `headers must not have ${JSON.stringify(name)}: the client or the connection sets it.`,
      );
    const [normalized] = toHeaders([[name, value]]);
    // node:http accepts no control characters.
    if (normalized === undefined || !/^[\t\x20-\x7e\x80-\xff]*$/.test(normalized[1]))
      throw configurationError(
        `headers has an invalid entry, ${JSON.stringify(name)}: a name or value contains characters that are not allowed.`,
      );
    parsed[normalized[0]] = normalized[1];
  }
  return parsed;
}

/** node:http on Node.js, and fetch in other runtimes, even those that have node:http. */
function selectTransport(baseUrl: string, fetch: Fetch | undefined): Transport {
  const transport = fetch === undefined && isNode() ? createNodeTransport(baseUrl) : undefined;
  return transport ?? createFetchTransport(baseUrl, fetch);
}

/** What distinguishes the runtimes: others than Node.js have `process.versions.node` too. */
interface Globals {
  process?: { versions?: { node?: unknown; bun?: unknown }; env?: Record<string, string | undefined> };
  navigator?: { userAgent?: unknown };
  Deno?: unknown;
  EdgeRuntime?: unknown;
}

export function isNode({ process, navigator, Deno, EdgeRuntime }: Globals = globalThis as Globals): boolean {
  const { node, bun } = process?.versions ?? {};
  const isOther = [bun, Deno, EdgeRuntime].some((mark) => mark !== undefined);
  return node !== undefined && !isOther && navigator?.userAgent !== "Cloudflare-Workers";
}

/** @returns undefined where no environment exists (Workers) or reading it is not allowed (Deno). */
export function readEnvironment(name: string, globals = globalThis as Globals): string | undefined {
  try {
    return globals.process?.env?.[name];
  } catch {
    return undefined;
  }
}

/** @throws {IssuingError} `configuration` when the address is missing. */
export function getService({ service }: Settings): { baseUrl: string; transport: Transport } {
  if (service !== undefined) return service;
  throw missing("baseUrl", "LOYALTY_URL");
}

const missing = (name: string, variable: string) =>
  configurationError(`${name} is missing or empty. Set the environment variable ${variable}, or the option.`);

/** @throws {IssuingError} `configuration` for a blank namespace, and for an option that is present but undefined. */
function getNamespace(options: IssuingClientOptions): string {
  if ("idempotencyNamespace" in options)
    return parseNamespace("idempotencyNamespace", options.idempotencyNamespace);
  const name = "LOYALTY_IDEMPOTENCY_NAMESPACE";
  return parseNamespace(name, readEnvironment(name) ?? "");
}

/** @returns undefined when the address is missing. */
function parseBaseUrl(options: IssuingClientOptions): string | undefined {
  const text = String(options.baseUrl ?? readEnvironment("LOYALTY_URL") ?? "");
  if (text.trim() === "") return undefined;
  // "localhost:4010" is a URL too, with the scheme "localhost:".
  if (!/^https?:/i.test(text) && !text.includes("://"))
    throw configurationError(
      "baseUrl has no scheme: write https:// before the host, or http:// for the mock service.",
    );
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.username + url.password + url.search + url.hash
  )
    throw configurationError(
      'baseUrl must be an address such as "https://cards.example.com", without user, password, query or fragment.',
    );
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !options.allowInsecureHttp)
    throw configurationError(
      `baseUrl is ${url.origin}, which would send the API key unencrypted: use https://. For a service on a private network, set allowInsecureHttp: true.`,
    );
  const address = url.origin + url.pathname.replace(/\/+$/, "");
  if (!address.endsWith("/api/v1")) return address;
  throw configurationError("baseUrl must not end in /api/v1: the client appends it.");
}

function getApiKey(options: IssuingClientOptions): string | (() => unknown) | undefined {
  const apiKey = options.apiKey ?? readEnvironment("LOYALTY_API_KEY") ?? "";
  if (typeof apiKey === "function") return apiKey;
  return String(apiKey).trim() === "" ? undefined : parseApiKey(apiKey);
}

/** The message never contains the key. */
export function parseApiKey(apiKey: unknown): string {
  if (typeof apiKey !== "string" || apiKey.trim() === "") throw missing("apiKey", "LOYALTY_API_KEY");
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw configurationError(
    'apiKey contains a space, a line break or another character that a key cannot have. Pass the key alone, without "Bearer ".',
  );
}
