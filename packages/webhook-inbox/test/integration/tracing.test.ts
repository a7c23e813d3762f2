/** The spans of one delivery through each engine, with the OpenTelemetry SDK; and what is stored with and without it. */
import { type Inbox, signWebhookSync, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { Queue, Worker } from "bullmq";
import PgBoss from "pg-boss";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { bullmqInbox, inboxHandler, pgBossInbox, type QueueHandler } from "../../src/index.ts";
import { inboxTracing } from "../../src/otel.ts";
import type { InspectableInbox, ReportOptions } from "../../src/reports.ts";
import { balanceChanged } from "../events.ts";
import { recordOutcomes } from "../outcomes.ts";
import { hasPostgres, hasRedis, ownPrefix, ownSchema } from "../servers.ts";
import { getActiveId, getRelations, recordSpans, toTraceparent, useContexts } from "../spans.ts";
import { openInbox } from "../sqlite-files.ts";

interface TracedInbox {
  inbox: Inbox & InspectableInbox;
  work(handler: QueueHandler): Promise<unknown>;
  /** What the engine has stored of the only event: its columns, or the data of its job. */
  readStored(): Promise<Record<string, unknown>>;
}

useContexts();

describe("in SQLite", () => {
  describeTracing(
    ["source", "id", "type", "body", "received_at", "state", "due_at", "attempts"],
    async (options) => {
      const inbox = openInbox(options);
      const read = "SELECT * FROM webhook_inbox_events";
      return {
        inbox,
        work: async (handler) => inbox.work(handler, { maxAttempts: 1 }),
        async readStored() {
          const row = (await inbox.write((database) => database.prepare(read).get())) as object;
          // libsql adds _metadata
          return Object.fromEntries(
            Object.entries(row).filter(([name, value]) => value !== null && name !== "_metadata"),
          );
        },
      };
    },
  );
});

describe.skipIf(!(await hasPostgres()))("in pg-boss", () => {
  const { url, schema } = ownSchema();
  const boss = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false });
  beforeAll(() => boss.start());
  afterAll(() => boss.stop({ graceful: false, close: true, wait: true }));
  let queues = 0;
  describeTracing(["body", "receivedAt"], async (options) => {
    const queue = `events-${++queues}`;
    await boss.createQueue(queue);
    return {
      inbox: await pgBossInbox(boss, { queue, maxAttempts: 1, ...options }),
      async work(handler) {
        await boss.work(
          queue,
          { pollingIntervalSeconds: 0.5, includeMetadata: true },
          inboxHandler(handler, options),
        );
        onTestFinished(() => boss.offWork(queue));
      },
      async readStored() {
        const { rows } = await boss
          .getDb()
          .executeSql(`SELECT data FROM ${schema}.job WHERE name = $1`, [queue]);
        return rows[0].data;
      },
    };
  });
});

describe.skipIf(!(await hasRedis()))("in BullMQ", () => {
  const { prefix, url } = ownPrefix();
  let queues = 0;
  describeTracing(["body", "receivedAt", "copy"], async (options) => {
    const queue = new Queue(`events-${++queues}`, {
      prefix,
      connection: { url, enableOfflineQueue: false },
    });
    onTestFinished(() => queue.close());
    return {
      inbox: await bullmqInbox(queue, { maxAttempts: 1, ...options }),
      async work(handler) {
        const worker = new Worker(queue.name, inboxHandler(handler, options), {
          prefix,
          connection: { url },
        });
        onTestFinished(() => worker.close(true));
      },
      readStored: async () => (await queue.getJobs())[0]?.data,
    };
  });
});

