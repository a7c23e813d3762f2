/** The whole service in one object: the HTTP surface, and the hands of the shop that no API has. */
import type { Transport } from "./delivery/attempt.ts";
import {
  createDelivery,
  createEvent,
  type Delivery,
  type DeliveryFilter,
  matching,
  renew,
} from "./delivery/deliveries.ts";
import { createDispatcher, type ServiceClock } from "./delivery/dispatcher.ts";
import {
  createEndpoint,
  type EndpointInput,
  type EndpointSecret,
  existingEndpoint,
  renewSecret,
} from "./delivery/endpoints.ts";
import { type ApiKeyKind, seededApiKeys } from "./domain/api-keys.ts";
import { addToWallet, type Card, cardOf, existingCard, removeFromWallet } from "./domain/cards.ts";
import { cancelOperation, type Operation, recordCorrection, recordPoints } from "./domain/ledger.ts";
import { emptyState, type State } from "./domain/state.ts";
import type { Domain } from "./domain/surroundings.ts";
import { archiveTemplate, createTemplate, type Template, type TemplateInput } from "./domain/templates.ts";
import { createRouter } from "./http/router.ts";
import { checkedOptions, type MockServiceOptions } from "./options.ts";

/** A copy of everything the service remembers. Its inside is nobody's business. */
export interface Snapshot {
  readonly state: unknown;
}

export interface MockService {
  readonly baseUrl: string;
  /** The seeded API keys, one of each kind. */
  readonly apiKeys: Readonly<Record<ApiKeyKind, string>>;
  /** The first seeded template. */
  readonly templateId: string;
  /** The seeded webhook endpoints, with the secrets that a receiver needs. */
  readonly endpoints: readonly (EndpointSecret & { url: string })[];
  /** The whole HTTP surface. Never rejects. */
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
  };
  readonly webhooks: {
    createEndpoint(input: EndpointInput): EndpointSecret;
    newSecret(endpointId: string): EndpointSecret;
    sendTest(endpointId: string): Delivery;
    /** The delivery log, oldest first. */
    deliveries(filter?: DeliveryFilter): Delivery[];
    resend(deliveryId: string): Delivery;
  };
  readonly clock: ServiceClock;
  /** Resolves when every attempt that is due has ended. */
  idle(): Promise<void>;
  /** Back to the seed: keys and templates stay, all else is forgotten. */
  reset(): void;
  snapshot(): Snapshot;
  restore(snapshot: Snapshot): void;
}

/** @throws {TypeError} for an option that makes no sense; the message names it. */
export function createMockService(options: MockServiceOptions = {}): MockService {
  const settings = checkedOptions(options);
  const { clock, newIdentifier, baseUrl, defaultCountry, wallets } = settings;

  const domain: Domain<State> = {
    state: emptyState(),
    nowMs: () => clock.now(),
    newIdentifier,
    baseUrl,
    defaultCountry,
    wallets,
    emit(type, data) {
      const event = createEvent(domain, type, data);
      for (const endpoint of domain.state.endpoints.values()) {
        if (endpoint.events.includes(type)) dispatcher.schedule(createDelivery(domain, event, endpoint.id));
      }
    },
  };
  const transport: Transport = {
    deliver: options.deliver ?? ((request) => fetch(request)),
    // Over HTTP a real receiver compares `t` with the real time, however far this clock has travelled.
    signingTimeMs: options.deliver === undefined ? settings.wallClockMs : () => clock.now(),
    answerWithinMs: settings.answerWithinMs,
  };
  const dispatcher = createDispatcher(domain, clock, transport);

  function reset(): void {
    domain.state = emptyState();
    for (const template of settings.templates) createTemplate(domain, template);
    for (const endpoint of settings.endpoints) createEndpoint(domain, endpoint, endpoint);
    dispatcher.reload();
  }
  reset();

  return {
    baseUrl,
    apiKeys: seededApiKeys,
    templateId: settings.templates[0]?.id ?? "",
    endpoints: settings.endpoints.map(({ id, url, secret }) => ({ id, url, secret })),
    fetch: createRouter(domain, { reset }),
    templates: {
      create: (input) => structuredClone(createTemplate(domain, input)),
      archive: (id) => archiveTemplate(domain, id),
    },
    cards: {
      get: (id) => cardOf(domain, existingCard(domain, id)),
      addToWallet: (id, wallet) => addToWallet(domain, id, wallet),
      removeFromWallet: (id, wallet) => removeFromWallet(domain, id, wallet),
      purchase: (id, { points }) => recordPoints(domain, id, "purchase", points),
      redeem: (id, { points }) => recordPoints(domain, id, "redemption", points),
      reward: (id, { points }) => recordPoints(domain, id, "reward", points),
      correct: (id, { change }) => recordCorrection(domain, id, change),
      cancel: (operationId) => cancelOperation(domain, operationId),
    },
    webhooks: {
      createEndpoint: (input) => createEndpoint(domain, input),
      newSecret: (endpointId) => renewSecret(domain, endpointId),
      sendTest(endpointId) {
        const { id } = existingEndpoint(domain, endpointId);
        const delivery = createDelivery(domain, createEvent(domain, "ping", {}), id);
        dispatcher.schedule(delivery);
        return structuredClone(delivery);
      },
      deliveries: (filter = {}) => structuredClone(matching(domain, filter)),
      resend(deliveryId) {
        const delivery = renew(domain, deliveryId, dispatcher.isUnderWay);
        dispatcher.schedule(delivery);
        return structuredClone(delivery);
      },
    },
    clock: dispatcher.clock,
    idle: dispatcher.idle,
    reset,
    snapshot: () => ({ state: structuredClone(domain.state) }),
    restore(snapshot) {
      domain.state = structuredClone(snapshot.state) as State;
      dispatcher.reload();
    },
  };
}
