/**
 * Errors become responses, and a slow or hostile sender needs little memory: in every adapter, over
 * HTTP/1.1 and HTTP/2.
 */
import { request as httpRequest, type RequestListener } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { type RunningServer, send } from "@loyalty-cards/testing/http";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ReceiverOptions } from "../../src/index.ts";
import { heldBytes } from "../adapter-contract.ts";
import {
  type EveryAdapter,
  everyVersion,
  type Http2Response,
  type HttpVersion,
  maxOpenStreams,
  requestOver,
  serving,
} from "../every-adapter.ts";

type Headers = Record<string, string | string[]>;
type Deliver = (delivery: { body: string; headers: Headers }) => Promise<Http2Response>;

const everyNodeVersion = everyVersion.filter(([, , { isBridged }]) => !isBridged);

/**
 * Serves until the test has finished. `around` can change the request and the response before the
 * receiver gets them.
 */
async function serve(
  adapter: EveryAdapter,
  version: HttpVersion,
  options: Partial<ReceiverOptions> = {},
  around: (...parameters: Parameters<RequestListener>) => void = () => {},
) {
  const log: string[] = [];
  const accepted: string[] = [];
  const listener = await adapter.listener({
    secret,
    handler: ({ id }) => void accepted.push(id),
    log: (line) => void log.push(line),
    ...options,
  });
  const server = await serving((request, response) => {
    around(request, response);
    return listener(request, response);
  }, version);
  onTestFinished(async () => void (await server.close()));
  return { log, accepted, server, ...client(server, version) };
}

function client(
  { url }: RunningServer,
  version: HttpVersion,
): { deliver: Deliver; session: ClientHttp2Session } {
  if (version === "HTTP/1.1")
    return { deliver: (delivery) => send(url, delivery), session: undefined as never };
  const session = connect(url);
  onTestFinished(() => session.destroy());
  return { deliver: ({ headers, body }) => requestOver(session, headers, body), session };
}

const getOutcome = (response: Promise<Http2Response>) =>
  response.then(
    ({ status, headers }) => [status, headers["retry-after"]],
    () => "no response",
  );

describe.each(everyVersion)("%s over %s", (_name, version, adapter) => {
  // G11
  it("responds 401 to two signature lines, even when the first is valid", async () => {
    const { deliver, accepted } = await serve(adapter, version);
    const { body, headers } = signedDelivery(balanceChanged());
    const genuine = headers["service-signature"] as string;
    const forged = genuine.replace(/v1=./, "v1=0");
    const pairs = [genuine, forged].flatMap((one) =>
      [genuine, forged].map((other) => [one, other]),
    );
    for (const lines of pairs) {
      const response = await deliver({ body, headers: { ...headers, "service-signature": lines } });
      expect(response.status).toBe(401);
    }
    expect(accepted).toEqual([]);
    expect((await deliver({ body, headers })).status).toBe(204);
  });

  it("loses no delivery when onOutcome, log and afterResponse throw or reject", async () => {
    let calls = 0;
    const listener = () => {
      calls += 1;
      if (calls % 2 === 0) throw new Error("full");
      return Promise.reject(new Error("full")) as never;
    };
    const afterResponse = () => Promise.reject(Object.create(null));
    const { deliver, accepted } = await serve(adapter, version, {
      onOutcome: listener,
      log: listener,
      ...(!adapter.isFrozenAfterResponse && { afterResponse }),
    });
    for (const id of ["evt_1", "evt_2", "evt_3"]) {
      expect((await deliver(signedDelivery(balanceChanged(id)))).status).toBe(204);
    }
    expect(accepted).toEqual(["evt_1", "evt_2", "evt_3"]);
    await expect.poll(() => calls).toBeGreaterThanOrEqual(adapter.isFrozenAfterResponse ? 6 : 12);
  });
});

