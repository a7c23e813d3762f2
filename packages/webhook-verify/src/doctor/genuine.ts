/** Deliveries that are genuine in every respect, though not each of the plainest kind. */
import type { Bench } from "./bench.ts";
import { checks, each, taken } from "./check.ts";
import type { Answer, Send } from "./send.ts";

const utf8 = new TextEncoder();

export const genuine = checks({
  valid: {
    clause: "6.3.1",
    sends: "a ping as the service signs it",
    judged: taken,
    advice: adviceOnRefusal,
    shipments: async (bench) => [await bench.genuine()],
  },
  bytes: {
    clause: "5.6",
    sends: "a body with spaces, escapes, 12e1 and a line break behind it",
    judged: taken,
    advice: "Verify the bytes that arrived, not JSON.stringify of what a parser made of them.",
    shipments: async (bench) => {
      const { id, createdAt } = bench.event();
      const data = '{ "10": 1, "2": 12e1, "name": "\\u0041nna \\/" }';
      return [
        await bench.genuine(
          `{ "id": "${id}", "type": "ping", "createdAt": "${createdAt}", "data": ${data} }\r\n`,
        ),
      ];
    },
  },
  unicode: {
    clause: "5.6",
    sends: "letters of two, three and four bytes",
    judged: taken,
    advice: "Read the body as bytes; if it must be a string, decode it as UTF-8 and as nothing else.",
    shipments: async (bench) => [await bench.genuine(bench.event({ data: { name: "Łucja 寿司 🎉" } }))],
  },
  pieces: {
    clause: "5.6",
    sends: "a body in three pieces, with pauses between",
    judged: taken,
    advice: "Collect the body to its end before you verify it.",
    shipments: async (bench) => {
      const { headers, body } = await bench.genuine();
      const bytes = utf8.encode(body as string);
      const third = Math.ceil(bytes.byteLength / 3);
      async function* pieces() {
        for (let start = 0; start < bytes.byteLength; start += third) {
          yield bytes.subarray(start, start + third);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      return [{ headers, body: pieces }];
    },
  },
  "within-tolerance": {
    clause: "5.7",
    sends: "deliveries signed a minute short of the tolerance, before and after now",
    judged: taken,
    isAdvisory: true,
    advice: "Let the tolerance be 300 seconds, both ways, and keep the clock right.",
    shipments: (bench) => {
      const offset = Math.max(0, bench.toleranceSeconds - 60);
      return each([-offset, offset], (seconds) => bench.genuine(bench.event(), bench.nowSeconds() + seconds));
    },
  },
  duplicate: {
    clause: "6.3.3",
    sends: "the same event twice",
    judged: taken,
    advice: "Answer 2xx to an event you have already; anything else makes the service send it again.",
    shipments: (bench) => {
      const event = bench.event();
      return each([1, 2], () => bench.genuine(event));
    },
  },
  "out-of-order": {
    clause: "6.3.4",
    sends: "two balances of one card, the newer one first",
    judged: taken,
    advice: "Answer 2xx to an event that comes late, and ignore what is older than what you have.",
    shipments: (bench) =>
      each([0, 60], (secondsAgo) => bench.genuine(bench.balance(10 - secondsAgo / 60, secondsAgo))),
  },
  "unknown-type": {
    clause: "6.2",
    sends: "event types that nobody knows yet, and names of Object.prototype",
    judged: taken,
    advice: "Answer 2xx to types you do not know, and look handlers up in a Map.",
    shipments: (bench) =>
      each(["card.renamed", "constructor", "__proto__"], (type) => bench.genuine(bench.event({ type }))),
  },
  "extra-members": {
    clause: "6.1",
    sends: "an event with members of tomorrow",
    judged: taken,
    advice: "Ignore members you do not know instead of refusing the event.",
    shipments: async (bench) => [
      await bench.genuine(bench.event({ shop: "Praga", data: { more: [1, {}] } })),
    ],
  },
  "ping-data": {
    clause: "6.2",
    sends: "pings whose data is absent, null and a list: what data a ping has is not specified",
    judged: taken,
    isAdvisory: true,
    advice: "Answer 2xx to an event whatever its data is: what you refuse is lost after the last retry.",
    shipments: (bench) => each([undefined, null, [7]], (data) => bench.genuine(bench.event({ data }))),
  },
  "content-type": {
    clause: "6.1",
    sends: "application/json with a charset",
    judged: taken,
    isAdvisory: true,
    advice: "Let the content type decide nothing: the signature tells what is genuine.",
    shipments: async (bench) => {
      const { headers, body } = await bench.genuine();
      return [{ headers: { ...headers, "content-type": "application/json; charset=utf-8" }, body }];
    },
  },
  "more-pairs": {
    clause: "9",
    sends: "a header with a pair of another name and a space after the comma",
    judged: taken,
    isAdvisory: true,
    advice: "Split the header at commas, trim, and ignore names other than t and v1.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      return [bench.under(`t=${bench.nowSeconds()}, v2=00, v1=${await bench.v1(body)}`, body)];
    },
  },
  "two-signatures": {
    clause: "9",
    sends: "two v1, of which the second one is genuine",
    judged: taken,
    isAdvisory: true,
    advice: "Try every v1: while a secret is replaced there may be two.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      return [bench.under(`t=${bench.nowSeconds()},v1=${"0".repeat(64)},v1=${await bench.v1(body)}`, body)];
    },
  },
  "upper-case-hex": {
    clause: "5.5",
    sends: "a signature in upper-case hex",
    judged: taken,
    isAdvisory: true,
    advice: "Compare the bytes of the signature, not its letters.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      return [bench.under(`t=${bench.nowSeconds()},v1=${(await bench.v1(body)).toUpperCase()}`, body)];
    },
  },
});

