/** What a service is brought back from: records of what changed in each world, and the seed that resets go back to. */
import { remembered } from "./delivery/outbox.ts";
import type { ChangeType } from "./domain/changes.ts";
import { type Clock, type ClockMode, manualClock, scaledClock, systemClock } from "./domain/clock.ts";
import { isObject } from "./domain/shape.ts";
import { type State, type StateItems, stateFrom } from "./domain/state.ts";
import type { Settings } from "./options.ts";
import type { World, WorldIdentity } from "./world.ts";
import { firstId, type Worlds } from "./worlds.ts";

const format = "loyalty-cards mock-server";
const version = 2;

/** Where each kind of thing is in a state. Its indexes are made again from these. */
const storeNames = {
  apiKey: "apiKeys",
  template: "templates",
  customer: "customers",
  card: "cards",
  operation: "operations",
  endpoint: "endpoints",
  delivery: "deliveries",
  event: "recentEvents",
  fault: "faults",
  refusal: "refusals",
  warning: "warnings",
} as const satisfies Record<Exclude<ChangeType, "clock">, keyof StateItems>;

type StoreName = keyof StateItems;

interface Item {
  id: string;
}

/** What is written of a world each time: it is small. */
interface WorldMark extends WorldIdentity {
  clock: { mode: ClockMode; factor?: number; nowMs: number; machineMs: number };
  /** Also when its event was forgotten by a reset. */
  newestEventId?: string | undefined;
}

/** The first record. */
export interface Header {
  format: typeof format;
  version: typeof version;
  seed: Pick<Settings, "templates" | "endpoints">;
}

interface WorldRecord {
  world: WorldMark;
  /** What was known of the world before does not count. */
  isAnew?: true;
  put?: Partial<Record<StoreName, Item[]>>;
  remove?: Partial<Record<StoreName, string[]>>;
}

type ChangeRecord = WorldRecord | { removedWorldId: string };

interface SavedWorld {
  mark: WorldMark;
  items: Record<StoreName, Map<string, Item>>;
}

/** Everything that was read. */
export interface Saved {
  seed: Header["seed"];
  worlds: Map<string, SavedWorld>;
}

export const headerOf = ({ templates, endpoints }: Settings): Header => ({
  format,
  version,
  seed: { templates, endpoints },
});

/** The whole of all worlds, in records of a size that can be held. */
export function* wholeRecords(worlds: Worlds, itemsPerRecord = 1_000): Generator<ChangeRecord> {
  for (const world of worlds.all()) {
    yield { world: markOf(world), isAnew: true };
    for (const name of Object.values(storeNames)) {
      let items: Item[] = [];
      for (const item of world.domain.state[name].values()) {
        items.push(written(name, item));
        if (items.length < itemsPerRecord) continue;
        yield { world: markOf(world), put: { [name]: items } };
        items = [];
      }
      if (items.length > 0) yield { world: markOf(world), put: { [name]: items } };
    }
  }
}

/** What changed since it was last written. */
export interface ChangeLog {
  /** As it is now; each record must be written as a whole or not at all. */
  records(): ChangeRecord[];
  clear(): void;
}

/** @param onChange called with each change, after it was noted. */
export function createChangeLog(worlds: Worlds, onChange: () => void): ChangeLog {
  /** By world, what changed in it; undefined: everything may have. */
  const changed = new Map<World, Map<StoreName, Set<string>> | undefined>();
  worlds.listen((world, change) => {
    if (change.type === "reset") changed.set(world, undefined);
    else if (!changed.has(world) || changed.get(world) !== undefined) {
      const stores = changed.get(world) ?? new Map<StoreName, Set<string>>();
      changed.set(world, stores);
      if (change.type !== "clock") {
        const name = storeNames[change.type];
        stores.set(name, (stores.get(name) ?? new Set()).add(change.id));
      }
    }
    onChange();
  });
  return {
    records: () =>
      [...changed].map(([world, stores]) => {
        if (worlds.get(world.id) !== world) return { removedWorldId: world.id };
        return stores === undefined ? wholeRecord(world) : changeRecord(world, stores);
      }),
    clear: () => changed.clear(),
  };
}

function wholeRecord(world: World): WorldRecord {
  const put: WorldRecord["put"] = {};
  for (const name of Object.values(storeNames)) {
    put[name] = [...world.domain.state[name].values()].map((item) => written(name, item));
  }
  return { world: markOf(world), isAnew: true, put };
}

function changeRecord(world: World, stores: ReadonlyMap<StoreName, ReadonlySet<string>>): WorldRecord {
  const [put, remove]: [NonNullable<WorldRecord["put"]>, NonNullable<WorldRecord["remove"]>] = [{}, {}];
  for (const [name, ids] of stores) {
    for (const id of ids) {
      const item = itemOf(world.domain.state, name, id);
      if (item === undefined) remove[name] = [...(remove[name] ?? []), id];
      else put[name] = [...(put[name] ?? []), written(name, item)];
    }
  }
  return { world: markOf(world), put, remove };
}

