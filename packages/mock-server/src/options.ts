/** How a mock service can be made, with every default in one place. */
import type { AllowedHosts } from "./control/guard.ts";
import type { Deliver } from "./delivery/attempt.ts";
import type { EndpointInput } from "./delivery/endpoints.ts";
import { type Clock, systemClock } from "./domain/clock.ts";
import { type Country, isKnownCountry } from "./domain/contact.ts";
import { type NewIdentifier, randomIdentifier } from "./domain/identifier.ts";
import type { Wallets } from "./domain/surroundings.ts";
import type { TemplateInput } from "./domain/templates.ts";

/** What the service begins with; every option has a default. */
export interface MockServiceOptions {
  /** Holds every answer and every event against the OpenAPI document, and fails loudly when one differs. */
  strict?: boolean;
  /** Under which names the control API may be called: those of this machine (the default), or any. */
  allowedHosts?: AllowedHosts;
  /** The service's address: cards point to it. Default `https://cards.mock.test`, which only exists in tests. */
  baseUrl?: string;
  /** Default: the machine's clock. Give `manualClock()` to move time by hand. */
  clock?: Clock;
  /** Receives webhooks in process instead of over HTTP; `t` is then the service's time. */
  deliver?: Deliver;
  /** Whose local phone numbers are understood, as an ISO 3166 code. Default `PL`. */
  defaultCountry?: Country;
  /** What can be issued from the start. Default: one template with an optional name and points. */
  templates?: readonly TemplateInput[];
  /** Webhook endpoints that are there from the start, and after a reset, with the same secrets. */
  endpoints?: readonly SeededEndpoint[];
  /** What the two wallet kinds are called. Default apple and google. */
  wallets?: Wallets;
  /** Allows webhook endpoints with `https://` addresses of private and link-local networks. Default false (spec 6.3.5). */
  allowPrivateEndpoints?: boolean;
  /**
   * Stores a 404 or 422 under its idempotency key for 24 hours, and repeats it whatever the next request contains, as
   * some services do. Default false: after a refusal the same key may try again.
   */
  storeRefusals?: boolean;
  /** Takes warnings, one line each, without personal data. Default `console.error`; `service.warnings()` has them too. */
  log?: (line: string) => void;
  /** How long a receiver may take, in milliseconds. Default 10 000 (spec 8); less makes tests of slow ones quick. */
  answerWithinMs?: number;
  /** Makes identifiers that begin with the prefix it is given; event ids sort by what the prefix holds. Default: random ones. */
  newIdentifier?: NewIdentifier;
  /** The machine's time in milliseconds, for signatures over HTTP. Default `Date.now`. */
  wallClockMs?: () => number;
}

/** A webhook endpoint that is there from the start. */
export interface SeededEndpoint extends EndpointInput {
  /** The signing secret, for a receiver whose settings are fixed. Default: a random one each time. */
  secret?: string;
}

export const seededTemplates: readonly TemplateInput[] = [
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

export type Settings = ReturnType<typeof checkedOptions>;

export function checkedOptions(options: MockServiceOptions) {
  const { baseUrl = "https://cards.mock.test", defaultCountry = "PL", answerWithinMs = 10_000 } = options;
  const { clock = systemClock(), newIdentifier = randomIdentifier, wallClockMs = Date.now } = options;
  const { allowedHosts = "loopback", strict = false, log = console.error } = options;
  const { allowPrivateEndpoints = false, storeRefusals = false } = options;
  const {
    templates = seededTemplates,
    endpoints = [],
    wallets = { first: "apple", second: "google" },
  } = options;

  if (!URL.canParse(baseUrl)) throw new TypeError(`baseUrl "${baseUrl}" is not a URL.`);
  if (!isKnownCountry(defaultCountry)) {
    throw new TypeError(`defaultCountry "${defaultCountry}" is not an ISO 3166 code such as "PL".`);
  }
  if (!(answerWithinMs > 0 && answerWithinMs < 2 ** 31)) {
    throw new TypeError("answerWithinMs must be a positive number of milliseconds that a timer can hold.");
  }
  if (!Array.isArray(templates) || templates.length === 0)
    throw new TypeError("templates must be a list of at least one.");
  if (!Array.isArray(endpoints)) throw new TypeError("endpoints must be a list.");
  for (const { secret } of endpoints) {
    if (secret !== undefined && !isSecret(secret))
      throw new TypeError("secret of an endpoint must be text without space around it, or be left out.");
  }
  if (!(Number.isFinite(clock?.now?.()) && Number.isFinite(wallClockMs?.()))) {
    throw new TypeError("clock.now() and wallClockMs() must return a number of milliseconds since 1970.");
  }
  if (wallets.first === wallets.second) throw new TypeError("The two wallets need different names.");
  for (const [name, value] of Object.entries({ strict, allowPrivateEndpoints, storeRefusals })) {
    if (typeof value !== "boolean") throw new TypeError(`${name} must be true or false.`);
  }
  if (typeof log !== "function") throw new TypeError("log must be a function that takes a line of text.");
  return {
    baseUrl: baseUrl.replace(/\/+$/, ""),
    clock,
    newIdentifier,
    wallClockMs,
    defaultCountry,
    // Named here once, so that a reset brings the same ones back.
    templates: templates.map((template) => ({ id: newIdentifier("tpl"), ...template })),
    endpoints: endpoints.map((endpoint) => ({
      id: newIdentifier("we"),
      ...endpoint,
      secret: endpoint.secret ?? newIdentifier("whsec"),
    })),
    wallets,
    answerWithinMs,
    allowedHosts,
    strict,
    allowPrivateEndpoints,
    storeRefusals,
    log,
  };
}

function isSecret(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.trim() === value;
}
