/** Vectors of the signature header: valid forms, and forms that are rejected before the body is hashed. */
import { body, createDigest, genuine, hmac, signed, t, type Verdict, vector } from "./vector.ts";

const zeros = "0".repeat(64);
const base64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");
/** A header of exactly this length, padded with an unknown pair. */
const padded = (length: number) => `t=${t},v1=${genuine},x=`.padEnd(length, "a");

const allowed: [string, string][] = [
  ["a space after the comma", `t=${t}, v1=${genuine}`],
  ["a tab after the comma", `t=${t},\tv1=${genuine}`],
  ["v1 before t", `v1=${genuine},t=${t}`],
  ["t between two v1", `v1=${zeros},t=${t},v1=${genuine}`],
  ["upper-case hex", `t=${t},v1=${genuine.toUpperCase()}`],
  ["hex of both cases", `t=${t},v1=${genuine.slice(0, 32).toUpperCase()}${genuine.slice(32)}`],
  ["an unknown pair", `t=${t},v0=aa,v1=${genuine}`],
  ["an unknown pair before t", `x=1,t=${t},v1=${genuine}`],
  ["an unknown pair without a value", `t=${t},v1=${genuine},x=`],
  ["an unknown pair with more equals signs", `t=${t},v1=${genuine},x=a=b==`],
  ["an unknown pair twice", `t=${t},x=1,x=2,v1=${genuine}`],
  ["twenty unknown pairs", `t=${t}${",x=1".repeat(20)},v1=${genuine}`],
  ["an unknown pair beyond ASCII", `t=${t},x=\u00e9,v1=${genuine}`],
  ["a genuine v1 and another version", `t=${t},v1=${genuine},v2=${"0".repeat(128)}`],
  ["two v1, the second genuine", `t=${t},v1=${zeros},v1=${genuine}`],
  ["two v1, the first genuine", `t=${t},v1=${genuine},v1=${zeros}`],
  ["two equal v1", `t=${t},v1=${genuine},v1=${genuine}`],
  ["five v1, the last genuine", `t=${t}${`,v1=${zeros}`.repeat(4)},v1=${genuine}`],
  ["a header of exactly 1 KiB", padded(1024)],
  ["a t with a leading zero, signed as sent", `t=0${t},v1=${signed(body, `0${t}`)}`],
  ["a t of twelve digits, signed as sent", `t=00${t},v1=${signed(body, `00${t}`)}`],
];

