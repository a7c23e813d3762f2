/** Writes signatures.json: deliveries signed by openssl, each with the verdict a verifier must reach. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

type Verdict =
  | "valid"
  | "missing-signature"
  | "malformed-signature"
  | "stale"
  | "future"
  | "mismatch"
  | "invalid-payload";

interface Vector {
  name: string;
  body: string;
  secrets: string[];
  header?: string;
  nowSeconds: number;
  toleranceSeconds?: number;
  verdict: Verdict;
}

const t = 1767225600; // 2026-01-01T00:00:00Z
const secret = Buffer.from("whsec_mock_4fZr0nXqT1");
const body = Buffer.from(example("balance-changed-event"));

function example(name: string): string {
  return JSON.stringify(
    JSON.parse(readFileSync(new URL(`../examples/${name}.json`, import.meta.url), "utf8")),
  );
}

/** The hex HMAC-SHA256 of `<timestamp>.<body>`, by openssl. */
function signed(bytes: Buffer = body, timestamp: number | string = t, key: Buffer = secret): string {
  const output = execFileSync(
    "openssl",
    ["dgst", "-sha256", "-mac", "HMAC", "-macopt", `hexkey:${key.toString("hex")}`, "-hex"],
    { input: Buffer.concat([Buffer.from(`${timestamp}.`), bytes]), encoding: "utf8" },
  );
  return output.trim().split(/[ =]+/).at(-1) ?? "";
}

const vectors: Vector[] = [];

interface Case {
  body?: Buffer;
  header?: string | null;
  secrets?: Buffer[];
  now?: number;
  tolerance?: number;
}

function add(name: string, verdict: Verdict, given: Case = {}): void {
  const bytes = given.body ?? body;
  const header = given.header === undefined ? `t=${t},v1=${signed(bytes)}` : given.header;
  vectors.push({
    name,
    body: bytes.toString("base64"),
    secrets: (given.secrets ?? [secret]).map((key) => key.toString("base64")),
    ...(header === null ? {} : { header }),
    nowSeconds: given.now ?? t,
    ...(given.tolerance === undefined ? {} : { toleranceSeconds: given.tolerance }),
    verdict,
  });
}

const good = signed();
const json = (text: string) => Buffer.from(text);
const event = (members: string) =>
  json(`{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"${members}}`);

// Genuine bodies that do not survive a parse and a new JSON.stringify.
for (const name of ["card-added", "card-removed", "tier-changed", "consent-changed", "ping"]) {
  add(`a ${name} event`, "valid", { body: Buffer.from(example(`${name}-event`)) });
}
add("a balance-changed event", "valid");
add("a space after each colon", "valid", { body: json(body.toString().replaceAll('":', '": ')) });
add("a trailing newline", "valid", { body: json(`${body}\n`) });
add("a number written 120.0", "valid", {
  body: json(body.toString().replace('"balance":120', '"balance":120.0')),
});
add("a number written 12e1", "valid", {
  body: json(body.toString().replace('"balance":120', '"balance":12e1')),
});
add("an escaped letter", "valid", { body: event(',"data":{"name":"\\u0141ucja"}') });
add("letters of two bytes", "valid", { body: event(',"data":{"name":"Łucja"}') });
add("letters of four bytes", "valid", { body: event(',"data":{"name":"🎉"}') });
add("an escaped slash", "valid", { body: event(',"data":{"url":"https:\\/\\/cards.test"}') });
add("keys that look like numbers", "valid", { body: event(',"data":{"2":"b","1":"a"}') });
add("a duplicate key", "valid", { body: event(',"data":{"a":1,"a":2}') });
add("a __proto__ key", "valid", { body: event(',"data":{"__proto__":{"polluted":true}}') });
add("an event type nobody knows", "valid", {
  body: json(event("").toString().replace("ping", "card.renamed")),
});
add("an event type that is a name of Object.prototype", "valid", {
  body: json(event("").toString().replace("ping", "constructor")),
});
add("more members than we know", "valid", { body: event(',"data":{},"shop":"Praga"') });

// The header's grammar.
add("no header", "missing-signature", { header: null });
add("an empty header", "missing-signature", { header: "" });
add("a space after the comma", "valid", { header: `t=${t}, v1=${good}` });
add("v1 before t", "valid", { header: `v1=${good},t=${t}` });
add("upper-case hex", "valid", { header: `t=${t},v1=${good.toUpperCase()}` });
add("an unknown pair", "valid", { header: `t=${t},v0=aa,v1=${good}` });
add("two v1, the second genuine", "valid", { header: `t=${t},v1=${"0".repeat(64)},v1=${good}` });
add("five v1, the last genuine", "valid", {
  header: `t=${t}${`,v1=${"0".repeat(64)}`.repeat(4)},v1=${good}`,
});
add("six v1", "malformed-signature", { header: `t=${t}${`,v1=${good}`.repeat(6)}` });
add("no t", "malformed-signature", { header: `v1=${good}` });
add("no v1", "malformed-signature", { header: `t=${t}` });
add("two t", "malformed-signature", { header: `t=${t},t=${t},v1=${good}` });
add("two header lines joined by a proxy", "malformed-signature", {
  header: `t=${t},v1=${good}, t=${t},v1=${good}`,
});
add("a t that is not a number, signed", "malformed-signature", { header: `t=abc,v1=${signed(body, "abc")}` });
add("an empty t, signed", "malformed-signature", { header: `t=,v1=${signed(body, "")}` });
add("a t in exponent form, signed", "malformed-signature", { header: `t=1e9,v1=${signed(body, "1e9")}` });
add("a t with a sign, signed", "malformed-signature", { header: `t=+${t},v1=${signed(body, `+${t}`)}` });
add("a t with a fraction, signed", "malformed-signature", {
  header: `t=${t}.5,v1=${signed(body, `${t}.5`)}`,
});
add("a t in milliseconds", "malformed-signature", { header: `t=${t}000,v1=${signed(body, `${t}000`)}` });
add("a t with a leading zero is signed as it came", "valid", {
  header: `t=0${t},v1=${signed(body, `0${t}`)}`,
});
add("a t with letters behind it", "malformed-signature", { header: `t=${t}abc,v1=${good}` });
add("a v1 one digit short", "malformed-signature", { header: `t=${t},v1=${good.slice(1)}` });
add("a v1 one digit long", "malformed-signature", { header: `t=${t},v1=${good}0` });
add("an empty v1", "malformed-signature", { header: `t=${t},v1=` });
add("a v1 that is not hex", "malformed-signature", { header: `t=${t},v1=${"g".repeat(64)}` });
add("a v1 of 64 letters of two bytes", "malformed-signature", { header: `t=${t},v1=${"\u00e9".repeat(64)}` });
add("a v1 in base64", "malformed-signature", {
  header: `t=${t},v1=${Buffer.from(good, "hex").toString("base64")}`,
});
add("a part without an equals sign", "malformed-signature", { header: `t=${t},v1=${good},nonsense` });
add("a header of more than 1 KiB", "malformed-signature", {
  header: `t=${t},v1=${good},x=${"a".repeat(1024)}`,
});
add("a genuine v1 under another label", "malformed-signature", { header: `t=${t},v2=${good}` });

