/** The metrics as the real OpenTelemetry SDK collects them. */
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { expect, it, onTestFinished } from "vitest";
import { inboxMetrics } from "../src/otel.ts";
import { balanceChanged, put } from "./events.ts";
import { recordOutcomes } from "./outcomes.ts";
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
