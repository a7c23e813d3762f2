/** The sandboxes of one service. Each API key selects one of them. */
import { type ApiKey, seededApiKeys } from "../domain/api-keys.ts";
import type { Clock } from "../domain/clock.ts";
import { type Change, NotFoundError } from "../domain/context.ts";
import { createSandbox, type Sandbox, type SandboxIdentity, type SandboxSettings } from "./sandbox.ts";
import { createEmptyState } from "./state.ts";

export interface Sandboxes {
  /** The default sandbox. It cannot be removed. */
  readonly first: Sandbox;
  list(): Sandbox[];
  find(id: string): Sandbox | undefined;
  /** @throws {NotFoundError} */
  get(id: string): Sandbox;
  /** Creates a sandbox with the seeded templates and its own API keys. */
  create(): Sandbox;
  /** Creates a sandbox that was saved in a file. */
  restore(identity: SandboxIdentity, clock: Clock): Sandbox;
  remove(id: string): void;
  findByApiKey(key: string | undefined): { sandbox: Sandbox; apiKey: ApiKey } | undefined;
  /** Notifies of changes in every sandbox, and of sandboxes that are created. */
  subscribe(listener: (sandbox: Sandbox, change: Change) => void): void;
}

export const firstSandboxId = "default";
/** More than a test run needs. Limits the memory. */
const maxSandboxes = 10_000;

export function createSandboxes(settings: SandboxSettings): Sandboxes {
  const sandboxes = new Map<string, Sandbox>();
  const listeners = new Set<(sandbox: Sandbox, change: Change) => void>();
  const first = add({ id: firstSandboxId, apiKeys: seededApiKeys }, settings);

  function add(identity: SandboxIdentity, own: SandboxSettings): Sandbox {
    const sandbox = createSandbox(identity, own);
    sandboxes.set(identity.id, sandbox);
    sandbox.changes.subscribe((change) => {
      for (const listener of listeners) listener(sandbox, change);
    });
    sandbox.changes.notify({ type: "reset" });
    return sandbox;
  }

  function get(id: string): Sandbox {
    const sandbox = sandboxes.get(id);
    if (sandbox === undefined) throw new NotFoundError(`There is no sandbox "${id}".`);
    return sandbox;
  }

  /** Without the seeded endpoints: only the default sandbox has them. */
  const restore = (identity: SandboxIdentity, clock: Clock) =>
    add(identity, { ...settings, clock, endpoints: [] });

  return {
    first,
    list: () => [...sandboxes.values()],
    find: (id) => sandboxes.get(id),
    get,
    create() {
      if (sandboxes.size >= maxSandboxes) {
        throw new RangeError(
          `There are ${maxSandboxes} sandboxes; remove some with DELETE /_mock/sandboxes/{id}.`,
        );
      }
      const { generateId } = settings;
      const apiKeys = { website: generateId("mock_website"), full: generateId("mock_full") };
      return restore({ id: generateId("sbx"), apiKeys }, first.copyClock());
    },
    restore,
    remove(id) {
      const sandbox = get(id);
      if (sandbox === first) throw new RangeError("The default sandbox cannot be removed; reset it instead.");
      sandboxes.delete(id);
      sandbox.restore(createEmptyState()); // ends its deliveries
    },
    findByApiKey(key) {
      if (key === undefined) return undefined;
      for (const sandbox of sandboxes.values()) {
        const apiKey = sandbox.domain.state.apiKeys.get(key);
        if (apiKey !== undefined) return { sandbox, apiKey };
      }
      return undefined;
    },
    subscribe: (listener) => void listeners.add(listener),
  };
}
