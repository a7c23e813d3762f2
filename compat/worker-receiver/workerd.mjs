/** Bundles the Worker example and runs it in workerd, with its Durable Objects on a disk. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const binary = here("../node_modules/@cloudflare/workerd-linux-64/bin/workerd");

export async function openWorker() {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-worker-"));
  await build({
    entryPoints: [here("../../examples/worker-receiver/worker.ts")],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker", "browser"], // as wrangler does; our packages come from dist/
    logLevel: "error",
  });
  return {
    /** Listens on the port, until it is stopped; what its objects keep is there the next time. */
    async start(port, secret) {
      writeFileSync(join(folder, "config.capnp"), configuration(folder, port, secret));
      // fd 3: workerd says when it listens.
      const child = spawn(binary, ["serve", "--control-fd=3", join(folder, "config.capnp")], {
        stdio: ["ignore", "inherit", "inherit", "pipe"],
      });
      const listening = once(child.stdio[3], "data");
      const failed = once(child, "exit").then(([code]) =>
        Promise.reject(new Error(`workerd ended: ${code}`)),
      );
      await Promise.race([listening, failed]);
      failed.catch(() => {}); // from now on it is asked to
      return {
        url: `http://127.0.0.1:${port}`,
        async stop() {
          const ended = once(child, "exit");
          child.kill("SIGKILL");
          await ended;
        },
      };
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** What wrangler.jsonc says, in workerd's own words. */
const configuration = (folder, port, secret) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "2026-01-01",
      bindings = [
        (name = "CARDS", durableObjectNamespace = "LoyaltyCard"),
        (name = "LOYALTY_SIGNING_SECRET", text = ${JSON.stringify(secret)}),
      ],
      durableObjectNamespaces = [(className = "LoyaltyCard", uniqueKey = "loyalty-card", enableSql = true)],
      durableObjectStorage = (localDisk = "disk"),
    )),
    (name = "disk", disk = (path = ${JSON.stringify(folder)}, writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
`;
