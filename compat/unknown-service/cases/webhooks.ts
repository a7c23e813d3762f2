/** Webhooks that differ from the assumptions: headers, signatures, ids, times, data, number. */
import {
  type Attempt,
  type Case,
  type Cases,
  type CaseTable,
  eventTypes,
  type SentEvent,
  walletEvents,
} from "../case.ts";
import { each, eventData, eventMembers, events, header, several } from "../changes.ts";

/** One case for each value of a member of the data of events of these types. */
const data = (types: readonly string[], member: string, values: readonly unknown[]): Cases =>
  each(values, (value) => [
    `${member} of ${types.join(" and ")} is ${JSON.stringify(value) ?? "absent"}`,
    eventMembers(types, { [member]: value }),
  ]);
/** The same, and the events go to the handler `unexpectedData`. */
const unexpected = (types: readonly string[], member: string, values: readonly unknown[]): Cases =>
  each(Object.entries(data(types, member, values)), ([name, one]) => [
    name,
    { ...one, unexpectedData: types },
  ]);
const allRefused = (refused: number, cases: Cases): Cases =>
  each(Object.entries(cases), ([name, one]) => [name, { ...one, refused }]);

const ids = (id: (number: number, event: SentEvent) => unknown): Case =>
  events((event, number) => ({ id: id(number, event) }));
const randomIds = (id: (random: string, number: number) => string): Case =>
  events((_event, number, { draw }) => ({ id: id(draw.text(12), number) }));
const times = (createdAt: (iso: string) => unknown): Case =>
  events((event) => ({ createdAt: createdAt(String(event.createdAt)) }));
const pings = (change: Partial<SentEvent> & Record<string, unknown>): Case =>
  several("ping", (event) => [{ ...event, ...change }]);
const signature = (change: (old: string, attempt: Attempt) => string): Case =>
  header("service-signature", change);
const timestamp = (seconds: (now: number) => number): Case =>
  signature((_old, { sign, nowSeconds }) => sign({ timestamp: seconds(nowSeconds) }));
const headerNames = (change: (name: string) => string): Case => ({
  headers: (headers) => headers.map(([name, value]) => [change(name), value]),
});
const moreHeaders = (more: Record<string, string>): Case => ({
  headers: (headers) => [...headers, ...Object.entries(more)],
});
const otherSignature = "0".repeat(64);

