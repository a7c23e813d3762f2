/** The faults of real sockets: what the runtime's fetch and undici make of them, and what the client makes of that. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { createIssuingClient, type IssuingClientOptions } from "../../src/index.ts";
import { undiciTransport } from "../../src/node-undici.ts";
import { signUp, template } from "../scripted.ts";

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

const body = JSON.stringify({ id: "card_1", publicUrl: "https://cards.test/1", loyaltyBalance: 0 });
const issued: Behaviour = (_request, response) =>
  void response.writeHead(201, { "content-type": "application/json" }).end(body);

async function serve(behaviours: readonly Behaviour[], options: Partial<IssuingClientOptions>) {
  const keys: unknown[] = [];
  const left = [...behaviours];
  const server = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    request.resume().on("end", () => (left.shift() ?? issued)(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}`;
  const client = createIssuingClient({ baseUrl, apiKey: "k", random: () => 0, ...options });
  const issue = () => client.issueCard(template.id, signUp, { userId: 1 });
  return { issue, client, keys, server, baseUrl };
}

const faults: Record<string, Behaviour> = {
  "503": (_request, response) => void response.writeHead(503).end(),
  "a connection that is closed": ({ socket }) => void socket.destroy(),
  "a connection that is reset": ({ socket }) => void (socket as Socket).resetAndDestroy(),
  "201 with a body that is cut": (_request, response) => {
    response.writeHead(201, { "content-type": "application/json", "content-length": body.length });
    response.write(body.slice(0, 10), () => response.destroy());
  },
  "201 with a body that stalls": (_request, response) => {
    response.writeHead(201, { "content-type": "application/json", "content-length": body.length });
    response.write(body.slice(0, 10));
  },
  "201 with a malformed chunk": ({ socket }) =>
    void socket.end("HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{\r\n"),
  "201 with HTML": (_request, response) =>
    void response.writeHead(201, { "content-type": "text/html" }).end("<p>"),
  "201 with an empty body": (_request, response) => void response.writeHead(201).end(),
  silence: () => {},
  garbage: ({ socket }) => void socket.end("what?\r\n\r\n"),
};

describe.each(["fetch", "undici"] as const)("over %s", (over) => {
  const open = (behaviours: readonly Behaviour[], options: Partial<IssuingClientOptions> = {}) =>
    serve(behaviours, { ...options, ...(over === "undici" && { transport: agentsTransport() }) });

  it.each(Object.entries(faults))("%s, twice, and then the card, under one key", async (_name, fault) => {
    const { issue, keys } = await open([fault, fault], { timeoutMs: 250 });
    expect((await issue()).id).toBe("card_1");
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  it.each(Object.entries(faults))("%s, always, leaves the outcome unknown", async (_name, fault) => {
    const { issue } = await open([fault, fault, fault], { timeoutMs: 100 });
    await expect(issue()).rejects.toMatchObject({ outcome: "unknown", retryable: true, attempts: 3 });
  });

  it("a reason phrase in the service's own language does not cost the card", async () => {
    const { issue, keys } = await open([
      ({ socket }) => {
        const head = "HTTP/1.1 201 Utworzono pomyślnie\r\ncontent-type: application/json";
        socket.end(`${head}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
      },
    ]);
    expect((await issue()).id).toBe("card_1");
    expect(keys).toHaveLength(1);
  });

  it("nobody listening is known not to have been sent", async () => {
    const { issue, server } = await open([]);
    await new Promise((resolve) => server.close(resolve));
    await expect(issue()).rejects.toMatchObject({ code: "network", outcome: "not-sent", attempts: 3 });
  });

  it("a redirect is not followed: nothing is sent to the other address", async () => {
    const other = await open([]);
    const { issue } = await open([
      (_request, response) => void response.writeHead(307, { location: `${other.baseUrl}/` }).end(),
    ]);
    await expect(issue()).rejects.toMatchObject({ code: "invalid-response", retryable: false });
    expect(other.keys).toEqual([]);
  });

  it("an abort ends a call in flight", async () => {
    const controller = new AbortController();
    const reason = new Error("the user left");
    const { client } = await open([() => controller.abort(reason)]);
    await expect(client.getCard("card_1", { signal: controller.signal })).rejects.toBe(reason);
  });

  it("a call uses the connection of the one before, also when that was a refusal", async () => {
    const sockets = new Set<Socket>();
    const noting =
      (behaviour: Behaviour): Behaviour =>
      (request, response) => {
        sockets.add(request.socket);
        behaviour(request, response);
      };
    const refuse: Behaviour = (_request, response) =>
      void response.writeHead(422, { "content-type": "application/problem+json" }).end('{"detail":"x"}');
    const unavailable: Behaviour = (_request, response) =>
      void response.writeHead(503).end("x".repeat(10_000));
    const { issue } = await open([refuse, unavailable, issued, issued].map(noting));
    await issue().catch(() => {});
    await issue();
    await issue();
    expect(sockets.size).toBe(1);
  });

  it("a body without a length is read to its limit and no further", async () => {
    const { issue } = await open([
      (_request, response) => {
        response.writeHead(201, { "content-type": "application/json" });
        const more = () => void (response.destroyed || response.write(" ".repeat(65_536), more));
        more();
      },
    ]);
    await expect(issue()).rejects.toMatchObject({
      code: "invalid-response",
      outcome: "unknown",
      retryable: false,
      message: expect.stringContaining("more than 4194304 bytes"),
    });
  });
});

function agentsTransport() {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  return undiciTransport(agent);
}

describe("undici", () => {
  it("asks for a plain body, and refuses an encoded one instead of guessing", async () => {
    const asked: unknown[] = [];
    const encoded: Behaviour = (request, response) => {
      asked.push(request.headers["accept-encoding"]);
      response.writeHead(201, { "content-encoding": "gzip" }).end("never decoded");
    };
    const { issue } = await serve([encoded, encoded, encoded], { transport: agentsTransport() });
    await expect(issue()).rejects.toMatchObject({
      code: "invalid-response",
      outcome: "unknown",
      attempts: 3,
    });
    expect(asked).toEqual(Array(3).fill("identity"));
  });

  it("tells the answer's headers as fetch does", async () => {
    const answer: Behaviour = (_request, response) =>
      void response
        .writeHead(200, [
          ["content-type", "application/json"],
          ["x-request-id", "req_1"],
          ["x-twice", "a"],
          ["x-twice", "b"],
        ] as never)
        .end(body);
    const told: unknown[] = [];
    for (const options of [{}, { transport: agentsTransport() }]) {
      const { client } = await serve([answer], options);
      await client.getCard("card_1", {
        onResponse: ({ headers, requestId }) =>
          told.push([headers.get("x-twice"), headers.get("content-type"), requestId]),
      });
    }
    expect(told[0]).toEqual(["a, b", "application/json", "req_1"]);
    expect(told[1]).toEqual(told[0]);
  });

  it("carries the escape hatch too", async () => {
    const { client } = await serve([issued], { transport: agentsTransport() });
    const { data } = await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
    expect(data).toMatchObject({ id: "card_1" });
  });

  it("refuses what is no dispatcher, and a fetch beside it", () => {
    expect(() => undiciTransport({} as never)).toThrow(/undiciTransport\(new Agent\(\)\)/);
    const options = { baseUrl: "https://cards.test", apiKey: "k", fetch, transport: agentsTransport() };
    expect(() => createIssuingClient(options)).toThrow(/not both/);
  });
});
