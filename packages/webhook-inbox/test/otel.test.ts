/** The metrics as the real OpenTelemetry SDK collects them, and spans when telemetry fails. The spans of each engine are in `tracing.test.ts`. */
import { context, ROOT_CONTEXT, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { expect, it, onTestFinished } from "vitest";
import { inboxMetrics, inboxTracing } from "../src/otel.ts";
import { balanceChanged, put } from "./events.ts";
import { recordOutcomes } from "./outcomes.ts";
import { recordSpans, useContexts } from "./spans.ts";
import { openInbox } from "./sqlite-files.ts";

it("counts the outcomes of an inbox, and observes its health", async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => provider.shutdown());
  const metrics = inboxMetrics(provider.getMeter("test"), { endpoint: "shop" });
  const recorded = recordOutcomes();
  const inbox = openInbox({
    onOutcome(outcome) {
      metrics.onOutcome(outcome);
      recorded.onOutcome(outcome);
    },
  });
  const stopObserving = metrics.observe(inbox);
  for (const id of ["evt_1", "evt_1", "evt_2", "evt_poison"]) await put(inbox, balanceChanged(id));
  await put(inbox, { ...balanceChanged("evt_new"), type: "card.renamed" });
  const collected = async () => {
    exporter.reset();
    await reader.forceFlush();
    const found = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    return new Map(found.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
  };

  const before = await collected();
  expect(before.get("webhook_inbox.waiting")).toMatchObject([{ value: 4, attributes: { endpoint: "shop" } }]);
  expect(before.get("webhook_inbox.oldest_age")?.[0]?.value).toBeGreaterThanOrEqual(0);

  inbox.work(
    ({ id }) => {
      if (id === "evt_poison") throw new Error("no");
    },
    { maxAttempts: 2, backoff: { initialDelayMs: 0, maxDelayMs: 0 } },
  );
  await Promise.all([recorded.until("done", 3), recorded.until("dead")]);
  const after = await collected();
  const known = { endpoint: "shop", "event.type": "balance.changed" };
  const other = { endpoint: "shop", "event.type": "other" };
  expect(after.get("webhook_inbox.received")).toMatchObject([
    { value: 4, attributes: known },
    { value: 1, attributes: other },
  ]);
  expect(after.get("webhook_inbox.stored")).toMatchObject([{ value: 3 }, { value: 1 }]);
  expect(after.get("webhook_inbox.duplicate")).toMatchObject([{ value: 1 }]);
  expect(after.get("webhook_inbox.failed")).toMatchObject([{ value: 1 }]);
  expect(after.get("webhook_inbox.dead")).toMatchObject([{ value: 1 }]);
  expect(after.get("webhook_inbox.done")).toMatchObject([{ value: 2 }, { value: 1 }]);
  expect(after.get("webhook_inbox.lag")).toMatchObject([{ value: { count: 2 } }, { value: { count: 1 } }]);
  expect(after.get("webhook_inbox.waiting")).toMatchObject([{ value: 0 }]);
  expect(after.get("webhook_inbox.dead_letters")).toMatchObject([{ value: 1 }]);

  stopObserving();
  await inbox.close();
  expect((await collected()).get("webhook_inbox.stored")).toMatchObject([{ value: 3 }, { value: 1 }]);
});

useContexts();

it("records in the span of the receipt why an event was not stored", async () => {
  const { tracer, find } = recordSpans();
  const inbox = openInbox({ tracing: inboxTracing(tracer) });
  await inbox.close();
  await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow("closed");
  expect(find("receive balance.changed")).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { "error.type": "Error" },
  });
});

it("stores and processes events when telemetry throws, and when no SDK is registered", async () => {
  const broken = {
    startSpan() {
      throw new Error("no");
    },
    startActiveSpan() {
      throw new Error("no");
    },
  };
  for (const tracing of [inboxTracing(broken as never), inboxTracing()]) {
    const { onOutcome, until } = recordOutcomes();
    const inbox = openInbox({ tracing, onOutcome });
    expect(await put(inbox, balanceChanged("evt_1"))).toBe("stored");
    let handled = 0;
    inbox.work(() => void handled++);
    await until("done");
    expect(handled).toBe(1);
    const read = "SELECT traceparent FROM webhook_inbox_events";
    expect(await inbox.write((database) => database.prepare(read).get())).toMatchObject({
      traceparent: null,
    });
  }
});

it.each([
  ["of another version", `01-${"a".repeat(32)}-${"b".repeat(16)}-01`],
  ["of zeros", `00-${"0".repeat(32)}-${"b".repeat(16)}-01`],
  ["that is longer", `00-${"a".repeat(32)}-${"b".repeat(16)}-01-more`],
])("links to no traceparent %s", async (_name, traceparent) => {
  const { tracer, find } = recordSpans();
  const work = { operation: "process", destination: "ping", messageId: "evt_1" } as const;
  await inboxTracing(tracer).run({ ...work, traceparent }, async () => {});
  expect(find("process ping").links).toEqual([]);
});

it("captures the sampled flag of the active span", () => {
  const { tracer } = recordSpans();
  const { capture } = inboxTracing(tracer);
  expect(capture()).toBe(undefined);
  const span = { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 0 };
  const parent = trace.setSpanContext(ROOT_CONTEXT, span);
  expect(context.with(parent, capture)).toBe(`00-${span.traceId}-${span.spanId}-00`);
});
