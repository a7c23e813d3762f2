/**
 * The service behind its HTTP surface: its clock, deliveries and traffic, and its state, which can
 * be copied and restored.
 */
import { createDispatcher } from "../delivery/dispatcher.ts";
import { type Clock, createClock, getClockSetting } from "../domain/clock.ts";
import { createChangeNotifier, type Domain } from "../domain/context.ts";
import { createSortableIds, getPosition } from "../domain/ids.ts";
import { createEmptyState, type State, type TrafficRequest } from "../domain/state.ts";
import { createTemplate } from "../domain/templates.ts";
import type { Settings } from "./options.ts";
import { createServiceClock } from "./service-clock.ts";

export type Backend = ReturnType<typeof createBackend>;

export function createBackend(settings: Settings) {
  const { clock, baseUrl, apiKeys, defaultCountry, wallets, forwardTo, storeRefusals } = settings;
  const changes = createChangeNotifier();
  /**
   * The newest requests to the API, oldest first. They are not part of the state: a snapshot and a
   * data file do not contain them.
   */
  const requests: TrafficRequest[] = [];
  const nowMs = () => domain.clock.now(); // the clock can be replaced
  const domain: Domain = {
    state: createEmptyState(),
    clock,
    nowMs,
    ids: createSortableIds(nowMs),
    emit: (...event) => dispatcher.publish(...event), // it is created with this domain
    notifyChange: changes.notify,
    baseUrl,
    defaultCountry,
    wallets,
    forwardTo,
    storeRefusals,
  };
  const { deliver, deliveryTimeoutMs } = settings;
  // Over HTTP a real receiver compares `t` with real time, wherever this clock was moved to.
  const dispatcher = createDispatcher(domain, {
    ...(deliver === undefined
      ? {
          deliver: (request) => fetch(request),
          signedWith: "machine",
          signingTimeMs: () => Date.now(),
        }
      : { deliver, signedWith: "service", signingTimeMs: nowMs }),
    deliveryTimeoutMs,
  });

  function replace(state: State): void {
    domain.state = state;
    for (const { id } of [...state.recentEvents, ...state.recentActions])
      domain.ids.continueAfter(getPosition(id));
    for (const { position } of state.deliveries.values()) domain.ids.continueAfter(position);
    dispatcher.abort();
    dispatcher.reload();
    changes.notify();
  }

  /** Creates what the options name, in a state of its own: nobody hears of it. */
  function seed(): State {
    const silent = { emit: () => {}, notifyChange: () => {} };
    const seeded: Domain = { ...domain, ...silent, state: createEmptyState() };
    for (const kind of ["website", "full"] as const)
      seeded.state.apiKeys.set(apiKeys[kind], { key: apiKeys[kind], kind });
    for (const template of settings.templates) createTemplate(seeded, template);
    for (const endpoint of settings.endpoints)
      seeded.state.endpoints.set(endpoint.id, structuredClone(endpoint));
    return seeded.state;
  }
  domain.state = seed();
  if (settings.saved !== undefined) {
    domain.ids.continueAfter(getPosition(settings.saved.newestId));
    replace(settings.saved.state);
  }

  return {
    settings,
    domain,
    dispatcher,
    clock: createServiceClock(domain, dispatcher, changes),
    changes,
    requests,
    /** Restores the seeded state. */
    reset(): void {
      resetClock(domain, settings.programClock);
      requests.length = 0;
      replace(seed());
    },
    snapshot: () => structuredClone(domain.state),
    restore: (state: State) => replace(structuredClone(state)),
  };
}

/**
 * Sets a clock that is ahead to real time. The clock may go back only with a reset: a receiver
 * would take an event with an earlier time for one that is out of order. A clock that the program
 * passed is not replaced, because the program reads it.
 */
function resetClock(domain: Domain, programClock: Clock | undefined): void {
  const { clock } = domain;
  if (clock === programClock || clock.now() <= Date.now()) return;
  domain.clock = createClock(getClockSetting(clock), Date.now());
}
