/** Routes for snapshots: kept here by name, because a whole world is more than a request may carry. */
import { randomIdentifier } from "../domain/identifier.ts";
import { NotFoundError } from "../domain/not-found.ts";
import type { State } from "../domain/state.ts";
import type { World } from "../world.ts";
import { type ControlRoute, created, done } from "./route.ts";

const mostSnapshots = 20;

export function snapshotRoutes(): ControlRoute[] {
  const byWorld = new WeakMap<World, Map<string, State>>();
  const snapshotsOf = (world: World) => byWorld.get(world) ?? new Map<string, State>();
  return [
    {
      method: "POST",
      path: "/_mock/snapshots",
      run({ world }) {
        const id = randomIdentifier("snp");
        const snapshots = snapshotsOf(world).set(id, world.snapshot());
        const [oldest] = snapshots.keys();
        if (snapshots.size > mostSnapshots && oldest !== undefined) snapshots.delete(oldest);
        byWorld.set(world, snapshots);
        return created({ id });
      },
    },
    {
      method: "POST",
      path: "/_mock/snapshots/*/restore",
      run({ world, params: [id = ""] }) {
        const state = snapshotsOf(world).get(id);
        if (state === undefined)
          throw new NotFoundError(`There is no snapshot "${id}"; the newest 20 are kept.`);
        world.restore(state);
        return done;
      },
    },
  ];
}
