/** OpenTelemetry, with its own SDK: a span per call that tells what happened, and no way to fail a call. */
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

describe("a call is one CLIENT span", () => {
  it("with what the conventions for HTTP ask for", async () => {
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

  it("with the address that the environment gives", async () => {
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

  it("retries included, each of them told", async () => {
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
      "a refusal",
      [json({ detail: "Anna is known" }, 422)],
      { "http.response.status_code": 422, "error.type": "422" },
    ],
    ["no answer", Array(3).fill(networkError("ECONNRESET")), { "error.type": "network" }],
    ["half a card", [json({}, 201)], { "error.type": "invalid-response" }],
  ] as [string, Script[], object][])("%s is its error", async (_name, script, attributes) => {
    const { client, spans } = traced(script);
    await expect(client.issueCard("tpl_1", signUp, { userId: 1 })).rejects.toThrow();
    const span = only(spans());
    expect(span.attributes).toMatchObject(attributes);
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(JSON.stringify([span.attributes, span.events, span.status])).not.toContain("Anna");
  });

  it("the caller's abort ends it, and is no error of the service", async () => {
    const controller = new AbortController();
    const { client, spans } = traced([() => new Promise<Response>(() => controller.abort())]);
    await client.getCard("card_1", { signal: controller.signal }).catch(() => {});
    const { attributes, status } = only(spans());
    expect([attributes["error.type"], status.code]).toEqual(["abort", SpanStatusCode.UNSET]);
  });

  it("calls at the same time have their own, below what was active when each began", async () => {
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

  it("is active while the request goes out, so that an instrumented fetch is inside", async () => {
    const active: (string | undefined)[] = [];
    const answer = () => {
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      return json(card);
    };
    const { client, spans } = traced([json({}, 503), answer]);
    await client.getCard("card_1");
    expect(active).toEqual([only(spans()).spanContext().spanId]);
  });

  it("of the escape hatch, without a template", async () => {
    const { client, spans } = traced([json(card)]);
    await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
    const { name, attributes } = only(spans());
    expect(name).toBe("GET");
    expect(attributes["url.full"]).toBe("https://cards.test/eu/api/v1/passes/card_1");
    expect(attributes).not.toHaveProperty("url.template");
  });

  it("a call that sends nothing has none", async () => {
    const { client, spans, requests } = traced([]);
    await expect(client.getCard("")).rejects.toThrow(/missing or empty/);
    await expect(client.getCard("card_1", { signal: AbortSignal.abort() })).rejects.toThrow();
    expect([spans(), requests]).toEqual([[], []]);
  });
});

it("the program's own onEvent is told as before", async () => {
  const { client, events } = traced([json(card)]);
  await client.getCard("card_1");
  expect(events.map(({ type }) => type)).toEqual(["attempt", "response"]);
});

it("no secret and nobody's data is in a span", async () => {
  const { client, spans } = traced([json({ detail: "phone +48600100200 is taken" }, 409), json(card, 201)]);
  await client.issueCard("tpl_1", signUp, { userId: "anna@example.com" }).catch(() => {});
  await client.issueCard("tpl_1", signUp, { userId: "anna@example.com" });
  const told = JSON.stringify(
    spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
  );
  for (const secret of [apiKey, "+48600100200", "anna@example.com", "Anna"])
    expect(told).not.toContain(secret);
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
    "in %s costs no call, and no second request",
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

  it("in the context manager costs none either", async () => {
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

  it("a transport that throws is a failure of the network, sent once", async () => {
    let sent = 0;
    const transport = () => {
      sent += 1;
      throw new Error("no route");
    };
    const { client, spans } = traced([], { fetch: undefined, transport, maxRetries: 0 });
    await expect(client.getCard("card_1")).rejects.toMatchObject({ code: "network" });
    expect([sent, only(spans()).attributes["error.type"]]).toEqual([1, "network"]);
  });

  it("an address the client refuses is refused by the client", () => {
    expect(() => createIssuingClient(withOpenTelemetry({ baseUrl: "nowhere", apiKey }))).toThrow(
      /baseUrl is not a URL/,
    );
  });
});
