/** The control API under `/_mock`, and its routes for API keys, templates, injected faults and warnings. */

import { ApiKeyInput, FaultInput, TemplateInput } from "@loyalty-cards/openapi/control-validators";
import { createApiKey, revokeApiKey } from "../domain/api-keys.ts";
import { archiveTemplate, createTemplate } from "../domain/templates.ts";
import { clearFaults, removeFault, storeFault } from "../faults/rules.ts";
import { withGuard } from "../http/guard.ts";
import type { Route } from "../http/router.ts";
import type { Settings } from "../sandbox/options.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { cardRoutes, customerRoutes } from "./cards.ts";
import { clockRoutes } from "./clock.ts";
import {
  type ControlCall,
  type ControlRoute,
  created,
  noContent,
  ok,
  paginate,
  toRoute,
  withBody,
} from "./route.ts";
import { eventRoutes, sandboxRoutes, snapshotRoutes, waitRoutes } from "./sandboxes.ts";
import { webhookRoutes } from "./webhooks.ts";

export function controlRoutes(sandboxes: Sandboxes, settings: Settings): Route[] {
  const { baseUrl, allowedHosts } = settings;
  return [
    { method: "GET" as const, path: "/_mock/health", run: () => ok({ status: "ok" }) },
    ...sandboxRoutes(sandboxes, settings),
    ...apiKeyRoutes,
    ...templateRoutes,
    ...customerRoutes,
    ...cardRoutes,
    ...webhookRoutes,
    ...clockRoutes,
    ...faultRoutes,
    {
      method: "GET" as const,
      path: "/_mock/warnings",
      run: ({ sandbox, query }: ControlCall) =>
        paginate([...sandbox.domain.state.warnings.values()].reverse(), query, (warning) => warning),
    },
    ...waitRoutes,
    ...snapshotRoutes(),
    ...eventRoutes,
  ].map((route) => withGuard(toRoute(sandboxes, route), baseUrl, allowedHosts));
}

export const apiKeyRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/api-keys",
    run: ({ sandbox }) => ok({ items: [...sandbox.domain.state.apiKeys.values()] }),
  },
  withBody({
    method: "POST",
    path: "/_mock/api-keys",
    body: ApiKeyInput,
    run: ({ sandbox, body }) => created(createApiKey(sandbox.domain, body)),
  }),
  {
    method: "DELETE",
    path: "/_mock/api-keys/*",
    run({ sandbox, params: [id = ""] }) {
      revokeApiKey(sandbox.domain, id);
      return noContent;
    },
  },
];

export const templateRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/templates",
    run: ({ sandbox }) => ok({ items: [...sandbox.domain.state.templates.values()] }),
  },
  withBody({
    method: "POST",
    path: "/_mock/templates",
    body: TemplateInput,
    run: ({ sandbox, body }) => created(createTemplate(sandbox.domain, body)),
  }),
  {
    method: "POST",
    path: "/_mock/templates/*/archive",
    run: ({ sandbox, params: [id = ""] }) => ok(archiveTemplate(sandbox.domain, id)),
  },
];

export const faultRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/faults",
    run: ({ sandbox }) => ok({ items: [...sandbox.domain.state.faults.values()] }),
  },
  withBody({
    method: "POST",
    path: "/_mock/faults",
    body: FaultInput,
    run: ({ sandbox, body }) => created(storeFault(sandbox.domain, body)),
  }),
  {
    method: "DELETE",
    path: "/_mock/faults",
    run({ sandbox }) {
      clearFaults(sandbox.domain);
      return noContent;
    },
  },
  {
    method: "DELETE",
    path: "/_mock/faults/*",
    run({ sandbox, params: [id = ""] }) {
      removeFault(sandbox.domain, id);
      return noContent;
    },
  },
];
