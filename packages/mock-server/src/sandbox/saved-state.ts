/** The records of a data file: writes what changed in each sandbox, and restores it. */
import { maxRecentEvents } from "../delivery/outbox.ts";
import {
  type Clock,
  type ClockMode,
  latestMs,
  manualClock,
  scaledClock,
  systemClock,
} from "../domain/clock.ts";
import type { ChangeType } from "../domain/context.ts";
import { isObject } from "../domain/input.ts";
import type { Settings } from "./options.ts";
import type { Sandbox, SandboxIdentity } from "./sandbox.ts";
import { firstSandboxId, type Sandboxes } from "./sandboxes.ts";
import { createState, type State, type StateItems } from "./state.ts";

const format = "loyalty-cards mock-server";
const version = 3;

/** The member of the state that a change belongs to. The indexes of the state are rebuilt from these members. */
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
} as const satisfies Record<Exclude<ChangeType, "clock" | "request">, keyof StateItems>;

type StoreName = keyof StateItems;

interface Item {
  id: string;
}

/** Identity and clock of a sandbox, part of each record. */
interface SandboxHeader extends SandboxIdentity {
  clock: { mode: ClockMode; factor?: number; nowMs: number; machineMs: number };
  /** Stays the same when a reset deletes the event. */
  newestEventId?: string | undefined;
}

/** The first record. */
export interface Header {
  format: typeof format;
  version: typeof version;
  seed: Pick<Settings, "templates" | "endpoints">;
}

interface SandboxRecord {
  sandbox: SandboxHeader;
  /** The earlier records of the sandbox are obsolete. */
  isAnew?: true;
  put?: Partial<Record<StoreName, Item[]>>;
  remove?: Partial<Record<StoreName, string[]>>;
}

type ChangeRecord = SandboxRecord | { removedSandboxId: string };

interface SavedSandbox {
  mark: SandboxHeader;
  items: Record<StoreName, Map<string, Item>>;
}

/** The content of a data file. */
export interface Saved {
  seed: Header["seed"];
  sandboxes: Map<string, SavedSandbox>;
}

export const createHeader = ({ templates, endpoints }: Settings): Header => ({
  format,
  version,
  seed: { templates, endpoints },
});

/** Records of all sandboxes, split so that each record fits in memory. */
export function* createAllRecords(sandboxes: Sandboxes, itemsPerRecord = 1_000): Generator<ChangeRecord> {
  for (const sandbox of sandboxes.list()) {
    yield { sandbox: toSandboxHeader(sandbox), isAnew: true };
    for (const name of Object.values(storeNames)) {
      let items: Item[] = [];
      for (const item of sandbox.domain.state[name].values()) {
        items.push(toSavedItem(name, item));
        if (items.length < itemsPerRecord) continue;
        yield { sandbox: toSandboxHeader(sandbox), put: { [name]: items } };
        items = [];
      }
      if (items.length > 0) yield { sandbox: toSandboxHeader(sandbox), put: { [name]: items } };
    }
  }
}

/** The changes since the last write. */
export interface ChangeLog {
  /** Records of the current state of what changed. Each must be written completely or not at all. */
  records(): ChangeRecord[];
  clear(): void;
}

/** @param onChange called after each change. */
export function createChangeLog(sandboxes: Sandboxes, onChange: () => void): ChangeLog {
  /** The changed items of each sandbox; undefined: everything may have changed. */
  const changed = new Map<Sandbox, Map<StoreName, Set<string>> | undefined>();
  sandboxes.subscribe((sandbox, change) => {
    if (change.type === "request") return; // the request log is not saved
    if (change.type === "reset") changed.set(sandbox, undefined);
    else if (!changed.has(sandbox) || changed.get(sandbox) !== undefined) {
      const stores = changed.get(sandbox) ?? new Map<StoreName, Set<string>>();
      changed.set(sandbox, stores);
      if (change.type !== "clock") {
        const name = storeNames[change.type];
        stores.set(name, (stores.get(name) ?? new Set()).add(change.id));
      }
    }
    onChange();
  });
  return {
    records: () =>
      [...changed].map(([sandbox, stores]) => {
        if (sandboxes.find(sandbox.id) !== sandbox) return { removedSandboxId: sandbox.id };
        return stores === undefined ? createFullRecord(sandbox) : createChangeRecord(sandbox, stores);
      }),
    clear: () => changed.clear(),
  };
}

function createFullRecord(sandbox: Sandbox): SandboxRecord {
  const put: SandboxRecord["put"] = {};
  for (const name of Object.values(storeNames)) {
    put[name] = [...sandbox.domain.state[name].values()].map((item) => toSavedItem(name, item));
  }
  return { sandbox: toSandboxHeader(sandbox), isAnew: true, put };
}

