/** The worlds of one service: each API key belongs to one of them, and none sees another. */

import { type ApiKey, seededApiKeys } from "./domain/api-keys.ts";
import type { Change } from "./domain/changes.ts";
import { type Clock, clockLike } from "./domain/clock.ts";
import { NotFoundError } from "./domain/not-found.ts";
import { emptyState } from "./domain/state.ts";
import { createWorld, type World, type WorldIdentity, type WorldSettings } from "./world.ts";

export interface Worlds {
  /** The one that is there from the start, and stays. */
  readonly first: World;
  all(): World[];
  get(id: string): World | undefined;
  /** A fresh one, with the templates of the seed and keys of its own. */
  create(): World;
  /** One that was there before, in a file. */
  revive(identity: WorldIdentity, clock: Clock): World;
  remove(id: string): void;
  ofKey(key: string | undefined): { world: World; apiKey: ApiKey } | undefined;
  /** Changes in any world, and of the set of worlds. */
  listen(listener: (world: World, change: Change) => void): void;
}

export const firstId = "default";
/** More than any test run needs, and a bound on what may pile up. */
const mostWorlds = 10_000;

export function createWorlds(settings: WorldSettings): Worlds {
  const worlds = new Map<string, World>();
  const listeners = new Set<(world: World, change: Change) => void>();
  const first = add({ id: firstId, apiKeys: seededApiKeys }, settings);

  function add(identity: WorldIdentity, own: WorldSettings): World {
    const world = createWorld(identity, own);
    worlds.set(identity.id, world);
    world.changes.listen((change) => {
      for (const listener of listeners) listener(world, change);
    });
    world.changes.tell({ type: "reset" });
    return world;
  }

  /** A world of its own sends to nobody until it is told to. */
  const revive = (identity: WorldIdentity, clock: Clock) =>
    add(identity, { ...settings, clock, endpoints: [] });

  return {
    first,
    all: () => [...worlds.values()],
    get: (id) => worlds.get(id),
    create() {
      if (worlds.size >= mostWorlds) {
        throw new RangeError(`There are ${mostWorlds} worlds; remove some with DELETE /_mock/worlds/{id}.`);
      }
      const { newIdentifier } = settings;
      const apiKeys = { website: newIdentifier("mock_website"), full: newIdentifier("mock_full") };
      return revive({ id: newIdentifier("wld"), apiKeys }, clockLike(settings.clock));
    },
    revive,
    remove(id) {
      const world = worlds.get(id);
      if (world === undefined) throw new NotFoundError(`There is no world "${id}".`);
      if (world === first) throw new RangeError("The first world stays; reset it instead.");
      worlds.delete(id);
      world.restore(emptyState()); // its deliveries end with it
    },
    ofKey(key) {
      if (key === undefined) return undefined;
      for (const world of worlds.values()) {
        const apiKey = world.domain.state.apiKeys.get(key);
        if (apiKey !== undefined) return { world, apiKey };
      }
      return undefined;
    },
    listen: (listener) => void listeners.add(listener),
  };
}
