/** The exports of each entry point. */
import { expect, it } from "vitest";

it("exports from .", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify")).sort()).toMatchInlineSnapshot(`
    [
      "WebhookVerificationError",
      "createReceiver",
      "isKnownEvent",
      "isWebhookVerificationError",
      "memoryDedupe",
      "onEvents",
      "signWebhook",
      "signWebhookSync",
      "verifyWebhook",
      "verifyWebhookSync",
    ]
  `);
});
it("exports from ./express", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify/express")).sort()).toMatchInlineSnapshot(`
    [
      "expressReceiver",
    ]
  `);
});
it("exports from ./fastify", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify/fastify")).sort()).toMatchInlineSnapshot(`
    [
      "fastifyReceiver",
    ]
  `);
});
it("exports from ./next", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify/next")).sort()).toMatchInlineSnapshot(`
    [
      "nextPagesHandler",
      "nextRoute",
      "rawBodyConfig",
    ]
  `);
});
it("exports from ./fetch", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify/fetch")).sort()).toMatchInlineSnapshot(`
    [
      "fetchReceiver",
    ]
  `);
});
it("exports from ./node", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify/node")).sort()).toMatchInlineSnapshot(`
    [
      "nodeReceiver",
    ]
  `);
});
it("exports from ./koa", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify/koa")).sort()).toMatchInlineSnapshot(`
    [
      "koaReceiver",
    ]
  `);
});
it("exports from ./nest", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify/nest")).sort()).toMatchInlineSnapshot(`
    [
      "nestReceiver",
    ]
  `);
});
it("exports from ./lambda", async () => {
  expect(Object.keys(await import("@loyalty-cards/webhook-verify/lambda")).sort()).toMatchInlineSnapshot(`
    [
      "lambdaReceiver",
    ]
  `);
});

it("declares only the peers whose version matters, with every tested major version", async () => {
  const { default: manifest } = await import("../package.json", { with: { type: "json" } });
  expect(manifest.peerDependencies).toEqual({
    express: "^4.18.0 || ^5.0.0",
    fastify: "^5.0.0",
    koa: "^2.0.0 || ^3.0.0",
  });
});
