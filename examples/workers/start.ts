/** `npm start`: the Worker and the mock service, until Ctrl-C. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { runWorker } from "./run.ts";

const port = Number(process.env.PORT ?? 8787);
const folder = mkdtempSync(join(tmpdir(), "worker-"));
const mock = await startMockServer();
const { secret } = mock.service.webhooks.createEndpoint({
  url: `http://127.0.0.1:${port}/webhooks/loyalty`,
  events: ["balance.changed", "tier.changed", "consent.changed"],
});
const worker = await runWorker({ port, secret, folder });
console.log(
  `The console is at ${mock.url}/console: issue a card and record a purchase there.`,
);
console.log(
  `The Worker's data of a card is at http://127.0.0.1:${port}/cards/<the card's id>`,
);

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await worker.dispose();
    await mock.close();
    rmSync(folder, { recursive: true });
  });
}
