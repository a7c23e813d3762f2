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
import { created, ok, paginate, route } from "./route.ts";
import { sandboxRoutes } from "./sandboxes.ts";
import { webhookRoutes } from "./webhooks.ts";

export function controlRoutes(sandboxes: Sandboxes, settings: Settings): Route[] {
  const { baseUrl, allowedHosts } = settings;
  const routes = [
    ...sandboxRoutes(sandboxes, settings),
    ...customerRoutes,
    ...cardRoutes,
    ...webhookRoutes,
    ...clockRoutes,
    ...otherRoutes,
  ];
  return routes.map((create) => withGuard(create(sandboxes), baseUrl, allowedHosts));
}

const otherRoutes = [
  route("GET /_mock/health", () => ok({ status: "ok" })),

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

  route("GET /_mock/warnings", ({ domain, query }) =>
    paginate([...domain.state.warnings.values()].reverse(), query, (warning) => warning),
  ),
];
