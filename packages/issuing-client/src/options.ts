/** Options of the client: defaults, environment variables, validation. */

import { wrongSignalMessage } from "@loyalty-cards/internal/errors";
import { describeValue, textsOfMissingValues } from "@loyalty-cards/internal/format";
import { isLoopback, parseUrl } from "@loyalty-cards/internal/hostnames";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import type { Clock } from "@loyalty-cards/internal/timers";
import { version } from "../package.json";
import { parseApiKeyOption } from "./api-key.ts";
import type { ClientEvent, ResponseMeta } from "./call.ts";
import { systemClock } from "./clock.ts";
import { configurationError, describeInvalidText, unknownOption } from "./errors.ts";
import { parseHeaders } from "./headers.ts";
import { parseNamespace } from "./idempotency.ts";
import { describeMissing, describeMissingFetch, isNode, readEnvironment } from "./runtime.ts";
import type { Transport } from "./transport.ts";
import { createFetchTransport, type Fetch } from "./transport-fetch.ts";
import { createNodeTransport } from "./transport-node.ts";

/** Time limits and retries, of all calls of a client or of one call. */
interface LimitOptions {
  /**
   * Time limit of one attempt, including the body of the response, in milliseconds. Default 10 000;
   * of a call, the value of its client.
   */
  timeoutMs?: number | undefined;
  /**
   * Time limit of a whole call, in milliseconds: attempts, delays and bodies. Default 30 000; of a
   * call, the value of its client.
   */
  deadlineMs?: number | undefined;
  /**
   * Maximum number of retries; 0 disables all. Retries after a 409 or 423 to a request with an
   * idempotency key are not counted: they have a time limit of their own. Default 2; of a call, the
   * value of its client.
   */
  maxRetries?: number | undefined;
}

/** Options of every method. */
export interface CallOptions extends LimitOptions {
  /** Aborts the call, which then rejects with `signal.reason`. */
  signal?: AbortSignal | undefined;
  /**
   * Extra headers. A `user-agent` is appended to the client's. `accept` is replaced by the
   * client's, except in `client.api`. `authorization`, in `issueCard` `idempotency-key`,
   * `content-*`, `expect`, `host`, `proxy-*` and headers of the connection, such as `te`, throw.
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
   * A Website or Full key, or a function that returns one. It never appears in logs, errors and
   * events. Default: the environment variable `LOYALTY_API_KEY`.
   */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /**
   * Part of every key that is derived from a `userId`. Set it when several user tables use one
   * service, such as staging and production: without it, user 1 of one gets the card of user 1 of
   * the other. Default: the environment variable `LOYALTY_IDEMPOTENCY_NAMESPACE`, else `""`, which
   * is none. Passing `undefined` throws.
   */
  idempotencyNamespace?: string;
  /**
   * Sends the requests, for example through a proxy. Default: node:http and node:https on Node.js,
   * with connections that stay open; in other runtimes the global `fetch`, as it is at the time of
   * each call. On Node.js 20, 22 and 24 prefer that of undici 7.30: with the global one, a response
   * with more than five content encodings whose connection closes early ends the process.
   */
  fetch?: Fetch | undefined;
  /** Allows `http://` for hosts other than this machine. Default false. */
  allowInsecureHttp?: boolean | undefined;
  /** Your program, such as `"my-shop/1.2"`, appended to `User-Agent: loyalty-cards/<version>`. */
  userAgent?: string | undefined;
  /**
   * Extra headers of every call, such as `{ "accept-language": "pl" }`. Those of a call take
   * precedence. The rules are those of a call.
   */
  headers?: Record<string, string> | undefined;
  /**
   * Called with attempts, retries and the end of each call, for logs and metrics. That it throws is
   * written to the console once, and changes nothing.
   */
  onEvent?: ((event: ClientEvent) => void) | undefined;
  /**
   * Only tests set this: the clock, and the random numbers from 0 to 1 for the jitter of delays.
   */
  testing?: { clock?: Clock | undefined; random?: (() => number) | undefined } | undefined;
}

const limitNames = {
  timeoutMs: true,
  deadlineMs: true,
  maxRetries: true,
} satisfies OptionNames<LimitOptions>;

