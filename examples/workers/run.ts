/**
 * Runs the Worker in workerd, the runtime of Cloudflare, with its Durable Objects on disk; `npm
 * start` with the mock service, until Ctrl-C. Wrangler runs it too, and deploys.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

/**
 * Resolves when the Worker listens. After `dispose()`, another run with the same folder continues
 * with the stored objects.
 */
export async function runWorker(options: {
  port: number;
  secret: string;
  folder: string;
}) {
  const { port, secret, folder } = options;
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL("worker.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker"],
    write: false,
  });
  const worker = new Miniflare({
    port,
    modules: true,
    script: outputFiles[0]?.text ?? "",
    compatibilityDate: "2026-01-01",
    bindings: { LOYALTY_SIGNING_SECRET: secret },
    durableObjects: { CARDS: { className: "LoyaltyCard", useSQLite: true } },
    durableObjectsPersist: folder,
  });
  await worker.ready;
  return worker;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.env.PORT ?? 8787);
  const url = `http://127.0.0.1:${port}`;
  const folder = mkdtempSync(join(tmpdir(), "worker-"));
  const mock = await startMockServer();
  const { secret } = mock.service.webhooks.createEndpoint({
    url: `${url}/webhooks/loyalty`,
    events: ["balance.changed", "tier.changed", "consent.changed"],
  });
  const worker = await runWorker({ port, secret, folder });
  console.log(`The console, for cards and purchases: ${mock.url}/console`);
  console.log(`The Worker's data of a card: ${url}/cards/<the card's id>`);
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, async () => {
      await worker.dispose();
      await mock.close();
      rmSync(folder, { recursive: true });
    });
  }
}
