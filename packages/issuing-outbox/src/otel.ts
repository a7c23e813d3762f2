/** Entry point `/otel`: OpenTelemetry spans of an outbox, for its option `tracing`, and metrics, for `onOutcome` and `observe`. */
import { createTracing } from "@loyalty-cards/internal/otel";
import type { Tracing } from "@loyalty-cards/internal/tracing";
import { type Attributes, type Meter, type Tracer, trace } from "@opentelemetry/api";
import type { OutboxCounts } from "./entry.ts";
import type { OutboxOutcome } from "./report.ts";

/**
 * Creates the option `tracing` of an outbox. `add` stores the `traceparent` of the active span until the card is issued, and each attempt to
 * issue it gets a span `issue card` with a link to that span. The span of the client's call is inside of it, with `withOpenTelemetry` of
 * `@loyalty-cards/issuing-client/otel`. An error in telemetry fails neither.
 * @param tracer default: a tracer of the global provider.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
 * import { outboxTracing } from "@loyalty-cards/issuing-outbox/otel";
 *
 * const outbox = sqliteOutbox({ client: createIssuingClient(), file: "shop.db", tracing: outboxTracing() });
 * ```
 */
export const outboxTracing = (tracer: Tracer = trace.getTracer("@loyalty-cards/issuing-outbox")): Tracing =>
  createTracing(tracer);

/** Metrics of an outbox: counted from its outcomes, and observed from its counts at each collection. */
export interface OutboxMetrics {
  /** Pass this function as the option `onOutcome` of the outbox. */
  onOutcome(outcome: OutboxOutcome): void;
  /** Observes at each collection what waits, how long, and what needs attention. @returns a function that stops it. */
  observe(outbox: { count(): Promise<OutboxCounts> }): () => void;
}

/** Outcomes that are counted; the compiler rejects a missing one. */
const descriptions = {
  issued: "Cards issued",
  rejected: "Forms that the service rejected",
  failed: "Attempts that failed and are repeated",
  unknown: "Entries of which it is unknown whether a card exists",
  "not-delivered": "Callbacks that failed and are repeated",
  delivered: "Callbacks that succeeded after a failure",
  "another-card": "Cards that differ from the recorded one",
  "forgotten-card": "Cards of users who were forgotten",
  paused: "Pauses that began",
  resumed: "Pauses that ended",
  "lease-lost": "Attempts whose lease was lost",
  unavailable: "Times the database could not be used",
} satisfies Record<OutboxOutcome["outcome"], string>;

/**
 * Creates the instruments, whose names begin with `issuing_outbox.`: the counter `outcomes`, by name; the histogram `lag`, seconds from
 * `add` to the request that issued the card; and the gauges `entries` by state, `undelivered` (entries whose callback has not
 * succeeded), `oldest_waiting_age` and `time_to_expiry` (until the first entry becomes `unknown`) in seconds, and `paused` by reason.
 * `attributes` are added to every measurement.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
 * import { outboxMetrics } from "@loyalty-cards/issuing-outbox/otel";
 * import { metrics } from "@opentelemetry/api";
 *
 * const figures = outboxMetrics(metrics.getMeter("shop"));
 * const outbox = sqliteOutbox({ client: createIssuingClient(), file: "shop.db", onOutcome: figures.onOutcome });
 * figures.observe(outbox);
 * ```
 */
export function outboxMetrics(meter: Meter, attributes: Attributes = {}): OutboxMetrics {
  const outcomes = meter.createCounter("issuing_outbox.outcomes", {
    description: `Outcomes by their name: ${Object.keys(descriptions).join(", ")}`,
  });
  const lag = meter.createHistogram("issuing_outbox.lag", {
    description: "Time from adding an entry to the attempt that issued its card",
    unit: "s",
  });
  const entries = meter.createObservableGauge("issuing_outbox.entries", {
    description: "Entries by state",
    unit: "{entry}",
  });
  const undelivered = meter.createObservableGauge("issuing_outbox.undelivered", {
    description: "Entries whose callback has not succeeded",
    unit: "{entry}",
  });
  const oldest = meter.createObservableGauge("issuing_outbox.oldest_waiting_age", {
    description: "How long the oldest waiting entry has waited",
    unit: "s",
  });
  const expiry = meter.createObservableGauge("issuing_outbox.time_to_expiry", {
    description: "How long until the first waiting entry becomes unknown; a day when none may have been sent",
    unit: "s",
  });
  const paused = meter.createObservableGauge("issuing_outbox.paused", { description: "Pauses by reason" });
  return {
    onOutcome(outcome) {
      outcomes.add(1, { ...attributes, outcome: outcome.outcome });
      if (outcome.outcome === "issued") lag.record(outcome.lagMs / 1000, attributes);
    },
    observe(outbox) {
      const instruments = [entries, undelivered, oldest, expiry, paused];
      const callback: Parameters<Meter["addBatchObservableCallback"]>[0] = async (result) => {
        const counts = await outbox.count();
        const secondsUntil = (date: Date) => (date.getTime() - Date.now()) / 1000;
        for (const state of ["waiting", "issued", "rejected", "unknown"] as const)
          result.observe(entries, counts[state], { ...attributes, state });
        result.observe(undelivered, counts.undelivered, attributes);
        const { oldestWaitingAt, nextExpiryAt } = counts;
        result.observe(oldest, oldestWaitingAt ? Math.max(0, -secondsUntil(oldestWaitingAt)) : 0, attributes);
        result.observe(expiry, nextExpiryAt ? secondsUntil(nextExpiryAt) : 86_400, attributes);
        for (const { reason } of counts.paused) result.observe(paused, 1, { ...attributes, reason });
      };
      meter.addBatchObservableCallback(callback, instruments);
      return () => meter.removeBatchObservableCallback(callback, instruments);
    },
  };
}
