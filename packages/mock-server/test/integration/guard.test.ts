/** Protection of a server on a port: origins, host names, large bodies, slow requests. */
import { describe, expect, it } from "vitest";
import type { MockServerOptions } from "../../src/adapters/node.ts";
import { createMockService } from "../../src/index.ts";
import { openServer, sendRaw } from "./command.ts";

async function open(options: MockServerOptions = {}) {
  const server = await openServer(options);
  const { port } = new URL(server.url);
  /** Raw, because fetch sets Host and Origin itself. */
  const raw = (text: string) => sendRaw(`http://127.0.0.1:${port}`, text);
  const status = async (method: string, path: string, headers: Record<string, string>) => {
    const lines = Object.entries({ connection: "close", ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const response = await raw(
      `${method} ${path} HTTP/1.1\r\n${lines.join("")}content-length: 0\r\n\r\n`,
    );
    return Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]);
  };
  return { ...server, port, raw, status };
}

it("responds under host names of this machine only, also the console and the API", async () => {
  const { port, status, service } = await open();
  const names = [
    `localhost:${port}`,
    `127.0.0.1:${port}`,
    `[::1]:${port}`,
    `cards.localhost:${port}`,
    `host.docker.internal:${port}`,
  ];
  for (const host of names) expect(await status("GET", "/_mock/cards", { host }), host).toBe(200);
  const strangers = [
    "evil.test",
    `127.0.0.1.evil.test:${port}`,
    "localhost.evil.test",
    "8.8.8.8",
    "internal.evil.test",
  ];
  for (const host of strangers)
    expect(await status("GET", "/_mock/cards", { host }), host).toBe(403);
  for (const path of ["/", "/console", "/console/main.js"]) {
    expect(await status("GET", path, { host: names[0] ?? "" }), path).toBe(200);
    expect(await status("GET", path, { host: "evil.test" }), path).toBe(403);
  }
  expect(await status("GET", "/_mock/cards", { host: "%" })).toBe(400);
  for (const path of ["/api/v1/passes/card_1", "/api/v1/nothing", "/api/docs", "/api/docs/json"])
    expect(await status("GET", path, { host: "evil.test" }), path).toBe(403);
  const reason = 'The Host header names "evil.test"; only host names of this machine are allowed';
  expect(service.requests()).toMatchObject(Array(4).fill({ status: 403, reason }));
  expect(await status("GET", "/api/v1/passes/card_1", { host: names[0] ?? "" })).toBe(401);
});

it("responds under any host name when it listens on all addresses, and in process", async () => {
  const { status } = await open({ host: "0.0.0.0" });
  const host = "mock:4010";
  expect(await status("GET", "/_mock/cards", { host })).toBe(200);
  expect(await status("POST", "/_mock/reset", { host, origin: "http://mock:4010" })).toBe(204);
  expect(await status("POST", "/_mock/reset", { host, origin: "http://evil.test" })).toBe(403);
  const service = createMockService();
  const response = await service.fetch(
    new Request(`${service.baseUrl}/_mock/reset`, { method: "POST" }),
  );
  expect(response.status).toBe(204);
});

it("rejects writes of pages of another origin", async () => {
  const { port, status } = await open();
  const host = `localhost:${port}`;
  const reset = (headers: Record<string, string>) =>
    status("POST", "/_mock/reset", { host, ...headers });
  for (const own of [{}, { origin: `http://${host}` }, { "sec-fetch-site": "same-origin" }])
    expect(await reset(own as Record<string, string>)).toBe(204);
  for (const origin of ["https://evil.test", "null", "http://localhost:1"])
    expect(await reset({ origin })).toBe(403);
  for (const site of ["cross-site", "same-site"])
    expect(await reset({ "sec-fetch-site": site })).toBe(403);
  expect(await status("DELETE", "/_mock/faults", { host, origin: "https://evil.test" })).toBe(403);
});

const megabytes = (count: number) => "x".repeat(count * 1024 * 1024);

