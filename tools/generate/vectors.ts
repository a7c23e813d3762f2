/**
 * The signature vectors: deliveries with the expected verdict of a verifier. openssl signs them, so
 * that an error that our signing and verifying code share is found.
 */
import { execFileSync } from "node:child_process";
import { type Json, recordIn } from "./document.ts";

/** What differs from a valid event, signed at the current time, that has this verdict. */
interface Delivery {
  body?: Buffer | string;
  /** A list for several header lines, or none. */
  header?: string | string[];
  secrets?: Buffer[];
  now?: number;
  tolerance?: number;
}

/** Names of deliveries, which say what is special. */
type Cases = Record<string, Delivery>;

/** A delivery of the balance.changed event from which others are made. */
interface Genuine {
  body: Buffer;
  text: string;
  header: string;
  /** The 64 hex digits of the signature. */
  digest: string;
}

/** 2026-01-01T00:00:00Z */
const t = 1767225600;
const secret: Buffer = Buffer.from("whsec_mock_4fZr0nXqT1");
const newSecret = Buffer.from("whsec_new");
const secretBeyondAscii = Buffer.from("klucz-ąęł-🔑");
/** HMAC uses a key of at most a block of SHA-256 as it is, and hashes a longer one first. */
const blockSecret = Buffer.alloc(64, "k");
const longSecret = Buffer.alloc(200, "k");

const zeros = "0".repeat(64);
const byteOrderMark = "\ufeff";

/** The hex SHA-256 of exactly these bytes. */
function openssl(bytes: Buffer, ...args: string[]): string {
  const output = execFileSync("openssl", ["dgst", "-sha256", ...args, "-hex"], { input: bytes });
  return output.toString().trim().split(/[ =]+/).at(-1) ?? "";
}

const hmac = (text: Buffer | string, key = secret) =>
  openssl(Buffer.from(text), "-mac", "HMAC", "-macopt", `hexkey:${key.toString("hex")}`);

/**
 * A header whose signature is the HMAC of `<timestamp>.<body>` ([spec
 * 5.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-6)).
 */
function sign(body: Buffer | string, timestamp: number | string = t, key = secret): string {
  const signed = Buffer.concat([Buffer.from(`${timestamp}.`), Buffer.from(body)]);
  return `t=${timestamp},v1=${hmac(signed, key)}`;
}

const withV1 = (value: string) => `t=${t},v1=${value}`;

/** A ping with additional members. */
const ping = (members = "") =>
  `{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"${members}}`;
const pingWithName = (name: string) => ping(`,"data":{"name":"${name}"}`);
const pingWithId = (id: string) => ping().replace("evt_1", id);
const pingWithType = (type: string) => ping().replace('"ping"', JSON.stringify(type));
const withoutId = (event: string) => event.replace('"id":"evt_1",', "");

/** A ping that ends with these bytes, in a text. */
const pingWithBytes = (...bytes: number[]) =>
  Buffer.concat([Buffer.from(ping().replace(/2026.*/, "")), Buffer.from(bytes), Buffer.from('"}')]);

const indent = (text: string) => JSON.stringify(JSON.parse(text), null, 2);

const validBodies = ({ text }: Genuine): Cases => ({
  "a balance-changed event": {},
  // Bodies that differ after they were parsed and serialized again.
  "a trailing newline": { body: `${text}\n` },
  "an indented body": { body: indent(text) },
  // Text that decoders, templates and loggers are known to damage.
  "an accent and an emoji": { body: pingWithName("café ☕🎉") },
  "a byte order mark, signed": { body: byteOrderMark + ping() },
  "an escaped lone surrogate": { body: pingWithName("\\ud800") },
  // Events of unknown types, and with other data: none of them may be lost.
  "an unknown event type": { body: pingWithType("card.renamed") },
  "an event type of the prototype: __proto__": { body: pingWithType("__proto__") },
  "a ping without data": { body: ping() },
  "a balance of another type": { body: text.replace('"balance":120', '"balance":"120"') },
  "an id of one letter": { body: pingWithId("e") },
  "an id of 512 letters of three bytes": { body: pingWithId("寿".repeat(512)) },
});

