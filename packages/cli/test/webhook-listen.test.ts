/** `webhook listen`: what passes byte for byte, and what does not pass. */
import { once } from "node:events";
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
} from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { createGate, listen } from "@loyalty-cards/testing/resources";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseLines, run, secret, start, startReceiver } from "./terminal.ts";

const event = '{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"}';
const sign = (rawBody: string | Uint8Array, key = secret) =>
  signWebhookSync({ rawBody, secret: key });

async function startListening(to: string, ...args: string[]) {
  const running = start(["webhook", "listen", "--port", "0", "--json", "--to", to, ...args], {
    env: { LOYALTY_SIGNING_SECRET: secret },
  });
  const output = await running.waitFor(/"ready".*\n/);
  const url = String(parseLines(output)[0]?.["url"]);
  const stop = async () => {
    running.interrupt();
    const { code, stdout, stderr } = await running.exit;
    return { code, stderr, deliveries: parseLines(stdout).slice(1) };
  };
  return { ...running, url, stop };
}

/** Not fetch, which decompresses responses and changes the spelling of headers. */
async function send(
  url: string,
  body: Uint8Array | string,
  headers: Record<string, string>,
  method = "POST",
) {
  const request = httpRequest(url, { method, headers, agent: false });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

const post = (url: string, body: Uint8Array | string, signature: string) =>
  send(url, body, { "content-type": "application/json", "service-signature": signature });

/** A connection that has sent these bytes. */
function open(tunnel: string, ...bytes: (string | Uint8Array)[]) {
  const socket = connect(Number(new URL(tunnel).port), "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {}); // the server may reset it
  onTestFinished(() => void socket.destroy());
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  for (const each of bytes) socket.write(each);
  return { socket, closed, read: () => text };
}

/** A receiver that shows what arrived, and responds as the test says. */
async function startRecorder(respond: RequestListener) {
  const received: { body: Buffer; headers: IncomingHttpHeaders; rawHeaders: string[] }[] = [];
  const url = await listen(async (request, response) => {
    const { headers, rawHeaders } = request;
    received.push({ body: await buffer(request), headers, rawHeaders });
    respond(request, response);
  });
  return { url, received };
}

describe("webhook listen", () => {
  it("passes a delivery to the receiver, and shows it", async () => {
    const { url, accepted } = await startReceiver();
    const { url: tunnel, stop } = await startListening(url);
    expect((await post(`${tunnel}/any/path?x=1`, event, sign(event))).status).toBe(204);
    expect(accepted).toMatchObject([{ event: { id: "evt_1" } }]);
    const { code, deliveries } = await stop();
    expect([code, deliveries]).toEqual([
      0,
      [
        {
          kind: "delivery",
          receivedAt: expect.stringMatching(/Z$/),
          verified: true,
          type: "ping",
          id: "evt_1",
          durationMs: expect.any(Number),
          status: 204,
        },
      ],
    ]);
  });

  it("passes every signed body and each response byte for byte, also what is not an event", async () => {
    let responded: Uint8Array = new Uint8Array();
    const { url, received } = await startRecorder(
      (_request, response) => void response.writeHead(203).end(responded),
    );
    const { url: tunnel, stop } = await startListening(url);
    const bytes = fc.uint8Array({ maxLength: 2_000, size: "max" });
    await fc.assert(
      fc.asyncProperty(bytes, bytes, async (body, responseBody) => {
        responded = responseBody;
        const response = await post(tunnel, body, sign(body));
        expect([response.status, response.body.equals(responseBody)]).toEqual([203, true]);
        expect(received.pop()?.body.equals(body)).toBe(true);
      }),
      { numRuns: 60, examples: [[Buffer.from(` ${event}\r\n`), Buffer.from("ok")]] },
    );
    const { deliveries } = await stop();
    const shown = deliveries.map(({ verified, rejected, status }) => [verified, rejected, status]);
    expect(shown[0]).toEqual([true, undefined, 203]);
    expect(shown.at(-1)).toEqual([false, "invalid-payload", 203]);
  });

  it("passes the headers in their spelling, without those of the connection, and returns those of the receiver", async () => {
    const { url, received } = await startRecorder((_request, response) =>
      response
        .writeHead(418, {
          "Set-Cookie": ["a=1", "b=2"],
          "X-Debug": "7",
          "Content-Encoding": "gzip",
        })
        .end("zip"),
    );
    const { url: tunnel } = await startListening(url);
    const { status, headers, body } = await send(tunnel, event, {
      "Service-Signature": sign(event),
      "Service-Delivery": "dlv_1",
      "X-Forwarded-For": "203.0.113.7",
      "Transfer-Encoding": "chunked",
      Connection: "close",
      TE: "trailers",
    });
    expect([
      status,
      headers["set-cookie"],
      headers["x-debug"],
      headers["content-encoding"],
      body.toString(),
    ]).toEqual([418, ["a=1", "b=2"], "7", "gzip", "zip"]);
    const { headers: passed, rawHeaders } = received[0] as (typeof received)[0];
    expect(rawHeaders).toEqual(
      expect.arrayContaining(["Service-Signature", "Service-Delivery", "X-Forwarded-For"]),
    );
    expect(passed).toMatchObject({
      host: new URL(url).host,
      "content-length": String(event.length),
    });
    expect([passed["transfer-encoding"], passed["te"]]).toEqual([undefined, undefined]);
  });

  it.each<[string, string, string, number, string]>([
    ["a forged delivery", event, sign(event, "whsec_other"), 401, "mismatch"],
    ["a changed body", `${event} `, sign(event), 401, "mismatch"],
    [
      "an old delivery",
      event,
      signWebhookSync({ rawBody: event, secret, timestamp: 1_700_000_000 }),
      401,
      "stale",
    ],
    ["an unsigned request", event, "", 401, "missing-signature"],
    ["a body over 1 MiB", "x".repeat(1_048_577), "t=1,v1=2", 413, "too-large"],
  ])("does not pass %s to the receiver", async (_name, body, signature, status, rejected) => {
    const { url, received } = await startRecorder((_request, response) => void response.end());
    const { url: tunnel, stop } = await startListening(url);
    const response = await post(tunnel, body, signature);
    expect([response.status, response.body.length, received]).toEqual([status, 0, []]);
    expect((await stop()).deliveries).toMatchObject([{ verified: false, rejected, status }]);
  });

  it("says after a mismatch what to compare, in 80 columns", async () => {
    const running = start(["webhook", "listen", "--port", "0", "--to", "http://127.0.0.1:9/"], {
      env: { LOYALTY_SIGNING_SECRET: secret },
      isTTY: true,
    });
    const [, tunnel = ""] = /Tunnel to +(\S+)/.exec(await running.waitFor(/Receiver.*\n/)) ?? [];
    await post(tunnel, event, sign(event, "whsec_other"));
    await running.waitFor(/its own\.\n/);
    running.interrupt();
    const lines = stripVTControlCharacters((await running.exit).stdout)
      .trimEnd()
      .split("\n");
    expect(lines.map((line) => line.slice(24))).toEqual([
      "✗ rejected: mismatch",
      "Compare the secret with the one of this endpoint in the",
      "service's console; each endpoint has its own.",
    ]);
  });

  it("responds 405 to a browser, and names a port that is in use", async () => {
    const { url } = await startReceiver();
    const { url: tunnel, stop } = await startListening(url);
    const { status, headers } = await send(tunnel, "", {}, "GET");
    expect([status, headers.allow]).toEqual([405, "POST"]);
    const { port } = new URL(tunnel);
    const { code, stderr } = await run(["webhook", "listen", "--port", port, "--to", url], {
      env: { LOYALTY_SIGNING_SECRET: secret },
    });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`Port ${port} cannot be opened (EADDRINUSE): use --port`),
    ]);
    expect((await stop()).deliveries).toMatchObject([{ rejected: "method-not-allowed" }]);
  });

  it("responds 502 when nothing listens or a response has over 1 MiB, and 504 when the receiver takes too long", async () => {
    const closed = await startListening("http://127.0.0.1:9/");
    expect((await post(closed.url, event, sign(event))).status).toBe(502);
    const refused = { verified: true, status: 502, error: "ECONNREFUSED" };
    expect((await closed.stop()).deliveries).toMatchObject([refused]);
    const large = await startRecorder((_, response) => void response.end(Buffer.alloc(1_048_577)));
    expect((await post((await startListening(large.url)).url, event, sign(event))).status).toBe(
      502,
    );
    const silent = await startListening(
      await listen((request) => void request.resume()),
      "--timeout",
      "1",
    );
    expect((await post(silent.url, event, sign(event))).status).toBe(504);
  });

  it("survives hostile clients, and goes on", async () => {
    const { url, accepted } = await startReceiver();
    const { url: tunnel } = await startListening(url);
    const head = "POST / HTTP/1.1\r\nhost: x\r\n";
    const closing = [
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", // TLS
      "nonsense\r\n\r\n",
      `${head}content-length: -1\r\n\r\n`,
      `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`,
      `${head}x: ${"y".repeat(100_000)}\r\n\r\n`,
    ];
    await Promise.all(closing.map((text) => open(tunnel, text).closed));
    for (let count = 0; count < 20; count++)
      for (const text of [`${head}content-length: 1000000000\r\n\r\nx`, head]) {
        const { socket } = open(tunnel, text);
        await once(socket, "connect");
        socket.destroy(); // in the middle of the body, or of the headers
      }
    const names = "Service-Signature: t=1,v1=1\r\n".repeat(50);
    const { closed, read } = open(
      tunnel,
      `${head}connection: close\r\n${names}content-length: 2\r\n\r\n{}`,
    );
    await closed;
    expect(read()).toMatch(/^HTTP\/1\.1 401/);
    expect((await post(tunnel, event, sign(event))).status).toBe(204);
    expect(accepted).toHaveLength(1);
  });
});

