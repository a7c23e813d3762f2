/** The control API under `/_mock`, route by route as CONTROL.md lists them. */

import type { Route } from "../http/router.ts";
import type { Settings } from "../options.ts";
import type { Worlds } from "../worlds.ts";
import { apiKeyRoutes } from "./api-keys.ts";
import { cardRoutes } from "./cards.ts";
import { clockRoutes } from "./clock.ts";
import { customerRoutes } from "./customers.ts";
import { eventRoutes } from "./events.ts";
import { faultRoutes } from "./faults.ts";
import { guarded } from "./guard.ts";
import { pageOf } from "./page.ts";
import { type ControlCall, ok, routeOf } from "./route.ts";
import { snapshotRoutes } from "./snapshots.ts";
import { templateRoutes } from "./templates.ts";
import { waitRoutes } from "./wait.ts";
import { webhookRoutes } from "./webhooks.ts";
import { worldRoutes } from "./worlds.ts";

export function controlRoutes(worlds: Worlds, settings: Settings): Route[] {
  const { baseUrl, allowedHosts } = settings;
  return [
    { method: "GET" as const, path: "/_mock/health", run: () => ok({ status: "ok" }) },
    ...worldRoutes(worlds, settings),
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
      run: ({ world, query }: ControlCall) =>
        pageOf([...world.domain.state.warnings.values()].reverse(), query, (warning) => warning),
    },
    ...waitRoutes,
    ...snapshotRoutes(),
    ...eventRoutes,
  ].map((route) => guarded(routeOf(worlds, route), baseUrl, allowedHosts));
}
