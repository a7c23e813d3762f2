/**
 * The contract suite of the adapters, over a real socket. every-adapter.test.ts runs it for each
 * row of every-adapter.ts.
 */
// G5

import { request as httpRequest } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type RunningServer, send } from "@loyalty-cards/testing/http";
import { createGate } from "@loyalty-cards/testing/resources";
import {
  balanceChanged,
  type SignedDelivery,
  secret,
  signedDelivery,
} from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ReceiverOptions, ReceiverOutcome, WebhookEvent } from "../src/index.ts";
import { signatureVectors, type Vector } from "./test-receiver.ts";

export interface Adapter {
  start(options: ReceiverOptions): Promise<RunningServer>;
  /** Starts the same route after code that reads the body; absent where that is impossible. */
  startWithBodyParsed?(options: ReceiverOptions): Promise<RunningServer>;
  /** Matches the log line for a parsed body. */
  fix?: RegExp;
  /** Other code reads the body, and passes the bytes on. */
  readsBody?: false;
  /** Nothing can run after the response, so `afterResponse` is rejected. */
  isFrozenAfterResponse?: true;
  /** Without a handler, the code after the receiver handles the event. */
  forwardsEvents?: true;
}

const toExpectedResponse = (verdict: string) =>
  ({ valid: "204 verified", "invalid-payload": "400 invalid-payload" })[verdict] ??
  `401 ${verdict}`;

/**
 * Groups the vectors by secrets and tolerance, which are fixed for each receiver. The clock can
 * change for each vector.
 */
