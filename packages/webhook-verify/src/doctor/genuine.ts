/** Deliveries that are genuine in every respect, though not each of the plainest kind. */
import { checks, each, taken } from "./check.ts";

const utf8 = new TextEncoder();

export const genuine = checks({
  valid: {
    clause: "6.3.1",
    sends: "a ping as the service signs it",
    judged: taken,
    advice:
      "Answer 2xx: check the URL, the secret, and that nothing in front of the receiver asks for a login.",
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
