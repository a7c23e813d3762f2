/** OpenTelemetry for the whole shop: a span for each call, counters of what happened, and gauges of what waits. */
// #region telemetry
import type { ClientEvent } from "@loyalty-cards/issuing-client";
import type { Outbox } from "@loyalty-cards/issuing-outbox";
import type { SqliteInbox } from "@loyalty-cards/webhook-inbox";
import { type Meter, SpanKind, type Tracer } from "@opentelemetry/api";

export function createTelemetry(tracer: Tracer, meter: Meter) {
  const outcomes = meter.createCounter("loyalty.outcomes");
  const waiting = meter.createObservableGauge("loyalty.waiting");
  return {
    /** The `onEvent` of the client. The span is in the trace of the caller. */
    onEvent(event: ClientEvent): void {
      const { type, operation } = event;
      const reason =
        "status" in event ? event.status : "code" in event ? event.code : type;
      outcomes.add(1, { part: "client", outcome: type, operation, reason });
      if (!("durationMs" in event)) return; // the call goes on
      const startTime = Date.now() - event.durationMs;
      const options = { kind: SpanKind.CLIENT, startTime };
      const span = tracer.startSpan(`loyalty ${operation}`, options);
      span.setAttributes({ reason, attempts: event.attempts }).end();
    },
    /** The `onOutcome` of the receiver, the outbox and the inbox. */
    onOutcome:
      (part: string) =>
      ({ outcome, reason }: { outcome: string; reason?: string }): void =>
        outcomes.add(1, { part, outcome, reason }),
    /** Reads at each collection what waits. */
    observe(outbox: Outbox, inbox: SqliteInbox): void {
      waiting.addCallback(async (gauge) => {
        gauge.observe((await outbox.count()).waiting, { part: "outbox" });
        gauge.observe((await inbox.health()).waiting, { part: "inbox" });
      });
    },
  };
}
// #endregion
