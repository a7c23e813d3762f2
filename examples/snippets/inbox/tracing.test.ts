/** The spans of a sign-up and of a purchase, with the mock service and the global provider of OpenTelemetry. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMockService } from "@loyalty-cards/mock-server";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { trace } from "@opentelemetry/api";
import { expect, it, onTestFinished } from "vitest";
import {
  getRelations,
  recordSpans,
  toTraceparent,
  useContexts,
} from "../../../packages/webhook-inbox/test/spans.ts";
import { openTraced } from "./tracing.ts";

useContexts();

it("links the issue of a card to its sign-up, and a handler to the receipt", async () => {
  const { tracer, inSpan, find } = recordSpans();
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  const folder = mkdtempSync(join(tmpdir(), "example-tracing-"));
  let receive: ReturnType<typeof fetchReceiver>;
  const service = createMockService({
    endpoints: [
      { url: "https://shop.example/webhooks", events: ["balance.changed"] },
    ],
    deliver: (request) => inSpan("POST /webhooks", () => receive(request)),
  });
  const { outbox, inbox } = openTraced(join(folder, "shop.db"), {
    baseUrl: service.baseUrl,
    apiKey: service.apiKeys.website,
    fetch: (input, init) => service.fetch(new Request(input, init)),
  });
  onTestFinished(async () => {
    trace.disable();
    await Promise.all([outbox.close(), inbox.close()]);
    rmSync(folder, { recursive: true });
  });
  receive = fetchReceiver({ secret: service.endpoints[0]?.secret ?? "", inbox });

  await inSpan("POST /sign-up", () =>
    outbox.write((database) =>
      outbox.add(database, {
        userId: 1,
        template: service.templateId,
        request: { customer: { consents: { privacy: { version: "1" } } } },
      }),
    ),
  );
  await outbox.drain();
  const issue = find("issue card");
  expect(getRelations(issue).links).toEqual([toTraceparent(find("POST /sign-up"))]);
  expect(
    getRelations(find("POST /api/v1/templates/{templateId}/passes")).parent,
  ).toBe(issue.spanContext().spanId);

  const { cardId = "" } = (await outbox.get(1)) ?? {};
  service.cards.purchase(cardId, { points: 5 });
  await service.idle();
  await inbox.drain(() => {});
  const receipt = find("receive balance.changed");
  expect(getRelations(receipt).parent).toBe(
    find("POST /webhooks").spanContext().spanId,
  );
  expect(getRelations(find("process balance.changed")).links).toEqual([
    toTraceparent(receipt),
  ]);
});
