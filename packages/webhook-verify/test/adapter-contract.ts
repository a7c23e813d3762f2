/** What every adapter must do, over a real socket. A new adapter calls describeAdapter and is done when it is green. */

import type { Server as HttpServer } from "node:http";
import { request as httpRequest } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  isKnownEvent,
  memoryDedupe,
  type ReceiverOptions,
  type ReceiverOutcome,
  type WebhookEvent,
} from "../src/index.ts";
import { peakBytes } from "./peak-bytes.ts";
import { balanceChanged, type SignedDelivery, secret, signedDelivery } from "./signed-delivery.ts";
import { signatureVectors, type Vector } from "./vectors.ts";

export interface RunningServer {
  /** The webhook route. */
  url: string;
  close(): Promise<unknown>;
}

export interface Adapter {
  start(options: ReceiverOptions): Promise<RunningServer>;
  /** Starts the same route behind something that reads the body first; absent where nothing can. */
  startWithBodyParsed?(options: ReceiverOptions): Promise<RunningServer>;
  /** What the log line must name when the body was parsed. */
  fix?: RegExp;
  /** The body is read by somebody else, who hands the bytes over. */
  readsByItself?: false;
  /** Nothing can run after the answer, so `process` is refused. */
  freezesAfterAnswer?: true;
}

export async function listening(
  server: Server & Partial<Pick<HttpServer, "closeAllConnections">>,
): Promise<RunningServer> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections?.();
      }),
  };
}

/** Sends exactly these bytes and headers; fetch would join and normalise. Keeps no connection. */
export function send(
  url: string,
  { body, headers }: { body: string | Uint8Array; headers: Record<string, string | string[]> },
  method = "POST",
): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: { connection: "close", ...headers } }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Sends the headers and a part of the body, and waits for an answer to that. */
function sendHalf(url: string, headers: Record<string, string>): Promise<{ status: number }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: "POST", headers }, (response) => {
      resolve({ status: response.statusCode ?? 0 });
      request.destroy();
    });
    request.on("error", reject);
    request.write('{"id":');
  });
}

const answerTo = (verdict: string) =>
  ({ valid: "204 verified", "invalid-payload": "400 invalid-payload" })[verdict] ?? `401 ${verdict}`;

/** Vectors that one receiver can judge: the clock is a function, the secrets and the tolerance are not. */
function vectorsByReceiver(): (typeof signatureVectors)[] {
  const groups = new Map<string, Vector[]>();
  for (const vector of signatureVectors) {
    const key = JSON.stringify([vector.secrets, vector.toleranceSeconds]);
    groups.set(key, [...(groups.get(key) ?? []), vector]);
  }
  return [...groups.values()];
}

