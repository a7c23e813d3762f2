/** OpenTelemetry: one CLIENT span for each call, by the semantic conventions for HTTP. */
import { notify } from "@loyalty-cards/internal/reporting";
import {
  type Attributes,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { ClientEvent, OperationName } from "./call.ts";
import { getBaseUrl, type IssuingClientOptions, selectTransport } from "./options.ts";
import { getRoute } from "./request.ts";
import type { PendingRequest, Transport } from "./transport.ts";

/** Options of `withOpenTelemetry`. */
interface OpenTelemetryOptions {
  /** Default: a tracer of the global provider at the time of each call. */
  tracer?: Tracer | undefined;
}

/**
 * Returns the options of a client with one CLIENT span for each call. A span covers the whole call with its retries, and is active
 * while a request is sent, so that the spans of an instrumented fetch are inside. An error in telemetry does not fail a call.
 * @param options the options of the client; its `onEvent` and `transport` stay in use.
 * @param telemetry `tracer`: default, the tracer of the global provider.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { withOpenTelemetry } from "@loyalty-cards/issuing-client/otel";
 *
 * const loyalty = createIssuingClient(withOpenTelemetry({ baseUrl: "https://cards.example.com" }));
 * ```
 */
export function withOpenTelemetry(
  options: IssuingClientOptions = {},
  { tracer }: OpenTelemetryOptions = {},
): IssuingClientOptions {
  const spans = new Map<number, Span>();
  const server = readServer(getBaseUrl(options));
  /** The span of the current attempt: its request is sent synchronously after the event. */
  let current: Span | undefined;

  function record(event: ClientEvent): void {
    const { callId, operation } = event;
    if (event.type === "attempt") {
      current = spans.get(callId) ?? startSpan(callId, operation, event.method);
      return;
    }
    const span = spans.get(callId);
    if (span === undefined) return;
    if (event.type === "retry") {
      span.addEvent("retry", { "error.type": String(event.status ?? event.code), delay_ms: event.delayMs });
    } else if (event.type !== "deprecation" && event.type !== "fields-differ") {
      spans.delete(callId);
      if (event.attempts > 1) span.setAttribute("http.request.resend_count", event.attempts - 1);
      endSpan(span, event);
    }
  }

  function startSpan(callId: number, operation: OperationName, method: string): Span {
    const template = operation === "api" ? {} : { "url.template": server.path + getRoute(operation) };
    const name = template["url.template"] === undefined ? method : `${method} ${template["url.template"]}`;
    const attributes = { ...server.attributes, ...template, "http.request.method": method };
    const span = (tracer ?? trace.getTracer("@loyalty-cards/issuing-client")).startSpan(name, {
      kind: SpanKind.CLIENT,
      attributes,
    });
    spans.set(callId, span);
    return span;
  }

  const send = selectTransport(options);
  const transport: Transport = (url, request) => {
    const span = current;
    current = undefined;
    return span === undefined ? send(url, request) : sendInSpan(span, url, () => send(url, request));
  };

  const onEvent = (event: ClientEvent) => {
    notify(options.onEvent, event);
    notify(record, event);
  };
  return { ...options, fetch: undefined, transport, onEvent };
}

type End = Extract<ClientEvent, { type: "response" | "failure" | "abort" }>;

/** A response with 4xx or 5xx is an error of a CLIENT span; the caller's own abort is not. */
function endSpan(span: Span, event: End): void {
  if (event.type === "response") {
    span.setAttribute("http.response.status_code", event.status);
    if (event.status >= 400) setError(span, String(event.status));
  } else if (event.type === "failure") {
    setError(span, event.code);
  } else {
    span.setAttribute("error.type", "abort");
  }
  span.end();
}

function setError(span: Span, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Sends the request once, also when telemetry throws. */
function sendInSpan(span: Span, url: string, send: () => PendingRequest): PendingRequest {
  let sent: { sending: PendingRequest } | { error: unknown } | undefined;
  try {
    span.setAttribute("url.full", url);
    context.with(trace.setSpan(context.active(), span), () => {
      try {
        sent = { sending: send() };
      } catch (error) {
        sent = { error };
      }
    });
  } catch {
    // An error in telemetry does not fail the call.
  }
  if (sent === undefined) return send();
  if ("error" in sent) throw sent.error;
  return sent.sending;
}

/** The client rejects an invalid address, so no span is created for it. */
function readServer(baseUrl: string): { path: string; attributes: Attributes } {
  if (!URL.canParse(baseUrl)) return { path: "", attributes: {} };
  const { hostname, port, protocol, pathname } = new URL(baseUrl);
  const defaultPort = protocol === "https:" ? 443 : 80;
  return {
    path: pathname.replace(/\/+$/, ""),
    attributes: { "server.address": hostname, "server.port": port === "" ? defaultPort : Number(port) },
  };
}
