/** The checks with deliveries that the service cannot have sent: forged, malformed, or too much for the receiver. */
import {
  type Check,
  defineChecks,
  describeResponse,
  expectNoServerError,
  expectRejection,
  mapAll,
} from "./checks.ts";

export const forgedChecks = defineChecks({
  tampered: {
    clause: "5.7",
    sends: "a body in which one letter was changed after signing",
    evaluate: expectRejection,
    advice: "Compare the HMAC of the raw body with v1, and respond 401 when they differ.",
    createRequests: async (deliveries) => {
      const { headers, body } = await deliveries.signed();
      return [{ headers, body: (body as string).replace("ping", "pinG") }];
    },
  },
  "other-secret": {
    clause: "5.6",
    sends: "a delivery signed with another secret",
    evaluate: expectRejection,
    advice: "Use the signing secret as the key of the HMAC, and do not start without one.",
    createRequests: async (deliveries) => {
      const body = JSON.stringify(deliveries.event());
      const v1 = await deliveries.sign(body, deliveries.nowSeconds(), "not the secret of this receiver");
      return [deliveries.withSignature(`t=${deliveries.nowSeconds()},v1=${v1}`, body)];
    },
  },
  stale: {
    clause: "5.7",
    sends: "deliveries signed one minute and one year before the tolerance",
    evaluate: expectRejection,
    advice:
      "Reject a t that is older than 300 seconds. A tolerance of 0, -1 or NaN may have disabled the check.",
    createRequests: (deliveries) =>
      mapAll([60, 365 * 86_400], (seconds) =>
        deliveries.signed(
          deliveries.event(),
          deliveries.nowSeconds() - deliveries.toleranceSeconds - seconds,
        ),
      ),
  },
  future: {
    clause: "5.7",
    sends: "deliveries signed one minute and one year after the tolerance",
    evaluate: expectRejection,
    advice: "Reject a t that is more than 300 seconds in the future, too: compare the absolute difference.",
    createRequests: (deliveries) =>
      mapAll([60, 365 * 86_400], (seconds) =>
        deliveries.signed(
          deliveries.event(),
          deliveries.nowSeconds() + deliveries.toleranceSeconds + seconds,
        ),
      ),
  },
  "missing-signature": {
    clause: "5.8",
    sends: "deliveries without a signature: JSON, and a form with ssl_check=1",
    evaluate: expectRejection,
    advice: "Respond 401 when the header is missing, before anything else is checked.",
    createRequests: async (deliveries) => [
      deliveries.withSignature(undefined),
      deliveries.withSignature(undefined, "ssl_check=1&type=ping"),
    ],
  },
  "no-t": {
    clause: "5.8",
    sends: "headers without t and with an empty t, signed over the body alone",
    evaluate: expectRejection,
    advice: "Reject a header without t.",
    createRequests: (deliveries) => deliveries.withSignatures((_t, v1) => [`v1=${v1}`, `t=,v1=${v1}`]),
  },
  "t-not-a-number": {
    clause: "5.8",
    sends: "a t that is not a number: letters, NaN, a number followed by letters",
    evaluate: expectRejection,
    advice: "Reject a t that does not consist of digits; parseInt and Number accept too much.",
    createRequests: (deliveries) =>
      deliveries.withSignatures((t, v1) => [`t=abc,v1=${v1}`, `t=NaN,v1=${v1}`, `t=${t}abc,v1=${v1}`]),
  },
  "two-t": {
    clause: "5.5",
    sends: "an old signature with a second, current t",
    evaluate: expectRejection,
    advice: "Reject a header with two t: the current one is not the signed one.",
    createRequests: async (deliveries) => {
      const body = JSON.stringify(deliveries.event());
      const old = deliveries.nowSeconds() - deliveries.toleranceSeconds - 86_400;
      const v1 = await deliveries.sign(body, old);
      return [
        [deliveries.nowSeconds(), old],
        [old, deliveries.nowSeconds()],
      ].map(([first, second]) => deliveries.withSignature(`t=${first},t=${second},v1=${v1}`, body));
    },
  },
  "no-v1": {
    clause: "5.8",
    sends: "headers without v1, with an empty v1, and with the signature under another name",
    evaluate: expectRejection,
    advice: "Reject a header without v1.",
    createRequests: (deliveries) =>
      deliveries.withSignatures((t, v1) => [`t=${t}`, `t=${t},v1=`, `t=${t},v2=${v1}`]),
  },
  "short-v1": {
    clause: "5.8",
    sends: "the first half of a valid signature, and a valid signature with one more digit",
    evaluate: expectRejection,
    advice:
      "Reject a v1 that does not have 64 digits before you compare it: comparisons may throw for other lengths, or stop early.",
    createRequests: (deliveries) =>
      deliveries.withSignatures((t, v1) => [`t=${t},v1=${v1.slice(0, 32)}`, `t=${t},v1=${v1}0`]),
  },
  "not-hex": {
    clause: "5.8",
    sends: "64 letters that are not hex digits, of one byte and of two bytes each",
    evaluate: expectRejection,
    advice: "Reject a v1 that is not hex: letters of two bytes make a comparison throw, which becomes a 500.",
    createRequests: async (deliveries) =>
      ["g", "\u00e9"].map((letter) =>
        deliveries.withSignature(`t=${deliveries.nowSeconds()},v1=${letter.repeat(64)}`),
      ),
  },
});