const malformed: [string, string][] = [
  ["six v1", `t=${t}${`,v1=${genuine}`.repeat(6)}`],
  ["no t", `v1=${genuine}`],
  ["no v1", `t=${t}`],
  ["two t", `t=${t},t=${t},v1=${genuine}`],
  ["two different t", `t=${t - 1},t=${t},v1=${genuine}`],
  ["two header lines joined by a proxy", `t=${t},v1=${genuine}, t=${t},v1=${genuine}`],
  ["a forged line joined after a genuine one", `t=${t},v1=${genuine}, t=${t},v1=${zeros}`],
  ["a header of more than 1 KiB", padded(1025)],
  ["a header of 4 KiB", padded(4096)],
  ["a T in upper case", `T=${t},v1=${genuine}`],
  ["a V1 in upper case", `t=${t},V1=${genuine}`],
  ["a genuine v1 under another label", `t=${t},v2=${genuine}`],
  ["a genuine v1 under the label v0", `t=${t},v0=${genuine}`],
  ["a genuine v1 under the label v10", `t=${t},v10=${genuine}`],
  ["a genuine v1 under the label sha256", `t=${t},sha256=${genuine}`],
  ["only the signature", genuine],
  ["only the signature, after sha256=", `sha256=${genuine}`],
  ["a part without an equals sign", `t=${t},v1=${genuine},nonsense`],
  ["a part without a name", `t=${t},v1=${genuine},=x`],
  ["a comma at the end", `t=${t},v1=${genuine},`],
  ["a comma at the start", `,t=${t},v1=${genuine}`],
  ["two commas", `t=${t},,v1=${genuine}`],
  ["only a comma", ","],
  ["only an equals sign", "="],
  ["a semicolon instead of the comma", `t=${t};v1=${genuine}`],
  ["an ampersand instead of the comma", `t=${t}&v1=${genuine}`],
  ["a space instead of the comma", `t=${t} v1=${genuine}`],
  ["a colon instead of the equals sign", `t:${t},v1:${genuine}`],
  ["a space before the comma", `t=${t} ,v1=${genuine}`],
  ["a space before the equals sign", `t =${t},v1=${genuine}`],
  ["a space after the equals sign", `t=${t},v1= ${genuine}`],
  ["a quoted t", `t="${t}",v1=${genuine}`],
  ["a quoted v1", `t=${t},v1="${genuine}"`],
  ["JSON", `{"t":${t},"v1":"${genuine}"}`],
  ["a v1 one digit short", `t=${t},v1=${genuine.slice(1)}`],
  ["a v1 one digit long", `t=${t},v1=${genuine}0`],
  ["a v1 that is the first half", `t=${t},v1=${genuine.slice(0, 32)}`],
  ["a v1 with the signature twice", `t=${t},v1=${genuine}${genuine}`],
  ["an empty v1", `t=${t},v1=`],
  ["an empty v1 and a genuine one", `t=${t},v1=,v1=${genuine}`],
  ["a v1 that is not hex", `t=${t},v1=${"g".repeat(64)}`],
  ["a v1 that is not hex, and a genuine one", `t=${t},v1=${genuine},v1=${"g".repeat(64)}`],
  ["a v1 with one letter that is not hex", `t=${t},v1=${genuine.slice(1)}g`],
  ["a v1 with a prefix that is not hex", `t=${t},v1=zz!${genuine}`],
  ["a v1 with the prefix 0x", `t=${t},v1=0x${genuine}`],
  ["a v1 with the prefix sha256=", `t=${t},v1=sha256=${genuine}`],
  ["a v1 with a space inside", `t=${t},v1=${genuine.slice(0, 32)} ${genuine.slice(32)}`],
  ["a v1 with colons inside", `t=${t},v1=${genuine.match(/../g)?.join(":")}`],
  ["a v1 of 64 letters of two bytes", `t=${t},v1=${"\u00e9".repeat(64)}`],
  ["a v1 of 32 letters of two bytes", `t=${t},v1=${"\u00e9".repeat(32)}`],
  ["a v1 in base64", `t=${t},v1=${base64(genuine)}`],
  ["a v1 in base64url", `t=${t},v1=${Buffer.from(genuine, "hex").toString("base64url")}`],
  ["a signature of SHA-1", `t=${t},v1=${hmac(Buffer.from(`${t}.${body}`), undefined, "sha1")}`],
  ["a signature of SHA-512", `t=${t},v1=${hmac(Buffer.from(`${t}.${body}`), undefined, "sha512")}`],
];

/** Signed over the sent `t`, so that only its syntax is a reason for rejection. */
const times = [
  ["that is not a number", "abc"],
  ["that is NaN", "NaN"],
  ["that is Infinity", "Infinity"],
  ["that is null", "null"],
  ["that is empty", ""],
  ["in exponent form", "1e9"],
  ["in hex", "0x6955b900"],
  ["with a plus sign", `+${t}`],
  ["with a minus sign", `-${t}`],
  ["with a fraction", `${t}.5`],
  ["with a period at the end", `${t}.`],
  ["with an underscore", "1_767_225_600"],
  ["with letters at the end", `${t}abc`],
  ["with a space inside", "1767 225600"],
  ["in milliseconds", `${t}000`],
  ["of 100 digits", "1".repeat(100)],
  ["that is a date", "2026-01-01T00:00:00Z"],
] as const;

const bothLines = (first: string, second: string): [string, Verdict, string[]] => [
  `two lines, ${first} and ${second}`,
  "malformed-signature",
  [first, second].map((which) => `t=${t},v1=${which === "genuine" ? genuine : zeros}`),
];

export const headers = [
  vector("no header", "missing-signature", { header: null }),
  vector("an empty header", "missing-signature", { header: "" }),
  ...allowed.map(([name, header]) => vector(name, "valid", { header })),
  ...malformed.map(([name, header]) => vector(name, "malformed-signature", { header })),
  ...times.map(([name, text]) =>
    vector(`a t ${name}, signed`, "malformed-signature", { header: `t=${text},v1=${signed(body, text)}` }),
  ),
  vector("a t with letters at the end, signed without them", "malformed-signature", {
    header: `t=${t}abc,v1=${genuine}`,
  }),
  vector("a t that is not a number, signed as NaN", "malformed-signature", {
    header: `t=abc,v1=${signed(body, "NaN")}`,
  }),
  ...[bothLines("genuine", "forged"), bothLines("forged", "genuine"), bothLines("genuine", "genuine")].map(
    ([name, verdict, header]) => vector(name, verdict, { header }),
  ),
  vector("a digest without a key", "mismatch", {
    header: `t=${t},v1=${createDigest(Buffer.from(`${t}.${body}`))}`,
  }),
];