describe.each(everyNodeVersion)("%s over %s", (name, version, adapter) => {
  it.each(["writeHead", "end"] as const)(
    "closes the connection when %s throws, and accepts the next delivery",
    async (method) => {
      let isBroken = true;
      const { deliver, accepted } = await serve(adapter, version, {}, (_request, response) => {
        if (!isBroken) return;
        response[method] = () => {
          throw new Error("a session that could not be saved");
        };
      });
      const sendsHeadAtOnce = version === "HTTP/2" && method === "end";
      expect(await getOutcome(deliver(signedDelivery(balanceChanged("evt_1"))))).toEqual(
        sendsHeadAtOnce ? [204, undefined] : "no response",
      );
      isBroken = false;
      expect((await deliver(signedDelivery(balanceChanged("evt_2")))).status).toBe(204);
      expect(accepted).toEqual(["evt_1", "evt_2"]);
    },
  );

  it("responds when a middleware replaced writeHead by a function that returns nothing", async () => {
    const { deliver } = await serve(adapter, version, {}, (_request, response) => {
      const { writeHead } = response;
      response.writeHead = ((...args: Parameters<typeof writeHead>) => {
        writeHead.apply(response, args);
      }) as typeof writeHead;
    });
    expect((await deliver(signedDelivery(balanceChanged()))).status).toBe(204);
  });

  // Express itself throws: it sets a header first.
  it.skipIf(/Express/.test(name))("does not change a response that was sent before", async () => {
    let isTaken = true;
    const { deliver, log } = await serve(adapter, version, {}, (_request, response) => {
      if (isTaken) response.writeHead(418).end();
    });
    expect((await deliver(signedDelivery(balanceChanged()))).status).toBe(418);
    const line = /^webhook-verify: the response was sent before .* only the receiver may respond/;
    // Fastify calls no handler then.
    const lines = /Fastify/.test(name) ? [] : [expect.stringMatching(line)];
    await expect.poll(() => log).toEqual(lines);
    isTaken = false;
    expect((await deliver(signedDelivery(balanceChanged()))).status).toBe(204);
  });

  it("responds 503 when the headers of the request throw", async () => {
    const { deliver, log } = await serve(adapter, version, {}, (request) => {
      const { headers } = request;
      const hostile = new Proxy(headers, {
        get(target, header) {
          if (header === "service-signature" || header === "content-encoding")
            throw new Error("gone");
          return Reflect.get(target, header);
        },
      });
      Object.defineProperty(request, "headers", { get: () => hostile });
    });
    expect(await getOutcome(deliver(signedDelivery(balanceChanged())))).toEqual([503, "60"]);
    expect(log).toHaveLength(1);
  });
});

const uploadBytes = 2 * 1024 * 1024;
/** An upload whose body is a number does not end. */
const rejectedUploads: [string, number, (headers: Headers) => Headers, (string | number)?][] = [
  ["becomes too large", 413, (headers) => headers, " ".repeat(uploadBytes)],
  [
    "has a content-length over the limit",
    413,
    (headers) => ({ ...headers, "content-length": String(uploadBytes) }),
  ],
  ["has no signature", 401, () => ({})],
  ["is not a POST", 405, (headers) => ({ ...headers, ":method": "PUT" })],
  ["is compressed", 415, (headers) => ({ ...headers, "content-encoding": "gzip" })],
];

describe.each(everyVersion.filter(([, version]) => version === "HTTP/2"))(
  "%s over %s",
  (_name, version, adapter) => {
    it.each(rejectedUploads)(
      "closes the stream of an upload that %s",
      async (_upload, status, change, body = uploadBytes) => {
        const sent: unknown[] = [];
        const { session, deliver } = await serve(adapter, version, {}, (_request, response) => {
          const { writeHead } = response;
          response.writeHead = ((...args: Parameters<typeof writeHead>) => {
            sent.push(args);
            return writeHead.apply(response, args);
          }) as typeof writeHead;
        });
        const genuine = signedDelivery(balanceChanged());
        const uploads = await Promise.all(
          Array.from({ length: maxOpenStreams }, () =>
            requestOver(session, change(genuine.headers), body),
          ),
        );
        expect(uploads.map((response) => response.status)).toEqual(
          Array(maxOpenStreams).fill(status),
        );
        expect((await deliver(genuine)).status).toBe(204);
        await Promise.all(uploads.map(({ closed }) => closed));
        // Node warns about this header. A Request does not say which version it came by.
        if (!adapter.isBridged) expect(JSON.stringify(sent)).not.toMatch(/"connection"/i);
      },
    );
  },
);

// Express and the Pages Router read as node:http does.
describe.each(
  everyNodeVersion.filter(([name, version]) => /node|Fastify/.test(name) && version === "HTTP/1.1"),
)("%s over %s", (_name, version, adapter) => {
  // G15
  it("holds only the received bytes of slow bodies, with any content-length", async () => {
    const arrivedBytes = 16_384;
    const connections = 100;
    const cost = async (announcedBytes: number) => {
      const requests: Parameters<RequestListener>[0][] = [];
      const { server } = await serve(
        adapter,
        version,
        {},
        (request) => void requests.push(request),
      );
      const before = heldBytes();
      const { headers } = signedDelivery(balanceChanged());
      const sockets = Array.from({ length: connections }, () => {
        const request = httpRequest(server.url, {
          method: "POST",
          headers: { ...headers, "content-length": announcedBytes },
        });
        request.on("error", () => {}).write(Buffer.alloc(arrivedBytes));
        return request;
      });
      const hasArrived = () =>
        requests.length === connections &&
        requests.every(({ socket }) => socket.bytesRead > arrivedBytes);
      while (!hasArrived()) await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      const held = heldBytes() - before;
      const closed = sockets.map(
        (socket) => new Promise((resolve) => socket.on("close", resolve).destroy()),
      );
      await Promise.all(closed);
      requests.length = 0; // each still has its body
      while (heldBytes() - before > arrivedBytes)
        await new Promise((resolve) => setImmediate(resolve));
      return held;
    };
    const [little, much] = [await cost(2 * arrivedBytes), await cost(1024 * 1024)];
    expect(little).toBeGreaterThanOrEqual(0.5 * connections * arrivedBytes);
    expect(much).toBeLessThanOrEqual(1.5 * little);
  });
});
