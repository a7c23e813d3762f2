/**
 * Random requests against every adapter, over HTTP/1.1 and HTTP/2, with valid deliveries among
 * them: nothing fails.
 */
import { connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { createDraw } from "@loyalty-cards/testing/draw";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it, onTestFinished } from "vitest";
import { everyVersion, serving } from "../every-adapter.ts";

/** For all adapters together. RANDOM_REQUESTS=100000 makes it longer. */
const requests = Number(process.env["RANDOM_REQUESTS"] ?? 1_000);
/** Printed with a failure; the same seed creates the same requests. */
const seed = Number(process.env["RANDOM_SEED"] ?? Date.now() % 2 ** 31);
const concurrency = 16;

/** The responses of the receiver (see the README). */
const ownStatuses = [204, 400, 401, 405, 408, 413, 415];
/**
 * The responses of Node's parsers: unreadable requests, an unknown `Expect`, too many headers,
 * timeouts.
 */
const parserStatuses = [400, 408, 413, 417, 431];
/** The responses of routers to targets other than `/webhooks`, and to unknown methods. */
const routerStatuses = [400, 404, 405, 501];

type Random = ReturnType<typeof createRandom>;

function createRandom(seed: number) {
  const { next, below, pick } = createDraw(seed);
  return { number: below, chance: (probability: number) => next() < probability, one: pick };
}

interface Made {
  method: string;
  target: string;
  headers: [name: string, value: string][];
  body: Buffer;
  /** Sends a part of the request, and then ends the connection in this way. */
  leaves?: "reset" | "end";
}

const text = (random: Random, length: number) =>
  String.fromCharCode(
    ...Array.from({ length }, () => random.one([0x20, 0x41, 0x7e, 0xe9, 0xff, 0x2c, 0x3d, 0x22])),
  );

const changedHeaders =
  "service-signature Service-Signature service-event content-type content-encoding x-forwarded-host cookie __proto__ constructor".split(
    " ",
  );

function madeUp(random: Random): Made {
  const { body, headers: genuine } = signedDelivery(balanceChanged("evt_forged"), {
    key: random.chance(0.9) ? "whsec_other" : secret,
    timestamp: random.one([0, 1, 2 ** 31, 999_999_999_999]), // always outside the tolerance, even when signed with the secret
  });
  const headers = Object.entries(genuine);
  for (let changes = random.number(4); changes > 0; changes--) {
    const name = random.one(changedHeaders);
    const value = random.one([
      "",
      "t=1,v1=00",
      `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}`,
      "gzip",
      "identity",
      text(random, random.number(40)),
      text(random, random.one([2_000, 9_000, 20_000])),
    ]);
    if (random.chance(0.3)) headers.splice(random.number(headers.length), 1);
    headers.splice(random.number(headers.length + 1), 0, [name, value]);
    if (random.chance(0.5)) headers.push([name, value]);
  }
  if (random.chance(0.05)) headers.push(["expect", random.one(["100-continue", "more"])]);
  return {
    method: random.one("POST POST POST POST GET PUT OPTIONS HEAD TRACE PROPFIND".split(" ")),
    target: random.chance(0.7)
      ? "/webhooks"
      : random.one([
          "/",
          "/webhooks?a=%00",
          "/webhooks/%E0%A4%A",
          "/%",
          "//webhooks",
          "*",
          "http://a:99999/webhooks",
          "http://[::1/webhooks",
          "http://shop.test/webhooks",
          "//:@/webhooks",
          "/../webhooks",
          `/webhooks?${"x".repeat(5_000)}`,
        ]),
    headers,
    body: Buffer.from(
      random.one([
        "",
        "{",
        body,
        body.slice(0, 100),
        body + text(random, 3_000),
        "x".repeat(200_000),
      ]),
    ),
    ...(random.chance(0.2) ? { leaves: random.one(["reset", "end"] as const) } : {}),
  };
}

function genuine(id: string): Made {
  const { body, headers } = signedDelivery(balanceChanged(id));
  return {
    method: "POST",
    target: "/webhooks",
    headers: Object.entries(headers),
    body: Buffer.from(body),
  };
}

