/** Each shop that a reader starts says that its port is taken, and fails. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));
const flags = [
  "--conditions=@loyalty-cards/source",
  "--import",
  import.meta.resolve("tsx"),
];

const programs = [
  "express/main.ts",
  "getting-started/shop-express.ts",
  "getting-started/shop-fastify.ts",
];

it.each(programs)(
  "%s says that its port is taken, and exits with 1",
  async (file) => {
    const server = createServer().listen(0);
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const folder = mkdtempSync(join(tmpdir(), "taken-port-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { port } = server.address() as AddressInfo;
    const child = spawn(process.execPath, [...flags, `${here}${file}`], {
      cwd: dirname(`${here}${file}`),
      env: {
        ...process.env,
        PORT: String(port),
        SHOP_FILE: join(folder, "shop.db"),
        LOYALTY_URL: "http://127.0.0.1:4010",
        LOYALTY_API_KEY: "key_not_used",
        LOYALTY_TEMPLATE_ID: "tpl_not_used",
        LOYALTY_SIGNING_SECRET: "whsec_not_used",
      },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "exit"),
    ]);
    expect(stderr).toMatch(
      new RegExp(
        `^Error: listen EADDRINUSE: address already in use \\S+:${port}$`,
        "m",
      ),
    );
    expect([code, stdout]).toEqual([1, ""]);
  },
);
