/** The whole service in one object: the HTTP surface, and the hands of the shop that no API has. */
import { controlRoutes } from "./control/routes.ts";
import { type Delivery, type DeliveryFilter, matching } from "./delivery/deliveries.ts";
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointInput,
  type EndpointSecret,
  renewSecret,
  updateEndpoint,
  type WebhookEndpoint,
} from "./delivery/endpoints.ts";
import type { ServiceClock } from "./delivery/service-clock.ts";
import type { ApiKeyKind } from "./domain/api-keys.ts";
import { addToWallet, type Card, cardOf, existingCard, removeFromWallet, setStatus } from "./domain/cards.ts";
import {
  cancelOperation,
  type Expiry,
  expirePoints,
  type Operation,
  recordCorrection,
  recordPoints,
} from "./domain/ledger.ts";
import { isState } from "./domain/state.ts";
import { archiveTemplate, createTemplate, type Template, type TemplateInput } from "./domain/templates.ts";
import type { Warning } from "./domain/warnings.ts";
import type { FaultInput } from "./faults/fault-shape.ts";
import { addFault, clearFaults, type Fault, removeFault } from "./faults/rules.ts";
import { apiRoutes } from "./http/api.ts";
import { fromFetch } from "./http/request.ts";
import { isSilent, noResponse, responseOf } from "./http/response.ts";
import { type Answering, createRouter } from "./http/router.ts";
import { checkedOptions, type MockServiceOptions, type Settings } from "./options.ts";
import { pageRoutes } from "./pages/routes.ts";
import { inspectAnswer, inspectEvent } from "./strict.ts";
import { type Awaited, type WaitCondition, type WaitOptions, waitFor } from "./waiting.ts";
import type { World } from "./world.ts";
import { createWorlds, type Worlds } from "./worlds.ts";

/** A copy of everything the service remembers. Its inside is nobody's business. */
export interface Snapshot {
  readonly state: unknown;
}