function groupVectorsByReceiver(): Vector[][] {
  const groups = new Map<string, Vector[]>();
  for (const vector of signatureVectors) {
    const key = JSON.stringify([vector.secrets, vector.toleranceSeconds]);
    groups.set(key, [...(groups.get(key) ?? []), vector]);
  }
  return [...groups.values()];
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The bytes of buffers in this process, without garbage. */
export function heldBytes(): number {
  collectGarbage();
  collectGarbage(); // waits for the first collection, which frees the buffers on other threads
  return process.memoryUsage().arrayBuffers;
}

/**
 * Streams a body of 16 MB to a server in this process.
 * @returns the maximum number of its bytes that the server held, without garbage if they were more
 * than the limit: a collection takes a tenth of a second.
 */
async function peakBytes(
  url: string,
  headers: Record<string, string>,
  limit: number,
): Promise<number> {
  const before = heldBytes();
  const chunk = Buffer.alloc(64 * 1024, " ");
  let peak = 0;
  function* chunks() {
    for (let sent = 0; sent < 16; sent++) {
      const withGarbage = process.memoryUsage().arrayBuffers - before;
      peak = Math.max(peak, withGarbage > limit ? heldBytes() - before : withGarbage);
      for (let count = 0; count < 16; count++) yield chunk;
    }
  }
  const chunked = { ...headers, "transfer-encoding": "chunked" };
  const request = httpRequest(url, { method: "POST", headers: chunked });
  request.on("response", (response) => response.resume());
  await pipeline(Readable.from(chunks()), request).catch(() => {}); // the server closes the connection
  return peak;
}

export function describeAdapter(name: string, adapter: Adapter): void {
  async function serve(options: Partial<ReceiverOptions> = {}, start = adapter.start) {
    const events: WebhookEvent[] = [];
    const outcomes: ReceiverOutcome[] = [];
    const log: string[] = [];
    const server = await start({
      secret,
      handler: (event) => void events.push(event),
      onOutcome: (outcome) => outcomes.push(outcome),
      log: (line) => log.push(line),
      ...options,
    });
    onTestFinished(async () => void (await server.close()));
    const deliver = (delivery: SignedDelivery, method?: string) =>
      send(server.url, delivery, method);
    return { url: server.url, deliver, events, outcomes, log };
  }

  describe(`${name} receiver`, () => {
    it("responds 204 and passes the typed event to handler", async () => {
      const { deliver, events } = await serve();
      expect(await deliver(signedDelivery(balanceChanged()))).toMatchObject({
        status: 204,
        text: "",
      });
      expect(events).toEqual([balanceChanged()]);
    });

    it("responds 401 without the reason when one byte of the body differs", async () => {
      const { deliver, events, outcomes } = await serve();
      const { body, headers } = signedDelivery(balanceChanged());
      const response = await deliver({ body: body.replace("120", "121"), headers });
      expect(response).toMatchObject({ status: 401, text: "" });
      expect(events).toEqual([]);
      expect(outcomes).toMatchObject([{ reason: "mismatch" }]);
    });

    it("responds to every signature vector as the verifier decides", async () => {
      const verdicts: Record<string, string> = {};
      for (const vectors of groupVectorsByReceiver()) {
        const [{ secrets, toleranceSeconds }] = vectors as [Vector];
        let nowMs = 0;
        const { url, outcomes } = await serve({
          secret: secrets,
          toleranceSeconds,
          now: () => nowMs,
        });
        for (const vector of vectors) {
          nowMs = vector.nowMs;
          const headers =
            vector.signature === undefined ? {} : { "service-signature": vector.signature };
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
        Object.fromEntries(
          signatureVectors.map(({ name, verdict }) => [name, toExpectedResponse(verdict)]),
        ),
      );
    });

    it("verifies the bytes whatever the content type is", async () => {
      const { deliver } = await serve();
      const { body, headers } = signedDelivery(balanceChanged());
      const { "content-type": _, ...others } = headers;
      const types = [
        "text/plain",
        "application/json; charset=utf-8",
        "application/x-www-form-urlencoded",
      ];
      for (const type of types)
        expect((await deliver({ body, headers: { ...others, "content-type": type } })).status).toBe(
          204,
        );
      expect((await deliver({ body, headers: others })).status).toBe(204);
    });

    it("responds 405 with Allow to other methods", async () => {
      const { deliver } = await serve();
      const { headers } = signedDelivery(balanceChanged());
      for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
        const response = await deliver({ body: "", headers }, method);
        expect([method, response.status, response.headers["allow"]]).toEqual([method, 405, "POST"]);
      }
    });

    it("responds 413 to a body over the limit, with and without content-length, and 204 to one at the limit", async () => {
      const { body, headers } = signedDelivery(balanceChanged());
      const { deliver, url } = await serve({ maxBodyBytes: body.length });
      expect((await deliver({ body, headers })).status).toBe(204);
      const larger = signedDelivery(`${body} `);
      expect((await deliver(larger)).status).toBe(413);
      const chunked = { ...larger.headers, "transfer-encoding": "chunked" };
      expect((await send(url, { body: larger.body, headers: chunked })).status).toBe(413);
    });

    if (adapter.readsBody !== false) {
      it("holds at most 1.1 times the limit of a 16 MB stream", async () => {
        const maxBodyBytes = 4 * 1024 * 1024;
        const { url, outcomes } = await serve({ maxBodyBytes });
        const limit = 1.1 * maxBodyBytes;
        const { headers } = signedDelivery(balanceChanged());
        expect(await peakBytes(url, headers, limit)).toBeLessThanOrEqual(limit);
        expect(outcomes).toMatchObject([{ reason: "too-large" }]);
      });

      it("responds 408 when the body does not arrive in time", async () => {
        const { url, outcomes } = await serve({ timeoutMs: 100 });
        const { headers } = signedDelivery(balanceChanged());
        const half = { body: '{"id":', headers: { ...headers, "content-length": "300" } };
        expect((await send(url, half)).status).toBe(408);
        expect(outcomes).toMatchObject([{ reason: "timeout", status: 408 }]);
      });
    }

    it("responds 415 to a compressed body", async () => {
      const { deliver } = await serve();
      const { body, headers } = signedDelivery(balanceChanged());
      expect(
        (await deliver({ body, headers: { ...headers, "content-encoding": "gzip" } })).status,
      ).toBe(415);
    });

    if (!adapter.isFrozenAfterResponse) {
      it("calls afterResponse after the response was sent", async () => {
        const order: string[] = [];
        const [responded, processed] = [createGate(), createGate()];
        const { deliver } = await serve({
          afterResponse: async (event) => {
            await responded.opened; // never resolves if the response waits for it
            order.push(event.id);
            processed.open();
          },
        });
        expect((await deliver(signedDelivery(balanceChanged()))).status).toBe(204);
        order.push("responded");
        responded.open();
        await processed.opened;
        expect(order).toEqual(["responded", "evt_1"]);
      });

      it("calls afterResponse when the sender disconnects before the response", async () => {
        const disconnect = new AbortController();
        const processed = createGate();
        const { url } = await serve({
          handler: async () => {
            disconnect.abort();
            await new Promise((resolve) => setImmediate(resolve));
          },
          afterResponse: () => processed.open(),
        });
        const { body, headers } = signedDelivery(balanceChanged());
        await fetch(url, { method: "POST", body, headers, signal: disconnect.signal }).catch(
          () => {},
        );
        await processed.opened;
      });
    }

    it("throws for an invalid, a misspelt and a missing option", async () => {
      const handler = () => {};
      const start = async (options: object) => adapter.start({ secret, ...options });
      await expect(start({ secret: "", handler })).rejects.toThrow(/secret is an empty string/);
      await expect(start({ handler: undefined })).rejects.toThrow(
        /^handler must be a function; it is /,
      );
      await expect(start({ handlr: handler })).rejects.toThrow(
        /^\w+ has no option "handlr"\. Did you mean handler\? Its options are secret, /,
      );
      await expect(start({ headers: {} })).rejects.toThrow(
        /^(\w+) needs options: write \1\({ secret, handler }\) in place of \1 or \1\(\)\.$/,
      );
      const lost =
        /^\w+ has nothing that handles the events, .*: pass handler, afterResponse or inbox/;
      if (!adapter.forwardsEvents) await expect(start({})).rejects.toThrow(lost);
      const frozen = /handler or inbox instead of afterResponse/;
      if (adapter.isFrozenAfterResponse)
        await expect(start({ afterResponse: handler })).rejects.toThrow(frozen);
    });

    it.skipIf(adapter.isFrozenAfterResponse)("tries a secret function early", async () => {
      let calls = 0;
      const { deliver, log } = await serve({ secret: () => (calls++ === 0 ? "" : secret) });
      const failed = expect.stringMatching(/the secret function returned an empty string/);
      await expect.poll(() => log).toEqual([failed]);
      expect((await deliver(signedDelivery(balanceChanged()))).status).toBe(204); // calls it again, at once
    });

    const { startWithBodyParsed, fix } = adapter;
    if (startWithBodyParsed !== undefined) {
      it("responds 500 when the body was parsed before, and logs the fix", async () => {
        const { deliver, log, events } = await serve({}, startWithBodyParsed);
        expect((await deliver(signedDelivery(balanceChanged()))).status).toBe(500);
        expect(log).toEqual([expect.stringMatching(fix ?? /./)]);
        expect(events).toEqual([]);
      });
    }
  });
}