export const callOptionNames = {
  ...limitNames,
  signal: true,
  headers: true,
  onResponse: true,
} satisfies OptionNames<CallOptions>;

const clientOptionNames = {
  ...limitNames,
  baseUrl: true,
  apiKey: true,
  idempotencyNamespace: true,
  fetch: true,
  allowInsecureHttp: true,
  userAgent: true,
  headers: true,
  onEvent: true,
  testing: true,
} satisfies OptionNames<IssuingClientOptions>;

const testingNames = {
  clock: true,
  random: true,
} satisfies OptionNames<NonNullable<IssuingClientOptions["testing"]>>;

type Limits = Required<{ [Name in keyof LimitOptions]: number }>;

const defaultLimits: Limits = { timeoutMs: 10_000, deadlineMs: 30_000, maxRetries: 2 };

interface Service {
  readonly baseUrl: string;
  /** Sends to `baseUrl`. */
  readonly transport: Transport;
}

/** Validated options of a client. */
export interface Settings extends Readonly<Limits> {
  /** Undefined when the address is missing. */
  readonly service: Service | undefined;
  /** A valid key, or the function that returns one; undefined when it is missing. */
  readonly apiKey: string | (() => unknown) | undefined;
  readonly idempotencyNamespace: string;
  /** The value of the header. */
  readonly userAgent: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly onEvent: ((event: ClientEvent) => void) | undefined;
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Validated options of a call, and those of its client. */
export interface CallSettings extends Settings {
  readonly service: Service;
  readonly signal: AbortSignal | undefined;
  /** The deadline, on the monotonic clock. */
  readonly endsAtMs: number;
  readonly onResponse: ((meta: ResponseMeta) => void) | undefined;
}

/**
 * Validates the options of a client. A missing address or key is an error of the first call, so
 * that a module which creates a client can be built without them.
 * @throws {IssuingError} `configuration`, naming the option and the fix.
 */
export function parseOptions(options: IssuingClientOptions): Settings {
  requireKnownNames("createIssuingClient", options, clientOptionNames, unknownOption);
  const { testing = {} } = options;
  requireKnownNames("testing of createIssuingClient", testing, testingNames, unknownOption);
  const { clock = systemClock, random = Math.random } = testing;
  return Object.freeze({
    // The key is parsed first, because its parser recognizes that key and address are swapped.
    apiKey: parseApiKeyOption(options.apiKey ?? readEnvironment("LOYALTY_API_KEY")),
    service: parseService(options),
    idempotencyNamespace: getNamespace(options),
    userAgent: parseUserAgent(options.userAgent ?? ""),
    headers: parseHeaders(options.headers ?? {}),
    ...parseLimits(options, defaultLimits),
    onEvent: parseFunction("onEvent", options.onEvent),
    clock,
    random,
  });
}

/**
 * Validates the options of a call, and adds them to those of its client.
 * @throws {IssuingError} `configuration` for an invalid option, and when the address is missing;
 * the `reason` of a signal that is aborted already.
 */
export function parseCallOptions(
  options: CallOptions | null | undefined,
  settings: Settings,
): CallSettings {
  const { headers, onResponse } = options ?? {};
  const signal = options?.signal ?? undefined;
  const limits = parseLimits(options ?? {}, settings);
  if (onResponse && typeof Headers === "undefined")
    throw configurationError(describeMissingFetch("onResponse"));
  if (signal !== undefined && typeof signal.throwIfAborted !== "function")
    throw configurationError(wrongSignalMessage);
  signal?.throwIfAborted();
  return {
    ...settings,
    ...limits,
    service: getService(settings),
    headers: headers ? { ...settings.headers, ...parseHeaders(headers) } : settings.headers,
    endsAtMs: settings.clock.monotonicMs() + limits.deadlineMs,
    signal,
    onResponse: parseFunction("onResponse", onResponse),
  };
}

function parseFunction<Value>(name: string, value: Value | null | undefined): Value | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "function") return value;
  throw configurationError(`${name} must be a function.`);
}

