/** OpenTelemetry with its SDK: one span per call, and no failed calls when telemetry throws. */
import { context, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createIssuingClient, type IssuingClientOptions } from "../src/index.ts";
import { withOpenTelemetry } from "../src/otel.ts";
import { apiKey, card, json, networkError, type Script, scripted, signUp } from "./scripted.ts";

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

function traced(script: readonly Script[], options: Partial<IssuingClientOptions> = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer("test");
  const website = scripted(script, { baseUrl: "https://cards.test/eu", ...options }, (given) =>
    withOpenTelemetry(given, { tracer }),
  );
  return { ...website, tracer, spans: () => exporter.getFinishedSpans() };
}

const only = (spans: ReadableSpan[]): ReadableSpan => {
  expect(spans).toHaveLength(1);
  return spans[0] as ReadableSpan;
};

describe("the span of a call", () => {
  it("is a CLIENT span with the attributes of the conventions for HTTP", async () => {
    const { client, spans } = traced([json(card, 201)]);
    await client.issueCard("tpl_1", signUp, { userId: 1 });
    const { name, kind, attributes, status, ended } = only(spans());
    expect([name, kind, ended]).toEqual([
      "POST /eu/api/v1/templates/{templateId}/passes",
      SpanKind.CLIENT,
      true,
    ]);
    expect(attributes).toEqual({
      "http.request.method": "POST",
      "http.response.status_code": 201,
      "server.address": "cards.test",
      "server.port": 443,
      "url.full": "https://cards.test/eu/api/v1/templates/tpl_1/passes",
      "url.template": "/eu/api/v1/templates/{templateId}/passes",
    });
    expect(status.code).toBe(SpanStatusCode.UNSET);
  });

  it("has the address from the environment variable", async () => {
    vi.stubEnv("LOYALTY_URL", "https://from-environment.test:8443/eu");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { client, spans } = traced([json(card, 201)], { baseUrl: undefined });
    await client.issueCard("tpl_1", signUp, { userId: 1 });
    expect(only(spans()).attributes).toMatchObject({
      "server.address": "from-environment.test",
      "server.port": 8443,
      "url.template": "/eu/api/v1/templates/{templateId}/passes",
    });
  });

  it("has an event for each retry", async () => {
    const { client, spans } = traced([json({}, 503), networkError("ECONNRESET"), json(card)]);
    await client.getCard("card_1");
    const { attributes, events, status } = only(spans());
    expect(attributes).toMatchObject({ "http.request.resend_count": 2, "http.response.status_code": 200 });
    expect(events.map(({ name, attributes }) => [name, attributes?.["error.type"]])).toEqual([
      ["retry", "503"],
      ["retry", "network"],
    ]);
    expect(status.code).toBe(SpanStatusCode.UNSET);
  });

  it.each([
    [
      "a 422",
      [json({ detail: "Anna is known" }, 422)],
      { "http.response.status_code": 422, "error.type": "422" },
    ],
    ["no response", Array(3).fill(networkError("ECONNRESET")), { "error.type": "network" }],
    ["a card without an id", [json({}, 201)], { "error.type": "invalid-response" }],
  ] as [string, Script[], object][])("has an error status after %s", async (_name, script, attributes) => {
    const { client, spans } = traced(script);
    await expect(client.issueCard("tpl_1", signUp, { userId: 1 })).rejects.toThrow();
    const span = only(spans());
    expect(span.attributes).toMatchObject(attributes);
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(JSON.stringify([span.attributes, span.events, span.status])).not.toContain("Anna");
  });

  it("ends without an error status when the caller aborts", async () => {
    const controller = new AbortController();
    const { client, spans } = traced([() => new Promise<Response>(() => controller.abort())]);
    await client.getCard("card_1", { signal: controller.signal }).catch(() => {});
    const { attributes, status } = only(spans());
    expect([attributes["error.type"], status.code]).toEqual(["abort", SpanStatusCode.UNSET]);
  });

  it("is separate for concurrent calls, and a child of the span that was active at the start", async () => {
    const { client, spans, tracer } = traced([json(card), json({}, 404), json(card)]);
    const calls = ["a", "b", "c"].map((name) =>
      tracer.startActiveSpan(name, async (parent) => {
        await client.getCard(name).catch(() => {});
        parent.end();
      }),
    );
    await Promise.all(calls);
    for (const name of ["a", "b", "c"]) {
      const parent = spans().find((span) => span.name === name);
      const own = spans().filter((span) => span.parentSpanContext?.spanId === parent?.spanContext().spanId);
      expect(only(own).attributes["url.full"]).toBe(`https://cards.test/eu/api/v1/passes/${name}`);
      expect(only(own).attributes["http.response.status_code"]).toBe(name === "b" ? 404 : 200);
    }
  });

  it("is active while the request is sent, so that the span of an instrumented fetch is its child", async () => {
    const active: (string | undefined)[] = [];
    const respond = () => {
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      return json(card);
    };
    const { client, spans } = traced([json({}, 503), respond]);
    await client.getCard("card_1");
    expect(active).toEqual([only(spans()).spanContext().spanId]);
  });

  it("has no url.template for client.api", async () => {
    const { client, spans } = traced([json(card)]);
    await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
    const { name, attributes } = only(spans());
    expect(name).toBe("GET");
    expect(attributes["url.full"]).toBe("https://cards.test/eu/api/v1/passes/card_1");
    expect(attributes).not.toHaveProperty("url.template");
  });

  it("is not created for a call that sends no request", async () => {
    const { client, spans, requests } = traced([]);
    await expect(client.getCard("")).rejects.toThrow(/missing or empty/);
    await expect(client.getCard("card_1", { signal: AbortSignal.abort() })).rejects.toThrow();
    expect([spans(), requests]).toEqual([[], []]);
  });
});