const validHeaders = ({ header, digest }: Genuine): Cases => ({
  "a space after the comma": { header: `t=${t}, v1=${digest}` },
  "v1 before t": { header: `v1=${digest},t=${t}` },
  "upper-case hex": { header: withV1(digest.toUpperCase()) },
  "five v1, the last genuine": { header: `t=${t}${`,v1=${zeros}`.repeat(4)},v1=${digest}` },
  "a header of exactly 1 KiB": { header: `${header},x=`.padEnd(1024, "a") },
});

const validTimesAndSecrets = ({ body }: Genuine): Cases => ({
  "signed 299 s ago": { now: t + 299 },
  "signed 299 s in the future": { now: t - 299 },
  "signed 300 s ago": { now: t + 300 },
  "signed 300 s in the future": { now: t - 300 },
  "a tolerance of 0, exactly now": { tolerance: 0 },
  "a tolerance of half a second, exactly now": { tolerance: 0.5 },
  "the second of two secrets": { secrets: [newSecret, secret] },
  "a secret beyond ASCII": signedWith(secretBeyondAscii, body),
  "a secret of exactly one block": signedWith(blockSecret, body),
  "a secret longer than a block": signedWith(longSecret, body),
});

const signedWith = (key: Buffer, body: Buffer): Delivery => ({
  secrets: [key],
  header: sign(body, t, key),
});

const missingSignatures: Cases = {
  "no header": { header: [] },
  "an empty header": { header: "" },
};

const malformedHeaders = ({ header, digest }: Genuine): Cases => ({
  "no t": { header: `v1=${digest}` },
  "no v1": { header: `t=${t}` },
  "two t": { header: `t=${t},${header}` },
  "six v1": { header: `t=${t}${`,v1=${digest}`.repeat(6)}` },
  "two header lines joined by a proxy": { header: `${header}, ${header}` },
  "two lines, genuine and forged": { header: [header, withV1(zeros)] },
  "a header of more than 1 KiB": { header: `${header},x=`.padEnd(1025, "a") },
  "a V1 in upper case": { header: `t=${t},V1=${digest}` },
  "a genuine v1 under the label v10": { header: `t=${t},v10=${digest}` },
  "a part without an equals sign": { header: `${header},nonsense` },
  "a comma at the end": { header: `${header},` },
  "a space after the equals sign": { header: withV1(` ${digest}`) },
  "a v1 one digit short": { header: withV1(digest.slice(1)) },
  "a v1 one digit long": { header: withV1(`${digest}0`) },
  "a v1 that is not hex, and a genuine one": { header: `${header},v1=${"g".repeat(64)}` },
  "a v1 of 32 letters of two bytes": { header: withV1("\u00e9".repeat(32)) },
});

/** Signed over the sent t, so that only its form is a reason for the rejection. */
function malformedTimes({ body, digest }: Genuine): Cases {
  const times = ["", "1e9", `+${t}`, `${t}.5`, `${t}000`];
  const signed = times.map((time) => [`t=${time}, signed`, { header: sign(body, time) }]);
  const asNaN = sign(body, "NaN").replace("NaN", "abc");
  return {
    ...Object.fromEntries(signed),
    "a t with letters at the end, signed without them": { header: `t=${t}abc,v1=${digest}` },
    "a t that is not a number, signed as NaN": { header: asNaN },
  };
}

const staleDeliveries = ({ body }: Genuine): Cases => ({
  "signed 301 s ago": { now: t + 301 },
  "a tolerance of 0, a second ago": { tolerance: 0, now: t + 1 },
  "a t of 0": { header: sign(body, "0") },
  "stale and forged is stale": { header: withV1(zeros), now: t + 301 },
});

const futureDeliveries = ({ body }: Genuine): Cases => ({
  "signed 301 s in the future": { now: t - 301 },
  "a tolerance of 0, a second in the future": { tolerance: 0, now: t - 1 },
  "the largest t of twelve digits": { header: sign(body, "999999999999") },
  "future and forged is future": { header: withV1(zeros), now: t - 301 },
});

