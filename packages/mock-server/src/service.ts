/** The mock service as an object: its HTTP surface, and what the shop's staff can do. */

import { describeHidden } from "@loyalty-cards/internal/builtin-module";
import { requireKnownNames } from "@loyalty-cards/internal/known-options";
import { type Backend, createBackend } from "./backend/backend.ts";
import {
  type AdapterOptions,
  type MockServiceOptions,
  parseOptions,
  serviceOptionNames,
} from "./backend/options.ts";
import type { ServiceClock } from "./backend/service-clock.ts";
import { addControlRoutes } from "./control/routes.ts";
import {
  type WaitCondition,
  type WaitOptions,
  type WaitResult,
  waitFor,
} from "./control/wait-for.ts";
import { type DeliveryFilter, deliveryFilterNames, findDeliveries } from "./delivery/deliveries.ts";
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointInput,
  replaceSecret,
  updateEndpoint,
} from "./delivery/endpoints.ts";
import { createApiKey, getNewestKeys, revokeApiKey } from "./domain/api-keys.ts";
import {
  addToWallet,
  type Card,
  getCard,
  removeFromWallet,
  setStatus,
  toCard,
} from "./domain/cards.ts";
import {
  cancelOperation,
  type Expiry,
  expirePoints,
  type Operation,
  recordCorrection,
  recordPoints,
} from "./domain/ledger.ts";
import type {
  ApiKey,
  ApiKeyKind,
  ApiKeys,
  Delivery,
  Endpoint,
  Fault,
  State,
  Template,
  TrafficRequest,
} from "./domain/state.ts";
import {
  archiveTemplate,
  createTemplate,
  getDefaultTemplate,
  type TemplateInput,
} from "./domain/templates.ts";
import { addFault, clearFaults, type FaultInput, removeFault } from "./faults/rules.ts";
import { addApi } from "./http/api.ts";
import { type App, createApp, getReply } from "./http/app.ts";
import { addGuards } from "./http/guard.ts";
import { toResponse } from "./http/reply.ts";
import { addPages } from "./pages/pages.ts";

/** A copy of the state of a service. Its content is internal. */
export interface Snapshot {
  readonly state: unknown;
}

