/** The default transport on Node.js: connections, responses and aborts on real sockets. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, globalAgent, type RequestListener } from "node:http";
import { createServer as createTlsServer, globalAgent as tlsAgent } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { createIssuingClient } from "../../src/index.ts";
import { listen } from "../server.ts";

const card = JSON.stringify({ id: "card_1", publicUrl: "https://cards.test/1", loyaltyBalance: 0 });

const createClient = (baseUrl: string) =>
  createIssuingClient({ baseUrl, apiKey: "k", testing: { random: () => 0 } });

async function openHttp(respond: RequestListener) {
  const server = createServer(respond);
  const client = createClient(`http://127.0.0.1:${await listen(server)}`);
  return { server, client };
}

/** A server that writes these bytes when a request arrives. */
async function openRaw(write: (socket: Socket) => void) {
  const requests: string[] = [];
  const server = createTcpServer((socket) => {
    socket.on("data", (bytes) => {
      requests.push(bytes.toString());
      write(socket);
    });
  });
  return { client: createClient(`http://127.0.0.1:${await listen(server)}`), requests };
}

const toResponse = (head: string, body: string) => `HTTP/1.1 ${head}\r\n\r\n${body}`;
const cardLength = `content-length: ${card.length}`;

describe("responses", () => {
  it.each([
    [
      "a 103 before it",
      toResponse("103 Early Hints\r\nlink: </a>", "") + toResponse(`200 OK\r\n${cardLength}`, card),
    ],
    ["a 100 before it", toResponse("100 Continue", "") + toResponse(`200 OK\r\n${cardLength}`, card)],
    [
      "chunks and trailers",
      toResponse(
        "200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-end",
        `5\r\n${card.slice(0, 5)}\r\n${(card.length - 5).toString(16)}\r\n${card.slice(5)}\r\n0\r\nx-end: 1\r\n\r\n`,
      ),
    ],
    ["a byte order mark", toResponse(`200 OK\r\ncontent-length: ${card.length + 3}`, `\ufeff${card}`)],
    ["a body until the end of the connection", toResponse("200 OK\r\nconnection: close", card), true],
    ["the announced length, and is half-closed", toResponse(`200 OK\r\n${cardLength}`, card), true],
  ])("reads a response with %s", async (_name, response, isHalfClosed = false) => {
    const { client } = await openRaw((socket) =>
      isHalfClosed ? socket.end(response) : socket.write(response),
    );
    expect(await client.getCard("card_1")).toMatchObject({ id: "card_1" });
  });

  it.each([
    ["is half-closed before the end of its body", `200 OK\r\ncontent-length: ${card.length + 1}`, "network"],
    ["is half-closed between two chunks", "200 OK\r\ntransfer-encoding: chunked", "network"],
    ["has an invalid chunk in the packet of its head", "200 OK\r\ntransfer-encoding: chunked", "network"],
    [
      "changes the protocol",
      "101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade",
      "invalid-response",
    ],
    ["has two different lengths", `200 OK\r\n${cardLength}\r\ncontent-length: 1`, "network"],
  ])("fails when the response %s", async (_name, head, code) => {
    const body = head.includes("chunked")
      ? _name.includes("invalid")
        ? "zz\r\n"
        : `5\r\n${card.slice(0, 5)}\r\n`
      : card;
    const { client, requests } = await openRaw((socket) => socket.end(toResponse(head, body)));
    await expect(client.getCard("card_1")).rejects.toMatchObject({ code, outcome: "unknown", attempts: 3 });
    expect(requests).toHaveLength(3);
  });

  it.each([
    ["gzip", gzipSync(card)],
    ["deflate", deflateSync(card)],
    ["br", brotliCompressSync(card)],
    ["identity", Buffer.from(card)],
    ["GZIP", gzipSync(card)],
    ["Identity ", Buffer.from(card)],
    ["", Buffer.from(card)],
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
  it("rejects an encoded body whose text is longer than the limit", async () => {
    const body = gzipSync(" ".repeat(5 * 1024 * 1024));
    const { client } = await openHttp(
      (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(body),
    );
    await expect(client.getCard("card_1")).rejects.toMatchObject({
      code: "invalid-response",
      retryable: false,
      message: expect.stringContaining("more than 4194304 bytes"),
    });
  });

  it.each(["zstd", "constructor"])("rejects a body in the unknown encoding %s", async (encoding) => {
    const { client } = await openHttp(
      (_request, response) => void response.writeHead(200, { "content-encoding": encoding }).end(card),
    );
    await expect(client.getCard("card_1")).rejects.toMatchObject({ code: "invalid-response", attempts: 3 });
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
    const customer = { phone: "+48600100200", consents: { privacy: { version: "1" } } };
    for (const userId of [1, 2]) {
      expect(await client.issueCard("tpl_1", { customer }, { userId })).toMatchObject({ id: "card_1" });
    }
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
    const { server } = await openHttp((_request, response) => void response.end(card));
    server.keepAliveTimeout = 0; // the server never closes the connection
    const program = fileURLToPath(new URL("../idle-connection.ts", import.meta.url));
    const { port } = server.address() as AddressInfo;
    const child = spawn(
      process.execPath,
      ["--conditions=@loyalty-cards/source", "--import", "tsx", program, `http://127.0.0.1:${port}`],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let output = "";
    child.stdout.on("data", (bytes) => {
      output += bytes;
    });
    const [exitCode] = await once(child, "exit");
    expect([exitCode, output]).toEqual([0, "card_1"]);
    expect(await new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))).toBe(0);
  });
});

describe("TLS", () => {
  /** A certificate and its key. */
  const pem = readFileSync(new URL("../localhost.pem", import.meta.url));
  const serveTls = () =>
    createTlsServer({ key: pem, cert: pem }, (_request, response) => void response.end(card));

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

  it("reports not-sent for a certificate that is not trusted", async () => {
    const client = createClient(`https://localhost:${await listen(serveTls())}`);
    const failure = { code: "network", outcome: "not-sent", cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } };
    await expect(client.getCard("card_1")).rejects.toMatchObject(failure);
  });

  it("reports not-sent for a certificate of another host", async () => {
    trustCertificate();
    const client = createClient(`https://127.0.0.1:${await listen(serveTls())}`);
    const failure = { code: "network", outcome: "not-sent", cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" } };
    await expect(client.getCard("card_1")).rejects.toMatchObject(failure);
  });
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
  expect(await createClient("https://cards.test").getCard("card_1")).toMatchObject({ id: "card_1" });
  expect(request.isDone()).toBe(true);
});
