/** Runs the Worker in workerd, the runtime of Cloudflare, with its Durable Objects on disk. Wrangler does the same, and deploys. */
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

/** Resolves when the Worker listens. After `dispose()`, another run with the same folder continues with the stored objects. */
export async function runWorker(options: {
  port: number;
  secret: string;
  folder: string;
}) {
  const { port, secret, folder } = options;
  const { outputFiles } = buildSync({
    entryPoints: [new URL("worker.ts", import.meta.url).pathname],
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