/** The service: its HTTP surface, and the hands of the shop's people. */
export interface MockService {
  readonly baseUrl: string;
  /** Which world this is: `default`, or what `worlds.create()` called it. */
  readonly worldId: string;
  /** The API keys it begins with, one of each kind. */
  readonly apiKeys: Readonly<Record<ApiKeyKind, string>>;
  /** The first seeded template. */
  readonly templateId: string;
  /** The seeded webhook endpoints, with the secrets that a receiver needs. */
  readonly endpoints: readonly (EndpointSecret & { url: string })[];
  /** The whole HTTP surface. Rejects only where a fault asks for it, as fetch does when a connection breaks. */
  fetch(request: Request): Promise<Response>;
  readonly templates: {
    create(input: TemplateInput): Template;
    archive(id: string): void;
  };
  readonly cards: {
    get(id: string): Card;
    addToWallet(id: string, wallet: string): void;
    removeFromWallet(id: string, wallet: string): void;
    purchase(id: string, entry: { points: number }): Operation;
    redeem(id: string, entry: { points: number }): Operation;
    reward(id: string, entry: { points: number }): Operation;
    correct(id: string, entry: { change: number }): Operation;
    cancel(operationId: string): Operation;
    /**
     * Lets points of old purchases expire (spec 6.2): they no longer count for the level. Returns the card.
     * @param expiry `points`; with `keepBalance: true` the balance stays, and a new level emits `tier.changed` alone.
     * Without it the points leave the balance, by a correction that emits `balance.changed`.
     * @throws {RangeError} for an unknown card, and for more points than count for the level.
     * @example
     * ```ts
     * import type { Card, MockService } from "@loyalty-cards/mock-server";
     *
     * export function loseLevel(service: MockService, cardId: string): Card {
     *   service.cards.purchase(cardId, { points: 120 }); // Silver from 100
     *   return service.cards.expire(cardId, { points: 50, keepBalance: true }); // loyaltyBalance 120, loyaltyTier null
     * }
     * ```
     */
    expire(id: string, expiry: Expiry): Card;
    /**
     * Gives the card another status than `active`, or `active` again (spec 3.1). Emits no event, and restricts nothing.
     * @throws {RangeError} for an unknown card. @throws {TypeError} for a blank status.
     */
    setStatus(id: string, status: string): Card;
  };
  readonly webhooks: {
    createEndpoint(input: EndpointInput): EndpointSecret;
    /**
     * Changes the address, the events or both. The secret stays; pending deliveries go to the new address.
     * @throws {RangeError} for an unknown endpoint. @throws {TypeError} for an address or an event that is not allowed.
     */
    updateEndpoint(endpointId: string, change: Partial<EndpointInput>): WebhookEndpoint;
    /**
     * Deletes the endpoint. Its pending deliveries are marked failed and are not attempted again; the log stays.
     * @throws {RangeError} for an unknown endpoint.
     */
    deleteEndpoint(endpointId: string): void;
    newSecret(endpointId: string): EndpointSecret;
    sendTest(endpointId: string): Delivery;
    /** The delivery log, oldest first. */
    deliveries(filter?: DeliveryFilter): Delivery[];
    resend(deliveryId: string): Delivery;
  };
  /** What goes wrong on purpose. */
  readonly faults: {
    add(fault: FaultInput): Fault;
    /** In the order in which they are tried; those that held `times` times are gone. */
    list(): Fault[];
    remove(id: string): void;
    clear(): void;
  };
  /**
   * The newest 100 warnings, oldest first: what was accepted, although it is probably a mistake of the caller.
   * @example
   * ```ts
   * import { createMockService } from "@loyalty-cards/mock-server";
   * import { afterEach, expect } from "vitest";
   *
   * const service = createMockService();
   * afterEach(() => expect(service.warnings()).toEqual([])); // no two users of the test shared an idempotency key
   * ```
   */
  warnings(): Warning[];
  readonly clock: ServiceClock;
  /** Worlds beside this one, behind the same address: an API key belongs to one of them. */
  readonly worlds: {
    create(): MockService;
    list(): MockService[];
    remove(worldId: string): void;
  };
  /** Resolves when every attempt that is due has ended. */
  idle(): Promise<void>;
  /** Resolves with what was waited for; what happened before counts. @throws {WaitTimeout} */
  waitFor<Condition extends WaitCondition>(
    condition: Condition,
    options?: WaitOptions,
  ): Promise<Awaited<Condition>>;
  /** Back to the seed: keys and templates stay, all else is forgotten. */
  reset(): void;
  snapshot(): Snapshot;
  /** @throws {TypeError} for what `snapshot()` did not return. */
  restore(snapshot: Snapshot): void;
}

/** What hosts of this package need beside the service. */
export interface ServiceCore {
  service: MockService;
  settings: Settings;
  worlds: Worlds;
  answer: Answering;
}

/** Where the core is: found by hosts that were loaded in another format, and in copies too. */
const coreKey = Symbol.for("@loyalty-cards/mock-server/core");

