/** Tests a receiver: deliveries in process, injected faults, time travel. */
// #region webhooks
import { createMockService, manualClock } from "@loyalty-cards/mock-server";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { expect, it } from "vitest";

it("accepts a delivery six minutes later, after two failed attempts", async () => {
  let isDatabaseUp = false;
  const service = createMockService({
    clock: manualClock(),
    deliver: (request) => receive(request),
  });
  const { id, secret } = service.webhooks.createEndpoint({
    url: "https://shop.test/webhooks",
    events: ["ping"],
  });
  const receive = fetchReceiver({
    secret,
    now: service.clock.now,
    handler: () => {
      if (!isDatabaseUp) throw new Error("database down");
    },
  });

  service.webhooks.sendTest(id);
  await service.clock.advance("1m");
  isDatabaseUp = true;
  const [attempt] = await service.clock.advance("5m");

  expect(attempt).toMatchObject({ status: 204 });
  expect(service.webhooks.deliveries()).toMatchObject([
    {
      state: "delivered",
      attempts: [{ status: 503 }, { status: 503 }, { status: 204 }],
    },
  ]);
});
// #endregion
