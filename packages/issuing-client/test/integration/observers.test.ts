/** Tools that replace functions of node:http see the requests of the default transport. For MSW, see the tests that open a website. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SpanKind } from "@opentelemetry/api";
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import nock from "nock";
import { expect, it, onTestFinished } from "vitest";
import { createIssuingClient } from "../../src/index.ts";

const card = { id: "card_1", publicUrl: "https://cards.test/1", loyaltyBalance: 0 };

it("is intercepted by nock", async () => {
  onTestFinished(() => nock.restore());
  const request = nock("https://cards.test", { reqheaders: { authorization: "Bearer k" } })
    .get("/api/v1/passes/card_1")
    .reply(200, card);
  const client = createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k" });
  expect(await client.getCard("card_1")).toEqual(card);
  expect(request.isDone()).toBe(true);
});

it("is traced by OpenTelemetry's instrumentation of http", async () => {
  const server = createServer((_request, response) => void response.end(JSON.stringify(card)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const exporter = new InMemorySpanExporter();
  const instrumentation = new HttpInstrumentation();
  instrumentation.setTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }) as never,
  );
  onTestFinished(() => instrumentation.disable());
  await createIssuingClient({ baseUrl, apiKey: "k" }).getCard("card_1");
  const getSpans = () => exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.CLIENT);
  while (getSpans().length === 0) await new Promise(setImmediate); // a span ends after its response
  const spans = getSpans();
  expect(spans.map(({ name, attributes }) => [name, attributes["http.url"]])).toEqual([
    ["GET", `${baseUrl}/api/v1/passes/card_1`],
  ]);
});
