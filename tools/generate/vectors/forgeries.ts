/** Vectors of forged and damaged deliveries, and of unusual secrets. */
import { nonCanonical } from "./genuine-bodies.ts";
import { body, event, genuine, hmac, secret, signed, t, vector } from "./vector.ts";

const text = body.toString();
const header = `t=${t},v1=${genuine}`;

const flipped = (index: number) => {
  const bytes = Buffer.from(body);
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
};

const damaged: [string, Buffer | string][] = [
  ["one bit of the body changed", flipped(20)],
  ["one bit of the first byte changed", flipped(0)],
  ["one bit of the last byte changed", flipped(body.length - 1)],
  ["an additional byte at the end", `${text} `],
  ["an additional byte at the start", ` ${text}`],
  ["a missing byte at the end", body.subarray(0, -1)],
  ["a byte order mark at the start", `\ufeff${text}`],
  ["a NUL at the end", `${text}\0`],
  ["an empty body", ""],
  ["the timestamp before the body", `${t}.${text}`],
  ["the body twice", `${text}${text}`],
  ["another balance", text.replace("120", "12000")],
  ["another event", event()],
  ["a handshake request that asks to skip verification", "ssl_check=1&token=x"],
];

/** The original bytes were signed, but the body was parsed and serialized again. */
const serializedAgain = nonCanonical
  .filter(([, bytes]) => JSON.stringify(JSON.parse(bytes)) !== bytes)
  .map(([name, bytes]) =>
    vector(`${name}, parsed and serialized again`, "mismatch", {
      body: JSON.stringify(JSON.parse(bytes)),
      header: `t=${t},v1=${signed(Buffer.from(bytes))}`,
    }),
  );

const marked = Buffer.from(`\ufeff${event()}`);
const invalid = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
const accented = Buffer.from(event(',"data":{"name":"café 🎉"}'));
const decoded = [
  vector("a byte order mark that a decoder removed", "mismatch", {
    body: event(),
    header: `t=${t},v1=${signed(marked)}`,
  }),
  vector("invalid UTF-8 that a decoder replaced", "mismatch", {
    body: invalid.toString("utf8"),
    header: `t=${t},v1=${signed(invalid)}`,
  }),
  vector("letters that a decoder read as ASCII", "mismatch", {
    body: accented.toString("ascii"),
    header: `t=${t},v1=${signed(accented)}`,
  }),
  vector("letters that a decoder read as Latin-1", "mismatch", {
    body: accented.toString("latin1"),
    header: `t=${t},v1=${signed(accented)}`,
  }),
  vector("normalized accents", "mismatch", {
    body: accented.toString().normalize("NFD"),
    header: `t=${t},v1=${signed(accented)}`,
  }),
];

const over = (signedText: string, key?: Buffer) => `t=${t},v1=${hmac(Buffer.from(signedText), key)}`;
const otherSignatures: [string, string][] = [
  ["another t than the signed one", `t=${t + 1},v1=${genuine}`],
  ["a t with a leading zero, signed without it", `t=0${t},v1=${genuine}`],
  ["all zeros", `t=${t},v1=${"0".repeat(64)}`],
  ["all ones", `t=${t},v1=${"f".repeat(64)}`],
  ["the first digit changed", `t=${t},v1=${genuine.startsWith("0") ? "1" : "0"}${genuine.slice(1)}`],
  ["the last digit changed", `t=${t},v1=${genuine.slice(0, -1)}${genuine.endsWith("0") ? "1" : "0"}`],
  ["the digits in reverse order", `t=${t},v1=${[...genuine].reverse().join("")}`],
  ["five forged v1", `t=${t}${`,v1=${"0".repeat(64)}`.repeat(5)}`],
  ["a signature over the body alone", over(text)],
  ["a signature over the period and the body", over(`.${text}`)],
  ["a signature without the period", over(`${t}${text}`)],
  ["a signature with a colon instead of the period", over(`${t}:${text}`)],
  ["a signature over the body before the timestamp", over(`${text}.${t}`)],
  ["a signature over milliseconds", over(`${t}000.${text}`)],
  ["a signature over the body in base64", over(`${t}.${body.toString("base64")}`)],
  ["a signature over t alone", over(`${t}.`)],
  ["a signature with the key and the text swapped", over(secret.toString(), Buffer.from(`${t}.${text}`))],
  ["signed with another secret", over(`${t}.${text}`, Buffer.from("other"))],
  [
    "signed with the secret in another case",
    over(`${t}.${text}`, Buffer.from(secret.toString().toUpperCase())),
  ],
  ["signed with the secret without its prefix", over(`${t}.${text}`, secret.subarray(6))],
  ["signed with the secret and a line break", over(`${t}.${text}`, Buffer.from(`${secret}\n`))],
  ["signed with the secret in base64", over(`${t}.${text}`, Buffer.from(secret.toString("base64")))],
  ["signed with the secret in hex", over(`${t}.${text}`, Buffer.from(secret.toString("hex")))],
];

const newer = Buffer.from("whsec_new");
const beyondAscii = Buffer.from("klucz-ąęł-🔑");
const binary = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index));
const block = Buffer.alloc(64, "k");
const long = Buffer.alloc(200, "k"); // longer than SHA-256's block: HMAC hashes it first
const by = (key: Buffer) => `t=${t},v1=${signed(body, t, key)}`;

const secrets = [
  vector("the second of two secrets", "valid", { secrets: [newer, secret] }),
  vector("the first of two secrets", "valid", { secrets: [secret, newer] }),
  vector("the last of ten secrets", "valid", {
    secrets: [...Array.from({ length: 9 }, (_, index) => Buffer.from(`whsec_${index}`)), secret],
  }),
  vector("two secrets, each with its v1", "valid", {
    secrets: [newer, secret],
    header: `t=${t},v1=${signed(body, t, newer)},v1=${genuine}`,
  }),
  vector("signed with neither of two secrets", "mismatch", { secrets: [newer, Buffer.from("whsec_newer")] }),
  vector("a secret beyond ASCII", "valid", { secrets: [beyondAscii], header: by(beyondAscii) }),
  vector("a secret of arbitrary bytes", "valid", { secrets: [binary], header: by(binary) }),
  vector("a secret of one byte", "valid", { secrets: [Buffer.from("k")], header: by(Buffer.from("k")) }),
  vector("a secret of exactly one block", "valid", { secrets: [block], header: by(block) }),
  vector("a secret longer than a block", "valid", { secrets: [long], header: by(long) }),
  vector("a secret longer than a block, truncated to the block", "mismatch", {
    secrets: [long],
    header: by(long.subarray(0, 64)),
  }),
];

export const forgeries = [
  ...damaged.map(([name, bytes]) =>
    vector(`${name}, under a genuine signature`, "mismatch", { body: bytes, header }),
  ),
  ...serializedAgain,
  ...decoded,
  ...otherSignatures.map(([name, value]) => vector(name, "mismatch", { header: value })),
  ...secrets,
];
