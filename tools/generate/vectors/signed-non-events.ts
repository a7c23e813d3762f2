/** Vectors of signed bodies that are not events. */
import { gzipSync } from "node:zlib";
import { body, event, vector } from "./vector.ts";

const text = body.toString();
const bytesIn = (...bytes: number[]) =>
  Buffer.concat([
    Buffer.from('{"id":"evt_1","type":"ping","createdAt":"'),
    Buffer.from(bytes),
    Buffer.from('"}'),
  ]);

const notUtf8: [string, Buffer][] = [
  ["invalid UTF-8", bytesIn(0xff)],
  ["a lone continuation byte", bytesIn(0x80)],
  ["an overlong NUL", bytesIn(0xc0, 0x80)],
  ["an overlong slash", bytesIn(0xe0, 0x80, 0xaf)],
  ["a surrogate in UTF-8", bytesIn(0xed, 0xa0, 0x80)],
  ["a pair of surrogates in UTF-8", bytesIn(0xed, 0xa0, 0xbc, 0xed, 0xbe, 0x89)],
  ["a letter beyond U+10FFFF", bytesIn(0xf4, 0x90, 0x80, 0x80)],
  ["a truncated letter", bytesIn(0xe5, 0xaf)],
  ["a letter in Latin-1", bytesIn(0xe9)],
  ["a truncated letter at the end", Buffer.concat([Buffer.from(event()), Buffer.from([0xc3])])],
  ["UTF-16, little endian", Buffer.from(event(), "utf16le")],
  ["UTF-16 with a byte order mark", Buffer.from(`\ufeff${event()}`, "utf16le")],
  ["a compressed event", gzipSync(event())],
];

const notJson: [string, string][] = [
  ["an empty body", ""],
  ["white space", " \n"],
  ["not JSON", "hello"],
  ["truncated JSON", text.slice(0, 40)],
  ["a trailing comma", event(",")],
  ["a comment", `${event()}// ping`],
  ["single quotes", event().replaceAll('"', "'")],
  ["a number NaN", event(',"data":{"a":NaN}')],
  ["a number with a leading zero", event(',"data":{"a":012}')],
  ["two events in one body", `${event()}${event()}`],
  ["an event per line", `${event()}\n${event()}`],
  ["a line break inside a string", event(',"data":{"a":"\n"}')],
  ["a NUL after the event", `${event()}\0`],
  ["two byte order marks", `\ufeff\ufeff${event()}`],
  ["form data", "id=evt_1&type=ping&ssl_check=1"],
  ["XML", "<event><id>evt_1</id></event>"],
  ["base64 of an event", Buffer.from(event()).toString("base64")],
];

const notAnEvent: [string, string][] = [
  ["a list", "[]"],
  ["a list with one event", `[${event()}]`],
  ["null", "null"],
  ["a number", "7"],
  ["true", "true"],
  ["a string", '"evt_1"'],
  ["an event in a string", JSON.stringify(event())],
  ["an empty object", "{}"],
  ["no id", event().replace('"id":"evt_1",', "")],
  ["an empty id", event().replace("evt_1", "")],
  ["an id that is a number", event().replace('"evt_1"', "7")],
  ["an id that is null", event().replace('"evt_1"', "null")],
  ["an id that is a list", event().replace('"evt_1"', '["evt_1"]')],
  ["an id only on the prototype", event(',"__proto__":{"id":"evt_1"}').replace('"id":"evt_1",', "")],
  ["no type", event().replace('"type":"ping",', "")],
  ["a type that is an object", event().replace('"ping"', '{"toString":"ping"}')],
  ["no createdAt", event().replace(/,"createdAt":"[^"]*"/, "")],
  ["a createdAt that is a number", event().replace('"2026-01-01T00:00:00.000Z"', "1767225600000")],
  // Databases cannot store these unchanged, and two different ids could become equal.
  ["an id with an escaped NUL", event().replace("evt_1", "evt_1\\u0000")],
  ["an id that is an escaped NUL", event().replace("evt_1", "\\u0000")],
  ["an id with a lone high surrogate", event().replace("evt_1", "evt_1\\ud800")],
  ["an id with a lone low surrogate", event().replace("evt_1", "\\uDC00evt_1")],
  ["an id with a pair of surrogates in reverse order", event().replace("evt_1", "\\udf89\\ud83c")],
  ["an id of 513 letters", event().replace("evt_1", "e".repeat(513))],
  ["an id of 100 000 letters", event().replace("evt_1", "e".repeat(100_000))],
  ["a type with an escaped NUL", event().replace("ping", "pi\\u0000ng")],
  ["a type with a lone surrogate", event().replace("ping", "ping\\ud83c")],
  ["a createdAt with an escaped NUL", event().replace(".000Z", ".000Z\\u0000")],
  ["a createdAt with a lone surrogate", event().replace(".000Z", ".000Z\\udfff")],
];

export const signedNonEvents = [...notUtf8, ...notJson, ...notAnEvent].map(([name, bytes]) =>
  vector(`${name}, signed`, "invalid-payload", { body: bytes }),
);
