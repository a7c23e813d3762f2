/** The worker of the guide, as a process of its own: the web process only adds entries and stores events. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createFolder } from "@loyalty-cards/testing/resources";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { expect, it, onTestFinished } from "vitest";
import { fromSource } from "../../commands/shell.ts";
import { openService } from "../../test/service.ts";

it("issues what the web process owes, handles what it received, and ends at SIGTERM", async () => {
  const { service, setEnvironment } = await openService();
  setEnvironment();
  process.env.SHOP_FILE = join(createFolder(), "shop.db");
  const { inbox, outbox } = await import("./loyalty.ts"); // the web process
  onTestFinished(async () => {
    await Promise.all([outbox.close(), inbox.close()]);
  });
  const program = fileURLToPath(new URL("worker.ts", import.meta.url));
  const stdio = ["ignore", "inherit", "inherit"] as const;
  const worker = spawn(process.execPath, [...fromSource, program], {
    stdio: [...stdio],
  });
  const ended = once(worker, "exit");
  onTestFinished(() => void worker.kill("SIGKILL"));

  const customer = { consents: { privacy: { version: "1" } } };
  const owed = { userId: 1, template: service.templateId, request: { customer } };
  await outbox.write((database) => outbox.add(database, owed));
  const createdAt = "2026-03-01T12:00:00.000Z";
  const body = JSON.stringify({ id: "evt_1", type: "ping", createdAt, data: {} });
  const signature = signWebhookSync({ rawBody: body, secret: "whsec" });
  const headers = { "service-signature": signature };
  const init = { method: "POST", headers, body };
  const receive = fetchReceiver({ secret: "whsec", inbox });
  const { status } = await receive(new Request("https://shop.test/", init));
  expect(status).toBe(204);

  const read = (table: string) =>
    outbox.write((database) => database.prepare(`SELECT * FROM ${table}`).all());
  const wait = { timeout: 30_000 };
  await expect.poll(() => read("events"), wait).toEqual([{ type: "ping" }]);
  await expect.poll(() => read("cards"), wait).toHaveLength(1);
  expect(await outbox.get(1)).toMatchObject({ state: "issued" });
  worker.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
}, 60_000);
