/** Each shop that a reader starts says that its port is taken, and fails. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const tsx = import.meta.resolve("tsx");
const flags = ["--conditions=@loyalty-cards/source", "--import", tsx];

it.each([
  "express/main.ts",
  "getting-started/shop-express.ts",
  "getting-started/shop-fastify.ts",
])("%s says that its port is taken, and exits with 1", async (file) => {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cwd = mkdtempSync(join(tmpdir(), "taken-port-")); // for its database
  onTestFinished(() => {
    server.close();
    rmSync(cwd, { recursive: true });
  });
  const program = fileURLToPath(new URL(file, import.meta.url));
  const running = promisify(execFile)(process.execPath, [...flags, program], {
    cwd,
    env: {
      ...process.env,
      PORT: String(port),
      LOYALTY_URL: "http://127.0.0.1:4010",
      LOYALTY_API_KEY: "key_not_used",
      LOYALTY_TEMPLATE_ID: "tpl_not_used",
      LOYALTY_SIGNING_SECRET: "whsec_not_used",
    },
  });
  const stderr = expect.stringMatching(
    new RegExp(`^Error: listen EADDRINUSE: .* \\S+:${port}$`, "m"),
  );
  await expect(running).rejects.toMatchObject({ code: 1, stdout: "", stderr });
});
