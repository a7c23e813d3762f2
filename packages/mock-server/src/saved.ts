/** What a service can be brought back from: every world with its clock, and the seed that resets go back to. */
import { type Clock, type ClockMode, manualClock, scaledClock, systemClock } from "./domain/clock.ts";
import { isObject } from "./domain/shape.ts";
import { emptyState, type State } from "./domain/state.ts";
import type { Settings } from "./options.ts";
import type { World, WorldIdentity } from "./world.ts";
import type { Worlds } from "./worlds.ts";

const format = "loyalty-cards mock-server";
const version = 1;

interface SavedWorld extends WorldIdentity {
  clock: { mode: ClockMode; factor?: number; nowMs: number; machineMs: number };
  state: Record<keyof State, unknown[]>;
}

export interface Saved {
  format: typeof format;
  version: typeof version;
  seed: Pick<Settings, "templates" | "endpoints">;
  /** The first one first. */
  worlds: [SavedWorld, ...SavedWorld[]];
}

export function savedOf(worlds: Worlds, { templates, endpoints }: Settings): Saved {
  const others = worlds.all().filter((world) => world !== worlds.first);
  const saved: Saved["worlds"] = [savedWorld(worlds.first), ...others.map(savedWorld)];
  return { format, version, seed: { templates, endpoints }, worlds: saved };
}

function savedWorld({ id, apiKeys, clock, domain }: World): SavedWorld {
  const state = Object.fromEntries(
    Object.entries(domain.state).map(([name, members]) => [name, [...members]]),
  );
  return {
    id,
    apiKeys,
    clock: { ...clock.setting(), nowMs: clock.now(), machineMs: Date.now() },
    state: state as SavedWorld["state"],
  };
}

/** @throws {TypeError} for what was not saved by this program. */
export function checkedSaved(value: unknown): Saved {
  if (
    !isObject(value) ||
    value["format"] !== format ||
    !Array.isArray(value["worlds"]) ||
    value["worlds"].length === 0
  ) {
    throw new TypeError("it is not a file that mock-server --data wrote.");
  }
  if (value["version"] !== version) {
    throw new TypeError(`it is of version ${value["version"]}, and this program reads version ${version}.`);
  }
  return value as unknown as Saved;
}

/** Puts what was saved into a service that was just made with its seed. */
export function revive(worlds: Worlds, { worlds: [first, ...others] }: Saved): void {
  worlds.first.restore(stateOf(first));
  for (const saved of others) worlds.revive(saved, clockOf(saved)).restore(stateOf(saved));
}

/** A file written before a member existed has none of it. */
function stateOf({ state }: SavedWorld): State {
  const revived = emptyState();
  for (const [name, empty] of Object.entries(revived) as [keyof State, unknown][]) {
    const members = state[name] ?? [];
    const whole =
      empty instanceof Map ? new Map(members as []) : empty instanceof Set ? new Set(members) : members;
    Object.assign(revived, { [name]: whole });
  }
  return revived;
}

/** A clock that ran has run on meanwhile; one that stood still stands where it stood. */
export function clockOf({ clock: { mode, factor = 1, nowMs, machineMs } }: SavedWorld): Clock {
  if (mode === "manual") return manualClock(nowMs);
  if (mode === "system") return systemClock();
  return scaledClock({ factor, startAt: nowMs + Math.max(0, Date.now() - machineMs) * factor });
}
