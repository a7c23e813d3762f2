/** Requests, and failures, on real sockets, over node:http and fetch. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { listOwnFunctions } from "@loyalty-cards/testing/own-functions";
import {
  anySuccess,
  card,
  catchIssuingError,
  operationCalls,
  signUp,
  template,
} from "@loyalty-cards/testing/scripted-client";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { systemClock } from "../../src/clock.ts";
import { type IssuingClientOptions, isIssuingError } from "../../src/index.ts";
import { createClient, openHttp, openRaw, transports } from "../server.ts";

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

const body = JSON.stringify(card);
const json = { "content-type": "application/json" };
const respond =
  (status: number, headers: OutgoingHttpHeaders = {}, text: string | Uint8Array = ""): Behaviour =>
  (_request, response) =>
    void response.writeHead(status, headers).end(text);
/** The connection stays open, or is cut. */
const begin =
  (status: number, headers: OutgoingHttpHeaders, text: string, end: "stall" | "cut"): Behaviour =>
  (_request, response) => {
    response.writeHead(status, headers);
    response.write(text, () => end === "cut" && response.destroy());
  };
const issued = respond(201, json, body);

async function serve(behaviours: readonly Behaviour[], options: Partial<IssuingClientOptions>) {
  const keys: unknown[] = [];
  const left = [...behaviours];
  const opened = await openHttp((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    request.resume().on("end", () => (left.shift() ?? issued)(request, response));
  }, options);
  return {
    ...opened,
    keys,
    issue: () => opened.client.issueCard(template.id, signUp, { userId: 1 }),
  };
}

const failures: Record<string, Behaviour> = {
  "503": respond(503),
  "a connection that is closed": ({ socket }) => void socket.destroy(),
  "a connection that is reset": ({ socket }) => void (socket as Socket).resetAndDestroy(),
  "201 with a body that is cut": begin(
    201,
    { ...json, "content-length": 100 },
    body.slice(0, 10),
    "cut",
  ),
  "201 with a body that stalls": begin(
    201,
    { ...json, "content-length": 100 },
    body.slice(0, 10),
    "stall",
  ),
  "500 with a body that stalls": begin(500, { ...json, "content-length": 100 }, "{", "stall"),
  "201 with a malformed chunk": ({ socket }) =>
    void socket.end("HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{\r\n"),
  "201 with HTML": respond(201, { "content-type": "text/html" }, "<p>"),
  "201 with an empty body": respond(201),
  "no response": () => {},
  "a response that is not HTTP": ({ socket }) => void socket.end("what?\r\n\r\n"),
};

/**
 * For failures that end by the timeout. On a busy machine a good response can be later than the
 * timeout too: it is repeated.
 */
const shortTimeout = { timeoutMs: 250, maxRetries: 9 };
const stalling = ["201 with a body that stalls", "500 with a body that stalls", "no response"];

const tooLong = JSON.stringify({ detail: "x".repeat(4 * 1024 * 1024) });

const cutGzip = gzipSync("x".repeat(1_000)).subarray(0, 12);
const toGzip = { "content-encoding": "gzip" };

