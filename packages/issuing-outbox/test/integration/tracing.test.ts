/** The spans of one sign-up through the outbox on each database, with the OpenTelemetry SDK; and what is stored with and without it. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { withOpenTelemetry } from "@loyalty-cards/issuing-client/otel";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type pg from "pg";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { hasPostgres, ownSchema } from "../../../webhook-inbox/test/servers.ts";
import { getRelations, recordSpans, toTraceparent, useContexts } from "../../../webhook-inbox/test/spans.ts";
import type { Outbox, OutboxOptions, OwedCard } from "../../src/index.ts";
import { outboxTracing } from "../../src/otel.ts";
import { ensureTables, postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, nextPhone, openShop, template, toRequest } from "../shop.ts";

interface TracedOutbox {
  outbox: Outbox;
  add(entry: OwedCard): Promise<unknown>;
  correct(userId: string, request: OwedCard["request"]): Promise<unknown>;
  /** The column of each entry. */
  readTraceparents(): Promise<unknown[]>;
}

const read = "SELECT traceparent FROM issuing_outbox_entries ORDER BY id";
const toColumn = (rows: unknown[]) => rows.map((row) => (row as { traceparent: unknown }).traceparent);

useContexts();

describe("in SQLite", () => {
  describeTracing((options) => {
    const { outbox } = openShop(undefined, options);
    return {
      outbox,
      add: (entry) => outbox.write((database) => outbox.add(database, entry)),
      correct: (userId, request) => outbox.write((database) => outbox.correct(database, userId, request)),
      readTraceparents: async () => toColumn(await outbox.write((database) => database.prepare(read).all())),
    };
  });
});

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
  const { pool: createPool } = ownSchema();
  const pool = createPool();
  beforeAll(() => ensureTables(pool));
  beforeEach(async () => {
    await pool.query("TRUNCATE issuing_outbox_entries, issuing_outbox_requests");
    await pool.query("UPDATE issuing_outbox_settings SET base_url_hash = NULL, namespace_hash = NULL");
  });
  describeTracing((options) => {
    const outbox = postgresOutbox<pg.PoolClient>({ pool, log: () => {}, ...options });
    onTestFinished(() => outbox.close({ graceMs: 0 }));
    return {
      outbox,
      add: (entry) => outbox.write((transaction) => outbox.add(transaction, entry)),
      correct: (userId, request) =>
        outbox.write((transaction) => outbox.correct(transaction, userId, request)),
      readTraceparents: async () => toColumn((await pool.query(read)).rows),
    };
  });
});

function describeTracing(
  open: (options: Pick<OutboxOptions<never>, "client" | "tracing">) => TracedOutbox,
): void {
  function start(isTraced: boolean) {
    const recorded = recordSpans();
    const { tracer } = recorded;
    const { service, fetch, weather } = createNetwork();
    const options = { baseUrl: service.baseUrl, apiKey: service.apiKeys.website, fetch };
    const opened = isTraced
      ? open({
          client: createIssuingClient(withOpenTelemetry(options, { tracer })),
          tracing: outboxTracing(tracer),
        })
      : open({ client: createIssuingClient(options) });
    const signUp = (userId: string) =>
      recorded.inSpan("POST /sign-up", () =>
        opened.add({ userId, template, request: toRequest({ phone: nextPhone() }) }),
      );
    return { ...recorded, ...opened, weather, signUp };
  }
  const call = "POST /api/v1/templates/{templateId}/passes";

  it("links the span of the card's issue to the span of the sign-up", async () => {
    const { signUp, readTraceparents, outbox, spans, find } = start(true);
    await signUp("1");
    const request = find("POST /sign-up");
    expect(await readTraceparents()).toEqual([toTraceparent(request)]);
    await outbox.drain();
    expect(spans()).toHaveLength(3);
    const issue = find("issue card");
    expect(getRelations(issue)).toEqual({ parent: undefined, links: [toTraceparent(request)] });
    expect(issue).toMatchObject({ kind: SpanKind.CONSUMER, status: { code: SpanStatusCode.UNSET } });
    expect(issue.attributes).toEqual({
      "messaging.system": "loyalty_cards",
      "messaging.destination.name": "card",
      "messaging.operation.name": "issue",
      "messaging.operation.type": "process",
    });
    expect(getRelations(find(call))).toEqual({ parent: issue.spanContext().spanId, links: [] });
    expect(await readTraceparents()).toEqual([null]); // the card is issued
  });

  it("has the span of a visitor who waits as the parent", async () => {
    const { signUp, outbox, inSpan, find } = start(true);
    await signUp("1");
    await inSpan("GET /card", () => outbox.issue("1"));
    expect(getRelations(find("issue card"))).toEqual({
      parent: find("GET /card").spanContext().spanId,
      links: [toTraceparent(find("POST /sign-up"))],
    });
  });

  it("links each attempt, and records the code of its error", async () => {
    const { signUp, outbox, correct, weather, spans, find } = start(true);
    await signUp("1");
    weather.push(422);
    await outbox.drain();
    await correct("1", toRequest({ phone: nextPhone() }));
    await outbox.drain();
    const [rejected, issued] = spans().filter(({ name }) => name === "issue card");
    expect(rejected).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "validation" },
    });
    expect(issued).toMatchObject({ status: { code: SpanStatusCode.UNSET } });
    const links = [toTraceparent(find("POST /sign-up"))];
    expect([rejected, issued].map((span) => span && getRelations(span).links)).toEqual([links, links]);
  });

  it("stores the span of addAll with each entry", async () => {
    const { outbox, inSpan, readTraceparents, find } = start(true);
    const list = ["1", "2"].map((userId) => ({
      userId,
      template,
      request: toRequest({ phone: nextPhone() }),
    }));
    await inSpan("import", () => outbox.addAll([...list, { userId: "3", template, cardId: "card_1" }]));
    const traceparent = toTraceparent(find("import"));
    expect(await readTraceparents()).toEqual([traceparent, traceparent, null]);
  });

  it("stores nothing, and creates no span, without OpenTelemetry", async () => {
    const { signUp, readTraceparents, outbox, spans } = start(false);
    await signUp("1");
    expect(await readTraceparents()).toEqual([null]);
    expect(await outbox.drain()).toMatchObject({ issued: 1 });
    expect(spans().map(({ name }) => name)).toEqual(["POST /sign-up"]);
  });
}
