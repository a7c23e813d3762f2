/** The spans of a test, as the OpenTelemetry SDK exports them. */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll } from "vitest";

/** Makes spans active in the tests of a file. */
export function useContexts(): void {
  beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(() => context.disable());
}

export function recordSpans() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer("test");
  return {
    tracer,
    spans: () => exporter.getFinishedSpans(),
    /** @throws when it has not ended. */
    find(name: string): ReadableSpan {
      const found = exporter.getFinishedSpans().find((span) => span.name === name);
      if (found === undefined) throw new Error(`There is no span "${name}".`);
      return found;
    },
    /** Runs work in a span, as the instrumentation of a web framework does. */
    inSpan: <Result>(name: string, work: () => Promise<Result>): Promise<Result> =>
      tracer.startActiveSpan(name, async (span) => {
        try {
          return await work();
        } finally {
          span.end();
        }
      }),
  };
}

export const toTraceparent = (span: ReadableSpan): string => {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
};

export const getActiveId = (): string | undefined => trace.getActiveSpan()?.spanContext().spanId;

/** The parent of a span, and the spans that it links to, as `traceparent`. */
export const getRelations = ({ parentSpanContext: parent, links }: ReadableSpan) => ({
  parent: parent?.spanId,
  links: links.map(({ context: { traceId, spanId } }) => `00-${traceId}-${spanId}-01`),
});
