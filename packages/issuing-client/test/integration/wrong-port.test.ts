/** A baseUrl whose scheme is not the one of the port: what each transport reports, on real sockets. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer, type Server } from "node:net";
import { describe, expect, it } from "vitest";
import { createIssuingClient, type IssuingError } from "../../src/index.ts";
import { signUp } from "../scripted.ts";
import { listen } from "../server.ts";

/** A certificate and its key. */
const pem = readFileSync(new URL("../localhost.pem", import.meta.url));
const tls = { key: pem, cert: pem };
const talksFirst = () => createTcpServer((socket) => void socket.write("SSH-2.0-OpenSSH_9.6\r\n"));
const talksSecond = () =>
  createTcpServer((socket) => void socket.once("data", () => socket.write("-ERR unknown command\r\n")));
const closes = () => createTcpServer((socket) => void socket.once("data", () => socket.end()));

describe.each([
  ["node:http", {}],
  ["fetch", { fetch }],
])("over %s", (_name, transport) => {
  async function failAt(scheme: string, server: Server): Promise<IssuingError> {
    const baseUrl = `${scheme}://127.0.0.1:${await listen(server)}`;
    const client = createIssuingClient({
      baseUrl,
      apiKey: "k",
      ...transport,
      testing: { random: () => 0 },
    });
    return client.issueCard("t", signUp, { userId: 1 }).then(
      () => Promise.reject(new Error("did not reject")),
      (error) => error,
    );
  }

  it.each([
    ["a port that speaks http", () => createServer((_request, response) => void response.end("{}"))],
    ["a server that speaks first in another protocol", talksFirst],
    ["a server that responds in another protocol", talksSecond],
  ])("reports https:// with %s as a configuration problem, after one attempt", async (_port, create) => {
    let received = 0;
    const server = create();
    server.on("request", () => void received++);
    const error = await failAt("https", server);
    expect(error).toMatchObject({
      code: "configuration",
      outcome: "not-sent",
      retryable: false,
      attempts: 1,
    });
    expect(error.message).toMatch(
      /^The TLS handshake failed \((EPROTO|ERR_SSL_[A-Z_]+)\): baseUrl is https:\/\/[\w.]+:\d+, but that port does not seem to speak https\. Use http:\/\/ for the mock service/,
    );
    expect(received).toBe(0);
  });

  it.each([
    [
      "refuses every protocol of the client",
      () => createTlsServer({ ...tls, ALPNProtocols: ["other"], ciphers: "PSK" }),
    ],
    ["ends the connection", closes],
  ])("reports a TLS handshake that the server %s as not sent, and retries it", async (_how, create) => {
    const error = await failAt("https", create());
    expect(error).toMatchObject({ code: "network", outcome: "not-sent", retryable: true, attempts: 3 });
  });

  it.each([
    ["speaks first", talksFirst],
    ["responds", talksSecond],
  ])("asks whether the port speaks http when a server %s in another protocol", async (_how, create) => {
    const error = await failAt("http", create());
    expect(error).toMatchObject({ code: "network", outcome: "unknown", retryable: true });
    expect(error.message).toContain("the response is not HTTP. Does this port speak http?");
  });

  it("reports http:// with a port that speaks https as unknown, because a service that crashes looks the same", async () => {
    const error = await failAt("http", createTlsServer(tls));
    expect(error).toMatchObject({ code: "network", outcome: "unknown", retryable: true });
  });
});