describe("webhook listen holds the bodies of at most 32 requests", () => {
  const body = Buffer.from(
    JSON.stringify({ ...JSON.parse(event), data: "x".repeat(1024 * 1024 - 200) }),
  );
  const signature = sign(body);
  const head = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.byteLength}\r\nservice-signature: ${signature}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), body]);

  /** A receiver that gets deliveries and does not respond until it is released. */
  async function startHanging() {
    const waiting: (() => void)[] = [];
    let isReleased = false;
    const { url, received } = await startRecorder((_request, response) => {
      const respond = () => void response.writeHead(204).end();
      if (isReleased) respond();
      else waiting.push(respond);
    });
    const release = () => {
      isReleased = true;
      for (const respond of waiting) respond();
    };
    return { url, received, release };
  }

  it("and closes a connection whose requests are pipelined", async () => {
    const { url, received, release } = await startHanging();
    const { url: tunnel, stop } = await startListening(url, "--timeout", "1");
    await open(tunnel, ...Array<Buffer>(40).fill(request)).closed;
    await expect.poll(() => received.length).toBe(1);
    release();
    expect((await post(tunnel, event, sign(event))).status).toBe(204);
    expect(received).toHaveLength(2);
    await stop();
  });

  it("and ends a delivery to the receiver when its client has gone", async () => {
    const { opened: ended, open: end } = createGate();
    const { url, received } = await startRecorder((_request, response) =>
      response.once("close", end),
    );
    const { url: tunnel, stop } = await startListening(url);
    const { socket } = open(tunnel, request);
    await expect.poll(() => received.length).toBe(1);
    socket.destroy();
    await ended;
    await stop();
  });

  it("also over many connections at once, and closes each after its response", async () => {
    const { url, received, release } = await startHanging();
    const { url: tunnel, stop } = await startListening(url, "--timeout", "60");
    const connections = Array.from({ length: 60 }, () => open(tunnel, request));
    await expect.poll(() => connections.filter(({ socket }) => socket.closed).length).toBe(28);
    await expect.poll(() => received.length).toBe(32);
    release();
    await Promise.all(connections.map(({ closed }) => closed));
    expect(connections.filter(({ read }) => read().startsWith("HTTP/1.1 204"))).toHaveLength(32);
    await stop();
  });
});
