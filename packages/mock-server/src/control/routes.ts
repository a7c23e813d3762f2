/** The control API under `/_mock`, and its routes for API keys, templates, injected faults, warnings and the clock. */
import {
  AdvanceInput,
  ApiKeyInput,
  ClockSetting,
  FaultInput,
  TemplateInput,
} from "@loyalty-cards/openapi/control-validators";
import type { Backend, LoggedRequest } from "../backend/backend.ts";
import type { ServiceClock } from "../backend/service-clock.ts";
import type { AttemptRecord } from "../delivery/deliveries.ts";
import { createApiKey, revokeApiKey } from "../domain/api-keys.ts";
import { type Duration, toMilliseconds } from "../domain/clock.ts";
import { InputError } from "../domain/input.ts";
import { Problem } from "../domain/problem.ts";
import { archiveTemplate, createTemplate } from "../domain/templates.ts";
import { clearFaults, removeFault, storeFault } from "../faults/rules.ts";
import { withGuard } from "../http/guard.ts";
import { hasFailed, matchesRequest } from "../http/request-log.ts";
import type { Route } from "../http/router.ts";
import { cardRoutes, customerRoutes } from "./cards.ts";
import { created, ok, paginate, route } from "./route.ts";
import { serviceRoutes } from "./service.ts";
import { webhookRoutes } from "./webhooks.ts";

export function controlRoutes(backend: Backend): Route[] {
  const { baseUrl, allowedHosts } = backend.settings;
  const routes = [
    ...serviceRoutes(),
    ...customerRoutes,
    ...cardRoutes,
    ...webhookRoutes,
    ...clockRoutes,
    ...otherRoutes,
  ];
  return routes.map((create) => withGuard(create(backend), baseUrl, allowedHosts));
}

const otherRoutes = [
  route("GET /_mock/api-keys", ({ domain }) => ok({ items: [...domain.state.apiKeys.values()] })),
  route("POST /_mock/api-keys", ({ domain, body }) => created(createApiKey(domain, body)), ApiKeyInput),
  route("DELETE /_mock/api-keys/*", ({ domain, id }) => revokeApiKey(domain, id)),

  route("GET /_mock/templates", ({ domain }) => ok({ items: [...domain.state.templates.values()] })),
  route("POST /_mock/templates", ({ domain, body }) => created(createTemplate(domain, body)), TemplateInput),
  route("POST /_mock/templates/*/archive", ({ domain, id }) => ok(archiveTemplate(domain, id))),

  route("GET /_mock/faults", ({ domain }) => ok({ items: [...domain.state.faults.values()] })),
  route("POST /_mock/faults", ({ domain, body }) => created(storeFault(domain, body)), FaultInput),
  route("DELETE /_mock/faults", ({ domain }) => clearFaults(domain)),
  route("DELETE /_mock/faults/*", ({ domain, id }) => removeFault(domain, id)),

  route("GET /_mock/requests", ({ backend, query }) => listRequests(backend.requests, query)),
  route("GET /_mock/warnings", ({ domain, query }) =>
    paginate([...domain.state.warnings.values()].reverse(), query, (warning) => warning),
  ),
];

const results = ["succeeded", "failed"];

function listRequests(requests: readonly LoggedRequest[], query: URLSearchParams) {
  const result = query.get("result") ?? "";
  if (result !== "" && !results.includes(result)) {
    return new Problem(400, `result must be one of ${results.join(", ")}.`);
  }
  const words = query.get("query") ?? "";
  const found = requests.filter(
    (request) =>
      (result === "" || hasFailed(request) === (result === "failed")) && matchesRequest(request, words),
  );
  return paginate(found.reverse(), query, (request) => request);
}

const clockRoutes = [
  route("GET /_mock/clock", ({ backend }) => ok(toClockView(backend))),
  route(
    "PUT /_mock/clock",
    ({ backend, body }) => {
      backend.clock.set(body);
      return ok(toClockView(backend));
    },
    ClockSetting,
  ),
  route(
    "POST /_mock/clock/advance",
    ({ backend, body }) => {
      const durationMs = parseDuration(body.duration);
      return moveClock(backend, (clock) => clock.advance(durationMs));
    },
    AdvanceInput,
  ),
  route("POST /_mock/clock/advance-to-next-delivery", ({ backend }) =>
    moveClock(backend, (clock) => clock.advanceToNextDelivery()),
  ),
  route("POST /_mock/clock/run-until-idle", ({ backend }) =>
    moveClock(backend, (clock) => clock.runUntilIdle()),
  ),
];

function parseDuration(duration: string | number): number {
  try {
    return toMilliseconds(duration as Duration);
  } catch (error) {
    throw new InputError([{ pointer: "/duration", detail: (error as Error).message }]);
  }
}

async function moveClock(backend: Backend, move: (clock: ServiceClock) => Promise<AttemptRecord[]>) {
  if (backend.clock.setting().mode === "system") {
    const advice = 'PUT /_mock/clock with { "mode": "manual" } or { "mode": "scaled" } first.';
    return new Problem(409, `The machine's clock cannot be moved; ${advice}`);
  }
  const attempts = await move(backend.clock);
  return ok({ ...toClockView(backend), attempts });
}

function toClockView({ clock }: Backend) {
  const nextMs = clock.nextAttemptAt();
  return {
    now: new Date(clock.now()).toISOString(),
    ...clock.setting(),
    ...(nextMs !== undefined && { nextAttemptAt: new Date(nextMs).toISOString() }),
  };
}
