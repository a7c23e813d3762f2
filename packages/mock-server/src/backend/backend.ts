/** The service behind its HTTP surface: its clock, deliveries and traffic, and its state, which can be copied and restored. */
import { createDispatcher } from "../delivery/dispatcher.ts";
import { createEndpoint } from "../delivery/endpoints.ts";
import { createChangeNotifier, createSortableIds, type Domain } from "../domain/context.ts";
import { createEmptyState, type State, type TrafficRequest } from "../domain/state.ts";
import { createTemplate } from "../domain/templates.ts";
import type { Settings } from "./options.ts";
import { createServiceClock } from "./service-clock.ts";

export type Backend = ReturnType<typeof createBackend>;

export function createBackend(settings: Settings) {
  const { deliver, deliveryTimeoutMs } = settings;
  const changes = createChangeNotifier();
  const nowMs = () => domain.clock.now();
  /** Not part of the state, so that a reset or a restore does not repeat ids. */
  const ids = createSortableIds(nowMs);
  /** The newest requests to the API, oldest first. Not part of the state: a snapshot and a data file do not contain them. */
  const requests: TrafficRequest[] = [];
  const domain: Domain = {
    ...settings,
    state: createEmptyState(),
    nowMs,
    notifyChange: changes.notify,
    emit: (type, data) => dispatcher.publish(type, data),
  };
  // Over HTTP a real receiver compares `t` with real time, wherever this clock was moved to.
  const dispatcher = createDispatcher(domain, ids, {
    ...(deliver === undefined
      ? { deliver: (request) => fetch(request), signedWith: "machine", signingTimeMs: Date.now }
      : { deliver, signedWith: "service", signingTimeMs: nowMs }),
    deliveryTimeoutMs,
  });

  function replace(state: State): void {
    domain.state = state;
    ids.continueAfter(state.recentEvents.at(-1)?.id);
    dispatcher.reload();
    changes.notify();
  }

  function seed(): State {
    const seeded: Domain = { ...domain, state: createEmptyState(), notifyChange: () => {} };
    for (const template of settings.templates) createTemplate(seeded, template);
    for (const { id, url, events, secret } of settings.endpoints)
      createEndpoint(seeded, { url, events }, { id, secret });
    return seeded.state;
  }
  domain.state = seed();

  return {
    settings,
    domain,
    dispatcher,
    clock: createServiceClock(domain, dispatcher),
    changes,
    ids,
    requests,
    /** Restores the seeded state. */
    reset(): void {
      requests.length = 0;
      replace(seed());
    },
    snapshot: () => structuredClone(domain.state),
    restore: (state: State) => replace(structuredClone(state)),
  };
}
