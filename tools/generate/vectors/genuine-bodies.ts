/** Vectors of valid bodies. Most of them change when they are parsed and serialized again. */
import { body, event, example, vector } from "./vector.ts";

const text = body.toString();
const withBalance = (number: string) => text.replace('"balance":120', `"balance":${number}`);
const withType = (type: string) => event().replace("ping", type);
const nested = `${'{"a":'.repeat(200)}1${"}".repeat(200)}`;

const events = ["card-added", "card-removed", "tier-changed", "consent-changed", "ping"].map(
  (name): [string, string] => [`a ${name} event`, example(`${name}-event`)],
);

/** Bodies whose bytes differ from the output of JSON.stringify. */
export const nonCanonical: readonly [name: string, body: string][] = [
  ["a space after each colon", text.replaceAll('":', '": ')],
  ["a trailing newline", `${text}\n`],
  ["a trailing CRLF", `${text}\r\n`],
  ["a leading space", ` ${text}`],
  ["tabs and newlines between properties", text.replaceAll(",", ",\n\t")],
  ["an indented body", JSON.stringify(JSON.parse(text), null, 2)],
  ["an indented body with CRLF", JSON.stringify(JSON.parse(text), null, 2).replaceAll("\n", "\r\n")],
  ["a number written 120.0", withBalance("120.0")],
  ["a number written 12e1", withBalance("12e1")],
  ["a number written 1.2E+2", withBalance("1.2E+2")],
  ["a number written -0", withBalance("-0")],
  ["a number beyond 2^53", withBalance("12345678901234567890")],
  ["a number with more digits than a double", withBalance("0.1000000000000000055511151231257827")],
  ["an escaped letter", event(',"data":{"name":"\\u0141ucja"}')],
  ["an escaped letter of ASCII", event(',"data":{"name":"\\u0041nna"}')],
  ["an escape in upper-case hex", event(',"data":{"name":"\\u00E9"}')],
  ["an escaped slash", event(',"data":{"url":"https:\\/\\/cards.test"}')],
  ["an escaped pair of surrogates", event(',"data":{"name":"\\ud83c\\udf89"}')],
  ["keys that look like numbers", event(',"data":{"2":"b","1":"a"}')],
  ["a duplicate key", event(',"data":{"a":1,"a":2}')],
];

/** Text that decoders, templates and loggers are known to damage. */
const delicate: [string, string][] = [
  ["letters of two bytes", event(',"data":{"name":"Łucja"}')],
  ["letters of three bytes", event(',"data":{"name":"寿司"}')],
  ["letters of four bytes", event(',"data":{"name":"🎉"}')],
  ["an accent and an emoji", event(',"data":{"name":"café ☕🎉"}')],
  ["a composed accent", event(',"data":{"name":"\u00e9"}')],
  ["a decomposed accent", event(',"data":{"name":"e\u0301"}')],
  ["a replacement character that was sent", event(',"data":{"name":"\ufffd"}')],
  ["a byte order mark inside a string", event(',"data":{"name":"\ufeff"}')],
  ["a line separator", event(',"data":{"name":"\u2028\u2029"}')],
  ["letters from right to left", event(',"data":{"name":"\u202eannA"}')],
  ["an escaped lone surrogate", event(',"data":{"name":"\\ud800"}')],
  ["an escaped NUL", event(',"data":{"name":"\\u0000"}')],
  ["all short escapes", event(',"data":{"name":"\\b\\f\\n\\r\\t\\"\\\\"}')],
  ["a DEL", event(',"data":{"name":"\u007f"}')],
  ["dollar signs that a replacement would interpret", event(',"data":{"name":"$& $$ $1 $` {body}"}')],
  ["percent signs and format letters", event(',"data":{"name":"%s %d %o %%"}')],
  ["a text that looks like a header", event(',"data":{"name":"t=1,v1=00\\r\\nService-Signature: x"}')],
  ["a byte order mark, signed", `\ufeff${event()}`],
];

const prototypes: [string, string][] = [
  ["a __proto__ key", event(',"data":{"__proto__":{"polluted":true}}')],
  ["a __proto__ key at the top", event(',"__proto__":{"polluted":true},"data":{}')],
  ["a constructor key", event(',"data":{"constructor":{"prototype":{"polluted":true}}}')],
  ["a toString key", event(',"toString":"x","data":{"hasOwnProperty":1,"valueOf":null}')],
  ["a then key", event(',"then":1,"data":{"then":{}}')],
  ...["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "isPrototypeOf"].map(
    (name): [string, string] => [`an event type that is a name of Object.prototype: ${name}`, withType(name)],
  ),
];

