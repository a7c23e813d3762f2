/** Deliveries over real HTTP: to a real receiver, after the clock moved, and to receivers that fail. */
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { startMockServer, type TrafficEvent } from "../../src/adapters/node.ts";
import { createMockService, type MockServiceOptions, manualClock } from "../../src/index.ts";
import { issueRequest, sendPing } from "../shop.ts";
import { listen, temporaryFile, temporaryFolder } from "./command.ts";

function sendTestTo(url: string, options: MockServiceOptions = {}) {
  const service = createMockService({ clock: manualClock(), ...options });
  const { secret, sent } = sendPing(service, url);
  const log = () => service.webhooks.deliveries({ eventId: sent.eventId })[0];
  return { service, secret, log };
}

it("delivers webhooks that a real receiver verifies, also after the clock moved by hours", async () => {
  const seen: string[] = [];
  let secret = "";
  let failures = 3;
  const receive = (...args: Parameters<ReturnType<typeof nodeReceiver>>) =>
    nodeReceiver({
      secret,
      handler: (event) => {
        if (failures-- > 0) throw new Error("not yet");
        seen.push(event.type);
      },
    })(...args);
  const shop = sendTestTo(await listen((request, response) => void receive(request, response)));
  secret = shop.secret;
  await shop.service.clock.advance("3h");
  const attempts = shop.log()?.attempts ?? [];
  expect(attempts.map(({ status }) => status)).toEqual([503, 503, 503, 204]);
  // The log says so: the last attempt is half an hour later by the service's clock, and signed with the machine's.
  for (const { signedAt, signedWith } of attempts) {
    expect([signedWith, Math.abs(Date.parse(signedAt) - Date.now()) < 300_000]).toEqual(["machine", true]);
  }
  const [first, last] = [attempts[0]?.at ?? "", attempts.at(-1)?.at ?? ""];
  expect(Date.parse(last) - Date.parse(first)).toBe(36 * 60_000);
  expect(seen).toEqual(["ping"]);
});

describe("a delivery attempt", () => {
  // G23
  it("fails on a redirect, and does not follow it", async () => {
    const paths: (string | undefined)[] = [];
    const url = await listen((request, response) => {
      paths.push(request.url);
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    const { service, log } = sendTestTo(url);
    await service.idle();
    expect([log()?.attempts[0]?.status, paths]).toEqual([307, ["/webhooks"]]);
  });

  it("fails on a refused and on a broken connection", async () => {
    const refused = sendTestTo("http://127.0.0.1:9/");
    const broken = sendTestTo(await listen((request) => request.socket.destroy()));
    await Promise.all([refused.service.idle(), broken.service.idle()]);
    const error = expect.stringMatching(/ECONNREFUSED|bad port/);
    expect(refused.log()).toMatchObject({ state: "pending", attempts: [{ error }] });
    expect(broken.log()).toMatchObject({ state: "pending", attempts: [{ error: "UND_ERR_SOCKET" }] });
  });

  it("fails on a timeout, and aborts the request", async () => {
    let closed: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { service, log } = sendTestTo(
      await listen((request) => void request.socket.once("close", closed)),
      { deliveryTimeoutMs: 300 },
    );
    await service.idle();
    await gone;
    expect(log()?.attempts[0]?.error).toBe("no response within 0.3 s");
  });
});

it("makes the first attempt at once on the machine's clock", async () => {
  const arrivals = new EventEmitter();
  const arrival = once(arrivals, "request");
  const url = await listen((request, response) => {
    request.resume();
    response.writeHead(204).end(() => arrivals.emit("request"));
  });
  const service = createMockService();
  sendPing(service, url);
  await arrival;
  await service.idle();
  expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
});

describe("startMockServer", () => {
  it("starts with the endpoints of the options, then those of the seed file, and rejects with EADDRINUSE on the same port", async () => {
    const endpoint = (path: string) => ({ url: `http://127.0.0.1:9/${path}`, events: ["ping" as const] });
    const seedFile = temporaryFile(
      JSON.stringify({
        defaultCountry: "DE",
        templates: [{ name: "Bakery" }],
        endpoints: [endpoint("seed")],
      }),
    );
    const { service, close } = await startMockServer({
      seedFile,
      templates: [{ id: "tpl_option", name: "Option" }],
      endpoints: [endpoint("option")],
    });
    onTestFinished(close);
    expect(service.endpoints.map(({ url }) => new URL(url).pathname)).toEqual(["/option", "/seed"]);
    expect(service.templateId).toBe("tpl_option");
    const { port } = new URL(service.baseUrl);
    await expect(startMockServer({ port: Number(port) })).rejects.toMatchObject({
      code: "EADDRINUSE",
      message: expect.stringContaining(`Port ${port} is already in use`),
    });
  });

  it("reports requests and delivery attempts as data, without queries", async () => {
    const events: TrafficEvent[] = [];
    const url = await listen(
      (request, response) =>
        void request.resume().on("end", () => response.writeHead(401).end("signature mismatch\n")),
    );
    const server = await startMockServer({
      endpoints: [{ url: `${url}?token=abc`, events: ["card.added"] }],
      onTraffic: (event) => void events.push(event),
    });
    onTestFinished(server.close);
    const { service } = server;
    const request = issueRequest(service);
    const response = await fetch(new Request(`${request.url}?from=web`, request));
    const { id } = (await response.json()) as { id: string };
    service.cards.addToWallet(id, "apple");
    await service.idle();
    expect(events).toEqual([
      {
        kind: "request",
        operation: "issueCard",
        method: "POST",
        path: `/api/v1/templates/${service.templateId}/passes`,
        status: 201,
        durationMs: expect.any(Number),
        cardId: id,
        warnings: [expect.stringContaining("fieldValues has keys that template")],
      },
      {
        kind: "delivery",
        type: "card.added",
        eventId: expect.stringMatching(/^evt_/),
        deliveryId: expect.stringMatching(/^dlv_/),
        url,
        attempt: 1,
        status: 401,
        responseStart: "signature mismatch",
        durationMs: expect.any(Number),
        state: "pending",
        nextAttemptInMs: expect.any(Number),
      },
    ]);
  });

  it("ends the delivery attempts in progress when it closes, and repeats them with the same data file", async () => {
    const dataFile = join(temporaryFolder(), "data.json");
    const ids: unknown[] = [];
    let isBusy = true;
    const arrivals = new EventEmitter();
    const url = await listen((request, response) => {
      request.resume();
      ids.push(request.headers["service-delivery"]);
      arrivals.emit("request");
      request.socket.once("close", () => arrivals.emit("close"));
      if (!isBusy) response.writeHead(204).end();
    });
    const first = await startMockServer({ dataFile, endpoints: [{ url, events: ["ping"] }] });
    const arrived = once(arrivals, "request");
    const { id } = first.service.webhooks.sendTest(first.service.endpoints[0]?.id ?? "");
    await arrived;
    const ended = once(arrivals, "close");
    await first.close();
    await ended;
    isBusy = false;
    const second = await startMockServer({ dataFile });
    onTestFinished(second.close);
    await second.service.idle();
    expect(ids).toEqual([id, id]);
    expect(second.service.webhooks.deliveries()).toMatchObject([{ id, state: "delivered" }]);
  });
});
