/** The fetch adapter: waitUntil of a platform, and requests whose body cannot be read. */
import { expect, it } from "vitest";
import { fetchReceiver } from "../../src/adapters/fetch.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

it("passes the work after the response to waitUntil", async () => {
  const seen: string[] = [];
  const kept: Promise<unknown>[] = [];
  const receive = fetchReceiver({ secret, afterResponse: (event) => void seen.push(event.id) });
  const { body, headers } = signedDelivery(balanceChanged());
  const request = new Request("https://shop.test/webhooks", { method: "POST", body, headers });
  const response = await receive(
    request,
    { SECRET: "x" },
    { waitUntil: (promise: Promise<unknown>) => kept.push(promise) },
  );
  expect([response.status, seen, kept.length]).toEqual([204, [], 1]);
  await Promise.all(kept);
  expect(seen).toEqual(["evt_1"]);
});

it("rejects a body over the limit at once, even of a cloned request", async () => {
  const receive = fetchReceiver({ secret, handler: () => {}, maxBodyBytes: 10 });
  const { body, headers } = signedDelivery(balanceChanged());
  const request = new Request("https://shop.test/webhooks", { method: "POST", body, headers });
  request.clone();
  expect((await receive(request)).status).toBe(413);
});

it.each([true, false])(
  "responds 500 when another reader has locked the body (with content-length: %s)",
  async (isAnnounced) => {
    const log: string[] = [];
    const receive = fetchReceiver({ secret, handler: () => {}, log: (line) => log.push(line) });
    const { body, headers } = signedDelivery(balanceChanged());
    if (isAnnounced) headers["content-length"] = String(body.length);
    const request = new Request("https://shop.test/webhooks", { method: "POST", body, headers });
    request.body?.getReader();
    expect((await receive(request)).status).toBe(500);
    expect(log).toEqual([expect.stringMatching(/before anything reads its body/)]);
  },
);

// G15
it("responds 413 when content-length is too low, and 400 when the body fails", async () => {
  const { body, headers } = signedDelivery(balanceChanged());
  headers["content-length"] = "5";
  const request = (sent: string | ReadableStream) =>
    new Request("https://shop.test/webhooks", {
      method: "POST",
      body: sent,
      headers,
      duplex: "half",
    } as RequestInit);
  const receive = fetchReceiver({ secret, handler: () => {}, maxBodyBytes: 10 });
  expect((await receive(request(body))).status).toBe(413);
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
  expect((await receive(request(broken))).status).toBe(400);
});