/**
 * Creates the whole service in this process: its API, its card pages, its webhooks and a clock that you can move. `startMockServer` of
 * `/node` puts it on a port, `mockHandlers` of `/msw` behind MSW.
 * @param options templates, endpoints, clock and limits. Default: one template, no endpoint, the clock of the machine.
 * @throws {TypeError} for an option that makes no sense; the message names it.
 * @example
 * ```ts
 * import { createMockService } from "@loyalty-cards/mock-server";
 *
 * const service = createMockService({
 *   templates: [{ id: "tpl_coffee", name: "Coffee club", fields: [{ key: "name", type: "name", required: true }] }],
 * });
 * const response = await service.fetch(
 *   new Request(`${service.baseUrl}/api/v1/templates/tpl_coffee/passes`, {
 *     method: "POST",
 *     headers: { authorization: `Bearer ${service.apiKeys.website}`, "content-type": "application/json" },
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
  const checked = checkedOptions(options);
  const inspect = checked.strict ? inspectEvent : undefined;
  const settings = { ...checked, deliver: options.deliver, inspect };
  const worlds = createWorlds(settings);
  const answer = createRouter(settings.baseUrl, [
    ...apiRoutes(worlds, settings.baseUrl, settings.strict ? inspectAnswer : undefined),
    ...controlRoutes(worlds, settings),
    ...pageRoutes(worlds, settings),
  ]);

  async function answerFetch(request: Request): Promise<Response> {
    const answered = await answer(fromFetch(request));
    return isSilent(answered.fault) ? noResponse(answered.fault, request) : responseOf(answered);
  }

  const services = new WeakMap<World, MockService>();
  const serviceOf = (world: World): MockService => {
    const known = services.get(world);
    if (known !== undefined) return known;
    const service: MockService = {
      ...faceOf(world),
      baseUrl: settings.baseUrl,
      templateId: settings.templates[0]?.id ?? "",
      endpoints:
        world === worlds.first ? settings.endpoints.map(({ id, url, secret }) => ({ id, url, secret })) : [],
      fetch: answerFetch,
      worlds: {
        create: () => serviceOf(worlds.create()),
        list: () => worlds.all().map(serviceOf),
        remove: worlds.remove,
      },
    };
    services.set(world, service);
    Object.assign(service, { [coreKey]: { service, settings, worlds, answer } satisfies ServiceCore });
    return service;
  };
  return serviceOf(worlds.first);
}

/** @throws {TypeError} for what `createMockService` did not make. */
export function coreOf(service: MockService): ServiceCore {
  const core = (service as { [coreKey]?: ServiceCore })[coreKey];
  if (core === undefined) throw new TypeError("Give the service that createMockService() returned.");
  return core;
}

function faceOf(
  world: World,
): Omit<MockService, "baseUrl" | "templateId" | "endpoints" | "fetch" | "worlds"> {
  const { id, apiKeys, domain, dispatcher, clock } = world;
  return {
    worldId: id,
    apiKeys,
    templates: {
      create: (input) => structuredClone(createTemplate(domain, input)),
      archive: (templateId) => void archiveTemplate(domain, templateId),
    },
    cards: {
      get: (cardId) => cardOf(domain, existingCard(domain, cardId)),
      addToWallet: (cardId, wallet) => addToWallet(domain, cardId, wallet),
      removeFromWallet: (cardId, wallet) => removeFromWallet(domain, cardId, wallet),
      purchase: (cardId, { points }) => recordPoints(domain, cardId, "purchase", points),
      redeem: (cardId, { points }) => recordPoints(domain, cardId, "redemption", points),
      reward: (cardId, { points }) => recordPoints(domain, cardId, "reward", points),
      correct: (cardId, { change }) => recordCorrection(domain, cardId, change),
      cancel: (operationId) => cancelOperation(domain, operationId),
      expire: (cardId, expiry) => expirePoints(domain, cardId, expiry),
      setStatus: (cardId, status) => setStatus(domain, cardId, status),
    },
    webhooks: {
      createEndpoint: (input) => createEndpoint(domain, input),
      updateEndpoint: (endpointId, change) => updateEndpoint(domain, endpointId, change),
      deleteEndpoint: (endpointId) => deleteEndpoint(domain, endpointId),
      newSecret: (endpointId) => renewSecret(domain, endpointId),
      sendTest: (endpointId) => structuredClone(world.sendTest(endpointId)),
      deliveries: (filter = {}) => structuredClone(matching(domain, filter)),
      resend: (deliveryId) => structuredClone(world.resend(deliveryId)),
    },
    faults: {
      add: (fault) => structuredClone(addFault(domain, fault)),
      list: () => structuredClone([...domain.state.faults.values()]),
      remove: (faultId) => removeFault(domain, faultId),
      clear: () => clearFaults(domain),
    },
    warnings: () => structuredClone([...domain.state.warnings.values()]),
    clock,
    idle: dispatcher.idle,
    waitFor: (condition, options) => waitFor(world, condition, options),
    reset: world.reset,
    snapshot: () => ({ state: world.snapshot() }),
    restore(snapshot) {
      const state = snapshot?.state;
      if (!isState(state)) throw new TypeError("restore() takes what snapshot() returned.");
      world.restore(state);
    },
  };
}
