/** The control API under `/_mock`, and its routes for settings, snapshots, waiting, changes, API keys, templates, injected faults, warnings and the clock. */
import type { components } from "@loyalty-cards/openapi/control";
import {
  AdvanceInput,
  ApiKeyInput,
  ClockSetting,
  FaultInput,
  TemplateInput,
  WaitInput,
} from "@loyalty-cards/openapi/control-validators";
import { operations } from "@loyalty-cards/openapi/operations";
import type { Backend, State, TrafficRequest } from "../backend/backend.ts";
import type { ServiceClock } from "../backend/service-clock.ts";
import type { AttemptRecord } from "../delivery/deliveries.ts";
import { eventTypes } from "../delivery/endpoints.ts";
import { createApiKey, revokeApiKey, seededApiKeys } from "../domain/api-keys.ts";
import { type Duration, toMilliseconds } from "../domain/clock.ts";
import { type Change, type ChangeNotifier, generateRandomId, NotFoundError } from "../domain/context.ts";
import { InputError, Problem } from "../domain/problem.ts";
import { archiveTemplate, createTemplate } from "../domain/templates.ts";
import { clearFaults, removeFault, storeFault } from "../faults/rules.ts";
import { hasFailed, matchesRequest } from "../http/operations.ts";
import { type Route, withGuard } from "../http/router.ts";
import { cardRoutes, customerRoutes } from "./cards.ts";
import { type ControlRoute, created, ok, paginate, route } from "./route.ts";
import { listTraffic } from "./traffic.ts";
import { type WaitCondition, WaitTimeoutError, waitFor } from "./wait-for.ts";
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

  route("GET /_mock/traffic", ({ backend, query }) => listTraffic(backend, query)),
  route("GET /_mock/requests", ({ backend, query }) => listRequests(backend.requests, query)),
  route("GET /_mock/warnings", ({ domain, query }) =>
    paginate([...domain.state.warnings.values()].reverse(), query, (warning) => warning),
  ),
];

const results = ["succeeded", "failed"];

function listRequests(requests: readonly TrafficRequest[], query: URLSearchParams) {
  const result = query.get("result") ?? "";
  if (result !== "" && !results.includes(result)) {
    return new Problem(400, `result must be one of ${results.join(", ")}.`);
  }
  const words = query.get("query") ?? "";
  const found = requests.filter(
    (request) =>
      (result === "" || hasFailed(request) === (result === "failed")) && matchesRequest(request, words),
  );
  return paginate(
    found.reverse(),
    query,
    ({ requestBody: _sent, responseBody: _received, ...request }) => request,
  );
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

function toClockView({ clock, changes }: Backend) {
  const nextMs = clock.nextAttemptAt();
  return {
    now: new Date(clock.now()).toISOString(),
    ...clock.setting(),
    ...(nextMs !== undefined && { nextAttemptAt: new Date(nextMs).toISOString() }),
    version: changes.version(),
  } satisfies components["schemas"]["Clock"];
}

const maxSnapshots = 20;

export function serviceRoutes(): ControlRoute[] {
  const snapshots = new Map<string, State>();
  return [
    route("GET /_mock/health", () => ok({ status: "ok" })),
    route("GET /_mock/settings", ({ backend: { settings } }) => {
      const { baseUrl, wallets, defaultCountry, templates } = settings;
      const connection = { baseUrl, apiKeys: seededApiKeys, templateId: templates[0]?.id };
      return ok({ ...connection, wallets, events: eventTypes, operations, defaultCountry });
    }),
    route("POST /_mock/reset", ({ backend }) => backend.reset()),
    route("POST /_mock/snapshots", ({ backend }) => {
      const id = generateRandomId("snp");
      snapshots.set(id, backend.snapshot());
      const [oldest] = snapshots.keys();
      if (snapshots.size > maxSnapshots && oldest !== undefined) snapshots.delete(oldest);
      return created({ id });
    }),
    route("POST /_mock/snapshots/*/restore", ({ backend, id }) => {
      const state = snapshots.get(id);
      if (state === undefined)
        throw new NotFoundError(`There is no snapshot "${id}"; the newest ${maxSnapshots} are kept.`);
      backend.restore(state);
    }),
    route(
      "POST /_mock/wait",
      async ({ backend, body: { timeoutMs, ...condition }, request: { signal } }) => {
        const options = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
        try {
          return ok({ items: await waitFor(backend, condition as WaitCondition, options) });
        } catch (error) {
          if (error instanceof WaitTimeoutError || signal.aborted) return new Problem(408, String(error));
          throw error;
        }
      },
      WaitInput,
    ),
    route("GET /_mock/events", ({ backend }) => ({
      status: 200,
      body: streamChanges(backend.changes),
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    })),
  ];
}

/** The number of messages that are queued for a slow reader. */
const maxQueuedMessages = 1_000;

function streamChanges(changes: ChangeNotifier): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let stop = () => {};
  let hasLeftOut = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode('event: hello\ndata: {"type":"hello"}\n\n'));
        stop = changes.subscribe((change) => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(formatMessage(change)));
          else hasLeftOut = true;
        });
      },
      pull(controller) {
        if (!hasLeftOut) return;
        hasLeftOut = false;
        controller.enqueue(encoder.encode(formatMessage({ type: "reset" })));
      },
      cancel: () => stop(),
    },
    { highWaterMark: maxQueuedMessages },
  );
}

const formatMessage = (change: Change) => `event: ${change.type}\ndata: ${JSON.stringify(change)}\n\n`;