export const webhookCases: CaseTable = {
  wallet: data(walletEvents, "wallet", [
    "first",
    { kind: "apple", device: 1 },
    null,
    undefined,
    ["apple", "google"],
    2,
  ]),
  "event-tier": {
    ...data(["tier.changed"], "tier", [{ id: 2, name: "Silver" }, 2]),
    ...data(["tier.changed"], "previous", [undefined, "none"]),
  },
  "event-members": {
    ...unexpected(walletEvents, "passId", [42]),
    ...unexpected(["tier.changed"], "passId", [undefined]),
    ...unexpected(["consent.changed"], "passIds", [undefined, [1]]),
    ...unexpected(["balance.changed"], "balance", [undefined, null]),
    ...data(["balance.changed"], "change", [undefined]),
    ...data(["balance.changed"], "operation", ["op_1"]),
    ...data([...walletEvents, "balance.changed", "tier.changed"], "customerId", [null]),
    ...data(["consent.changed"], "customerId", [undefined]),
  },
  "event-id": {
    UUIDs: ids(() => crypto.randomUUID()),
    "numbers as text": ids(String),
    "colons and slashes": ids((number) => `shop:1/${number}?x=#`),
    "names of members that every object has": ids(
      (number) => ["__proto__", "constructor", "toString"][number] ?? `id${number}`,
    ),
    "512 characters": ids((number, { id }) => `${id}`.padEnd(509, "x") + String(number).padStart(3, "0")),
    "letters of every script": ids((number) => `寿🟢${number}é`),
    "ids that differ in case only": ids((number) =>
      number.toString(2).padStart(8, "0").replaceAll("0", "a").replaceAll("1", "A"),
    ),
    "ids that differ in spaces only": ids((number) => `evt${" ".repeat(number)}`),
    ...allRefused(400, {
      numbers: ids((number) => number),
      "513 characters": ids((number) => `${number}`.padEnd(513, "x")),
      empty: ids(() => ""),
      absent: ids(() => undefined),
    }),
  },
  "event-id-order": {
    "random ids": randomIds((random) => random),
    "ids that descend": randomIds((random, number) => `${String(999 - number).padStart(3, "0")}-${random}`),
    "numbers that grow longer": ids((number) => `evt_${number}`),
    "createdAt with an offset": times((iso) => iso.replace("Z", "+00:00")),
    "createdAt in another zone": times((iso) =>
      new Date(Date.parse(iso) + 7_200_000).toISOString().replace("Z", "+02:00"),
    ),
    "createdAt in microseconds": times((iso) => iso.replace("Z", "123Z")),
    "createdAt without milliseconds": times((iso) => iso.replace(/\.\d+/, "")),
    "createdAt with a space": times((iso) => iso.replace("T", " ")),
    "createdAt that is not a date": times(() => "yesterday"),
    ...allRefused(400, {
      "createdAt as a number": times((iso) => Date.parse(iso)),
      "createdAt is absent": times(() => undefined),
    }),
  },
  "ping-data": {
    "no data": eventData("ping", () => undefined),
    null: eventData("ping", () => null),
    text: eventData("ping", () => "ping"),
    "a list of everything": eventData("ping", () => [1, "a", null, { deep: [[[]]] }]),
    "members beside data": pings({ data: { endpointId: "we_1" }, test: true, version: 2 }),
  },
  "delivery-identifier": {
    "another one for each attempt": header("service-delivery", (old, { number }) => `${old}-${number}`),
    "the same for all deliveries": header("service-delivery", () => "dlv"),
    absent: header("service-delivery"),
    "two kilobytes": header("service-delivery", () => "d".repeat(2048)),
    "no Service-Event": header("service-event"),
    "another type in Service-Event": header("service-event", () => "card.deleted"),
    "header names in capitals": headerNames((name) => name.toUpperCase()),
    ...allRefused(401, {
      "header names with an X in front": headerNames((name) => name.replace(/^service-/, "X-Service-")),
    }),
    ...each(["application/json; charset=utf-8", "application/cloudevents+json", "text/plain"], (type) => [
      `Content-Type ${type}`,
      header("content-type", () => type),
    ]),
    "no Content-Type": header("content-type"),
  },
  "signature-time": {
    "t of the first attempt, eight hours ago, and the tolerance raised": {
      ...timestamp((now) => now - 31_000 + 60),
      toleranceSeconds: 31_000,
    },
    "a clock that is a minute ahead": timestamp((now) => now + 60),
    "the same t for attempts of one minute": timestamp((now) => now - (now % 60)),
    "v1 before t": signature((old) => old.split(",").reverse().join(",")),
    "a space after the comma": signature((old) => old.replace(",", ", ")),
    "hex in capitals": signature((old) => old.toUpperCase().replace("T=", "t=").replace("V1=", "v1=")),
    "an older and a newer scheme beside v1": signature((old) => `v0=abc,${old},v2=${otherSignature}`),
    "two signatures, the second one is ours": signature((old) =>
      old.replace(",v1", `,v1=${otherSignature},v1`),
    ),
    ...allRefused(401, {
      "t of the first attempt, ten minutes ago": timestamp((now) => now - 600),
      "a clock that is ten minutes ahead": timestamp((now) => now + 600),
      "t in milliseconds": timestamp((now) => now * 1000),
      "v2 only": signature((old) => old.replace("v1=", "v2=")),
      base64: signature((old) =>
        old.replace(/v1=(.*)/, (_all, hex) => `v1=${Buffer.from(hex, "hex").toString("base64")}`),
      ),
      "t as a date": signature((old) => old.replace(/t=\d+/, "t=2026-01-01T00:00:00Z")),
    }),
  },
  "several-endpoints": {
    "each event comes once for each of three endpoints": several(eventTypes, (event) => [
      event,
      event,
      event,
    ]),
    "a second endpoint has events of its own": several(eventTypes, (event) => [
      event,
      { ...event, id: `${event.id}_2` },
    ]),
    "all events come to every endpoint, chosen or not": {
      ...several(eventTypes, (event) => [
        event,
        { ...event, id: `${event.id}_new`, type: "card.expired", data: { passId: "card_1" } },
      ]),
      otherTypes: ["card.expired"],
    },
    "events come in lists": { body: (body) => `[${body}]`, refused: 400 },
  },
  "retry-secret": {
    "the secret in force when the event was made": {}, // as the shop's deliveries are signed in all cases
    "retries are signed with the secret in force at the time": signature(
      (old, { number, otherSecret, sign }) => (number === 0 ? old : sign({ secret: otherSecret })),
    ),
    "both secrets sign for a while": signature(
      (old, { otherSecret, sign }) => `${sign({ secret: otherSecret })},${old.split(",")[1]}`,
    ),
    "a secret that the shop does not have": {
      ...signature((_old, { sign }) => sign({ secret: "whsec_other" })),
      refused: 401,
    },
  },
  "private-endpoints": {
    "deliveries through a gateway that adds headers": moreHeaders({
      via: "1.1 gateway",
      forwarded: "for=10.0.0.1;proto=https",
      "x-forwarded-for": "10.0.0.1",
      "x-forwarded-host": "shop.internal",
    }),
    "a gateway that compresses": { ...moreHeaders({ "content-encoding": "gzip" }), refused: 415 },
    "another host name": {
      headers: (headers) => [...headers.filter(([name]) => name !== "host"), ["host", "10.0.0.7"]],
    },
  },
};
