/** Options of the mock service, their defaults and their validation. */
import { formatType } from "@loyalty-cards/internal/format";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { writeLine } from "@loyalty-cards/internal/reporting";
import type { Deliver } from "../delivery/attempt.ts";
import {
  checkEndpoint,
  completeEndpoint,
  type EndpointInput,
  haveSameAddress,
  mergeEndpoints,
} from "../delivery/endpoints.ts";
import { defaultApiKeys } from "../domain/api-keys.ts";
import { type Clock, systemClock } from "../domain/clock.ts";
import type { Country, Wallets } from "../domain/context.ts";
import { isKnownCountry } from "../domain/customers.ts";
import { generateId } from "../domain/ids.ts";
import type { ApiKeys, Endpoint, State } from "../domain/state.ts";
import type { TemplateInput } from "../domain/templates.ts";
import { isObject } from "../domain/validation.ts";

/** The options of a mock service. Each has a default. */
export interface MockServiceOptions {
  /**
   * The address of the service, in card links. Default `https://cards.mock.test`, which does not
   * exist.
   */
  baseUrl?: string;
  /**
   * The keys at the start, one of each kind. Default `mock_website_key` and `mock_full_key`.
   * `service.apiKeys` creates and revokes others.
   */
  apiKeys?: Partial<ApiKeys>;
  /** Default: real time. Pass `manualClock()` to move time by hand. */
  clock?: Clock;
  /**
   * Delivers webhooks by calling this function, not over HTTP. The `t` of a signature is then the
   * time of the service's clock.
   */
  deliver?: Deliver;
  /** The country of local phone numbers, as an ISO 3166 code. Default `PL`. */
  defaultCountry?: Country;
  /** Seeded templates. Default: one template with an optional name and points. */
  templates?: readonly TemplateInput[];
  /**
   * Seeded webhook endpoints. A reset restores them with the same secrets. Set `secret` for a
   * receiver with fixed configuration; by default each service generates a random one. One for each
   * address; one that a `dataFile` has keeps its events.
   */
  endpoints?: readonly (EndpointInput & { secret?: string | undefined })[];
  /**
   * An address that an endpoint may have although the service would not deliver to it: http, in a
   * private network, such as `http://web:3000/webhooks` of another container. Default: none.
   */
  forwardTo?: string;
  /** The names of the two wallets. Default `apple` and `google`. */
  wallets?: Wallets;
  /**
   * Stores a 404 or 422 under its idempotency key for 24 hours, and repeats it even when the next
   * request is different, as some services do. Default false: a request with the same key is
   * processed again.
   */
  storeRefusals?: boolean;
  /**
   * Logs warnings, and the error behind a 500, one line each, without personal data. Default
   * `console.error`; warnings are also members of `service.requests()`.
   */
  log?: (line: string) => void;
  /**
   * The timeout of a delivery attempt, in milliseconds. Default 10 000 ([spec
   * 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)). Less makes tests of
   * slow receivers faster.
   */
  deliveryTimeoutMs?: number;
}

/** The names of the options that `createMockService` and `startMockServer` share. */
export const sharedOptionNames = {
  apiKeys: true,
  clock: true,
  deliver: true,
  defaultCountry: true,
  templates: true,
  endpoints: true,
  forwardTo: true,
  wallets: true,
  storeRefusals: true,
  log: true,
  deliveryTimeoutMs: true,
} satisfies OptionNames<Omit<MockServiceOptions, "baseUrl">>;

export const serviceOptionNames = {
  baseUrl: true,
  ...sharedOptionNames,
} satisfies OptionNames<MockServiceOptions>;

const apiKeyNames = { website: true, full: true } satisfies OptionNames<ApiKeys>;
const walletNames = { first: true, second: true } satisfies OptionNames<Wallets>;
const endpointNames = {
  url: true,
  events: true,
  secret: true,
} satisfies OptionNames<NonNullable<AdapterOptions["endpoints"]>[number]>;

const seededTemplates: readonly TemplateInput[] = [
  {
    id: "tpl_mock",
    name: "Coffee club",
    fields: [
      { key: "name", type: "name", label: "Name" },
      { key: "points", type: "number", label: "Points" },
    ],
    tiers: [
      { name: "Silver", from: 100 },
      { name: "Gold", from: 500 },
    ],
  },
];

/** The options of each type, with those of the Node adapter. */
const optionTypes = {
  "a string": ["baseUrl", "defaultCountry", "forwardTo", "host", "seedFile", "dataFile"],
  "a number": ["deliveryTimeoutMs", "port"],
  "a boolean": ["storeRefusals"],
  "a function": ["deliver", "log", "onTraffic"],
  "an object": ["apiKeys", "wallets"],
  "a list of objects": ["templates", "endpoints"],
};

/** @throws {TypeError} for an option of another type; the message names it. */
export function checkTypes(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const [type] = Object.entries(optionTypes).find(([, names]) => names.includes(name)) ?? [];
    if (type !== undefined && value !== undefined && !type.endsWith(` ${formatOptionType(value)}`))
      throw new TypeError(`${name} must be ${type}; it is ${formatOptionType(value)}.`);
  }
}

function formatOptionType(value: unknown): string {
  if (!Array.isArray(value)) return formatType(value);
  return value.every(isObject) ? "list of objects" : "list of other values";
}

export type Settings = ReturnType<typeof parseOptions>;

