/** Which HMAC engine is used in which runtime. */
import { createHmac } from "node:crypto";
import { expect, it, onTestFinished, vi } from "vitest";
import { signWebhookSync, verifyWebhookSync } from "../src/index.ts";
import { balanceChanged, secret, signedDelivery } from "./signed-delivery.ts";

it("uses WebCrypto where getBuiltinModule throws, as in Next's edge runtime", async () => {
  const { getBuiltinModule } = process;
  onTestFinished(() => {
    process.getBuiltinModule = getBuiltinModule;
    vi.resetModules();
  });
  const { body, headers } = signedDelivery(balanceChanged());
  vi.resetModules(); // the engine is chosen when the module is loaded
  process.getBuiltinModule = () => {
    throw new Error("A Node.js API is used which is not supported in the Edge Runtime.");
  };
  const { verifyWebhook, verifyWebhookSync } = await import("../src/index.ts");

  const delivery = { rawBody: body, signature: headers["service-signature"], secret };
  expect(await verifyWebhook(delivery)).toEqual(balanceChanged());
  expect(() => verifyWebhookSync(delivery)).toThrow(/no node:crypto\. Use verifyWebhook/);
});

it("works where TextEncoder and TextDecoder do not exist, as in Jest with jsdom", async () => {
  const { TextEncoder, TextDecoder } = globalThis;
  onTestFinished(() => {
    Object.assign(globalThis, { TextEncoder, TextDecoder });
    vi.resetModules();
  });
  vi.resetModules();
  Reflect.deleteProperty(globalThis, "TextEncoder");
  Reflect.deleteProperty(globalThis, "TextDecoder");
  const { createReceiver, signWebhookSync, verifyWebhook } = await import("../src/index.ts");
  const { nodeReceiver } = await import("../src/adapters/node.ts");

  expect(nodeReceiver({ secret, handler: () => {} })).toBeTypeOf("function");
  const event = { ...balanceChanged(), createdAt: "zażółć" };
  const rawBody = Buffer.from(`\ufeff${JSON.stringify(event)}`);
  const signature = signWebhookSync({ rawBody, secret });
  expect(await verifyWebhook({ rawBody, signature, secret })).toEqual(event);
  const deliver = async (body: Uint8Array) => {
    const headers = { "service-signature": signWebhookSync({ rawBody: body, secret }) };
    return (await createReceiver({ secret, log: () => {} })({ method: "POST", headers, rawBody: body }))
      .status;
  };
  expect([await deliver(rawBody), await deliver(Uint8Array.of(0x7b, 0xff, 0x7d))]).toEqual([204, 400]);
});

it.each([1, 63, 64, 65, 300])(
  "signs as createHmac does, with a key of %i bytes and a body of any length",
  (keyBytes) => {
    const key = new Uint8Array(keyBytes).fill(200);
    for (const length of [0, 1, 300, 1_360, 1_361, 1_362, 4_084, 4_085, 4_086, 5_000, 100_000, 0]) {
      for (const body of ["a".repeat(length), "ż€".repeat(length / 2), Buffer.alloc(length, 250)]) {
        const expected = createHmac("sha256", key).update("1767225600.").update(body).digest("hex");
        const signature = signWebhookSync({ rawBody: body, secret: key, timestamp: 1_767_225_600 });
        expect(signature, `${typeof body} of ${length}`).toBe(`t=1767225600,v1=${expected}`);
      }
    }
  },
);

it("gives each key its own signature when keys are used in turn", () => {
  const keys = ["first", "second", "third".repeat(30)];
  const rawBody = JSON.stringify(balanceChanged());
  const signatures = keys.map((key) => signWebhookSync({ rawBody, secret: key }));
  for (const [index, signature] of signatures.entries())
    for (const [other, key] of keys.entries()) {
      const verify = () => verifyWebhookSync({ rawBody, signature, secret: key });
      if (index === other) expect(verify()).toEqual(balanceChanged());
      else expect(verify).toThrow(/mismatch/);
    }
});