/** The mock service: its HTTP surface, and what the shop's staff can do in the console. */
export interface MockService {
  readonly baseUrl: string;
  /**
   * The API keys: the newest at the start as `website` and `full`, and what rotates them. A kind of
   * which a data file has no key is absent.
   */
  readonly apiKeys: ApiKeys & {
    /** Creates another key, of the kind `website` by default. Those before it stay valid. */
    create(kind?: ApiKeyKind): ApiKey;
    /** The valid keys, oldest first. */
    list(): ApiKey[];
    /**
     * Requests with the key get a 401 from now on.
     * @throws {RangeError} for a key that is not valid.
     */
    revoke(key: string): void;
  };
  /** The first template at the start that is not archived. */
  readonly templateId: string;
  /** The webhook endpoints at the start, with the secrets that a receiver needs. */
  readonly endpoints: readonly Endpoint[];
  /**
   * Responds to every request. Rejects only for an injected fault that breaks the connection, as
   * fetch does.
   */
  fetch(request: Request): Promise<Response>;
  readonly templates: {
    create(input: TemplateInput): Template;
    archive(id: string): void;
  };
  readonly cards: {
    get(id: string): Card;
    /** Oldest first. */
    list(): Card[];
    addToWallet(id: string, wallet: string): void;
    removeFromWallet(id: string, wallet: string): void;
    purchase(id: string, entry: { points: number }): Operation;
    redeem(id: string, entry: { points: number }): Operation;
    reward(id: string, entry: { points: number }): Operation;
    correct(id: string, entry: { change: number }): Operation;
    cancel(operationId: string): Operation;
    /**
     * Lets points of old purchases expire ([spec
     * 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)): they no longer
     * count for the tier. Returns the card.
     * @param expiry `points`; with `keepBalance: true` the balance stays, and a new tier emits
     * `tier.changed` alone. Without it the points leave the balance, by a correction that emits
     * `balance.changed`.
     * @throws {RangeError} for an unknown card, and for more points than count for the tier.
     * @example
     * ```ts
     * import type { Card, MockService } from "@loyalty-cards/mock-server";
     *
     * export function loseLevel(service: MockService, cardId: string): Card {
     *   service.cards.purchase(cardId, { points: 120 }); // Silver from 100
     *   // The card has loyaltyBalance 120 and loyaltyTier null.
     *   return service.cards.expire(cardId, { points: 50, keepBalance: true });
     * }
     * ```
     */
    expire(id: string, expiry: Expiry): Card;
    /**
     * Sets the status of the card ([spec
     * 3.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-1)). Emits no event,
     * and restricts nothing.
     * @throws {RangeError} for an unknown card.
     * @throws {TypeError} for a blank status.
     */
    setStatus(id: string, status: string): Card;
  };
  readonly webhooks: {
    createEndpoint(input: EndpointInput): Endpoint;
    /**
     * Changes the address, the events or both. The secret stays; pending deliveries go to the new
     * address.
     * @throws {RangeError} for an unknown endpoint.
     * @throws {TypeError} for an address or an event that is not allowed.
     */
    updateEndpoint(endpointId: string, change: Partial<EndpointInput>): Endpoint;
    /**
     * Deletes the endpoint. Its pending deliveries are marked failed and are not attempted again;
     * the log stays.
     * @throws {RangeError} for an unknown endpoint.
     */
    deleteEndpoint(endpointId: string): void;
    newSecret(endpointId: string): Endpoint;
    sendTest(endpointId: string): Delivery;
    /** The delivery log, oldest first. */
    deliveries(filter?: DeliveryFilter): Delivery[];
    resend(deliveryId: string): Delivery;
  };
  /** Injected faults. */
  readonly faults: {
    add(fault: FaultInput): Fault;
    /**
     * The rules in the order in which they are matched, without those that were applied `times`
     * times.
     */
    list(): Fault[];
    remove(id: string): void;
    clear(): void;
  };
  /**
   * The newest 200 requests to the API, oldest first: what they sent, what they got, and warnings
   * about what is probably a mistake.
   * @example
   * ```ts
   * import { createMockService } from "@loyalty-cards/mock-server";
   * import { afterEach, expect } from "vitest";
   *
   * const service = createMockService();
   * // no misspelt field, and no two users of the test shared an idempotency key
   * afterEach(() => expect(service.requests().flatMap(({ warnings }) => warnings)).toEqual([]));
   * ```
   */
  requests(): TrafficRequest[];
  readonly clock: ServiceClock;
  /** Resolves when every attempt that is due has ended. */
  idle(): Promise<void>;
  /**
   * Resolves with the items that match, also when they matched before the call.
   * @throws {WaitTimeoutError}
   */
  waitFor<Condition extends WaitCondition>(
    condition: Condition,
    options?: WaitOptions,
  ): Promise<WaitResult<Condition>>;
  /**
   * Restores the seed: its keys, templates and endpoints. Everything else is deleted. A clock that
   * you passed keeps its time; another one that is ahead returns to real time.
   */
  reset(): void;
  snapshot(): Snapshot;
  /** @throws {TypeError} for a value that is not a snapshot. */
  restore(snapshot: Snapshot): void;
}

/**
 * Creates the whole service in this process: its API, its card pages, its webhooks and a clock that
 * you can move. `startMockServer` of `/node` puts it on a port, `mockHandlers` of `/msw` behind
 * MSW.
 * @param options templates, endpoints, clock and limits. Default: one template, no endpoint, the
 * clock of the machine.
 * @throws {TypeError} for an invalid option, which the message names, and in an environment without
 * `Response`, such as jsdom.
 * @example
 * ```ts
 * import { createMockService } from "@loyalty-cards/mock-server";
 *
 * const service = createMockService({
 *   templates: [
 *     {
 *       id: "tpl_coffee",
 *       name: "Coffee club",
 *       fields: [{ key: "name", type: "name", required: true }],
 *     },
 *   ],
 * });
 * const response = await service.fetch(
 *   new Request(`${service.baseUrl}/api/v1/templates/tpl_coffee/passes`, {
 *     method: "POST",
 *     headers: {
 *       authorization: `Bearer ${service.apiKeys.website}`,
 *       "content-type": "application/json",
 *     },
 *     body: JSON.stringify({
 *       fieldValues: { name: "Anna" },
 *       customer: { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } },
 *     }),
 *   }),
 * );
 * console.log(response.status); // 201
 * ```
 */
export function createMockService(options: MockServiceOptions = {}): MockService {
  requireKnownNames("createMockService", options, serviceOptionNames);
  return createServiceWithApp(options).service;
}

