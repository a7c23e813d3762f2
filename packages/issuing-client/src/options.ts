/** How a client can be made; a mistake is refused here, before any request, with its fix. */
import { version } from "../package.json";
import { type CallDefaults, checkedTimes } from "./call.ts";
import type { ClientEvent } from "./client-event.ts";
import { type Clock, systemClock } from "./clock.ts";
import { configurationError } from "./errors.ts";
import { type Fetch, fetchTransport } from "./fetch-transport.ts";
import { keyPart } from "./idempotency.ts";
import { environmentVariable } from "./runtime.ts";
import type { Transport } from "./transport.ts";

/** Where the service is, the key to it, and how long to try. */
export interface IssuingClientOptions {
  /** The service's address; the client appends /api/v1. Default: the environment variable `LOYALTY_URL`. */
  baseUrl?: string | URL | undefined;
  /**
   * A Website or Full key, or a function that finds one. It stays in a closure and is never shown. Default: the environment
   * variable `LOYALTY_API_KEY`.
   */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /**
   * Part of every key that is derived from a `userId`. Set it where two user tables meet one service (staging and production,
   * or a database that is emptied): without it user 1 of the one gets the card of user 1 of the other. Default `""`: none.
   */
  idempotencyNamespace?: string;
  /** Default: the runtime's fetch, looked up at each call. */
  fetch?: Fetch | undefined;
  /** What carries requests instead of fetch: `undiciTransport()` for servers with much to send. */
  transport?: Transport | undefined;
  /** One attempt, body included, in milliseconds. Default 10 000. */
  timeoutMs?: number | undefined;
  /** The whole call: attempts, pauses, bodies, in milliseconds. Default 30 000. */
  deadlineMs?: number | undefined;
  /** Default 2; 0 means none. */
  maxRetries?: number | undefined;
  /** `http://` is refused unless the host is this machine, or this is true. */
  allowInsecureHttp?: boolean | undefined;
  /**
   * Your program, such as `"my-shop/1.2"`: appended to `User-Agent: loyalty-cards/<version>`, which every request has. Visible ASCII and single
   * spaces.
   */
  userAgent?: string | undefined;
  /** Told about attempts, retries and answers. */
  onEvent?: ((event: ClientEvent) => void) | undefined;
  /** Time, for tests. */
  clock?: Clock | undefined;
  /** Randomness for pauses, from 0 to 1, for tests. */
  random?: (() => number) | undefined;
}

export interface Settings {
  baseUrl: string;
  apiKey: string | (() => Promise<string>);
  idempotencyNamespace: string;
  transport: Transport;
  /** Value of the header. */
  userAgent: string;
  times: CallDefaults;
  clock: Clock;
  random: () => number;
  onEvent: ((event: ClientEvent) => void) | undefined;
}

const defaults: CallDefaults = { timeoutMs: 10_000, deadlineMs: 30_000, maxRetries: 2 };

/** @throws {IssuingError} `configuration`, naming the option and the fix. */
export function checkedOptions(options: IssuingClientOptions): Settings {
  if (typeof options !== "object" || options === null) {
    throw configurationError("createIssuingClient needs options: { baseUrl, apiKey }.");
  }
  const { apiKey = environmentVariable("LOYALTY_API_KEY") } = options;
  const { fetch, transport, clock = systemClock, random = Math.random, onEvent } = options;
  for (const [name, value] of Object.entries({ fetch, transport, onEvent })) {
    if (value !== undefined && typeof value !== "function")
      throw configurationError(`${name} must be a function.`);
  }
  if (fetch !== undefined && transport !== undefined)
    throw configurationError("Give fetch or transport, not both.");
  return {
    baseUrl: checkedBaseUrl(configuredBaseUrl(options), options.allowInsecureHttp ?? false),
    apiKey:
      typeof apiKey === "function" ? async () => checkedApiKey(await found(apiKey)) : checkedApiKey(apiKey),
    idempotencyNamespace: keyPart("idempotencyNamespace", options),
    transport: transport ?? fetchTransport(fetch),
    userAgent: userAgentWith(options.userAgent),
    times: checkedTimes(options, defaults),
    clock,
    random,
    onEvent,
  };
}

function userAgentWith(program: unknown): string {
  const own = `loyalty-cards/${version}`;
  if (program === undefined) return own;
  if (typeof program === "string" && /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(program))
    return `${own} ${program}`;
  throw configurationError('userAgent must be visible ASCII, such as "my-shop/1.2", or be left out.');
}

async function found(apiKey: () => string | Promise<string>): Promise<string> {
  try {
    return await apiKey();
  } catch {
    // Its error is not passed on: it may quote the key.
    throw configurationError("The apiKey function failed; nothing was sent.");
  }
}

/** Never quotes the key. */
function checkedApiKey(apiKey: unknown): string {
  if (typeof apiKey !== "string" || apiKey.trim() === "") {
    throw configurationError(
      "apiKey is missing or empty: is the environment variable LOYALTY_API_KEY set? Or give the option.",
    );
  }
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw configurationError(
      "apiKey has a character that no header can carry: a space, or a line break from a file?",
    );
  }
  return apiKey;
}

/** The option, or else the variable of the environment; not validated yet. */
export const configuredBaseUrl = ({ baseUrl = environmentVariable("LOYALTY_URL") }: IssuingClientOptions) =>
  String(baseUrl ?? "");

function checkedBaseUrl(text: string, allowInsecureHttp: boolean): string {
  if (text.trim() === "") {
    throw configurationError(
      "baseUrl is missing or empty: is the environment variable LOYALTY_URL set? Or give the option.",
    );
  }
  if (!URL.canParse(text)) {
    throw configurationError(
      'baseUrl is not a URL: give the service\'s address, such as "https://cards.example.com".',
    );
  }
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw configurationError(`baseUrl must begin with https://, not ${url.protocol}`);
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !allowInsecureHttp) {
    throw configurationError(
      "baseUrl is http://, which would send the API key in the clear: use https://, or set allowInsecureHttp.",
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

function isLoopback(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(\.\d+){3}$/.test(hostname)
  );
}