function parseLimits(options: LimitOptions, defaults: Limits): Limits {
  const maxRetries = options.maxRetries ?? defaults.maxRetries;
  if (!Number.isInteger(maxRetries) || maxRetries < 0)
    throw configurationError(
      `maxRetries must be a whole number, 0 or more, not ${String(maxRetries)}.`,
    );
  return {
    timeoutMs: parseMs("timeoutMs", options.timeoutMs ?? defaults.timeoutMs),
    deadlineMs: parseMs("deadlineMs", options.deadlineMs ?? defaults.deadlineMs),
    maxRetries,
  };
}

function parseMs(name: string, value: unknown): number {
  if (typeof value === "number" && value > 0) return value;
  throw configurationError(
    `${name} must be a number of milliseconds above 0, not ${describeValue(value)}.`,
  );
}

/** @returns the value of the header: the client's own program, and that of the caller. */
function parseUserAgent(program: string): string {
  const userAgent = `loyalty-cards/${version} ${program}`;
  return parseHeaders({ "user-agent": userAgent })["user-agent"] as string;
}

/** @throws {IssuingError} `configuration` when the address is missing. */
export function getService({ service }: Settings): Service {
  if (service !== undefined) return service;
  throw configurationError(describeMissing("baseUrl", "LOYALTY_URL"));
}

/** @returns undefined when the address is missing. */
function parseService(options: IssuingClientOptions): Service | undefined {
  const fetch = parseFunction("fetch", options.fetch);
  const address = String(options.baseUrl ?? readEnvironment("LOYALTY_URL") ?? "");
  if (address.trim() === "") return undefined;
  const baseUrl = parseBaseUrl(address, options.allowInsecureHttp);
  return { baseUrl, transport: selectTransport(baseUrl, fetch) };
}

function parseBaseUrl(address: string, allowInsecureHttp: boolean | undefined): string {
  if (textsOfMissingValues.includes(address))
    throw configurationError(
      `baseUrl (LOYALTY_URL) ${describeInvalidText(address)}: is the variable set?`,
    );
  if (/^["']/.test(address))
    throw configurationError(
      "baseUrl (LOYALTY_URL) begins with a quote, which a shell or a .env file did not remove. Remove it.",
    );
  // "localhost:4010" is a URL too, with the scheme "localhost:".
  if (!/^https?:/i.test(address) && !address.includes("://"))
    throw configurationError(
      "baseUrl (LOYALTY_URL) has no scheme: write https:// before the host, or http:// for the mock service.",
    );
  const url = parseUrl(address);
  const isHttp = /^https?:$/.test(url?.protocol ?? "");
  if (url === undefined || !isHttp || url.username + url.password + url.search + url.hash !== "")
    throw configurationError(
      'baseUrl (LOYALTY_URL) must be an address such as "https://cards.example.com", without user, password, query or fragment.',
    );
  if (url.protocol === "http:" && !isLoopback(url.hostname) && allowInsecureHttp !== true)
    throw configurationError(
      `baseUrl (LOYALTY_URL) is ${url.origin}, which would send the API key unencrypted: use https://. For a service on a private network, a program can set allowInsecureHttp: true.`,
    );
  const baseUrl = url.origin + url.pathname.replace(/\/+$/, "");
  if (!baseUrl.endsWith("/api/v1")) return baseUrl;
  throw configurationError("baseUrl (LOYALTY_URL) must not end in /api/v1: the client appends it.");
}

/**
 * Selects node:http on Node.js, and fetch in other runtimes, even those that have node:http. The
 * transport is created at the first call, because node:http takes several times as long to load as
 * a client to create.
 */
function selectTransport(baseUrl: string, fetch: Fetch | undefined): Transport {
  if (fetch !== undefined || !isNode()) return createFetchTransport(baseUrl, fetch);
  let transport: Transport | undefined;
  return (request) => {
    transport ??= createNodeTransport(baseUrl) ?? createFetchTransport(baseUrl);
    return transport(request);
  };
}

/**
 * @throws {IssuingError} `configuration` for a blank namespace, and for an option that is present
 * but undefined.
 */
function getNamespace(options: IssuingClientOptions): string {
  const variable = "LOYALTY_IDEMPOTENCY_NAMESPACE";
  const isOption = "idempotencyNamespace" in options;
  const value = isOption ? options.idempotencyNamespace : (readEnvironment(variable) ?? "");
  return parseNamespace(`idempotencyNamespace (${variable})`, value);
}
