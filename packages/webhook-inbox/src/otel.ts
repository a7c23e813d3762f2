/** Entry point `/otel`: OpenTelemetry spans of an inbox, for its option `tracing`, and metrics, for `onOutcome` and `observe`. */
import { createTracing } from "@loyalty-cards/internal/otel";
import type { Tracing } from "@loyalty-cards/internal/tracing";
import { requiredData as knownTypes } from "@loyalty-cards/openapi/events";
import { type Attributes, type Meter, type Tracer, trace } from "@opentelemetry/api";
import type { InboxOutcome, InspectableInbox } from "./reports.ts";

/** Unknown types share one name, so that a sender cannot create any number of spans' names and series. */
const toKnownType = (type: string) => (Object.hasOwn(knownTypes, type) ? type : "other");

/**
 * Creates the option `tracing` of an inbox, and of `inboxHandler`. Each delivery gets a span such as `receive balance.changed`, in the trace of
 * its request, and each attempt of the handler a span such as `process balance.changed`, with a link to it: the inbox stores the
 * `traceparent` with the event. The span is active while the handler runs. An error in telemetry fails neither.
 * @param tracer default: a tracer of the global provider.
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { inboxTracing } from "@loyalty-cards/webhook-inbox/otel";
 *
 * const inbox = sqliteInbox({ file: "inbox.db", tracing: inboxTracing() });
 * ```
 */
export function inboxTracing(tracer: Tracer = trace.getTracer("@loyalty-cards/webhook-inbox")): Tracing {
  const { capture, run } = createTracing(tracer);
  return {
    capture,
    run: (traced, work) => run({ ...traced, destination: toKnownType(traced.destination) }, work),
  };
}

/** Metrics of an inbox: counted from its outcomes, and observed from its health at each collection. @inline */
type InboxMetrics = {
  /** For the option `onOutcome` of the inbox and of `inboxHandler`. */
  onOutcome(outcome: InboxOutcome): void;
  /** Observes at each collection how many events wait and how old the oldest is. @returns a function that stops it. */
  observe(inbox: Pick<InspectableInbox, "health">): () => void;
};

/**
 * Creates the instruments, whose names begin with `webhook_inbox.`: the counters of deliveries `received`, `stored`, `duplicate` and
 * `not_stored`; the counters of attempts `done`, `failed`, `dead`, `lease_lost` and `unavailable`; the histograms `put.duration`,
 * `handler.duration` and `lag` (from receipt to the end of the handler), in seconds; and the gauges `waiting`, `dead_letters` and
 * `oldest_age` (of the oldest waiting event, in seconds). `attributes` are added to every measurement, such as the name of the endpoint.
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
    stored: counter("stored", "Events stored"),
    duplicate: counter("duplicate", "Deliveries of events that were stored before"),
    "not-stored": counter(
      "not_stored",
      "Deliveries that could not be stored and will be retried by the service",
    ),
    done: counter("done", "Events whose handler succeeded"),
    failed: counter("failed", "Attempts that failed and will be retried"),
    dead: counter("dead", "Events that became dead letters"),
    "lease-lost": counter("lease_lost", "Attempts whose lease expired"),
    unavailable: counter("unavailable", "Times the worker could not reach the database"),
  };
  const putDuration = seconds("put.duration", "Time to store an event");
  const handlerDuration = seconds("handler.duration", "Duration of a successful attempt");
  const lag = seconds("lag", "Time from the receipt of an event to the end of its handler");
  const waiting = meter.createObservableGauge("webhook_inbox.waiting", {
    description: "Events that wait for their handler",
    unit: "{event}",
  });
  const deadLetters = meter.createObservableGauge("webhook_inbox.dead_letters", {
    description: "Dead letters",
    unit: "{event}",
  });
  const oldestAge = meter.createObservableGauge("webhook_inbox.oldest_age", {
    description: "How long the oldest waiting event has waited",
    unit: "s",
  });

  return {
    onOutcome(outcome) {
      const type = "event" in outcome ? { "event.type": toKnownType(outcome.event.type) } : {};
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
      const callback: Parameters<Meter["addBatchObservableCallback"]>[0] = async (result) => {
        const health = await inbox.health();
        if (!health.isReachable) return; // a gap in the series, not a zero
        result.observe(waiting, health.waiting, attributes);
        result.observe(deadLetters, health.dead, attributes);
        result.observe(oldestAge, (health.oldestWaitingMs ?? 0) / 1000, attributes);
      };
      meter.addBatchObservableCallback(callback, instruments);
      return () => meter.removeBatchObservableCallback(callback, instruments);
    },
  };
}
