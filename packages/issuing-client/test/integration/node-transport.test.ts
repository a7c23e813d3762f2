/**
 * The default transport on Node.js: connections, responses and aborts on real sockets. And a
 * baseUrl whose scheme is not the one of the port.
 */
import { execFile } from "node:child_process";
import { createServer, globalAgent } from "node:http";
import { createServer as createTlsServer, globalAgent as tlsAgent } from "node:https";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { promisify } from "node:util";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import {
  catchIssuingError,
  card as issuedCard,
  signUp,
} from "@loyalty-cards/testing/scripted-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { createClient, listen, openHttp, openRaw, pem, transports } from "../server.ts";

const card = JSON.stringify(issuedCard);
const toResponse = (head: string, body: string) => `HTTP/1.1 ${head}\r\n\r\n${body}`;
const tls = { key: pem, cert: pem };
const cardLength = `content-length: ${card.length}`;

describe("responses", () => {
  it.each([
    [
      "a 103 before it",
      toResponse("103 Early Hints\r\nlink: </a>", "") + toResponse(`200 OK\r\n${cardLength}`, card),
    ],
    [
      "a 100 before it",
      toResponse("100 Continue", "") + toResponse(`200 OK\r\n${cardLength}`, card),
    ],
    [
      "chunks and trailers",
      toResponse(
        "200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-end",
        `5\r\n${card.slice(0, 5)}\r\n${(card.length - 5).toString(16)}\r\n${card.slice(5)}\r\n0\r\nx-end: 1\r\n\r\n`,
      ),
    ],
    ["a reason phrase that is not ASCII", toResponse(`200 W porządku\r\n${cardLength}`, card)],
    [
      "a byte order mark",
      toResponse(`200 OK\r\ncontent-length: ${card.length + 3}`, `\ufeff${card}`),
    ],
    [
      "a body until the end of the connection",
      toResponse("200 OK\r\nconnection: close", card),
      true,
    ],
    ["the announced length, and is half-closed", toResponse(`200 OK\r\n${cardLength}`, card), true],
  ])("reads a response with %s", async (_name, response, isHalfClosed = false) => {
    const { client } = await openRaw((socket) => socket[isHalfClosed ? "end" : "write"](response));
    expect(await client.getCard("card_1")).toMatchObject({ id: "card_1" });
  });

  const chunked = "200 OK\r\ntransfer-encoding: chunked";
  const changesProtocol = "101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade";
  it.each([
    [
      "is half-closed before the end of its body",
      "network",
      `200 OK\r\ncontent-length: 1000`,
      card,
    ],
    ["is half-closed between two chunks", "network", chunked, `5\r\n${card.slice(0, 5)}\r\n`],
    ["has an invalid chunk in the packet of its head", "network", chunked, "zz\r\n"],
    ["changes the protocol", "invalid-response", changesProtocol, card],
    ["has two different lengths", "network", `200 OK\r\n${cardLength}\r\ncontent-length: 1`, card],
  ])("fails when the response %s", async (_name, code, head, body) => {
    const { client, requested } = await openRaw((socket) => socket.end(toResponse(head, body)));
    await expect(client.getCard("card_1")).rejects.toMatchObject({
      code,
      outcome: "unknown",
      attempts: 3,
    });
    expect(requested).toHaveLength(3);
  });

  it.each([
    ["gzip", gzipSync(card)],
    ["deflate", deflateSync(card)],
    ["br", brotliCompressSync(card)],
    ["identity", Buffer.from(card)],
    ["GZIP", gzipSync(card)],
    ["Identity ", Buffer.from(card)],
    ["", Buffer.from(card)],
    ["x-gzip", gzipSync(card)],
    ["deflate", deflateRawSync(card)],
    ["gzip, br", brotliCompressSync(gzipSync(card))],
    ["deflate,identity, GZIP", gzipSync(deflateSync(card))],
    ["utf-8", Buffer.from(card)],
    ["none", Buffer.from(card)],
    ["binary", Buffer.from(card)],
    ["constructor", Buffer.from(card)],
    ["zstd", Buffer.from(card)],
  ])("requests an unencoded body, and reads one in %s", async (encoding, body) => {
    const acceptEncodings: unknown[] = [];
    const { client } = await openHttp(({ headers }, response) => {
      acceptEncodings.push(headers["accept-encoding"]);
      response.writeHead(200, { "content-encoding": encoding }).end(body);
    });
    expect(await client.getCard("card_1")).toMatchObject({ id: "card_1" });
    expect(acceptEncodings).toEqual([undefined]); // it asks for no encoding, and reads one nevertheless
  });

  // G14
  it.each([
    ["gzip", (text: string) => gzipSync(text)],
    ["deflate", (text: string) => deflateRawSync(text)],
    ["gzip, gzip", (text: string) => gzipSync(gzipSync(text))],
  ])("rejects a body in %s whose text is longer than the limit", async (encoding, gzip) => {
    const body = gzip(" ".repeat(5 * 1024 * 1024));
    const { client } = await openHttp(
      (_request, response) =>
        void response.writeHead(200, { "content-encoding": encoding }).end(body),
    );
    await expect(client.getCard("card_1")).rejects.toMatchObject({
      code: "invalid-response",
      retryable: false,
      message: expect.stringContaining("more than 4194304 bytes"),
    });
  });

  it("accepts an empty body in any encoding", async () => {
    const { client } = await openHttp(
      (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(),
    );
    expect(await client.setConsent("card_1", { marketing: true })).toBeUndefined();
  });

  it("sends the value of a header without the white space around it", async () => {
    const received: unknown[] = [];
    const { client } = await openHttp(({ headers }, response) => {
      received.push(headers["x-token"]);
      response.writeHead(200).end(card);
    });
    await client.getCard("card_1", { headers: { "x-token": "abc\n" } });
    expect(received).toEqual(["abc"]);
  });

  it.each([
    ["zstd", "an unknown encoding", 3],
    ["constructor", "an unknown encoding", 3],
    ["gzip, utf-8", "not valid gzip", 3],
    ["br,br,br,br,br,br", "more than 5 content encodings", 1],
  ])("rejects an unreadable body in the encoding %s", async (encoding, message, attempts) => {
    const { client } = await openHttp(
      (_request, response) =>
        void response
          .writeHead(200, { "content-encoding": encoding })
          .end(Buffer.from([0x28, 0xb5, 0x2f, 0xfd])),
    );
    await expect(client.getCard("card_1")).rejects.toMatchObject({
      code: "invalid-response",
      message: expect.stringContaining(message),
      attempts,
    });
  });
});

describe("a request that node:http refuses to create", () => {
  const refused = {
    code: "configuration",
    outcome: "not-sent",
    retryable: false,
    attempts: 1,
    message: expect.stringMatching(
      /^The request could not be created \(.*\); nothing was sent\. Check .* certificate .* agent or proxy/,
    ),
  };
  const issue = (baseUrl: string) =>
    createClient(baseUrl).issueCard("tpl_1", signUp, { userId: 1 });

  it("because of an unreadable certificate", async () => {
    onTestFinished(() => {
      delete tlsAgent.options.cert;
    });
    tlsAgent.options.cert = "not a certificate";
    await expect(issue("https://127.0.0.1:9")).rejects.toMatchObject(refused);
  });

  it("because of an agent that throws", async () => {
    const { addRequest } = globalAgent as unknown as Record<string, () => void>;
    onTestFinished(() => void Object.assign(globalAgent, { addRequest }));
    Object.assign(globalAgent, {
      addRequest() {
        throw new Error("blocked, with the key hunter2");
      },
    });
    await expect(issue("http://127.0.0.1:9")).rejects.toMatchObject(refused);
    await expect(issue("http://127.0.0.1:9")).rejects.not.toThrow("hunter2");
  });
});

describe("connections", () => {
  it("sends a request again, with its key, when the server closed the idle connection meanwhile", async () => {
    const keys: unknown[] = [];
    const sockets: Socket[] = [];
    const { client } = await openHttp(({ headers, socket }, response) => {
      // The second request on a connection arrives when the server is closing it.
      if (sockets.includes(socket)) return void socket.resetAndDestroy();
      sockets.push(socket);
      keys.push(headers["idempotency-key"]);
      response.writeHead(201).end(card);
    });
    for (const userId of [1, 2])
      expect(await client.issueCard("tpl_1", signUp, { userId })).toMatchObject({ id: "card_1" });
    expect([sockets.length, new Set(keys).size]).toEqual([2, 2]);
  });

  it("does not reuse a connection after `connection: close`", async () => {
    const sockets = new Set<Socket>();
    const { client } = await openHttp(({ socket }, response) => {
      sockets.add(socket);
      response.writeHead(200, { connection: "close" }).end(card);
    });
    await client.getCard("card_1");
    await client.getCard("card_1");
    expect(sockets.size).toBe(2);
  });

  it("connects to an IPv6 address", async () => {
    const server = createServer((_request, response) => void response.end(card));
    const client = createClient(`http://[::1]:${await listen(server, "::1")}`);
    expect(await client.getCard("card_1")).toMatchObject({ id: "card_1" });
  });

  it("does not keep the process running when it has idle connections", async () => {
    const { server, baseUrl } = await openHttp((_request, response) => void response.end(card));
    server.keepAliveTimeout = 0; // the server never closes the connection
    const program = `import { createIssuingClient } from "${new URL("../../src/index.ts", import.meta.url)}";
      const client = createIssuingClient({ baseUrl: "${baseUrl}", apiKey: "k" });
      process.stdout.write((await client.getCard("card_1")).id);`;
    const node = ["--conditions=@loyalty-cards/source", "--import", "tsx"];
    const args = [...node, "--input-type=module", "--eval", program];
    expect((await promisify(execFile)(process.execPath, args)).stdout).toBe("card_1");
    expect(
      await new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    ).toBe(0);
  });
});

describe("TLS", () => {
  const serveTls = () => createTlsServer(tls, (_request, response) => void response.end(card));

  /** As `NODE_EXTRA_CA_CERTS` does for a whole process. */
  const trustCertificate = () => {
    tlsAgent.options.ca = pem;
    onTestFinished(() => {
      delete tlsAgent.options.ca;
    });
  };

  it("accepts a certificate of an authority that Node trusts", async () => {
    trustCertificate();
    const client = createClient(`https://localhost:${await listen(serveTls())}`);
    expect(await client.getCard("card_1")).toMatchObject({ id: "card_1" });
  });

  it.each([
    ["that is not trusted", "localhost", () => {}, "DEPTH_ZERO_SELF_SIGNED_CERT", /EXTRA_CA_CERTS/],
    ["of another host", "127.0.0.1", trustCertificate, "ERR_TLS_CERT_ALTNAME_INVALID", /failed/],
  ])("reports not-sent for a certificate %s", async (_which, host, prepare, code, text) => {
    prepare();
    const client = createClient(`https://${host}:${await listen(serveTls())}`);
    const message = expect.stringMatching(text);
    const failure = { code: "network", outcome: "not-sent", cause: { code }, message };
    await expect(client.getCard("card_1")).rejects.toMatchObject(failure);
  });

  // A proxy does so when the service is slow: the request has arrived.
  it.each([
    ["a new", 0],
    ["a kept", 1],
  ])(
    "reports unknown when plaintext arrives on %s connection after the request",
    async (_which, responses) => {
      trustCertificate();
      const connections: Socket[] = [];
      let received = 0;
      const server = createTlsServer(tls, (request, response) => {
        if (received++ < responses) response.end(card);
        else
          request.resume().on("end", () => {
            connections.at(-1)?.write("HTTP/1.1 504 Gateway Timeout\r\n\r\n");
          });
      });
      server.on("connection", (socket: Socket) => void connections.push(socket));
      const client = createClient(`https://localhost:${await listen(server)}`, { maxRetries: 0 });
      for (let call = 0; call < responses; call++) await client.getCard("card_1");
      const error = await catchIssuingError(client.issueCard("t", signUp, { userId: 1 }));
      expect(error).toMatchObject({ code: "network", outcome: "unknown", retryable: true });
      expect(String(error.cause)).toMatch(/EPROTO|ERR_SSL_/);
      expect([received, connections.length]).toEqual([responses + 1, 1]);
    },
  );
});

describe("aborts", () => {
  const reason = new Error("the user left");

  it.each([
    ["while the connection is opened", "connect"],
    ["before the head of the response", "head"],
    ["while the body is received", "body"],
  ])("closes the connection %s", async (_name, phase) => {
    const controller = new AbortController();
    const closed: Promise<unknown>[] = [];
    const server = createTcpServer((socket) => {
      closed.push(new Promise((resolve) => socket.on("close", resolve)));
      socket.on("data", () => {
        if (phase === "body") socket.write(toResponse(`200 OK\r\n${cardLength}`, card.slice(0, 5)));
        setImmediate(() => controller.abort(reason));
      });
    });
    const port = await listen(server);
    const client = createClient(`http://127.0.0.1:${port}`);
    const result = client.getCard("card_1", { signal: controller.signal });
    if (phase === "connect") setImmediate(() => controller.abort(reason));
    await expect(result).rejects.toBe(reason);
    await Promise.all(closed);
    const name = globalAgent.getName({ host: "127.0.0.1", port });
    const { sockets, freeSockets, requests } = globalAgent;
    while (sockets[name] !== undefined) await new Promise(setImmediate);
    expect([freeSockets[name], requests[name]]).toEqual([undefined, undefined]);
  });

  it("removes a request that waits for a connection of the agent", async () => {
    const controller = new AbortController();
    const { maxSockets } = globalAgent;
    globalAgent.maxSockets = 1;
    onTestFinished(() => {
      globalAgent.maxSockets = maxSockets;
    });
    let received = 0;
    const { client } = await openHttp((_request, response) => {
      received++;
      controller.abort(reason);
      response.end(card);
    });
    const first = client.getCard("card_1");
    const second = client.getCard("card_2", { signal: controller.signal });
    await expect(second).rejects.toBe(reason);
    expect(await first).toMatchObject({ id: "card_1" });
    expect([received, globalAgent.requests]).toEqual([1, {}]);
  });
});

it("is seen by tools that replace functions of node:http, such as nock", async () => {
  const { default: nock } = await import("nock"); // replaces the functions from here on
  onTestFinished(() => nock.restore());
  const request = nock("https://cards.test", { reqheaders: { authorization: "Bearer k" } })
    .get("/api/v1/passes/card_1")
    .reply(200, card);
  expect(await createClient("https://cards.test").getCard("card_1")).toMatchObject({
    id: "card_1",
  });
  expect(request.isDone()).toBe(true);
});

const talksFirst = () => createTcpServer((socket) => void socket.write("SSH-2.0-OpenSSH_9.6\r\n"));
const talksSecond = () =>
  createTcpServer(
    (socket) => void socket.once("data", () => socket.write("-ERR unknown command\r\n")),
  );
const otherProtocols = { ALPNProtocols: ["other"], ciphers: "PSK" };
const closes = () => createTcpServer((socket) => void socket.once("data", () => socket.end()));

describe.each(transports)("a baseUrl whose scheme is wrong, over %s", (name, transport) => {
  const failAt = async (scheme: string, server: Server) => {
    const client = createClient(`${scheme}://127.0.0.1:${await listen(server)}`, transport);
    return catchIssuingError(client.issueCard("t", signUp, { userId: 1 }));
  };

  it.each([
    [
      "a port that speaks http",
      () => createServer((_request, response) => void response.end("{}")),
    ],
    ["a server that speaks first in another protocol", talksFirst],
    ["a server that responds in another protocol", talksSecond],
  ])(
    "reports https:// with %s, and retries it: it may be a failure of the network",
    async (_port, create) => {
      let received = 0;
      const server = create();
      server.on("request", () => void received++);
      const error = await failAt("https", server);
      const outcome = name === "fetch" ? "unknown" : "not-sent"; // fetch does not tell the phase
      const expected = { code: "network", outcome, retryable: true, attempts: 3 };
      expect(error).toMatchObject(expected);
      expect(error.message).toMatch(
        /^The connection to https:\/\/[\w.]+:\d+ failed \((EPROTO|ERR_SSL_[A-Z_]+)\): the response is not TLS\. Does this port speak https\? Use http:\/\/ for the mock service/,
      );
      expect(received).toBe(0);
    },
  );

  it.each([
    ["refuses every protocol of the client", () => createTlsServer({ ...tls, ...otherProtocols })],
    ["ends the connection", closes],
  ])(
    "reports a TLS handshake that the server %s as not sent, and retries it",
    async (_how, create) => {
      const error = await failAt("https", create());
      expect(error).toMatchObject({
        code: "network",
        outcome: "not-sent",
        retryable: true,
        attempts: 3,
      });
    },
  );

  // A service that crashes looks the same.
  it.each([
    [
      "speaks first in another protocol",
      talksFirst,
      "the response is not HTTP. Does this port speak http?",
    ],
    [
      "responds in another protocol",
      talksSecond,
      "the response is not HTTP. Does this port speak http?",
    ],
    ["speaks https", () => createTlsServer(tls), ""],
  ])("reports http:// with a port that %s as unknown", async (_how, create, message) => {
    const error = await failAt("http", create());
    expect(error).toMatchObject({ code: "network", outcome: "unknown", retryable: true });
    expect(error.message).toContain(message);
  });
});