// Time, both ways, edges inclusive.
for (const [offset, verdict] of [
  [299, "valid"],
  [300, "valid"],
  [301, "stale"],
  [86_400, "stale"],
] as const) {
  add(`signed ${offset} s ago`, verdict, { now: t + offset });
}
for (const [offset, verdict] of [
  [299, "valid"],
  [300, "valid"],
  [301, "future"],
  [86_400, "future"],
] as const) {
  add(`signed ${offset} s ahead`, verdict, { now: t - offset });
}
add("a tolerance of 0, exactly now", "valid", { tolerance: 0 });
add("a tolerance of 0, a second ago", "stale", { tolerance: 0, now: t + 1 });
add("a tolerance of 0, a second ahead", "future", { tolerance: 0, now: t - 1 });
add("a tolerance of an hour", "valid", { tolerance: 3600, now: t + 3600 });
add("stale and forged is stale", "stale", { header: `t=${t},v1=${"0".repeat(64)}`, now: t + 301 });

// Forgeries.
const flipped = Buffer.from(body);
flipped[20] = (flipped[20] ?? 0) ^ 1;
add("one byte of the body changed", "mismatch", { body: flipped, header: `t=${t},v1=${good}` });
add("the body made again from its JSON", "mismatch", {
  body: json(JSON.stringify(JSON.parse(`${body}`), null, 1)),
  header: `t=${t},v1=${good}`,
});
add("another t than the signed one", "mismatch", { header: `t=${t + 1},v1=${good}` });
add("signed with another secret", "mismatch", {
  header: `t=${t},v1=${signed(body, t, Buffer.from("other"))}`,
});
add("a signature over the period and the body, without t", "mismatch", {
  header: `t=${t},v1=${signed(body, "")}`,
});
add("an empty body under another's signature", "mismatch", {
  body: Buffer.alloc(0),
  header: `t=${t},v1=${good}`,
});

// Secrets.
add("the second of two secrets", "valid", { secrets: [Buffer.from("whsec_new"), secret] });
add("the first of two secrets", "valid", { secrets: [secret, Buffer.from("whsec_new")] });
add("neither of two secrets", "mismatch", {
  secrets: [Buffer.from("whsec_new"), Buffer.from("whsec_newer")],
});
const utf8Secret = Buffer.from("klucz-ąęł-🔑");
add("a secret beyond ASCII", "valid", {
  secrets: [utf8Secret],
  header: `t=${t},v1=${signed(body, t, utf8Secret)}`,
});
const longSecret = Buffer.alloc(200, "k"); // longer than SHA-256's block: HMAC hashes it first
add("a secret longer than a block", "valid", {
  secrets: [longSecret],
  header: `t=${t},v1=${signed(body, t, longSecret)}`,
});

// Signed, but not events.
add("an empty body, signed", "invalid-payload", { body: Buffer.alloc(0) });
add("not JSON, signed", "invalid-payload", { body: json("hello") });
add("cut JSON, signed", "invalid-payload", { body: body.subarray(0, 40) });
add("a list, signed", "invalid-payload", { body: json("[]") });
add("null, signed", "invalid-payload", { body: json("null") });
add("no id, signed", "invalid-payload", { body: json(body.toString().replace('"id":"evt_2c3d4e",', "")) });
add("an id that is a number, signed", "invalid-payload", {
  body: json(body.toString().replace('"evt_2c3d4e"', "7")),
});
add("no type, signed", "invalid-payload", {
  body: json(body.toString().replace('"type":"balance.changed",', "")),
});
add("no data, signed", "invalid-payload", {
  body: json('{"id":"evt_1","type":"card.added","createdAt":"2026-01-01T00:00:00.000Z"}'),
});
add("a balance that is a string, signed", "invalid-payload", {
  body: json(body.toString().replace('"balance":120', '"balance":"120"')),
});
add("invalid UTF-8, signed", "invalid-payload", {
  body: Buffer.concat([json('{"id":"evt_1","type":"ping","createdAt":"'), Buffer.from([0xff]), json('"}')]),
});
add("a byte order mark, signed", "valid", {
  body: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), event("")]),
});

const target = new URL("signatures.json", import.meta.url);
writeFileSync(target, `${JSON.stringify(vectors, null, 1)}\n`);
console.log(`wrote ${vectors.length} vectors`);