function itemOf(state: State, name: StoreName, id: string): Item | undefined {
  if (name === "recentEvents") return state.recentEvents.findLast((event) => event.id === id);
  if (name === "apiKeys") return [...state.apiKeys.values()].find((apiKey) => apiKey.id === id);
  return state[name].get(id);
}

/** A customer's cards are known by the cards; a list that grows would make every record longer. */
const written = (name: StoreName, item: Item): Item =>
  name === "customers" ? ({ ...item, cardIds: undefined } as Item) : item;

function markOf({ id, apiKeys, clock, eventIds }: World): WorldMark {
  return {
    id,
    apiKeys,
    clock: { ...clock.setting(), nowMs: clock.now(), machineMs: Date.now() },
    newestEventId: eventIds.newest(),
  };
}

/** Reads records one after the other. */
export interface SavedReader {
  /** @throws {TypeError} for what is no record. */
  read(record: unknown): void;
  /** @throws {TypeError} when there was no world. */
  saved(): Saved;
}

/** @param header the first record. @throws {TypeError} for what was not saved by this program. */
export function createSavedReader(header: unknown): SavedReader {
  if (!isObject(header) || header["format"] !== format) {
    throw new TypeError("it is not a file that mock-server --data wrote.");
  }
  if (header["version"] !== version && header["version"] !== 1) {
    throw new TypeError(
      `it is of version ${header["version"]}, and this program reads versions 1 and ${version}.`,
    );
  }
  const { seed } = header as unknown as Header;
  const worlds: Saved["worlds"] = new Map();

  function read(record: unknown): void {
    if (!isObject(record)) throw new TypeError("it is no record.");
    const {
      removedWorldId,
      world,
      isAnew,
      put = {},
      remove = {},
    } = record as Partial<WorldRecord> & {
      removedWorldId?: string;
    };
    if (removedWorldId !== undefined) return void worlds.delete(removedWorldId);
    if (!isMark(world)) throw new TypeError("it names no world.");
    const known = isAnew ? undefined : worlds.get(world.id);
    const items = known?.items ?? noItems();
    for (const name of Object.values(storeNames)) {
      for (const item of put[name] ?? []) {
        if (typeof item?.id !== "string") throw new TypeError(`one of its ${name} has no id.`);
        items[name].set(item.id, item);
      }
      for (const id of remove[name] ?? []) items[name].delete(id);
    }
    worlds.set(world.id, { mark: world, items });
  }
  if (header["version"] === 1) for (const record of recordsOfVersion1(header)) read(record);

  return {
    read,
    saved() {
      if (!worlds.has(firstId)) throw new TypeError("it has no first world.");
      return { seed, worlds };
    },
  };
}

const isMark = (mark: unknown): mark is WorldMark =>
  isObject(mark) && typeof mark["id"] === "string" && isObject(mark["apiKeys"]) && isObject(mark["clock"]);

const noItems = () =>
  Object.fromEntries(
    Object.values(storeNames).map((name) => [name, new Map()]),
  ) as unknown as SavedWorld["items"];

/** Version 1 was one object with everything: of each world its maps as lists of entries. */
function recordsOfVersion1({ worlds }: Record<string, unknown>): unknown[] {
  if (!Array.isArray(worlds)) return [];
  return worlds.map((saved: WorldMark & { state: Record<string, unknown[]> }) => {
    const { state, ...world } = saved;
    const entriesOf = (name: string) => (state[name] ?? []) as [string, Record<string, unknown>][];
    const put: Record<string, unknown[]> = {};
    for (const name of Object.values(storeNames)) {
      put[name] = name === "recentEvents" ? (state[name] ?? []) : entriesOf(name).map(([, item]) => item);
    }
    const keys = new Map(entriesOf("issuedUnderKey").map(([key, { cardId }]) => [cardId, key]));
    put["cards"] = entriesOf("cards").map(([id, card]) => ({ ...card, idempotencyKey: keys.get(id) }));
    return { world, put };
  });
}

/** Puts what was saved into a service that was just made with its seed. */
export function revive(worlds: Worlds, { worlds: saved }: Saved): void {
  for (const { mark, items } of saved.values()) {
    const world = mark.id === worlds.first.id ? worlds.first : worlds.revive(mark, clockOf(mark));
    world.eventIds.continueAfter(mark.newestEventId);
    world.restore(stateOf(items));
  }
}

function stateOf(items: SavedWorld["items"]): State {
  const lists = Object.fromEntries(Object.entries(items).map(([name, byId]) => [name, [...byId.values()]]));
  return stateFrom({
    ...lists,
    recentEvents: lists["recentEvents"]?.slice(-remembered),
  } as unknown as StateItems);
}

export const firstClockOf = ({ worlds }: Saved): Clock => clockOf((worlds.get(firstId) as SavedWorld).mark);

/** A clock that ran has run on meanwhile; one that stood still stands where it stood. */
function clockOf({ clock: { mode, factor = 1, nowMs, machineMs } }: WorldMark): Clock {
  if (mode === "manual") return manualClock(nowMs);
  if (mode === "system") return systemClock();
  return scaledClock({ factor, startAt: nowMs + Math.max(0, Date.now() - machineMs) * factor });
}