it.each([
  [2, 5],
  [40, 1], // more than is read to its end
])("responds 413 to a body of %i MiB each time, without a reset", async (size, times) => {
  const { url, service } = await open();
  const headers = {
    authorization: `Bearer ${service.apiKeys.website}`,
    "content-type": "application/json",
  };
  const issuePath = `/api/v1/templates/${service.templateId}/passes`;
  for (const path of [...Array<string>(times).fill(issuePath), "/_mock/faults"]) {
    const response = await fetch(url + path, { method: "POST", headers, body: megabytes(size) });
    expect([response.status, await response.json()]).toMatchObject([413, { status: 413 }]);
  }
});

it("responds 413 before the connection closes, when a large body is sent at once", async () => {
  const { raw, service } = await open();
  const body = megabytes(3);
  const response = await raw(
    `POST /api/v1/templates/t/passes HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${service.apiKeys.website}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  expect(response).toMatch(/^HTTP\/1\.1 413 [\s\S]*larger than 1048576 bytes/);
});

it("responds 413 to a chunked body that is too large, and does not store it", async () => {
  const { url, service } = await open();
  const headers = {
    authorization: `Bearer ${service.apiKeys.website}`,
    "content-type": "application/json",
  };
  const chunk = new Uint8Array(1024 * 1024);
  for (const path of [`/api/v1/templates/${service.templateId}/passes`, "/_mock/faults"]) {
    let missing = 300;
    let mostBytes = 0;
    const body = new ReadableStream({
      pull(controller) {
        mostBytes = Math.max(mostBytes, process.memoryUsage().arrayBuffers);
        if (missing-- > 0) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const response = await fetch(url + path, { method: "POST", headers, body, duplex: "half" });
    expect([response.status, await response.json()]).toMatchObject([413, { status: 413 }]);
    expect(mostBytes).toBeLessThan(150 * 1024 * 1024);
  }
});

it("responds 408 to a request that does not end, and serves others meanwhile", async () => {
  const { url, raw } = await open({ testing: { requestTimeoutMs: 200 } });
  const slow = raw("POST /_mock/reset HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{");
  const slowHead = raw("GET /_mock/health HTTP/1.1\r\nhost: loc");
  expect((await fetch(`${url}/_mock/health`)).status).toBe(200);
  expect(await slowHead).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(await slow).toMatch(/^HTTP\/1\.1 (204|408) /);
});

describe("a request that cannot be read gets a 4xx, and the server goes on", () => {
  const line = "GET /_mock/health HTTP/1.1\r\n";
  const rest = "host: 127.0.0.1\r\nconnection: close\r\n\r\n";
  it.each<[string, string, number]>([
    ["a malformed port", `GET http://a:99999/ HTTP/1.1\r\n${rest}`, 400],
    ["an asterisk", `OPTIONS * HTTP/1.1\r\n${rest}`, 400],
    ["TRACE", `TRACE / HTTP/1.1\r\n${rest}`, 405],
    ["two Host headers", `${line}host: 127.0.0.1\r\n${rest}`, 403],
    ["no Host header", `${line}connection: close\r\n\r\n`, 400],
    ["text that is not HTTP", "hello\r\n\r\n", 400],
    ["a malformed header", `${line}no colon\r\n${rest}`, 400],
    ["two lengths", `POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n${rest}`, 400],
    ["headers of 20 KB", `${line}x: ${"y".repeat(20_000)}\r\n${rest}`, 431],
    [
      "chunk extensions of 20 KB",
      `POST /_mock/reset HTTP/1.1\r\ntransfer-encoding: chunked\r\n${rest}1;${"x".repeat(20_000)}\r\na\r\n0\r\n\r\n`,
      413,
    ],
    ["a request of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["an upgrade that is not offered", `GET /none HTTP/1.1\r\nupgrade: websocket\r\n${rest}`, 404],
    ["an expectation", `GET /none HTTP/1.1\r\nexpect: tea\r\n${rest}`, 417],
  ])("%s", async (_what, text, status) => {
    const { raw, url } = await open();
    expect(await raw(text)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect((await fetch(`${url}/_mock/health`)).status).toBe(200);
  });

  it("accepts HTTP/1.0 without Host", async () => {
    const { raw } = await open();
    expect(await raw("GET /_mock/health HTTP/1.0\r\n\r\n")).toContain(" 200 OK");
  });
});
