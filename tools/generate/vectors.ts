/** The signature vectors: deliveries with the expected verdict of a verifier. openssl signs them, so that an error that our signing and verifying code share is found. */
import { execFileSync } from "node:child_process";
import { type Json, recordIn } from "./document.ts";

/** What differs from a valid balance.changed event, signed at the current time. */
interface Delivery {
  body?: Buffer | string;
  /** A list for several header lines, or none. */
  header?: string | string[];
  secrets?: Buffer[];
  now?: number;
  tolerance?: number;
}

type Case = [name: string, delivery?: Delivery];

/** 2026-01-01T00:00:00Z */
const t = 1767225600;
const secret = Buffer.from("whsec_mock_4fZr0nXqT1");

/** The hex SHA-256 of exactly these bytes. */
function openssl(bytes: Buffer, ...args: string[]): string {
  const output = execFileSync("openssl", ["dgst", "-sha256", ...args, "-hex"], { input: bytes });
  return output.toString().trim().split(/[ =]+/).at(-1) ?? "";
}

const hmac = (text: Buffer | string, key = secret) =>
  openssl(Buffer.from(text), "-mac", "HMAC", "-macopt", `hexkey:${key.toString("hex")}`);

/** A header whose signature is the HMAC of `<timestamp>.<body>` ([spec 5.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-6)). */
const signed = (body: Buffer | string, timestamp: number | string = t, key = secret) =>
  `t=${timestamp},v1=${hmac(Buffer.concat([Buffer.from(`${timestamp}.`), Buffer.from(body)]), key)}`;

/** A ping with additional members. */
const ping = (members = "") =>
  `{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"${members}}`;
const named = (name: string) => ping(`,"data":{"name":"${name}"}`);
const withId = (id: string) => ping().replace("evt_1", id);
const withoutId = (event: string) => event.replace('"id":"evt_1",', "");

