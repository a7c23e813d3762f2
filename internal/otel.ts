/** OpenTelemetry for an inbox and an outbox: spans by the conventions for messaging, and `traceparent` as W3C defines it. */
import {
  context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { formatErrorKind, pickCode } from "./reporting.ts";
import type { TracedWork, Tracing } from "./tracing.ts";

/** An error in telemetry does not fail the work. */
export function createTracing(tracer: Tracer): Tracing {
  function startSpan({ operation, destination, messageId, traceparent, isRoot }: TracedWork) {
    const parent = isRoot ? ROOT_CONTEXT : context.active();
    const options = {
      kind: SpanKind.CONSUMER,
      attributes: {
        "messaging.system": "loyalty_cards",
        "messaging.operation.name": operation,
        "messaging.operation.type": operation === "receive" ? "receive" : "process",
        "messaging.destination.name": destination,
        ...(messageId !== undefined && { "messaging.message.id": messageId }),
      },
      links: toLinks(traceparent),
    };
    return { span: tracer.startSpan(`${operation} ${destination}`, options, parent), parent };
  }

  return {
    capture() {
      try {
        const spanContext = trace.getSpanContext(context.active());
        if (spanContext === undefined || !isSpanContextValid(spanContext)) return undefined;
        const { traceId, spanId, traceFlags } = spanContext;
        return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
      } catch {
        return undefined;
      }
    },
    run(traced, work) {
      let running: ReturnType<typeof work> | undefined;
      try {
        const { span, parent } = startSpan(traced);
        context.with(trace.setSpan(parent, span), () => {
          running = work();
        });
        running?.then(
          () => endSpan(span),
          (error) => endSpan(span, { error }),
        );
      } catch {
        // The work runs without a span.
      }
      return running ?? work();
    },
  };
}

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

function toLinks(traceparent: string | undefined): Link[] {
  const [, traceId = "", spanId = "", flags = ""] = traceparentPattern.exec(traceparent ?? "") ?? [];
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(spanContext) ? [{ context: spanContext }] : [];
}

/** The message of an error may quote a customer, so it is not recorded. */
function endSpan(span: Span, failure?: { error: unknown }): void {
  try {
    if (failure !== undefined) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute("error.type", pickCode(failure.error).code ?? formatErrorKind(failure.error));
    }
  } catch {
    // The error is unreadable.
  }
  span.end();
}