/**
 * Creates a service, and what the Node adapter needs besides.
 * @param addOwnRoutes adds routes that take precedence.
 */
export function createServiceWithApp(
  options: AdapterOptions,
  addOwnRoutes: (app: App, backend: Backend) => void = () => {},
) {
  if (!("Response" in globalThis))
    throw new TypeError(describeHidden("The mock service", "Request and Response"));
  const settings = parseOptions(options);
  const backend = createBackend(settings);
  const app = createApp(settings);
  addGuards(app, backend);
  const service = createService(backend, app);
  addOwnRoutes(app, backend);
  addApi(app, backend);
  addControlRoutes(app, backend);
  addPages(app, backend);
  return { service, backend, app };
}

function createService(backend: Backend, app: App): MockService {
  const { settings, domain, clock, dispatcher } = backend;
  return {
    baseUrl: settings.baseUrl,
    apiKeys: {
      // Only after a restart with a data file can a kind have no key; the type omits that case.
      ...(getNewestKeys(domain) as ApiKeys),
      create: (kind = "website") => ({ ...createApiKey(domain, kind) }),
      list: () => structuredClone([...domain.state.apiKeys.values()]),
      revoke: (key) => revokeApiKey(domain, key),
    },
    templateId: getDefaultTemplate(domain).id,
    endpoints: structuredClone([...domain.state.endpoints.values()]),
    async fetch(request) {
      if (typeof request?.url !== "string")
        throw new TypeError("service.fetch takes a Request: fetch(new Request(url, init)).");
      return toResponse(await getReply(app, request), request);
    },
    templates: {
      create: (input) => structuredClone(createTemplate(domain, input)),
      archive: (templateId) => void archiveTemplate(domain, templateId),
    },
    cards: {
      get: (cardId) => toCard(domain, getCard(domain, cardId)),
      list: () => Array.from(domain.state.cards.values(), (card) => toCard(domain, card)),
      addToWallet: (cardId, wallet) => addToWallet(domain, cardId, wallet),
      removeFromWallet: (cardId, wallet) => removeFromWallet(domain, cardId, wallet),
      purchase: (cardId, { points }) => recordPoints(domain, cardId, { type: "purchase", points }),
      redeem: (cardId, { points }) => recordPoints(domain, cardId, { type: "redemption", points }),
      reward: (cardId, { points }) => recordPoints(domain, cardId, { type: "reward", points }),
      correct: (cardId, { change }) => recordCorrection(domain, cardId, change),
      cancel: (operationId) => cancelOperation(domain, operationId),
      expire: (cardId, expiry) => expirePoints(domain, cardId, expiry),
      setStatus: (cardId, status) => setStatus(domain, cardId, status),
    },
    webhooks: {
      createEndpoint: (input) => createEndpoint(domain, input),
      updateEndpoint: (endpointId, change) => updateEndpoint(domain, endpointId, change),
      deleteEndpoint: (endpointId) => deleteEndpoint(domain, endpointId),
      newSecret: (endpointId) => replaceSecret(domain, endpointId),
      sendTest: (endpointId) => structuredClone(dispatcher.sendTest(endpointId)),
      deliveries(filter = {}) {
        requireKnownNames("deliveries", filter, deliveryFilterNames);
        return structuredClone(findDeliveries(domain, filter));
      },
      resend: (deliveryId) => structuredClone(dispatcher.resend(deliveryId)),
    },
    faults: {
      add: (fault) => structuredClone(addFault(domain, fault)),
      list: () => structuredClone([...domain.state.faults.values()]),
      remove: (faultId) => removeFault(domain, faultId),
      clear: () => clearFaults(domain),
    },
    requests: () => structuredClone(backend.requests),
    clock,
    idle: dispatcher.idle,
    waitFor: (condition, options) => waitFor(backend, condition, options),
    reset: backend.reset,
    snapshot: () => ({ state: backend.snapshot() }),
    restore: (snapshot) => backend.restore(parseSnapshot(snapshot)),
  };
}

function parseSnapshot(snapshot: Snapshot): State {
  const state = snapshot?.state as State | undefined;
  // A copy in JSON has no maps.
  if (typeof state?.cards?.get !== "function")
    throw new TypeError(
      "restore takes a snapshot of service.snapshot(), not a copy of it in JSON.",
    );
  return state;
}