function createChangeRecord(
  sandbox: Sandbox,
  stores: ReadonlyMap<StoreName, ReadonlySet<string>>,
): SandboxRecord {
  const [put, remove]: [NonNullable<SandboxRecord["put"]>, NonNullable<SandboxRecord["remove"]>] = [{}, {}];
  for (const [name, ids] of stores) {
    for (const id of ids) {
      const item = findItem(sandbox.domain.state, name, id);
      if (item === undefined) remove[name] = [...(remove[name] ?? []), id];
      else put[name] = [...(put[name] ?? []), toSavedItem(name, item)];
    }
  }
  return { sandbox: toSandboxHeader(sandbox), put, remove };
}

function findItem(state: State, name: StoreName, id: string): Item | undefined {
  if (name === "recentEvents") return state.recentEvents.findLast((event) => event.id === id);
  if (name === "apiKeys") return [...state.apiKeys.values()].find((apiKey) => apiKey.id === id);
  return state[name].get(id);
}

/** Omits the card ids of a customer: each card contains its customer's id, and the list would make records longer. */
const toSavedItem = (name: StoreName, item: Item): Item =>
  name === "customers" ? ({ ...item, cardIds: undefined } as Item) : item;

function toSandboxHeader({ id, apiKeys, clock, eventIds }: Sandbox): SandboxHeader {
  return {
    id,
    apiKeys,
    clock: { ...clock.setting(), nowMs: clock.now(), machineMs: Date.now() },
    newestEventId: eventIds.newest(),
  };
}

/** Reads the records in their order. */
export interface SavedReader {
  /** @throws {TypeError} for an invalid record. */
  read(record: unknown): void;
  /** @throws {TypeError} when no record describes the default sandbox. */
  getSaved(): Saved;
}

/** @param header the first record. @throws {TypeError} for another file format or version. */
export function createSavedReader(header: unknown): SavedReader {
  if (!isObject(header) || header["format"] !== format) {
    throw new TypeError("it is not a file that mock-server --data wrote.");
  }
  if (header["version"] !== version) {
    throw new TypeError(
      `its format has version ${header["version"]}, and this mock server reads version ${version}. Use the mock server that wrote it, or another file.`,
    );
  }
  const { seed } = header as unknown as Header;
  const sandboxes: Saved["sandboxes"] = new Map();

  function read(record: unknown): void {
    if (!isObject(record)) throw new TypeError("it is not a record.");
    const {
      removedSandboxId,
      sandbox,
      isAnew,
      put = {},
      remove = {},
    } = record as Partial<SandboxRecord> & {
      removedSandboxId?: string;
    };
    if (removedSandboxId !== undefined) return void sandboxes.delete(removedSandboxId);
    if (!isSandboxHeader(sandbox)) throw new TypeError("it does not name a sandbox.");
    const known = isAnew ? undefined : sandboxes.get(sandbox.id);
    const items = known?.items ?? createEmptyItems();
    for (const name of Object.values(storeNames)) {
      for (const item of put[name] ?? []) {
        if (typeof item?.id !== "string") throw new TypeError(`one of its ${name} has no id.`);
        items[name].set(item.id, item);
      }
      for (const id of remove[name] ?? []) items[name].delete(id);
    }
    sandboxes.set(sandbox.id, { mark: sandbox, items });
  }

  return {
    read,
    getSaved() {
      if (!sandboxes.has(firstSandboxId)) throw new TypeError("it does not contain the default sandbox.");
      return { seed, sandboxes };
    },
  };
}

const isSandboxHeader = (mark: unknown): mark is SandboxHeader =>
  isObject(mark) && typeof mark["id"] === "string" && isObject(mark["apiKeys"]) && isObject(mark["clock"]);

const createEmptyItems = () =>
  Object.fromEntries(
    Object.values(storeNames).map((name) => [name, new Map()]),
  ) as unknown as SavedSandbox["items"];

/** Restores the saved sandboxes in a new service. */
export function restoreSandboxes(sandboxes: Sandboxes, { sandboxes: saved }: Saved): void {
  for (const { mark, items } of saved.values()) {
    const sandbox =
      mark.id === sandboxes.first.id ? sandboxes.first : sandboxes.restore(mark, createClock(mark));
    sandbox.eventIds.continueAfter(mark.newestEventId);
    sandbox.restore(toState(items));
  }
}

function toState(items: SavedSandbox["items"]): State {
  const lists = Object.fromEntries(Object.entries(items).map(([name, byId]) => [name, [...byId.values()]]));
  return createState({
    ...lists,
    recentEvents: lists["recentEvents"]?.slice(-maxRecentEvents),
  } as unknown as StateItems);
}

export const createFirstClock = ({ sandboxes }: Saved): Clock =>
  createClock((sandboxes.get(firstSandboxId) as SavedSandbox).mark);

/** A scaled clock continues as if it had run since it was saved, unless that would be after the year 9999; a manual clock keeps its time. */
function createClock({ clock: { mode, factor = 1, nowMs, machineMs } }: SandboxHeader): Clock {
  if (mode === "manual") return manualClock(nowMs);
  if (mode === "system") return systemClock();
  const continuedMs = nowMs + Math.max(0, Date.now() - machineMs) * factor;
  return scaledClock({ factor, startAt: continuedMs <= latestMs ? continuedMs : nowMs });
}