type Status = number | "none";

/** Writes bytes that may not be HTTP, and reads the status of the first response. */
function overHttp1(port: number, made: Made, random: Random | undefined): Promise<Status> {
  const { method, target, headers, body, leaves } = made;
  const { length } = body;
  let framing = `content-length: ${length}`;
  let payload = body;
  if (random !== undefined) {
    framing = random.one([
      framing,
      framing,
      framing,
      `content-length: ${length + 1}`,
      `content-length: ${Math.max(0, length - 1)}`,
      `content-length: ${random.one(["-1", "1e3", "0x10", "99999999999999999999", "2000000", "1, 2"])}`,
      `content-length: ${length}\r\ncontent-length: ${length + 1}`,
      "transfer-encoding: chunked",
      `transfer-encoding: chunked\r\ncontent-length: ${length}`,
      "transfer-encoding: gzip, chunked",
      "x: y",
    ]);
    if (framing.startsWith("transfer-encoding")) {
      const hex = (bytes: number) => bytes.toString(16);
      const size = random.one([hex(length), "zz", "-1", "ffffffffffffffff", hex(length + 5), "0"]);
      payload = Buffer.concat([
        Buffer.from(`${size}\r\n`),
        body,
        Buffer.from(random.one(["\r\n0\r\n\r\n", "\r\n", ""])),
      ]);
    }
  }
  const host = random?.chance(0.1)
    ? random.one(["", "host: a:99999\r\n", "host: a\r\nhost: b\r\n"])
    : "host: shop.test\r\n";
  const version = random?.chance(0.03)
    ? random.one(["HTTP/1.0", "HTTP/3.0", "HTTP/1.1 "])
    : "HTTP/1.1";
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = Buffer.from(
    `${method} ${target} ${version}\r\n${host}${lines}${framing}\r\nconnection: close\r\n\r\n`,
    "latin1",
  );
  const bytes = Buffer.concat([head, payload]);
  const sent =
    leaves === undefined || random === undefined
      ? bytes
      : bytes.subarray(0, random.number(bytes.length));
  return new Promise((resolve) => {
    let received = "";
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => {
      socket.write(sent, () => {
        if (leaves === "reset") socket.resetAndDestroy();
        else if (random !== undefined) socket.end(); // an incomplete request stays incomplete
      });
    });
    const finish = () => {
      const status = /^HTTP\/1\.1 (\d{3})(?! Continue)/m.exec(
        received.replace("HTTP/1.1 100 Continue\r\n", ""),
      )?.[1];
      resolve(status === undefined ? "none" : Number(status));
    };
    socket
      .setEncoding("latin1")
      .on("data", (part) => {
        received += part;
      })
      .on("error", () => {})
      .on("end", () => socket.end())
      .on("close", finish);
  });
}

/** Sends over a new session, so that a broken session affects only this request. */
function overHttp2(url: string, made: Made, random: Random | undefined): Promise<Status> {
  const { method, target, headers, body } = made;
  // In other adapters the framework waits for the rest forever (Fastify).
  const leaves = target === "/webhooks" && method === "POST" ? made.leaves : undefined;
  const lines: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    const known = lines[name.toLowerCase()];
    lines[name.toLowerCase()] = known === undefined ? value : [known, value].flat();
  }
  const all: OutgoingHttpHeaders = {
    ":method": method,
    ":path": target,
    ":authority": "shop.test",
    ...lines,
  };
  if (random?.chance(0.1)) delete all[":authority"];
  if (random?.chance(0.2)) {
    all["content-length"] = random.one([0, 1, body.length + 1, 2_000_000, "x", "-1"]);
  }
  return new Promise((resolve) => {
    let status: Status = "none";
    const session = connectHttp2(url);
    const finish = () => {
      session.destroy();
      resolve(status);
    };
    session.on("error", finish).on("close", finish);
    try {
      const request = session.request(all);
      request.on("response", (response) => {
        status = Number(response[":status"]);
      });
      request.on("error", finish).on("end", finish).on("close", finish).resume();
      if (leaves === undefined) request.end(body);
      else {
        request.write(body.subarray(0, random?.number(body.length + 1)), () => {
          if (leaves === "reset") request.close(random?.one([0, 1, 2, 5, 8, 11]));
        });
        // The stream stays half open, until the timeout of the receiver.
      }
    } catch {
      finish(); // a request that this client does not send
    }
  });
}