/** The options, and what only the Node adapter sets. */
export interface AdapterOptions extends MockServiceOptions {
  /**
   * Whether every `Host` header is accepted. Default false: only host names of this machine.
   */
  acceptsAnyHost?: boolean;
  /** Whether the log gets the warnings about requests. Default true. */
  logsWarnings?: boolean;
  /** The clock of a program that passes none. Default: real time. */
  defaultClock?: Clock;
  /** What a data file has takes precedence over the options, except for their endpoints. */
  saved?: Saved | undefined;
}

/** What a data file had when the server started. */
export interface Saved {
  /** What a reset restores, and the clock. */
  options: {
    apiKeys: ApiKeys;
    defaultCountry?: Country;
    templates: readonly (TemplateInput & { id: string })[];
    endpoints: readonly Endpoint[];
    clock: Clock;
  };
  state: State;
  newestId: string;
}

export function parseOptions(options: AdapterOptions) {
  checkTypes(options);
  const {
    baseUrl = "https://cards.mock.test",
    defaultCountry = "PL",
    deliveryTimeoutMs = 10_000,
  } = options;
  const {
    clock = options.defaultClock ?? systemClock(),
    log = console.error,
    storeRefusals = false,
    acceptsAnyHost = false,
    logsWarnings = true,
  } = options;
  const { templates = seededTemplates, endpoints = [] } = options;
  const apiKeys = { ...defaultApiKeys, ...options.apiKeys };
  const { wallets = { first: "apple", second: "google" } } = options;

  if (!URL.canParse(baseUrl)) throw new TypeError(`baseUrl "${baseUrl}" is not a URL.`);
  if (!isKnownCountry(defaultCountry))
    throw new TypeError(`defaultCountry "${defaultCountry}" is not an ISO 3166 code such as "PL".`);
  if (!(deliveryTimeoutMs > 0 && deliveryTimeoutMs < 2 ** 31))
    throw new TypeError(
      "deliveryTimeoutMs must be a positive number of milliseconds that a timer can hold.",
    );
  if (typeof clock?.now !== "function")
    throw new TypeError("clock must have a function now, as manualClock() does.");
  if (templates.length === 0) throw new TypeError("templates must be a list of at least one.");
  checkEndpoints(endpoints, options);
  requireKnownNames("apiKeys", apiKeys, apiKeyNames);
  if (!areApiKeys(apiKeys))
    throw new TypeError("apiKeys must be different texts without spaces: { website, full }.");
  checkWallets(wallets);
  const inFile: Partial<Saved["options"]> = options.saved?.options ?? {};
  const merged = mergeSavedEndpoints(endpoints, options.saved);
  return {
    baseUrl: new URL(baseUrl).href.replace(/\/+$/, ""),
    apiKeys: inFile.apiKeys ?? apiKeys,
    clock: inFile.clock ?? clock,
    programClock: options.clock,
    deliver: options.deliver,
    defaultCountry: inFile.defaultCountry ?? defaultCountry,
    // The ids are generated once, so that a reset restores the same ones.
    templates:
      inFile.templates ??
      templates.map(({ id = generateId("tpl"), ...template }) => ({ id, ...template })),
    endpoints: merged.afterReset,
    saved: merged.saved,
    wallets,
    forwardTo: options.forwardTo,
    deliveryTimeoutMs,
    acceptsAnyHost,
    logsWarnings,
    storeRefusals,
    log: (line: string) => writeLine(log, line),
  };
}

/** Adds the endpoints of the options to those that a data file has, and that a reset restores. */
function mergeSavedEndpoints(
  given: NonNullable<AdapterOptions["endpoints"]>,
  saved: Saved | undefined,
) {
  if (saved === undefined) return { afterReset: given.map(completeEndpoint), saved };
  const { state, options } = saved;
  const atStart = mergeEndpoints(given, [...state.endpoints.values()]).map(completeEndpoint);
  // The given ones come first. A reset restores them with the ids and secrets of the start.
  const givenAtStart = atStart.slice(0, given.length);
  const afterReset = mergeEndpoints(givenAtStart, options.endpoints).map(completeEndpoint);
  const endpoints = new Map(atStart.map((endpoint) => [endpoint.id, endpoint]));
  return { afterReset, saved: { ...saved, state: { ...state, endpoints } } };
}

function checkEndpoints(
  endpoints: NonNullable<AdapterOptions["endpoints"]>,
  { forwardTo }: AdapterOptions,
): void {
  for (const [index, endpoint] of endpoints.entries()) {
    requireKnownNames("An endpoint", endpoint, endpointNames, { noun: "member" });
    const { secret, ...input } = endpoint;
    checkEndpoint({ forwardTo }, input);
    if (secret !== undefined && !(typeof secret === "string" && /^\S(.*\S)?$/s.test(secret)))
      throw new TypeError(
        "secret of an endpoint must be text without space around it, or be left out.",
      );
    if (endpoints.slice(0, index).some((other) => haveSameAddress(other, endpoint)))
      throw new TypeError(`endpoints must have different addresses; ${input.url} is there twice.`);
  }
}

function checkWallets(wallets: Wallets): void {
  requireKnownNames("wallets", wallets, walletNames);
  const { first, second } = wallets;
  if (![first, second].every((name) => typeof name === "string" && name !== "") || first === second)
    throw new TypeError(
      'wallets must have two different names, such as { first: "apple", second: "google" }.',
    );
}

const areApiKeys = ({ website, full }: ApiKeys) =>
  website !== full && [website, full].every((key) => typeof key === "string" && /^\S+$/.test(key));
