/** The Express adapter, in Express 5 and 4. */
import { createServer } from "node:http";
import express from "express";
import express4 from "express-4";
import { describe, expect, it, onTestFinished } from "vitest";
import { expressReceiver } from "../../src/adapters/express.ts";
import { memoryDedupe } from "../../src/index.ts";
import { describeAdapter, listening, send } from "../adapter-contract.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

for (const [name, framework] of [
  ["Express 5", express],
  ["Express 4", express4],
] as const) {
  describeAdapter(name, {
    forwardsEvents: true,
    start: async (options) => {
      const app = framework();
      app.all("/webhooks", expressReceiver(options));
      app.use(framework.json());
      return listening(createServer(app));
    },
    startWithBodyParsed: async (options) => {
      const app = framework();
      app.use(framework.json());
      app.post("/webhooks", expressReceiver(options));
      return listening(createServer(app));
    },
    fix: /above app\.use\(express\.json\(\)\)/,
  });

  describe(`${name}, behind express.raw`, () => {
    describeAdapter("bytes of express.raw", {
      forwardsEvents: true,
      readsBody: false,
      start: async (options) => {
        const app = framework();
        // A body that express.raw leaves unread is read by the receiver, which rejects it.
        app.all(
          "/webhooks",
          framework.raw({ type: () => true, limit: "2mb", inflate: false }),
          expressReceiver(options),
        );
        app.use(((error, _request, response, _next) =>
          response.sendStatus(error.status)) as express.ErrorRequestHandler);
        return listening(createServer(app));
      },
    });
  });

  describe(`${name}, with neither handler, afterResponse nor inbox`, () => {
    async function serve() {
      const app = framework();
      app.post("/webhooks", expressReceiver({ secret }), (request, response) => {
        response.status(200).send(request.webhookEvent?.id);
      });
      const server = await listening(createServer(app));
      onTestFinished(async () => void (await server.close()));
      return server.url;
    }

    it("sets req.webhookEvent, and the next handler responds", async () => {
      expect(await send(await serve(), signedDelivery(balanceChanged()))).toMatchObject({
        status: 200,
        text: "evt_1",
      });
    });

    it("logs once how to fix the 404 when no handler follows", async () => {
      const log: string[] = [];
      const app = framework();
      app.post("/webhooks", expressReceiver({ secret, log: (line) => log.push(line) }));
      const server = await listening(createServer(app));
      onTestFinished(async () => void (await server.close()));
      for (const id of ["evt_1", "evt_2"]) {
        expect((await send(server.url, signedDelivery(balanceChanged(id)))).status).toBe(404);
      }
      const explained =
        /expressReceiver has neither handler, afterResponse nor inbox, and no handler after it.* Write expressReceiver\(/;
      await expect.poll(() => log).toEqual([expect.stringMatching(explained)]);
    });

    it("logs nothing when the next handler responds", async () => {
      const log: string[] = [];
      const app = framework();
      app.post(
        "/webhooks",
        expressReceiver({ secret, log: (line) => log.push(line) }),
        (_request, response) => {
          response.once("finish", () => log.push("finished")).sendStatus(204);
        },
      );
      const server = await listening(createServer(app));
      onTestFinished(async () => void (await server.close()));
      expect((await send(server.url, signedDelivery(balanceChanged()))).status).toBe(204);
      await expect.poll(() => log).toEqual(["finished"]);
    });

    it("throws for dedupe, because it cannot know whether the next handler succeeds", () => {
      expect(() => expressReceiver({ secret, dedupe: memoryDedupe() })).toThrow(/dedupe needs handler/);
    });

    it("does not call the next handler for a forged delivery", async () => {
      const delivery = signedDelivery(balanceChanged(), { key: "whsec_other" });
      expect((await send(await serve(), delivery)).status).toBe(401);
    });
  });
}
