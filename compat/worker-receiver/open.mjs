/** `npm run worker`: the Worker example in workerd with the mock service beside it, until Ctrl-C. */
import { startMockServer } from "../../packages/mock-server/dist/node.js";
import { openWorker } from "./workerd.mjs";

const port = Number(process.env.PORT ?? 8787);
const mock = await startMockServer();
const { secret } = mock.service.webhooks.createEndpoint({
  url: `http://127.0.0.1:${port}/webhooks/loyalty`,
  events: ["balance.changed", "tier.changed", "consent.changed"],
});
const worker = await openWorker();
const running = await worker.start(port, secret);
console.log(`The console is at ${mock.url}/console: issue a card and record a purchase there.`);
console.log(`What the Worker knows of a card is at ${running.url}/cards/<the card's id>`);

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await running.stop();
    worker.close();
    await mock.close();
  });
}