/** Bodies of error responses that cannot be read. */
const unreadable: Record<string, (status: number, headers?: OutgoingHttpHeaders) => Behaviour> = {
  "is longer than allowed, as its content-length says": (status, headers) =>
    respond(status, { ...headers, "content-length": tooLong.length }, tooLong),
  "is longer than allowed, without a content-length": (status, headers) =>
    respond(status, { ...headers, "transfer-encoding": "chunked" }, tooLong),
  "is not gzip, although its content-encoding is gzip": (status, headers) =>
    respond(status, { ...headers, ...toGzip }, "{}"),
  "is gzip that ends early": (status, headers) =>
    respond(status, { ...headers, ...toGzip }, cutGzip),
  "is cut": (status, headers) => begin(status, { ...headers, "content-length": 100 }, "{", "cut"),
  "is not UTF-8": (status, headers) =>
    respond(status, headers, Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
};

describe.each(transports)("over %s", (_name, transport) => {
  const open = (behaviours: readonly Behaviour[], options: Partial<IssuingClientOptions> = {}) =>
    serve(behaviours, { ...options, ...transport });

  it.each(Object.entries(failures))(
    "retries with the same key after two times %s",
    async (name, failure) => {
      const { issue, keys } = await open(
        [failure, failure],
        stalling.includes(name) ? shortTimeout : {},
      );
      expect((await issue()).id).toBe("card_1");
      expect(keys.length).toBeGreaterThanOrEqual(3);
      if (!stalling.includes(name)) expect(keys).toHaveLength(3);
      expect(new Set(keys).size).toBe(1);
    },
  );

  it.each(Object.entries(failures))(
    "reports the outcome unknown after three times %s",
    async (_name, failure) => {
      const { issue } = await open([failure, failure, failure], { timeoutMs: 100 });
      await expect(issue()).rejects.toMatchObject({
        outcome: "unknown",
        retryable: true,
        attempts: 3,
      });
    },
  );

  it("reports not-sent when the port is closed", async () => {
    const { issue, server } = await open([]);
    await new Promise((resolve) => server.close(resolve));
    await expect(issue()).rejects.toMatchObject({
      code: "network",
      outcome: "not-sent",
      attempts: 3,
    });
  });

  // G7
  it.each([301, 302, 303, 307, 308])("does not follow a redirect with %i", async (status) => {
    const other = await open([]);
    const { issue, keys } = await open([respond(status, { location: `${other.baseUrl}/` })]);
    await expect(issue()).rejects.toMatchObject({
      code: "invalid-response",
      retryable: false,
      attempts: 1,
      message: expect.stringContaining("baseUrl"),
    });
    expect([keys.length, other.keys]).toEqual([1, []]);
  });

  it("reuses the connection of the previous call, also after an error response", async () => {
    const sockets = new Set<Socket>();
    const refuse = respond(422, { "content-type": "application/problem+json" }, '{"detail":"x"}');
    const unavailable = respond(503, {}, "x".repeat(10_000));
    const { issue, server } = await open([refuse, unavailable, issued, issued]);
    server.on("request", ({ socket }) => void sockets.add(socket));
    for (const _call of [1, 2, 3]) {
      await issue().catch(() => {});
      // fetch opens another connection for a request in the same turn of the event loop.
      await new Promise(setImmediate);
    }
    expect(sockets.size).toBe(1);
  });

  describe.each(Object.entries(unreadable))(
    "an error response whose body %s",
    (_name, respondUnreadable) => {
      it("is retried as Retry-After says, with its key", async () => {
        const pausesMs: number[] = [];
        const failure = respondUnreadable(503, { "retry-after": "2" });
        const after: typeof systemClock.after = (ms, wake) =>
          systemClock.after(ms === 2_000 ? 0 : ms, wake);
        const { issue, keys } = await open([failure, failure], {
          testing: { clock: { ...systemClock, after }, random: () => 1 },
          onEvent: (event) => event.type === "retry" && pausesMs.push(event.delayMs),
        });
        expect((await issue()).id).toBe("card_1");
        expect([keys.length, new Set(keys).size, pausesMs]).toEqual([3, 1, [2_000, 2_000]]);
      });

      it.each([
        [500, "server", true, 3],
        [422, "validation", false, 1],
      ])(
        "becomes an IssuingError with a problem: %i",
        async (status, code, retryable, attempts) => {
          const { issue, keys } = await open(Array(3).fill(respondUnreadable(status)));
          const error = await catchIssuingError(issue());
          expect(error).toMatchObject({ code, status, retryable, attempts });
          expect(error.problem).toEqual({ type: "about:blank", status });
          expect(keys).toHaveLength(attempts);
        },
      );
    },
  );

  // G14
  it.each([
    [201, "invalid-response", false, 1],
    [404, "not-found", false, 1],
    [429, "rate-limited", true, 3],
    [503, "server", true, 3],
  ])(
    "reads at most 4 MiB of an endless %i, and closes it",
    async (status, code, retryable, attempts) => {
      const written: number[] = [];
      let closed = 0;
      const endless: Behaviour = (_request, response) => {
        const index = written.push(0) - 1;
        response.writeHead(status, json).on("close", () => void closed++);
        const more = (error?: Error | null) => {
          if (error || response.destroyed) return;
          written[index] = (written[index] ?? 0) + 65_536;
          response.write(" ".repeat(65_536), more);
        };
        more();
      };
      const { issue } = await open(Array(3).fill(endless));
      const error = await catchIssuingError(issue());
      expect(error).toMatchObject({ code, retryable, attempts, status });
      if (status === 201) {
        expect(error.outcome).toBe("unknown");
        expect(error.message).toContain("more than 4194304 bytes");
      }
      while (closed < attempts) await new Promise((resolve) => setImmediate(resolve));
      // Plus the buffers of the sockets, which Linux lets grow to 4 MiB and 6 MiB.
      for (const bytes of written) expect(bytes).toBeLessThan(14 * 2 ** 20 + 65_536);
    },
  );

  it("returns headers that the response has twice as one value, and each cookie", async () => {
    const received: unknown[] = [];
    const cookies = ["a=1; Path=/", "b=2; Expires=Sun, 01 Mar 2026 12:00:00 GMT"];
    const twice = { "x-twice": ["a", "b"], "set-cookie": cookies };
    const { client } = await open([
      respond(200, { ...json, "x-request-id": "req_1", ...twice }, body),
    ]);
    const names = ["x-twice", "content-type", "x-request-id"];
    await client.getCard("card_1", {
      onResponse: ({ headers }) =>
        received.push(...names.map((name) => headers.get(name)), headers.getSetCookie()),
    });
    expect(received).toEqual(["a, b", "application/json", "req_1", cookies]);
  });

  it.for([200, 204, 205, 304, 307, 407, 422, 503])(
    "closes the connection of a %i whose body does not end",
    async (status, { skip }) => {
      const isLeftOpen = "fetch" in transport && Number.parseInt(process.versions.node, 10) >= 26;
      skip(
        status === 205 && isLeftOpen,
        "fetch of Node 26 does not close the connection when it is aborted",
      );
      const bytes = `HTTP/1.1 ${status} X\r\ncontent-length: 100\r\n\r\n{`;
      const { client, requested } = await openRaw((socket) => socket.write(bytes), {
        ...transport,
        timeoutMs: 100,
        maxRetries: 0,
      });
      await expect(client.getCard("card_1")).rejects.toSatisfy(isIssuingError);
      // fetch replaces the connection by an idle one, which it closes after four seconds.
      await expect.poll(() => requested.map(({ destroyed }) => destroyed)).toEqual([true]);
    },
  );

  it.each(["bad name: x", ": x", "x-control: a\u0001b", "x-nul: a\u0000b"])(
    "returns the card, or an IssuingError, when the response has the invalid header %j",
    async (header) => {
      const bytes = `HTTP/1.1 200 OK\r\n${header}\r\nx-good: 1\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      const { client } = await openRaw((socket) => socket.write(bytes), {
        ...transport,
        maxRetries: 0,
      });
      const received: unknown[] = [];
      const onResponse = ({ headers }: { headers: Headers }) => received.push([...headers.keys()]);
      const params = { path: { id: "card_1" } };
      for (const call of [
        client.getCard("card_1", { onResponse }),
        client.api.GET("/passes/{id}", { params }),
      ]) {
        const end: unknown = await call.catch((error: unknown) => error);
        expect(isIssuingError(end) ? end.code : end).toSatisfy(
          (value) => value === "network" || JSON.stringify(value).includes("card_1"),
        );
      }
      for (const names of received) expect(names).toEqual(["content-length", "x-good"]);
    },
  );

  it.each([204, 205])(
    "returns the result of client.api for a %i that has a body",
    async (status) => {
      const bytes = `HTTP/1.1 ${status} X\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      const { client } = await openRaw((socket) => socket.write(bytes), transport);
      const { response } = await client.api.PUT("/passes/{id}/consent", {
        params: { path: { id: "card_1" } },
        body: { marketing: true },
      });
      expect([response.status, await response.text()]).toEqual([status, ""]);
    },
  );

  it("sends the body of client.api with its length, so that it is not read as the next request", async () => {
    const received: unknown[] = [];
    const { client } = await openHttp((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on("data", (chunk) => chunks.push(chunk))
        .on("end", () => {
          received.push([request.method, Buffer.concat(chunks).toString()]);
          response.writeHead(200, json).end("{}");
        });
    }, transport);
    const text = "GET /api/v1/ążź HTTP/1.1\r\nhost: x\r\n\r\n";
    type Untyped = (path: string, init: object) => Promise<unknown>;
    const init = { body: text, bodySerializer: String };
    const methods = ["DELETE", "OPTIONS", "PATCH", "PUT", "POST"] as const;
    for (const method of methods) await (client.api[method] as Untyped)("/notes", init);
    await client.getCard("card_1").catch(() => {});
    expect(received).toEqual([...methods.map((method) => [method, text]), ["GET", ""]]);
  });

  it("sends the User-Agent with every method, retry and call of client.api", async () => {
    const own = `loyalty-cards/${packageJson.version}`;
    const userAgents: unknown[] = [];
    const statuses = [503];
    const { client, baseUrl } = await openHttp((request, response) => {
      userAgents.push(request.headers["user-agent"]);
      response.writeHead(statuses.shift() ?? 200, { "content-type": "application/json" });
      response.end(JSON.stringify(anySuccess));
    }, transport);
    for (const call of Object.values(operationCalls)) await call(client);
    const params = { path: { id: "card_1" } };
    await client.api.GET("/passes/{id}", { params });
    expect(userAgents.splice(0)).toEqual(Array(Object.keys(operationCalls).length + 2).fill(own));

    const shop = createClient(baseUrl, { ...transport, userAgent: "my-shop/1.2 (staging)" });
    await shop.getCard("card_1");
    await shop.getCard("card_1", { headers: { "User-Agent": "back-fill/3" } });
    await shop.getCard("card_1", { headers: { "user-agent": "" } });
    await shop.api.GET("/passes/{id}", { params, headers: { "user-agent": "back-fill/3" } });
    expect(userAgents).toEqual(
      ["", " back-fill/3", "", " back-fill/3"].map(
        (added) => `${own} my-shop/1.2 (staging)${added}`,
      ),
    );
  });

  it("issues a card through 11 files and 80 functions of ours at most", async () => {
    const { baseUrl } = await open([]);
    const { files, functions } = await listOwnFunctions(`
      import { createIssuingClient } from "@loyalty-cards/issuing-client";
      const client = createIssuingClient({ baseUrl: "${baseUrl}", apiKey: "k", fetch: ${transport.fetch && "fetch"} });
      const operation = () => client.issueCard("tpl_1", ${JSON.stringify(signUp)}, { userId: 1 });`);
    expect(functions).toContain("packages/issuing-client/src/send.ts send");
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(11);
    expect(functions.length, functions.join("\n")).toBeLessThanOrEqual(80);
  });
});
