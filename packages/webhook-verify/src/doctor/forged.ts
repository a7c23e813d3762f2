/** Deliveries that the service cannot have sent in this form. */
import { checks, each, refused } from "./check.ts";

export const forged = checks({
  tampered: {
    clause: "5.7",
    sends: "a body in which one letter changed after it was signed",
    judged: refused,
    advice: "Compare the HMAC of the raw body with v1, and answer 401 when they differ.",
    shipments: async (bench) => {
      const { headers, body } = await bench.genuine();
      return [{ headers, body: (body as string).replace("ping", "pinG") }];
    },
  },
  "other-secret": {
    clause: "5.6",
    sends: "a delivery signed with another secret",
    judged: refused,
    advice: "Use the signing secret as the key of the HMAC, and refuse to start without one.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      const v1 = await bench.v1(body, bench.nowSeconds(), "not the secret of this receiver");
      return [bench.under(`t=${bench.nowSeconds()},v1=${v1}`, body)];
    },
  },
  stale: {
    clause: "5.7",
    sends: "deliveries signed a minute and a year past the tolerance",
    judged: refused,
    advice:
      "Refuse a t that is older than 300 seconds. A tolerance of 0, -1 or NaN may have switched the check off.",
    shipments: (bench) =>
      each([60, 365 * 86_400], (seconds) =>
        bench.genuine(bench.event(), bench.nowSeconds() - bench.toleranceSeconds - seconds),
      ),
  },
  future: {
    clause: "5.7",
    sends: "deliveries signed a minute and a year ahead of the tolerance",
    judged: refused,
    advice: "Refuse a t that is newer than 300 seconds, too: compare the absolute difference.",
    shipments: (bench) =>
      each([60, 365 * 86_400], (seconds) =>
        bench.genuine(bench.event(), bench.nowSeconds() + bench.toleranceSeconds + seconds),
      ),
  },
  "missing-signature": {
    clause: "5.8",
    sends: "a delivery without a signature, as JSON and as a form that asks for no check",
    judged: refused,
    advice: "Answer 401 when the header is absent, before anything else is looked at.",
    shipments: async (bench) => [bench.under(undefined), bench.under(undefined, "ssl_check=1&type=ping")],
  },
  "no-t": {
    clause: "5.8",
    sends: "a header without t, signed over the body alone and over an empty t",
    judged: refused,
    advice: "Refuse a header without t.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      return [
        bench.under(`v1=${await bench.v1(body)}`, body),
        bench.under(`t=,v1=${await bench.v1(body)}`, body),
      ];
    },
  },
  "t-not-a-number": {
    clause: "5.8",
    sends: "a t that is no number: letters, NaN, a number with letters behind it",
    judged: refused,
    advice: "Refuse a t that is not made of digits; parseInt and Number let too much through.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      const v1 = await bench.v1(body);
      return ["abc", "NaN", `${bench.nowSeconds()}abc`].map((t) => bench.under(`t=${t},v1=${v1}`, body));
    },
  },
  "two-t": {
    clause: "5.5",
    sends: "an old signature with a second t of now",
    judged: refused,
    advice: "Refuse a header with two t: the one that is fresh is not the one that was signed.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      const old = bench.nowSeconds() - bench.toleranceSeconds - 86_400;
      const v1 = await bench.v1(body, old);
      return [
        [bench.nowSeconds(), old],
        [old, bench.nowSeconds()],
      ].map(([first, second]) => bench.under(`t=${first},t=${second},v1=${v1}`, body));
    },
  },
  "no-v1": {
    clause: "5.8",
    sends: "headers without v1, with an empty one, and with the signature under another name",
    judged: refused,
    advice: "Refuse a header without v1.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      const t = bench.nowSeconds();
      return [`t=${t}`, `t=${t},v1=`, `t=${t},v2=${await bench.v1(body)}`].map((line) =>
        bench.under(line, body),
      );
    },
  },
  "short-v1": {
    clause: "5.8",
    sends: "the first half of the genuine signature, and one digit more than it",
    judged: refused,
    advice:
      "Refuse a v1 that is not 64 digits long, before a comparison that throws on unequal lengths or stops early.",
    shipments: async (bench) => {
      const body = JSON.stringify(bench.event());
      const v1 = await bench.v1(body);
      return [v1.slice(0, 32), `${v1}0`].map((value) =>
        bench.under(`t=${bench.nowSeconds()},v1=${value}`, body),
      );
    },
  },
  "not-hex": {
    clause: "5.8",
    sends: "64 letters that are no hex digits, of one byte and of two",
    judged: refused,
    advice: "Refuse a v1 that is not hex: letters of two bytes make a comparison throw, which becomes a 500.",
    shipments: async (bench) =>
      ["g", "\u00e9"].map((letter) => bench.under(`t=${bench.nowSeconds()},v1=${letter.repeat(64)}`)),
  },
});
