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
  /** @param next the handler after the receiver. */
  async function serve(...next: express.RequestHandler[]) {
    const log: string[] = [];
    const receiver = expressReceiver({ secret, log: (line) => log.push(line) });
    const server = await listening(createServer(express().post("/webhooks", receiver, ...next)));
    onTestFinished(async () => void (await server.close()));
    return { url: server.url, log };
  }

  it("sets req.webhookEvent, and the next handler responds, except to a forged delivery", async () => {
    const finished: unknown[] = [];
    const { url, log } = await serve((request, response) => {
      response.once("finish", () => finished.push(request.webhookEvent?.id));
      response.send(request.webhookEvent?.id);
    });
    const response = await send(url, signedDelivery(balanceChanged()));
    expect(response).toMatchObject({ status: 200, text: "evt_1" });
    const forged = signedDelivery(balanceChanged("evt_2"), { key: "whsec_other" });
    expect((await send(url, forged)).status).toBe(401);
    await expect.poll(() => finished).toEqual(["evt_1"]);
    expect(log).toEqual([expect.stringMatching(/rejected: mismatch/)]);
  });

  it("logs once how to fix the 404 when no handler follows", async () => {
    const { url, log } = await serve();
    for (const id of ["evt_1", "evt_2"])
      expect((await send(url, signedDelivery(balanceChanged(id)))).status).toBe(404);
    const explained =
      /expressReceiver has neither handler, afterResponse nor inbox, and no handler after it.* Write expressReceiver\(/;
    await expect.poll(() => log).toEqual([expect.stringMatching(explained)]);
  });

  it("throws for dedupe, because it cannot know whether the next handler succeeds", () => {
    expect(() => expressReceiver({ secret, dedupe: memoryDedupe() })).toThrow(/dedupe needs handler/);
  });
});