const open: [string, string][] = [
  ["an unknown event type", withType("card.renamed")],
  ["an event type in another case", withType("Ping")],
  ["an event type with a space", withType("card added")],
  ["an event type beyond ASCII", withType("karta.dodana.ł")],
  ["unknown properties", event(',"data":{},"shop":"Praga"')],
  ["a known event with more data", text.replace('"balance":120', '"balance":120,"bonus":[1,{}]')],
  ["a ping without data", event()],
  ["data that is null in an unknown event", withType("card.renamed").replace("}", ',"data":null}')],
  ["an unknown wallet", example("card-added-event").replace(/"wallet":"[^"]*"/, '"wallet":"third"')],
  ["a tier of null", example("tier-changed-event").replace(/"tier":"[^"]*"/, '"tier":null')],
  [
    "a consent change without cards",
    example("consent-changed-event").replace(/"passIds":\[[^\]]*\]/, '"passIds":[]'),
  ],
  ["a negative change", text.replace(/"change":\d+/, '"change":-7')],
  ["an id of one letter", event().replace("evt_1", "e")],
  ["an id of 512 letters", event().replace("evt_1", "e".repeat(512))],
  ["an id of 512 letters of three bytes", event().replace("evt_1", "寿".repeat(512))],
  ["an id with an escaped pair of surrogates", event().replace("evt_1", "evt_\\ud83c\\udf89")],
  ["an id beyond ASCII", event().replace("evt_1", "wydarzenie-ł")],
  ["a createdAt without milliseconds", event().replace(".000Z", "Z")],
  ["data of 200 levels", event(`,"data":${nested}`)],
  ["a body of 16 KiB", event(`,"data":{"note":"${"x".repeat(16_384)}"}`)],
];

/**
 * Each property of event data ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)) with another type, and absent: still a valid
 * event, so that no event is lost.
 */
const otherProperties: [event: string, property: string, value: RegExp, other: string][] = [
  ["card-added", "passId", /"passId":"[^"]*"/, "7"],
  ["card-added", "customerId", /"customerId":"[^"]*"/, "null"],
  ["card-added", "wallet", /"wallet":"[^"]*"/, '["apple"]'],
  ["card-removed", "wallet", /"wallet":"[^"]*"/, "null"],
  ["balance-changed", "balance", /"balance":\d+/, '"120"'],
  ["balance-changed", "change", /"change":-?\d+/, "null"],
  ["balance-changed", "operation", /"operation":\{[^}]*\}/, '"op_1"'],
  ["tier-changed", "tier", /"tier":("[^"]*"|null)/, "1"],
  ["tier-changed", "previous", /"previous":("[^"]*"|null)/, "false"],
  ["consent-changed", "marketingConsent", /"marketingConsent":(true|false)/, '"true"'],
  ["consent-changed", "passIds", /"passIds":\[[^\]]*\]/, '"card_1"'],
];
const otherDataProperties = otherProperties.flatMap(([name, property, value, other]): [string, string][] => {
  const whole = example(`${name}-event`);
  return [
    [`${name}: a ${property} of another type`, whole.replace(value, `"${property}":${other}`)],
    [`${name}: no ${property}`, whole.replace(value, `"no_${property}":0`)],
  ];
});
const otherData: [string, string][] = [
  ["card-added: no data", event().replace("ping", "card.added")],
  ["card-added: data that is a list", event(',"data":[]').replace("ping", "card.added")],
  ["ping: data that is null", event(',"data":null')],
  [
    "consent-changed: a card that is a number",
    example("consent-changed-event").replace(/"passIds":\[[^\]]*\]/, '"passIds":[7]'),
  ],
  [
    "balance-changed: an operation without an id",
    text.replace(/"operation":\{[^}]*\}/, '"operation":{"type":"purchase"}'),
  ],
];

export const genuineBodies = [
  vector("a balance-changed event", "valid"),
  ...[
    ...events,
    ...nonCanonical,
    ...delicate,
    ...prototypes,
    ...open,
    ...otherDataProperties,
    ...otherData,
  ].map(([name, bytes]) => vector(name, "valid", { body: bytes })),
];