it("calls the program's own onEvent", async () => {
  const { client, events } = traced([json(card)]);
  await client.getCard("card_1");
  expect(events.map(({ type }) => type)).toEqual(["attempt", "response"]);
});

// G8
it("records no secrets and no personal data in spans", async () => {
  const { client, spans } = traced([json({ detail: "phone +48600100200 is taken" }, 409), json(card, 201)]);
  await client.issueCard("tpl_1", signUp, { userId: "anna@example.com" }).catch(() => {});
  await client.issueCard("tpl_1", signUp, { userId: "anna@example.com" });
  const printed = JSON.stringify(
    spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
  );
  for (const secret of [apiKey, "+48600100200", "anna@example.com", "Anna"])
    expect(printed).not.toContain(secret);
});

describe("telemetry that fails", () => {
  const broken = (member: string) => {
    const fail = () => {
      throw new Error(`${member} is broken`);
    };
    const span = new Proxy({}, { get: (_target, name) => (name === member ? fail : () => span) });
    const startSpan = member === "startSpan" ? fail : () => span;
    return { startSpan } as unknown as Tracer;
  };

  it.each(["startSpan", "setAttribute", "addEvent", "setStatus", "end"])(
    "does not fail or repeat a call when %s throws",
    async (member) => {
      const given = [json({}, 503), json(card), json({}, 404)];
      const { client, requests } = scripted(given, {}, (options) =>
        withOpenTelemetry(options, { tracer: broken(member) }),
      );
      expect((await client.getCard("card_1")).id).toBe("card_1");
      await expect(client.getCard("card_2")).rejects.toMatchObject({ code: "not-found" });
      expect(requests).toHaveLength(3);
    },
  );

  it("does not fail a call when the context manager throws", async () => {
    context.disable();
    const fail = () => {
      throw new Error("no context");
    };
    const failing = { active: fail, with: fail, bind: fail, enable: fail, disable: () => failing };
    context.setGlobalContextManager(failing as never);
    try {
      const { client, requests } = traced([json(card)]);
      expect((await client.getCard("card_1")).id).toBe("card_1");
      expect(requests).toHaveLength(1);
    } finally {
      context.disable();
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    }
  });

  it("reports a transport that throws as a network error, and calls it once", async () => {
    let sent = 0;
    const transport = () => {
      sent += 1;
      throw new Error("no route");
    };
    const { client, spans } = traced([], { fetch: undefined, transport, maxRetries: 0 });
    await expect(client.getCard("card_1")).rejects.toMatchObject({ code: "network" });
    expect([sent, only(spans()).attributes["error.type"]]).toEqual([1, "network"]);
  });

  it("leaves it to the client to reject an invalid address", () => {
    expect(() => createIssuingClient(withOpenTelemetry({ baseUrl: "nowhere", apiKey }))).toThrow(
      /baseUrl has no scheme/,
    );
  });
});