const requestsEach = Math.ceil(requests / everyVersion.length);

// G11
describe(`${requests} random requests with the seed ${seed}`, () => {
  const figures: Record<string, number> = {};

  it.each(everyVersion)(
    "cause no failure in %s over %s",
    async (name, version, adapter) => {
      const failures: unknown[] = [];
      const fail = (error: unknown) => void failures.push(error);
      const rejections: string[] = [];
      process.on("uncaughtException", fail).on("unhandledRejection", fail);
      onTestFinished(
        () => void process.off("uncaughtException", fail).off("unhandledRejection", fail),
      );
      const accepted = new Set<string>();
      const processed = new Set<string>();
      const listener = await adapter.listener({
        secret,
        timeoutMs: 2_000, // for uploads that stop
        handler: ({ id }) => void accepted.add(id),
        ...(!adapter.isFrozenAfterResponse && {
          afterResponse: ({ id }) => void processed.add(id),
        }),
        testing: { clock: { monotonicMs: () => 0 } }, // so that each reason is logged once
        log: (line) => {
          const reason = /^webhook-verify: rejected: ([a-z-]+)/.exec(line)?.[1];
          if (reason === undefined)
            fail(line); // no request is an error of the program
          else rejections.push(reason);
        },
      });
      const server = await serving(listener, version);
      onTestFinished(async () => void (await server.close()));
      const port = Number(new URL(server.url).port);
      const deliver = (made: Made, random?: Random) =>
        version === "HTTP/1.1"
          ? overHttp1(port, made, random)
          : overHttp2(server.url, made, random);

      const offset =
        everyVersion.findIndex(([each, other]) => each === name && other === version) * 1_000_003;
      const unexpected: unknown[] = [];
      const genuineIds: string[] = [];
      let next = 0;
      async function sendSome(): Promise<void> {
        for (let index = next++; index < requestsEach; index = next++) {
          const random = createRandom(seed + offset + index);
          if (random.chance(0.1)) {
            const id = `evt_${index}`;
            genuineIds.push(id);
            const status = await deliver(genuine(id));
            figures[status] = (figures[status] ?? 0) + 1;
            if (status !== 204) unexpected.push({ index, genuine: id, status });
            continue;
          }
          const made = madeUp(random);
          const status = await deliver(made, random);
          figures[status] = (figures[status] ?? 0) + 1;
          const isElsewhere = made.target !== "/webhooks" || made.method === "PROPFIND";
          const allowed = [...ownStatuses, ...parserStatuses];
          if (isElsewhere) allowed.push(...routerStatuses);
          if (status !== "none" && !allowed.includes(status))
            unexpected.push({ index, status, ...made, body: undefined });
        }
      }
      await Promise.all(Array.from({ length: concurrency }, sendSome));

      expect(await deliver(genuine("evt_last"))).toBe(204);
      genuineIds.push("evt_last");
      expect({ unexpected: unexpected.slice(0, 5), failures }).toEqual({
        unexpected: [],
        failures: [],
      });
      expect(rejections).toEqual([...new Set(rejections)]); // one line for each reason
      expect([...accepted].sort()).toEqual(genuineIds.sort());
      if (!adapter.isFrozenAfterResponse) {
        while (processed.size < genuineIds.length)
          await new Promise((resolve) => setImmediate(resolve));
        expect([...processed].sort()).toEqual(genuineIds);
      }
    },
    30_000 + requestsEach * 20,
  );

  it("get the expected responses", () => {
    process.stdout.write(`random requests, seed ${seed}, by status: ${JSON.stringify(figures)}\n`);
    for (const status of [400, 401, 405, 415]) expect(figures[status]).toBeGreaterThan(0);
  });
});