function tabulate(body: Buffer): Record<string, Case[]> {
  const text = body.toString();
  const header = signed(body);
  const genuine = header.slice(-64);
  const zeros = "0".repeat(64);
  const v1 = (value: string) => `t=${t},v1=${value}`;
  const indented = JSON.stringify(JSON.parse(text), null, 2);
  const flipped = Buffer.from(body);
  flipped[body.length - 1] = "}".charCodeAt(0) ^ 1;
  const bytesIn = (...bytes: number[]) =>
    Buffer.concat([Buffer.from(ping().replace(/2026.*/, "")), Buffer.from(bytes), Buffer.from('"}')]);

  const newer = Buffer.from("whsec_new");
  const beyondAscii = Buffer.from("klucz-ąęł-🔑");
  const block = Buffer.alloc(64, "k");
  const long = Buffer.alloc(200, "k"); // longer than SHA-256's block: HMAC hashes it first

  /** The verdict is the reason of the rejection, or `valid`. */
  return {
    valid: [
      ["a balance-changed event"],
      // Bodies that differ after they were parsed and serialized again.
      ["a trailing newline", { body: `${text}\n` }],
      ["an indented body", { body: indented }],
      // Text that decoders, templates and loggers are known to damage.
      ["an accent and an emoji", { body: named("café ☕🎉") }],
      ["a byte order mark, signed", { body: `\ufeff${ping()}` }],
      ["an escaped lone surrogate", { body: named("\\ud800") }],
      // Events of unknown types, and with other data: none of them may be lost.
      ["an unknown event type", { body: ping().replace("ping", "card.renamed") }],
      ["an event type of the prototype: __proto__", { body: ping().replace("ping", "__proto__") }],
      ["a ping without data", { body: ping() }],
      ["a balance of another type", { body: text.replace('"balance":120', '"balance":"120"') }],
      ["an id of one letter", { body: withId("e") }],
      ["an id of 512 letters of three bytes", { body: withId("寿".repeat(512)) }],
      // Forms of the header.
      ["a space after the comma", { header: `t=${t}, v1=${genuine}` }],
      ["v1 before t", { header: `v1=${genuine},t=${t}` }],
      ["upper-case hex", { header: v1(genuine.toUpperCase()) }],
      ["five v1, the last genuine", { header: `t=${t}${`,v1=${zeros}`.repeat(4)},v1=${genuine}` }],
      ["a header of exactly 1 KiB", { header: `${header},x=`.padEnd(1024, "a") }],
      // Times and secrets.
      ["signed 299 s ago", { now: t + 299 }],
      ["signed 299 s in the future", { now: t - 299 }],
      ["signed 300 s ago", { now: t + 300 }],
      ["signed 300 s in the future", { now: t - 300 }],
      ["a tolerance of 0, exactly now", { tolerance: 0 }],
      ["a tolerance of half a second, exactly now", { tolerance: 0.5 }],
      ["the second of two secrets", { secrets: [newer, secret] }],
      ["a secret beyond ASCII", { secrets: [beyondAscii], header: signed(body, t, beyondAscii) }],
      ["a secret of exactly one block", { secrets: [block], header: signed(body, t, block) }],
      ["a secret longer than a block", { secrets: [long], header: signed(body, t, long) }],
    ],
    "missing-signature": [
      ["no header", { header: [] }],
      ["an empty header", { header: "" }],
    ],
    "malformed-signature": [
      ["no t", { header: `v1=${genuine}` }],
      ["no v1", { header: `t=${t}` }],
      ["two t", { header: `t=${t},${header}` }],
      ["six v1", { header: `t=${t}${`,v1=${genuine}`.repeat(6)}` }],
      ["two header lines joined by a proxy", { header: `${header}, ${header}` }],
      ["two lines, genuine and forged", { header: [header, v1(zeros)] }],
      ["a header of more than 1 KiB", { header: `${header},x=`.padEnd(1025, "a") }],
      ["a V1 in upper case", { header: `t=${t},V1=${genuine}` }],
      ["a genuine v1 under the label v10", { header: `t=${t},v10=${genuine}` }],
      ["a part without an equals sign", { header: `${header},nonsense` }],
      ["a comma at the end", { header: `${header},` }],
      ["a space after the equals sign", { header: v1(` ${genuine}`) }],
      ["a v1 one digit short", { header: v1(genuine.slice(1)) }],
      ["a v1 one digit long", { header: v1(`${genuine}0`) }],
      ["a v1 that is not hex, and a genuine one", { header: `${header},v1=${"g".repeat(64)}` }],
      ["a v1 of 32 letters of two bytes", { header: v1("\u00e9".repeat(32)) }],
      // Signed over the sent t, so that only its form is a reason for the rejection.
      ...["", "1e9", `+${t}`, `${t}.5`, `${t}000`].map(
        (time): Case => [`t=${time}, signed`, { header: signed(body, time) }],
      ),
      ["a t with letters at the end, signed without them", { header: `t=${t}abc,v1=${genuine}` }],
      ["a t that is not a number, signed as NaN", { header: signed(body, "NaN").replace("NaN", "abc") }],
    ],
    stale: [
      ["signed 301 s ago", { now: t + 301 }],
      ["a tolerance of 0, a second ago", { tolerance: 0, now: t + 1 }],
      ["a t of 0", { header: signed(body, "0") }],
      ["stale and forged is stale", { header: v1(zeros), now: t + 301 }],
    ],
    future: [
      ["signed 301 s in the future", { now: t - 301 }],
      ["a tolerance of 0, a second in the future", { tolerance: 0, now: t - 1 }],
      ["the largest t of twelve digits", { header: signed(body, "999999999999") }],
      ["future and forged is future", { header: v1(zeros), now: t - 301 }],
    ],
    mismatch: [
      ["one bit of the last byte changed, under a genuine signature", { body: flipped, header }],
      ["a byte order mark at the start, under a genuine signature", { body: `\ufeff${text}`, header }],
      ["an indented body, parsed and serialized again", { header: signed(indented) }],
      ["a byte order mark that a decoder removed", { body: ping(), header: signed(`\ufeff${ping()}`) }],
      ["forged and not an event is a mismatch", { body: "[]", header: v1(zeros) }],
      ["another t than the signed one", { header: `t=${t + 1},v1=${genuine}` }],
      ["a t with a leading zero, signed without it", { header: `t=0${t},v1=${genuine}` }],
      ["the last digit changed", { header: v1(genuine.slice(0, -1) + (genuine.endsWith("0") ? "1" : "0")) }],
      ["a signature over the body alone", { header: v1(hmac(text)) }],
      ["a digest without a key", { header: v1(openssl(Buffer.from(`${t}.${text}`))) }],
      ["signed with neither of two secrets", { secrets: [newer, Buffer.from("whsec_newer")] }],
      ["a long secret, truncated to a block", { secrets: [long], header: signed(body, t, block) }],
    ],
    "invalid-payload": [
      ["an empty body", { body: "" }],
      ["truncated JSON", { body: text.slice(0, 40) }],
      ["invalid UTF-8", { body: bytesIn(0xff) }],
      ["a surrogate in UTF-8", { body: bytesIn(0xed, 0xa0, 0x80) }],
      ["a number NaN", { body: ping(',"data":{"a":NaN}') }],
      ["two byte order marks", { body: `\ufeff\ufeff${ping()}` }],
      ["a list with one event", { body: `[${ping()}]` }],
      ["null", { body: "null" }],
      ["no id", { body: withoutId(ping()) }],
      ["an empty id", { body: withId("") }],
      ["an id that is a number", { body: ping().replace('"evt_1"', "7") }],
      ["an id only on the prototype", { body: withoutId(ping(',"__proto__":{"id":"evt_1"}')) }],
      ["no type", { body: ping().replace('"type":"ping",', "") }],
      ["no createdAt", { body: ping().replace(/,"createdAt":"[^"]*"/, "") }],
      // Databases cannot store these unchanged, and two different ids could become equal.
      ["an id with an escaped NUL", { body: withId("evt_1\\u0000") }],
      ["an id with a lone high surrogate", { body: withId("evt_1\\ud800") }],
      ["an id of 513 letters", { body: withId("e".repeat(513)) }],
    ],
  };
}

/** The content of signatures.json, whose format is described in the README of the contract package. Needs openssl. */
export function createSignatures(document: Json): Json {
  const { value } = recordIn(recordIn(document, "components"), "examples")["BalanceChangedEvent"] as Json;
  const event = Buffer.from(JSON.stringify(value));
  const vectors = Object.entries(tabulate(event)).flatMap(([verdict, cases]) =>
    cases.map(([name, { body, header, secrets = [secret], now = t, tolerance = 300 } = {}]) => {
      const bytes = Buffer.from(body ?? event);
      return {
        name: verdict === "invalid-payload" ? `${name}, signed` : name,
        body: bytes.toString("base64"),
        secrets: secrets.map((key) => key.toString("base64")),
        header: [header ?? signed(bytes)].flat(),
        nowSeconds: now,
        toleranceSeconds: tolerance,
        ...(verdict === "valid" ? { verdict } : { verdict: "invalid", reason: verdict }),
      };
    }),
  );
  return { version: 1, vectors };
}
