/** OpenTelemetry for the whole shop: a span for each call, counters of what happened, and gauges of what waits; tested with a sign-up and a delivery. */
import { join } from "node:path";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { createMockService } from "@loyalty-cards/mock-server";
import { createFolder } from "@loyalty-cards/testing/resources";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { expect, it, onTestFinished } from "vitest";

it("has a span for each call, counts what happened, and shows what waits", async () => {
  const spans = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(spans)],
  }).getTracer("shop");
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 3_600_000,
  });
  const meters = new MeterProvider({ readers: [reader] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const telemetry = createTelemetry(tracer, meters.getMeter("shop"));

  const file = join(createFolder(), "shop.db");
  let receive: ReturnType<typeof fetchReceiver>;
  const service = createMockService({
    endpoints: [
      { url: "https://shop.example/webhooks", events: ["balance.changed"] },
    ],
    deliver: (request) => receive(request),
  });
  const client = createIssuingClient({
    baseUrl: service.baseUrl,
    apiKey: service.apiKeys.website,
    fetch: (input, init) => service.fetch(new Request(input, init)),
    onEvent: telemetry.onEvent,
  });
  const onOwed = telemetry.onOutcome("outbox");
  const outbox = sqliteOutbox({ client, file, onOutcome: onOwed });
  const inbox = sqliteInbox({ file, onOutcome: telemetry.onOutcome("inbox") });
  telemetry.observe(outbox, inbox);
  onTestFinished(async () => {
    context.disable();
    await meters.shutdown();
    await Promise.all([outbox.close(), inbox.close()]);
  });
  const { secret = "" } = service.endpoints[0] ?? {};
  const onOutcome = telemetry.onOutcome("receiver");
  receive = fetchReceiver({ secret, inbox, onOutcome });

  const request = { customer: { consents: { privacy: { version: "1" } } } };
  const template = service.templateId;
  await outbox.write((database) =>
    outbox.add(database, { userId: 1, template, request }),
  );
  await tracer.startActiveSpan("POST /sign-up", async (span) => {
    await outbox.issue(1);
    span.end();
  });
  await outbox.addAll([{ userId: 2, template, request }]);
  service.faults.add({ phase: "before", kind: "status", status: 503, times: 1 });
  const { cardId = "" } = (await outbox.get(1)) ?? {};
  await client.getCard(cardId);
  service.cards.purchase(cardId, { points: 5 });
  await service.idle();
  await receive(new Request("https://shop.example/webhooks", { method: "POST" }));

  const [issue, signUp, get] = spans.getFinishedSpans();
  expect([issue, signUp, get]).toMatchObject([
    { name: "loyalty issueCard", attributes: { reason: 201, attempts: 1 } },
    { name: "POST /sign-up" },
    { name: "loyalty getCard", attributes: { reason: 200, attempts: 2 } },
  ]);
  expect(issue?.parentSpanContext?.spanId).toBe(signUp?.spanContext().spanId);

  await reader.forceFlush();
  const [counter, gauge] = exporter.getMetrics()[0]?.scopeMetrics[0]?.metrics ?? [];
  const list = (metric = counter) =>
    metric?.dataPoints.map(({ attributes, value }) =>
      [...Object.values(attributes), value].join(" "),
    );
  expect(list()).toEqual([
    "client attempt issueCard attempt 1",
    "client response issueCard 201 1",
    "outbox issued  1",
    "client attempt getCard attempt 2",
    "client retry getCard 503 1",
    "client response getCard 200 1",
    "inbox stored  1",
    "receiver stored  1",
    "receiver rejected missing-signature 1",
  ]);
  expect(list(gauge)).toEqual(["outbox 1", "inbox 1"]);
});

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
