/** Routes for worlds: fresh ones, resets, and what the console needs to know of its own. */
import { eventTypes } from "../delivery/endpoints.ts";
import { NotFoundError } from "../domain/not-found.ts";
import type { Settings } from "../options.ts";
import type { World } from "../world.ts";
import type { Worlds } from "../worlds.ts";
import { type ControlRoute, created, done, ok } from "./route.ts";
import { worldView } from "./views.ts";

export function worldRoutes(worlds: Worlds, { templates }: Settings): ControlRoute[] {
  const view = (world: World) => worldView(world, world === worlds.first, templates[0]?.id ?? "");
  return [
    {
      method: "POST",
      path: "/_mock/reset",
      run({ world }) {
        world.reset();
        return done;
      },
    },
    { method: "GET", path: "/_mock/worlds", run: () => ok({ items: worlds.all().map(view) }) },
    { method: "POST", path: "/_mock/worlds", run: () => created(view(worlds.create())) },
    {
      method: "GET",
      path: "/_mock/worlds/*",
      run({ params: [id = ""] }) {
        const world = worlds.get(id);
        if (world === undefined) throw new NotFoundError(`There is no world "${id}".`);
        return ok(view(world));
      },
    },
    {
      method: "DELETE",
      path: "/_mock/worlds/*",
      run({ params: [id = ""] }) {
        worlds.remove(id);
        return done;
      },
    },
    {
      method: "GET",
      path: "/_mock/settings",
      run({ world: { domain } }) {
        return ok({ wallets: domain.wallets, events: eventTypes, defaultCountry: domain.defaultCountry });
      },
    },
  ];
}