function mismatches({ body, text, header, digest }: Genuine): Cases {
  const flipped = Buffer.from(body);
  flipped[body.length - 1] = "}".charCodeAt(0) ^ 1;
  const otherDigit = digest.slice(0, -1) + (digest.endsWith("0") ? "1" : "0");
  const bare = openssl(Buffer.from(`${t}.${text}`));
  return {
    "one bit of the last byte changed, under a genuine signature": { body: flipped, header },
    "a byte order mark at the start, under a genuine signature": {
      body: byteOrderMark + text,
      header,
    },
    "an indented body, parsed and serialized again": { header: sign(indent(text)) },
    "a byte order mark that a decoder removed": {
      body: ping(),
      header: sign(byteOrderMark + ping()),
    },
    "forged and not an event is a mismatch": { body: "[]", header: withV1(zeros) },
    "another t than the signed one": { header: `t=${t + 1},v1=${digest}` },
    "a t with a leading zero, signed without it": { header: `t=0${t},v1=${digest}` },
    "the last digit changed": { header: withV1(otherDigit) },
    "a signature over the body alone": { header: withV1(hmac(text)) },
    "a digest without a key": { header: withV1(bare) },
    "signed with neither of two secrets": { secrets: [newSecret, Buffer.from("whsec_newer")] },
    "a long secret, truncated to a block": {
      secrets: [longSecret],
      header: sign(body, t, blockSecret),
    },
  };
}

const invalidPayloads = ({ text }: Genuine): Cases => ({
  "an empty body": { body: "" },
  "truncated JSON": { body: text.slice(0, 40) },
  "invalid UTF-8": { body: pingWithBytes(0xff) },
  "a surrogate in UTF-8": { body: pingWithBytes(0xed, 0xa0, 0x80) },
  "a number NaN": { body: ping(',"data":{"a":NaN}') },
  "two byte order marks": { body: byteOrderMark + byteOrderMark + ping() },
  "a list with one event": { body: `[${ping()}]` },
  null: { body: "null" },
  "no id": { body: withoutId(ping()) },
  "an empty id": { body: pingWithId("") },
  "an id that is a number": { body: ping().replace('"evt_1"', "7") },
  "an id only on the prototype": { body: withoutId(ping(',"__proto__":{"id":"evt_1"}')) },
  "no type": { body: ping().replace('"type":"ping",', "") },
  "no createdAt": { body: ping().replace(/,"createdAt":"[^"]*"/, "") },
  // Databases cannot store these unchanged, and two different ids could become equal.
  "an id with an escaped NUL": { body: pingWithId("evt_1\\u0000") },
  "an id with a lone high surrogate": { body: pingWithId("evt_1\\ud800") },
  "an id of 513 letters": { body: pingWithId("e".repeat(513)) },
});

/** The deliveries by verdict, which is the reason of the rejection, or `valid`. */
const listCases = (genuine: Genuine): Record<string, Cases> => ({
  valid: {
    ...validBodies(genuine),
    ...validHeaders(genuine),
    ...validTimesAndSecrets(genuine),
  },
  "missing-signature": missingSignatures,
  "malformed-signature": { ...malformedHeaders(genuine), ...malformedTimes(genuine) },
  stale: staleDeliveries(genuine),
  future: futureDeliveries(genuine),
  mismatch: mismatches(genuine),
  "invalid-payload": invalidPayloads(genuine),
});

/** @param one `event` is the body of a delivery that has no other. */
function toVector(one: { verdict: string; name: string; delivery: Delivery; event: Buffer }): Json {
  const { verdict, name, delivery, event } = one;
  const { body = event, secrets = [secret], now = t, tolerance = 300 } = delivery;
  const bytes = Buffer.from(body);
  const result = verdict === "valid" ? { verdict } : { verdict: "invalid", reason: verdict };
  return {
    name: verdict === "invalid-payload" ? `${name}, signed` : name,
    body: bytes.toString("base64"),
    secrets: secrets.map((key) => key.toString("base64")),
    header: [delivery.header ?? sign(bytes)].flat(),
    nowSeconds: now,
    toleranceSeconds: tolerance,
    ...result,
  };
}

/**
 * The content of signatures.json, whose format is described in the README of the contract package.
 * Needs openssl.
 */
export function createSignatures(document: Json): Json {
  const examples = recordIn(recordIn(document, "components"), "examples");
  const text = JSON.stringify(recordIn(examples, "BalanceChangedEvent")["value"]);
  const body = Buffer.from(text);
  const header = sign(body);
  const genuine: Genuine = { body, text, header, digest: header.slice(-64) };
  const vectors = Object.entries(listCases(genuine)).flatMap(([verdict, cases]) =>
    Object.entries(cases).map(([name, delivery]) =>
      toVector({ verdict, name, delivery, event: body }),
    ),
  );
  return { version: 1, vectors };
}