/** @param names what the engine stores of an event without OpenTelemetry. */
function describeTracing(
  names: readonly string[],
  open: (options: ReportOptions) => Promise<TracedInbox>,
): void {
  async function start(isTraced: boolean, event: WebhookEvent = balanceChanged("evt_1")) {
    const recorded = recordSpans();
    const outcomes = recordOutcomes();
    const tracing = isTraced ? { tracing: inboxTracing(recorded.tracer) } : {};
    const opened = await open({ onOutcome: outcomes.onOutcome, log: () => {}, ...tracing });
    const receive = fetchReceiver({ secret: "whsec_1", inbox: opened.inbox, log: () => {} });
    const deliver = () =>
      recorded.inSpan("POST /webhooks", async () => {
        const body = JSON.stringify(event);
        const signature = signWebhookSync({ rawBody: body, secret: "whsec_1" });
        const headers = { "service-signature": signature };
        return (await receive(new Request("http://shop.test", { method: "POST", headers, body }))).status;
      });
    return { ...recorded, ...opened, until: outcomes.until, deliver };
  }

  it("links the span of the handler to the span of the receipt", async () => {
    const { deliver, readStored, work, until, find, spans } = await start(true);
    let activeId: string | undefined;
    await work(async () => {
      activeId = getActiveId();
    });
    expect(await deliver()).toBe(204);
    await until("done");
    const [request, receipt, handling] = [
      "POST /webhooks",
      "receive balance.changed",
      "process balance.changed",
    ].map(find) as [ReturnType<typeof find>, ReturnType<typeof find>, ReturnType<typeof find>];
    expect(spans()).toHaveLength(3);
    expect(getRelations(receipt)).toEqual({ parent: request.spanContext().spanId, links: [] });
    expect(getRelations(handling)).toEqual({ parent: undefined, links: [toTraceparent(receipt)] });
    expect(handling.spanContext().traceId).not.toBe(receipt.spanContext().traceId);
    expect(activeId).toBe(handling.spanContext().spanId);
    const attributes = {
      "messaging.system": "loyalty_cards",
      "messaging.destination.name": "balance.changed",
      "messaging.message.id": "evt_1",
    };
    expect(receipt).toMatchObject({ kind: SpanKind.CONSUMER, status: { code: SpanStatusCode.UNSET } });
    expect(receipt.attributes).toEqual({
      ...attributes,
      "messaging.operation.name": "receive",
      "messaging.operation.type": "receive",
    });
    expect(handling).toMatchObject({ kind: SpanKind.CONSUMER, status: { code: SpanStatusCode.UNSET } });
    expect(handling.attributes).toEqual({
      ...attributes,
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
    });
    expect((await readStored())["traceparent"]).toBe(toTraceparent(receipt));
  });

  it("records the kind of a handler's error, without its message, and a duplicate that revives the event", async () => {
    const { inbox, deliver, work, until, find, spans, readStored } = await start(true);
    await work(() => {
      throw new RangeError("Anna is not known.");
    });
    await deliver();
    await expect.poll(() => inbox.health()).toMatchObject({ dead: 1 });
    const first = find("process balance.changed");
    expect(first.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(first.attributes["error.type"]).toBe("RangeError");
    expect(JSON.stringify([first.attributes, first.events, first.status])).not.toContain("Anna");
    expect(await deliver()).toBe(204);
    await until("dead", 2);
    const [, again] = spans().filter(({ name }) => name === "receive balance.changed");
    const [, second] = spans().filter(({ name }) => name === "process balance.changed");
    expect(second && getRelations(second).links).toEqual([again && toTraceparent(again)]);
    expect((await readStored())["traceparent"]).toBe(again && toTraceparent(again));
  });

  it("gives the spans of unknown types one name", async () => {
    const { deliver, find } = await start(true, { ...balanceChanged("evt_1"), type: "card.renamed" });
    await deliver();
    expect(find("receive other").attributes["messaging.destination.name"]).toBe("other");
  });

  it("stores nothing more, and creates no span, without OpenTelemetry", async () => {
    const { deliver, readStored, work, until, spans } = await start(false);
    expect(await deliver()).toBe(204);
    expect(Object.keys(await readStored()).sort()).toEqual([...names].sort());
    await work(() => expect(getActiveId()).toBe(undefined));
    await until("done");
    expect(spans().map(({ name }) => name)).toEqual(["POST /webhooks"]);
  });
}
