/** Figures of an inbox as OpenTelemetry metrics: pass `onOutcome` to the inbox, and the inbox to `observe`. */
import type { Attributes, Meter } from "@opentelemetry/api";
import type { InspectableInbox } from "./health.ts";
import type { InboxOutcome } from "./outcome.ts";

/** Metrics of an inbox: fed by what it tells, and by asking it at each collection. */
export interface InboxMetrics {
  /** For the option of the same name, of the inbox and of `inboxHandler`. */
  onOutcome(outcome: InboxOutcome): void;
  /** Asks the inbox at every collection how many events wait and how old the oldest is. @returns what ends that. */
  observe(inbox: Pick<InspectableInbox, "health">): () => void;
}

const known = /^(card\.(added|removed)|balance\.changed|tier\.changed|consent\.changed|ping)$/;

/**
 * Makes the instruments. `attributes` are put on every figure, such as the name of the endpoint.
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { inboxMetrics } from "@loyalty-cards/webhook-inbox/otel";
 * import { metrics } from "@opentelemetry/api";
 *
 * const figures = inboxMetrics(metrics.getMeter("shop"));
 * const inbox = sqliteInbox({ file: "inbox.db", onOutcome: figures.onOutcome });
 * figures.observe(inbox);
 * ```
 */
export function inboxMetrics(meter: Meter, attributes: Attributes = {}): InboxMetrics {
  const counter = (name: string, description: string) =>
    meter.createCounter(`webhook_inbox.${name}`, { description, unit: "{event}" });
  const seconds = (name: string, description: string) =>
    meter.createHistogram(`webhook_inbox.${name}`, { description, unit: "s" });
  const received = counter("received", "Deliveries that reached the inbox");
  const counters: Partial<Record<InboxOutcome["outcome"], ReturnType<typeof counter>>> = {
    stored: counter("stored", "Events that were made durable"),
    duplicate: counter("duplicate", "Copies of events that were durable already"),
    "not-stored": counter("not_stored", "Deliveries that could not be made durable and will come again"),
    done: counter("done", "Events whose handler succeeded"),
    failed: counter("failed", "Attempts that failed and will be repeated"),
    dead: counter("dead", "Events that became dead letters"),
    "lease-lost": counter("lease_lost", "Attempts whose event another worker took over"),
    unavailable: counter("unavailable", "Times the worker could not reach the inbox"),
  };
  const putDuration = seconds("put.duration", "Time until an event was durable");
  const handlerDuration = seconds("handler.duration", "Time of a successful attempt");
  const lag = seconds("lag", "Time from the receipt of an event to its effect");
  const waiting = meter.createObservableGauge("webhook_inbox.waiting", {
    description: "Events that wait for their handler",
    unit: "{event}",
  });
  const deadLetters = meter.createObservableGauge("webhook_inbox.dead_letters", {
    description: "Dead letters that nobody has replayed",
    unit: "{event}",
  });
  const oldestAge = meter.createObservableGauge("webhook_inbox.oldest_age", {
    description: "How long the oldest waiting event has waited",
    unit: "s",
  });

  return {
    onOutcome(outcome) {
      // A type that is new to this version is one word: whoever sends it must not decide how many series there are.
      const type =
        "event" in outcome
          ? { "event.type": known.test(outcome.event.type) ? outcome.event.type : "other" }
          : {};
      const labels = { ...attributes, ...type };
      counters[outcome.outcome]?.add(1, labels);
      switch (outcome.outcome) {
        case "stored":
        case "duplicate":
        case "not-stored":
          received.add(1, labels);
          putDuration.record(outcome.durationMs / 1000, { ...labels, outcome: outcome.outcome });
          break;
        case "done":
          handlerDuration.record(outcome.durationMs / 1000, labels);
          lag.record(outcome.lagMs / 1000, labels);
      }
    },
    observe(inbox) {
      const instruments = [waiting, deadLetters, oldestAge];
      const ask: Parameters<Meter["addBatchObservableCallback"]>[0] = async (result) => {
        const health = await inbox.health();
        if (!health.isReachable) return; // a gap says more than a zero
        result.observe(waiting, health.waiting, attributes);
        result.observe(deadLetters, health.dead, attributes);
        result.observe(oldestAge, (health.oldestWaitingMs ?? 0) / 1000, attributes);
      };
      meter.addBatchObservableCallback(ask, instruments);
      return () => meter.removeBatchObservableCallback(ask, instruments);
    },
  };
}