/** What most likely stands in the way of a genuine delivery, by the status of the response. */
const adviceByStatus: ReadonlyMap<number, string> = new Map([
  [
    400,
    "The receiver did not find an event in the body: give it the bytes as they arrived, before any parser such as express.json() or bodyParser().",
  ],
  [
    401,
    "The signature did not match. Check that the receiver has the secret of this endpoint, and that no parser such as express.json() reads or changes the body before it. The receiver's log names the reason.",
  ],
  [
    403,
    "Something in front of the receiver refuses the request: exempt this path from CSRF protection, bot protection and logins. The signature is what authenticates a delivery.",
  ],
  [
    404,
    "Nothing responds to POST at this address: check the path with all prefixes, and the method. In Express, expressReceiver without accept, process or inbox needs a handler after it.",
  ],
  [405, "The path exists and does not accept POST: mount the receiver for POST, and check the path."],
  [
    408,
    "The body did not reach the receiver: look for a parser that reads it first, or a proxy that holds it back.",
  ],
  [
    413,
    "A limit in front of the receiver is below a few hundred bytes: raise the proxy's or the parser's limit.",
  ],
  [
    415,
    "Something in front of the receiver refuses application/json: exempt this path from checks of the content type.",
  ],
  [
    419,
    "CSRF protection refuses the request: exempt this path from it. The signature is what authenticates a delivery.",
  ],
  [429, "A rate limiter refuses the request: exempt this path from it."],
  [
    500,
    "The receiver failed: read its log. Most often a parser such as express.json() or bodyParser() read the body before it, or it has no secret.",
  ],
  [
    502,
    "The proxy reached no receiver: check that it runs, and the address and port that the proxy sends to.",
  ],
  [
    503,
    "The receiver could not store the event, or took too long: read its log for what accept or the inbox threw. A proxy without a running receiver responds 503 too.",
  ],
  [
    504,
    "The proxy waited for the receiver in vain: respond first and work afterwards, and check the address it sends to.",
  ],
]);

async function adviceOnRefusal({ status, fault }: Answer, bench: Bench, send: Send): Promise<string> {
  if (status === undefined) {
    return fault === "too-slow"
      ? "Respond first and work afterwards: the service waits 10 seconds. A receiver behind a parser that has read the body may wait for it without end."
      : "Nothing listens there, or the connection was cut: check that the receiver runs, the host, the port, and the TLS certificate.";
  }
  if (status < 400) {
    return "Give the address that it redirects to, because the service follows no redirect. Where that is a login page, exempt this path from logins.";
  }
  if ([400, 401, 415, 500].includes(status)) {
    const { headers, body } = await bench.genuine();
    const unparsed = { headers: { ...headers, "content-type": "application/octet-stream" }, body };
    if (taken(await send(unparsed)) === undefined) {
      return "A parser reads the body before the receiver: the same delivery is accepted when it is not called JSON. Mount the receiver above express.json(), bodyParser() and the like, or skip its path in them.";
    }
  }
  return (
    adviceByStatus.get(status) ??
    "Respond 2xx to a genuine delivery: read the receiver's log, and check what stands in front of it."
  );
}