export function describeAdapter(name: string, adapter: Adapter): void {
  async function serve(options: Partial<ReceiverOptions> = {}, start = adapter.start) {
    const events: WebhookEvent[] = [];
    const outcomes: ReceiverOutcome[] = [];
    const log: string[] = [];
    const server = await start({
      secret,
      accept: (event) => void events.push(event),
      onOutcome: (outcome) => outcomes.push(outcome),
      log: (line) => log.push(line),
      ...options,
    });
    onTestFinished(async () => void (await server.close()));
    const deliver = (delivery: SignedDelivery, method?: string) => send(server.url, delivery, method);
    return { url: server.url, deliver, events, outcomes, log };
  }

  describe(`${name} receiver`, () => {
    it("answers 204 and hands over the typed event", async () => {
      const { deliver, events } = await serve();
      expect(await deliver(signedDelivery(balanceChanged()))).toMatchObject({ status: 204, text: "" });
      expect(events).toEqual([balanceChanged()]);
    });

    it("answers 401 when one byte of the body changed, and says nothing about why", async () => {
      const { deliver, events, outcomes } = await serve();
      const { body, headers } = signedDelivery(balanceChanged());
      const answer = await deliver({ body: body.replace("120", "121"), headers });
      expect(answer).toMatchObject({ status: 401, text: "" });
      expect(events).toEqual([]);
      expect(outcomes).toMatchObject([{ reason: "mismatch" }]);
    });

    it("logs a wrong secret and a wrong clock once each when nobody listens to outcomes, with the seconds", async () => {
      const log: string[] = [];
      const { url, close } = await adapter.start({ secret, accept: () => {}, log: (line) => log.push(line) });
      onTestFinished(async () => void (await close()));
      const nowSeconds = Math.floor(Date.now() / 1000);
      for (let count = 0; count < 3; count++) {
        const forged = signedDelivery(balanceChanged(), { key: "whsec_other" });
        const stale = signedDelivery(balanceChanged(), { timestamp: nowSeconds - 86_400 });
        expect([(await send(url, forged)).status, (await send(url, stale)).status]).toEqual([401, 401]);
      }
      expect(log).toEqual([
        expect.stringMatching(/rejected: mismatch; is this the secret of this endpoint\?/),
        expect.stringMatching(/rejected: stale by 864\d\d s: check the clock/),
      ]);
    });

    it("reaches on every vector the verdict that the verifier reaches", async () => {
      const verdicts: Record<string, string> = {};
      for (const vectors of vectorsByReceiver()) {
        const [{ secrets, toleranceSeconds }] = vectors as [Vector];
        let nowMs = 0;
        const { url, outcomes } = await serve({ secret: secrets, toleranceSeconds, now: () => nowMs });
        for (const vector of vectors) {
          nowMs = vector.nowMs;
          const headers = vector.signature === undefined ? {} : { "service-signature": vector.signature };
          const { status } = await send(url, {
            body: vector.rawBody,
            headers: { ...headers, "content-type": "application/json" },
          });
          const outcome = outcomes.pop();
          const reason = outcome && "reason" in outcome ? outcome.reason : outcome?.outcome;
          verdicts[vector.name] = `${status} ${reason}`;
        }
      }
      expect(verdicts).toEqual(
        Object.fromEntries(signatureVectors.map(({ name, verdict }) => [name, answerTo(verdict)])),
      );
    });

    it("accepts an event of a known type whose data differs, and tells where", async () => {
      const { deliver, events, outcomes, log } = await serve();
      const event = { ...balanceChanged(), data: { ...balanceChanged().data, balance: "120" } };
      expect(await deliver(signedDelivery(event))).toMatchObject({ status: 204, text: "" });
      expect(events.map((each) => [each, isKnownEvent(each)])).toEqual([[event, false]]);
      expect(outcomes).toMatchObject([{ outcome: "verified", unexpectedData: ["/data/balance"] }]);
      expect(log).toEqual([expect.stringContaining("/data/balance")]);
    });

    it("answers 500 when its clock tells no time any more, and accepts nothing, however old", async () => {
      let nowMs = Date.now();
      const { deliver, events, log } = await serve({ now: () => nowMs });
      nowMs = Number.NaN;
      const old = signedDelivery(balanceChanged(), { timestamp: 1_000_000_000 });
      expect(await deliver(old)).toMatchObject({ status: 500, text: "" });
      expect([events, log]).toEqual([[], [expect.stringContaining("`now` function")]]);
    });

    it("answers 400 to a signed id that no database keeps, and the log says why", async () => {
      const { deliver, events, log } = await serve();
      for (const id of ["evt_\\u0000", "evt_\\ud800"]) {
        const body = JSON.stringify(balanceChanged()).replace("evt_1", id);
        expect(await deliver(signedDelivery(body))).toMatchObject({ status: 400, text: "" });
      }
      expect([events, log]).toEqual([[], Array(2).fill(expect.stringContaining("id has a NUL character"))]);
    });

    it("refuses two signature lines, even when the first one is genuine", async () => {
      const { url, events } = await serve();
      const { body, headers } = signedDelivery(balanceChanged());
      const genuine = headers["service-signature"] as string;
      const forged = genuine.replace(/v1=./, "v1=0");
      for (const lines of [
        [genuine, forged],
        [forged, genuine],
        [genuine, genuine],
      ]) {
        expect((await send(url, { body, headers: { ...headers, "service-signature": lines } })).status).toBe(
          401,
        );
      }
      expect(events).toEqual([]);
    });

    it.each([
      "text/plain",
      "application/json; charset=utf-8",
      "application/x-www-form-urlencoded",
      undefined,
    ])("verifies the bytes whatever the content type says: %s", async (contentType) => {
      const { deliver } = await serve();
      const { body, headers } = signedDelivery(balanceChanged());
      delete headers["content-type"];
      if (contentType !== undefined) headers["content-type"] = contentType;
      expect((await deliver({ body, headers })).status).toBe(204);
    });

    it("hands each event over once when duplicates arrive", async () => {
      const { deliver, events } = await serve({ dedupe: memoryDedupe() });
      const delivery = signedDelivery(balanceChanged());
      expect([(await deliver(delivery)).status, (await deliver(delivery)).status]).toEqual([204, 204]);
      expect(events).toHaveLength(1);
    });

    it.each(["GET", "PUT", "DELETE", "PATCH"])("answers %s with 405 and what is allowed", async (method) => {
      const { deliver } = await serve();
      const { headers } = signedDelivery(balanceChanged());
      const answer = await deliver({ body: "", headers }, method);
      expect([answer.status, answer.headers["allow"]]).toEqual([405, "POST"]);
    });

    it("answers 413 to a body over the limit, announced or not, and 204 to one at the limit", async () => {
      const { body, headers } = signedDelivery(balanceChanged());
      const { deliver, url } = await serve({ maxBodyBytes: body.length });
      expect((await deliver({ body, headers })).status).toBe(204);
      const larger = signedDelivery(`${body} `);
      expect((await deliver(larger)).status).toBe(413);
      const chunked = { ...larger.headers, "transfer-encoding": "chunked" };
      expect((await send(url, { body: larger.body, headers: chunked })).status).toBe(413);
    });

    if (adapter.readsByItself !== false) {
      it("holds of a 64 MB stream no more than the limit and a tenth of it", async () => {
        const maxBodyBytes = 4 * 1024 * 1024;
        const { url, outcomes } = await serve({ maxBodyBytes });
        const { headers } = signedDelivery(balanceChanged());
        expect(await peakBytes(url, headers, 64 * 1024 * 1024)).toBeLessThanOrEqual(1.1 * maxBodyBytes);
        expect(outcomes).toMatchObject([{ reason: "too-large" }]);
      });

      it("answers 408 when the body does not come in time", async () => {
        const { url, outcomes } = await serve({ answerWithinMs: 100 });
        const { headers } = signedDelivery(balanceChanged());
        expect((await sendHalf(url, { ...headers, "content-length": "300" })).status).toBe(408);
        expect(outcomes).toMatchObject([{ reason: "too-slow", status: 408 }]);
      });
    }

    it("answers 415 to a compressed body", async () => {
      const { deliver } = await serve();
      const { body, headers } = signedDelivery(balanceChanged());
      expect((await deliver({ body, headers: { ...headers, "content-encoding": "gzip" } })).status).toBe(415);
    });

    it("answers 503 with Retry-After when accepting fails", async () => {
      const { deliver } = await serve({ accept: () => Promise.reject(new Error("database down")) });
      const answer = await deliver(signedDelivery(balanceChanged()));
      expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "60"]);
    });

    if (adapter.freezesAfterAnswer) {
      it("refuses to process after the answer", async () => {
        await expect((async () => adapter.start({ secret, process: () => {} }))()).rejects.toThrow(
          /accept or inbox instead of process/,
        );
      });
    } else {
      it("processes after the answer has left", async () => {
        const order: string[] = [];
        let processed: () => void = () => {};
        const done = new Promise<void>((resolve) => {
          processed = resolve;
        });
        let answered: () => void = () => {};
        const answer = new Promise<void>((resolve) => {
          answered = resolve;
        });
        const { deliver } = await serve({
          process: async (event) => {
            await answer; // would never come if the answer waited for us
            order.push(event.id);
            processed();
          },
        });
        expect((await deliver(signedDelivery(balanceChanged()))).status).toBe(204);
        order.push("answered");
        answered();
        await done;
        expect(order).toEqual(["answered", "evt_1"]);
      });

      it("processes also when the sender has gone before the answer", async () => {
        const gone = new AbortController();
        let processed: () => void = () => {};
        const done = new Promise<void>((resolve) => {
          processed = resolve;
        });
        const { url } = await serve({
          accept: async () => {
            gone.abort();
            await new Promise((resolve) => setImmediate(resolve));
          },
          process: () => processed(),
        });
        const { body, headers } = signedDelivery(balanceChanged());
        await fetch(url, { method: "POST", body, headers, signal: gone.signal }).catch(() => {});
        await done;
      });
    }

    it("refuses an empty secret, a tolerance of NaN and a clock without a number when it is made", async () => {
      await expect((async () => adapter.start({ secret, now: () => Number.NaN }))()).rejects.toThrow(
        /now must return milliseconds/,
      );
      await expect((async () => adapter.start({ secret: "" }))()).rejects.toThrow(
        /secret is missing or empty/,
      );
      await expect((async () => adapter.start({ secret, toleranceSeconds: Number.NaN }))()).rejects.toThrow(
        /toleranceSeconds/,
      );
    });

    const { startWithBodyParsed, fix } = adapter;
    if (startWithBodyParsed !== undefined) {
      it("answers 500 when the body was parsed before, and the log names the fix", async () => {
        const { deliver, log, events } = await serve({}, startWithBodyParsed);
        expect((await deliver(signedDelivery(balanceChanged()))).status).toBe(500);
        expect(log).toEqual([expect.stringMatching(fix ?? /./)]);
        expect(events).toEqual([]);
      });
    }
  });
}
