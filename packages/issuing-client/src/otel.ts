/** Tells OpenTelemetry of the calls: one CLIENT span each, by the semantic conventions for HTTP. */
import {
  type Attributes,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { ClientEvent, OperationName } from "./client-event.ts";
import { fetchTransport } from "./fetch-transport.ts";
import { tell } from "./listener.ts";
import { configuredBaseUrl, type IssuingClientOptions } from "./options.ts";
import { routeOf } from "./request.ts";
import type { Sending, Transport } from "./transport.ts";

/** Which tracer the spans go to. */
export interface OpenTelemetryOptions {
  /** Default: the global provider's, looked up when a call begins. */
  tracer?: Tracer | undefined;
}

/**
 * Returns the options of a client with one CLIENT span for each call. A span covers the whole call with its retries, and is active
 * while a request is sent, so that the spans of an instrumented fetch are inside. An error in telemetry fails no call.
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
  const server = serverOf(configuredBaseUrl(options));
  /** Of the attempt that was just told: its request goes out before anything else happens. */
  let next: Span | undefined;

  function record(event: ClientEvent): void {
    const { call, operation } = event;
    if (event.type === "attempt") {
      next = spans.get(call) ?? begin(call, operation, event.method);
      return;
    }
    const span = spans.get(call);
    if (span === undefined) return;
    if (event.type === "retry") {
      span.addEvent("retry", { "error.type": String(event.reason), pause_ms: event.pauseMs });
    } else if (event.type !== "deprecation") {
      spans.delete(call);
      if (event.attempts > 1) span.setAttribute("http.request.resend_count", event.attempts - 1);
      end(span, event);
    }
  }

  function begin(call: number, operation: OperationName, method: string): Span {
    const template = operation === "api" ? {} : { "url.template": server.path + routeOf(operation) };
    const name = template["url.template"] === undefined ? method : `${method} ${template["url.template"]}`;
    const attributes = { ...server.attributes, ...template, "http.request.method": method };
    const span = (tracer ?? trace.getTracer("@loyalty-cards/issuing-client")).startSpan(name, {
      kind: SpanKind.CLIENT,
      attributes,
    });
    spans.set(call, span);
    return span;
  }

  const carry = options.transport ?? fetchTransport(options.fetch);
  const transport: Transport = (url, request) => {
    const span = next;
    next = undefined;
    if (span === undefined) return carry(url, request);
    return inside(span, url, () => carry(url, request));
  };

  const onEvent = (event: ClientEvent) => {
    tell(options.onEvent, event);
    tell(record, event);
  };
  return { ...options, fetch: undefined, transport, onEvent };
}

type End = Extract<ClientEvent, { type: "response" | "failure" | "abort" }>;

/** A refusal is an error of the span of a client, and the caller's own abort is none. */
function end(span: Span, event: End): void {
  if (event.type === "response") {
    span.setAttribute("http.response.status_code", event.status);
    if (event.status >= 400) fail(span, String(event.status));
  } else if (event.type === "failure") {
    fail(span, event.code);
  } else {
    span.setAttribute("error.type", "abort");
  }
  span.end();
}

function fail(span: Span, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Whatever telemetry does, the request goes out, and once. */
function inside(span: Span, url: string, send: () => Sending): Sending {
  let sent: { sending: Sending } | { error: unknown } | undefined;
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
    // Of no consequence for the call.
  }
  if (sent === undefined) return send();
  if ("error" in sent) throw sent.error;
  return sent.sending;
}

/** Of an address that the client refuses nothing is told: no call will be made. */
function serverOf(baseUrl: string): { path: string; attributes: Attributes } {
  if (!URL.canParse(baseUrl)) return { path: "", attributes: {} };
  const { hostname, port, protocol, pathname } = new URL(baseUrl);
  const defaultPort = protocol === "https:" ? 443 : 80;
  return {
    path: pathname.replace(/\/+$/, ""),
    attributes: { "server.address": hostname, "server.port": port === "" ? defaultPort : Number(port) },
  };
}
