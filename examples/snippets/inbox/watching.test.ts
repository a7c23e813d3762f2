/** Each call and each delivery is counted once. */
import { createMockService } from "@loyalty-cards/mock-server";
import type { Meter } from "@opentelemetry/api";
import { expect, it } from "vitest";
import { watchedClient, watchedReceiver } from "./watching.ts";

/** A meter that records what was added. */
function recordingMeter() {
  const added: [name: string, value: number, attributes: unknown][] = [];
  const instrument = (name: string) => ({
    add: (value: number, attributes: unknown) => void added.push([name, value, attributes]),
    record: (value: number) => void added.push([name, value, undefined]),
  });
  return { added, meter: { createCounter: instrument, createHistogram: instrument } as unknown as Meter };
}

it("counts calls and retries", async () => {
  const service = createMockService();
  service.faults.add({ phase: "before", kind: "status", status: 503, retryAfterSeconds: 0, times: 1 });
  const { added, meter } = recordingMeter();
  const fetch = (input: string | URL | Request, init?: RequestInit) =>
    service.fetch(new Request(input, init));
  const { baseUrl, apiKeys } = service;
  const loyalty = watchedClient({ baseUrl, apiKey: apiKeys.website, fetch }, meter);
  await expect(loyalty.getCard("card_of_nobody")).rejects.toMatchObject({ code: "not-found" });
  expect(added).toEqual([
    ["loyalty.retries", 1, { operation: "getCard", "error.type": "503" }],
    ["loyalty.calls", 1, { operation: "getCard", end: "404" }],
  ]);
});

it("counts deliveries with the reason of a rejection", async () => {
  const { added, meter } = recordingMeter();
  const service = createMockService({ deliver: (request) => receive(request) });
  const url = "https://shop.test/webhooks";
  const { id, secret } = service.webhooks.createEndpoint({ url, events: ["ping"] });
  const receive = watchedReceiver(secret, { put: async () => "stored" }, meter);
  service.webhooks.sendTest(id);
  await service.idle();
  await receive(new Request(url, { method: "POST", body: "{}" }));
  expect(added).toEqual([
    ["loyalty.deliveries", 1, { outcome: "stored" }],
    ["loyalty.clock_skew", expect.any(Number), undefined],
    ["loyalty.deliveries", 1, { outcome: "rejected", reason: "missing-signature" }],
  ]);
});
