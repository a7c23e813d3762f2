/**
 * The control API under `/_mock`: settings, waiting, templates, injected faults, webhook endpoints
 * and deliveries, the traffic, the clock; and the routes of cards.
 */
import type { components } from "@loyalty-cards/openapi/control";
import {
  isAdvanceInput,
  isApiKeyInput,
  isClockSetting,
  isEndpointChange,
  isEndpointInput,
  isFaultInput,
  isTemplateInput,
  isWaitInput,
} from "@loyalty-cards/openapi/control-validators";
import { eventTypes } from "@loyalty-cards/openapi/events";
import type { Backend } from "../backend/backend.ts";
import {
  createEndpoint,
  deleteEndpoint,
  replaceSecret,
  updateEndpoint,
} from "../delivery/endpoints.ts";
import { createApiKey, getNewestKeys, revokeApiKey } from "../domain/api-keys.ts";
import type { Duration } from "../domain/clock.ts";
import { getById } from "../domain/context.ts";
import { archiveTemplate, createTemplate, getDefaultTemplate } from "../domain/templates.ts";
import { addFault, clearFaults, removeFault } from "../faults/rules.ts";
import type { App } from "../http/app.ts";
import { addCardRoutes } from "./cards.ts";
import { createRouter, type Router } from "./route.ts";
import { listTraffic } from "./traffic.ts";
import { defaultTimeoutMs, type WaitCondition, waitFor, waitUntil } from "./wait-for.ts";

export function addControlRoutes(app: App, backend: Backend): void {
  const router = createRouter(app);
  addServiceRoutes(router, backend);
  addCardRoutes(router, backend);
  addWebhookRoutes(router, backend);
  addClockRoutes(router, backend);
}

function addServiceRoutes({ route, routeWithBody }: Router, backend: Backend): void {
  const { domain, settings } = backend;
  route("GET /health", () => ({ status: "ok" }));
  route("GET /settings", () => {
    const { baseUrl, wallets } = settings;
    return {
      baseUrl,
      apiKeys: getNewestKeys(domain),
      templateId: getDefaultTemplate(domain).id,
      wallets,
      events: eventTypes,
    };
  });
  route("POST /reset", () => backend.reset());
  routeWithBody("POST /wait", isWaitInput, async ({ body, request: { signal } }) => {
    const { timeoutMs = defaultTimeoutMs, ...condition } = body;
    return { items: await waitFor(backend, condition as WaitCondition, { timeoutMs, signal }) };
  });

  route("GET /templates", () => ({ items: [...domain.state.templates.values()] }));
  routeWithBody(
    "POST /templates",
    isTemplateInput,
    ({ body }) => createTemplate(domain, body),
    201,
  );
  route("POST /templates/:id/archive", ({ id }) => archiveTemplate(domain, id));
  route("GET /api-keys", () => ({ items: [...domain.state.apiKeys.values()] }));
  routeWithBody(
    "POST /api-keys",
    isApiKeyInput,
    ({ body }) => createApiKey(domain, body.kind),
    201,
  );
  route("DELETE /api-keys/:id", ({ id }) => revokeApiKey(domain, id));
  route("GET /faults", () => ({ items: [...domain.state.faults.values()] }));
  routeWithBody("POST /faults", isFaultInput, ({ body }) => addFault(domain, body), 201);
  route("DELETE /faults", () => clearFaults(domain));
  route("DELETE /faults/:id", ({ id }) => removeFault(domain, id));
}

function addWebhookRoutes({ route, routeWithBody, routeQuery }: Router, backend: Backend): void {
  const { domain, dispatcher } = backend;
  route("GET /webhooks/endpoints", () => ({ items: [...domain.state.endpoints.values()] }));
  routeWithBody(
    "POST /webhooks/endpoints",
    isEndpointInput,
    ({ body }) => createEndpoint(domain, body),
    201,
  );
  routeWithBody("PATCH /webhooks/endpoints/:id", isEndpointChange, ({ id, body }) =>
    updateEndpoint(domain, id, body),
  );
  route("DELETE /webhooks/endpoints/:id", ({ id }) => deleteEndpoint(domain, id));
  route("POST /webhooks/endpoints/:id/new-secret", ({ id }) => replaceSecret(domain, id));
  route("POST /webhooks/endpoints/:id/test", ({ id }) => dispatcher.sendTest(id), 202);

  route("GET /webhooks/deliveries/:id", ({ id }) =>
    getById(domain.state.deliveries, id, "delivery"),
  );
  route("POST /webhooks/deliveries/:id/resend", ({ id }) => dispatcher.resend(id), 202);

  routeQuery("GET /traffic", (query) => listTraffic(backend, query));
}

/** How long a poll of the console waits for a change: with the pause after it about a second. */
const maxPollMs = 900;

function addClockRoutes({ route, routeWithBody }: Router, backend: Backend): void {
  const { clock, changes } = backend;
  function view(): components["schemas"]["Clock"] {
    const nextMs = clock.nextAttemptAt();
    return {
      now: new Date(clock.now()).toISOString(),
      ...clock.setting(),
      ...(nextMs !== undefined && { nextAttemptAt: new Date(nextMs).toISOString() }),
      version: changes.version(),
    };
  }
  const move = async (attempts: ReturnType<typeof clock.runUntilIdle>) => ({
    attempts: await attempts,
    ...view(),
  });
  route("GET /clock", async ({ query: { after }, request: { signal } }) => {
    const isChanged = () => String(changes.version()) !== after;
    if (!isChanged()) await waitUntil(backend, isChanged, { timeoutMs: maxPollMs, signal });
    return view();
  });
  routeWithBody("PUT /clock", isClockSetting, ({ body }) => {
    clock.set(body);
    return view();
  });
  routeWithBody("POST /clock/advance", isAdvanceInput, ({ body }) =>
    move(clock.advance(body.duration as Duration)),
  );
  route("POST /clock/advance-to-next-delivery", () => move(clock.advanceToNextDelivery()));
  route("POST /clock/run-until-idle", () => move(clock.runUntilIdle()));
}
