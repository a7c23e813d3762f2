/** Which HMAC engine is used in which runtime. */
import { expect, it, onTestFinished, vi } from "vitest";
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