export const malformedChecks = defineChecks({
  "invalid-payload": {
    clause: "5.7",
    sends: "signed bodies that are not events: empty, a list, not JSON, not UTF-8",
    evaluate: expectNoServerError,
    advice:
      "Respond 400 to a signed body that is not an event; after a 5xx the service delivers it again for nine hours.",
    createRequests: (deliveries) =>
      mapAll(["", "[]", "hello", Uint8Array.of(0x7b, 0xff, 0x7d)], (body) => deliveries.signed(body)),
  },
  "event-type-mismatch": {
    clause: "6.1",
    sends: "a valid event with another type in the Service-Event header",
    evaluate: expectNoServerError,
    advice: "Use the type in the body: Service-Event and Service-Delivery are not signed.",
    createRequests: (deliveries) =>
      mapAll(["card.removed", "constructor", "__proto__"], async (name) => {
        const { headers, body } = await deliveries.signed();
        return { headers: { ...headers, "service-event": name }, body };
      }),
  },
  "long-header": {
    clause: "5.8",
    sends: "a signature header of 4 KiB",
    evaluate: expectRejection,
    advice: "Reject a signature header that is longer than 1 KiB.",
    createRequests: async (deliveries) => [
      deliveries.withSignature(`t=${deliveries.nowSeconds()}${",v1=00".repeat(700)}`),
    ],
  },
  get: {
    clause: "6.1",
    sends: "a GET request",
    evaluate: expectRejection,
    isAdvisory: true,
    advice: "Accept POST only, and respond 405 to other methods.",
    createRequests: async () => [{ method: "GET", headers: {} }],
  },
});

const chunk = new Uint8Array(64 * 1024).fill(0x20);

/** A body of `bytes` bytes. The check fails when the receiver reads it to its end. */
export function createOversizedCheck(bytes: number): Check {
  let sentBytes = 0;
  return {
    clause: "5.7",
    sends: `a body of ${Math.round(bytes / 1024 / 1024)} MiB with a forged signature`,
    evaluate: () => (sentBytes >= bytes ? "read it to its end" : undefined),
    isAdvisory: true,
    advice: "Stop reading at a limit (1 MiB is enough) and respond 413: anyone can send this.",
    createRequests: async (deliveries) => {
      async function* spaces() {
        for (let sent = 0; sent < bytes; sent += chunk.byteLength) {
          yield chunk;
          sentBytes += chunk.byteLength; // the next chunk was requested, so this one was sent
        }
      }
      const { headers } = deliveries.withSignature(`t=${deliveries.nowSeconds()},v1=${"0".repeat(64)}`);
      return [{ headers, body: spaces }];
    },
  };
}

export const stalledCheck: Check = {
  clause: "6.3.1",
  sends: "the first 20 bytes of a delivery, and then nothing",
  evaluate: (response) => (response.error === "timeout" ? describeResponse(response) : undefined),
  isAdvisory: true,
  advice: "When a body does not arrive within ten seconds, respond 408 or close the connection.",
  createRequests: async (deliveries) => {
    const { headers, body } = await deliveries.signed();
    async function* beginning() {
      yield new TextEncoder().encode((body as string).slice(0, 20));
      await new Promise(() => {}); // ends with the request
    }
    return [{ headers, body: beginning }];
  },
};
