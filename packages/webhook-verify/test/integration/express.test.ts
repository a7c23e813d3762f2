/** The Express adapter. The suite "express-4" of compat runs it in Express 4. */
import { createServer } from "node:http";
import express from "express";
import { describe, expect, it, onTestFinished } from "vitest";
import { expressReceiver } from "../../src/adapters/express.ts";
import { memoryDedupe } from "../../src/index.ts";
import { describeAdapter, listening, send } from "../adapter-contract.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

describeAdapter("Express behind express.raw", {
  forwardsEvents: true,
  readsBody: false,
  async start(options) {
    // A body that express.raw leaves unread is read by the receiver, which rejects it.
    const parser = express.raw({ type: () => true, limit: "2mb", inflate: false });
    const handleError: express.ErrorRequestHandler = (error, _request, response, _next) =>
      void response.sendStatus(error.status);
    const app = express().all("/webhooks", parser, expressReceiver(options)).use(handleError);
    return listening(createServer(app));
  },
});

describe("Express, with neither handler, afterResponse nor inbox", () => {
  async function serve() {
    const app = express();
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
    const app = express();
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
    const app = express();
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
