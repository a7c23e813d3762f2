/** The control API under `/_mock`: settings, snapshots, waiting, API keys, templates, injected faults, the clock; and the routes of cards and webhooks. */
import type { components } from "@loyalty-cards/openapi/control";
import {
  AdvanceInput,
  ClockSetting,
  FaultInput,
  TemplateInput,
  WaitInput,
} from "@loyalty-cards/openapi/control-validators";
import type { Backend } from "../backend/backend.ts";
import { eventTypes } from "../delivery/endpoints.ts";
import { apiKeys } from "../domain/api-keys.ts";
import { type Duration, toMilliseconds } from "../domain/clock.ts";
import { generateRandomId, NotFoundError } from "../domain/context.ts";
import { InputError, Problem } from "../domain/problem.ts";
import type { State } from "../domain/state.ts";
import { archiveTemplate, createTemplate } from "../domain/templates.ts";
import { addFault, clearFaults, removeFault } from "../faults/rules.ts";
import { type App, createGuard } from "../http/app.ts";
import { addCardRoutes } from "./cards.ts";
import { createRouter, type Router } from "./route.ts";
import { type WaitCondition, WaitTimeoutError, waitFor } from "./wait-for.ts";
import { addWebhookRoutes } from "./webhooks.ts";

export function addControlRoutes(app: App, backend: Backend): void {
  const { baseUrl, allowedHosts } = backend.settings;
  app.use("/_mock/*", createGuard(baseUrl, allowedHosts));
  const router = createRouter(app);
  addServiceRoutes(router, backend);
  addCardRoutes(router, backend);
  addWebhookRoutes(router, backend);
  addClockRoutes(router, backend);
}

const maxSnapshots = 20;

function addServiceRoutes({ route, routeWithBody }: Router, backend: Backend): void {
  const { domain, settings } = backend;
  route("GET /health", () => ({ status: "ok" }));
  route("GET /settings", () => {
    const { baseUrl, wallets, templates } = settings;
    const templateId = templates[0]?.id;
    return { baseUrl, apiKeys, templateId, wallets, events: eventTypes };
  });
  route("POST /reset", () => backend.reset());

  const snapshots = new Map<string, State>();
  route("POST /snapshots 201", () => {
    const id = generateRandomId("snp");
    snapshots.set(id, backend.snapshot());
    const [oldest = ""] = snapshots.keys();
    if (snapshots.size > maxSnapshots) snapshots.delete(oldest);
    return { id };
  });
  route("POST /snapshots/:id/restore", ({ id }) => {
    const state = snapshots.get(id);
    if (state === undefined)
      throw new NotFoundError(`There is no snapshot "${id}"; the newest ${maxSnapshots} are kept.`);
    backend.restore(state);
  });
  routeWithBody("POST /wait", WaitInput, async ({ body, request }) => {
    const { timeoutMs, ...condition } = body;
    const { signal } = request;
    const options = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
    try {
      return { items: await waitFor(backend, condition as WaitCondition, options) };
    } catch (error) {
      if (error instanceof WaitTimeoutError || signal.aborted) throw new Problem(408, String(error));
      throw error;
    }
  });

  route("GET /templates", () => ({ items: [...domain.state.templates.values()] }));
  routeWithBody("POST /templates 201", TemplateInput, ({ body }) => createTemplate(domain, body));
  route("POST /templates/:id/archive", ({ id }) => archiveTemplate(domain, id));
  route("GET /faults", () => ({ items: [...domain.state.faults.values()] }));
  routeWithBody("POST /faults 201", FaultInput, ({ body }) => addFault(domain, body));
  route("DELETE /faults", () => clearFaults(domain));
  route("DELETE /faults/:id", ({ id }) => removeFault(domain, id));
}

function addClockRoutes({ route, routeWithBody }: Router, { clock, changes }: Backend): void {
  function view(): components["schemas"]["Clock"] {
    const nextMs = clock.nextAttemptAt();
    return {
      now: new Date(clock.now()).toISOString(),
      ...clock.setting(),
      ...(nextMs !== undefined && { nextAttemptAt: new Date(nextMs).toISOString() }),
      version: changes.version(),
    };
  }
  async function move(by: () => ReturnType<typeof clock.runUntilIdle>) {
    if (clock.setting().mode === "system") {
      const advice = 'PUT /_mock/clock with { "mode": "manual" } or { "mode": "scaled" } first.';
      throw new Problem(409, `The machine's clock cannot be moved; ${advice}`);
    }
    const attempts = await by();
    return { ...view(), attempts };
  }
  route("GET /clock", view);
  routeWithBody("PUT /clock", ClockSetting, ({ body }) => {
    clock.set(body);
    return view();
  });
  routeWithBody("POST /clock/advance", AdvanceInput, ({ body }) => {
    const durationMs = parseDuration(body.duration);
    return move(() => clock.advance(durationMs));
  });
  route("POST /clock/advance-to-next-delivery", () => move(clock.advanceToNextDelivery));
  route("POST /clock/run-until-idle", () => move(clock.runUntilIdle));
}

function parseDuration(duration: string | number): number {
  try {
    return toMilliseconds(duration as Duration);
  } catch (error) {
    throw new InputError([{ pointer: "/duration", detail: (error as Error).message }]);
  }
}
