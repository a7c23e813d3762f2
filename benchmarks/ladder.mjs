/** The whole ladder of retries, from the first attempt to Failed, eight hours and a half of the service's time: how long it really takes. */
import { createMockService, manualClock } from "../packages/mock-server/dist/index.js";

const rounds = 51;
const taken = [];
for (let round = 0; round < rounds; round++) {
  const service = createMockService({
    clock: manualClock(),
    deliver: () => new Response(null, { status: 500 }),
  });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/webhooks", events: ["ping"] });
  const startedMs = performance.now();
  service.webhooks.sendTest(id);
  const fired = await service.clock.advance("1d");
  taken.push(performance.now() - startedMs);
  const [delivery] = service.webhooks.deliveries();
  if (delivery.state !== "failed" || fired.length < 5) throw new Error(JSON.stringify(delivery));
}
const [first] = taken;
taken.sort((a, b) => a - b);
const figures = [first, taken[rounds >> 1], taken.at(-1)].map((ms) => ms.toFixed(1));
console.log(
  `Node ${process.versions.node}, six attempts: first ${figures[0]} ms, median ${figures[1]} ms, slowest ${figures[2]} ms`,
);
