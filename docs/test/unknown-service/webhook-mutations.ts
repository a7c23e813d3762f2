/** Mutations of webhooks: headers, signatures, ids, times, data, order. */
import { changeEventData, changeHeader, changeHeaders } from "./hooks.ts";
import { type Members, type Mutation, mutation, type SentEvent } from "./mutation.ts";

const wallets = ["card.added", "card.removed"];
const all = [...wallets, "balance.changed", "tier.changed", "consent.changed", "ping"];

/** Changes one member of the data of these types; undefined removes it. */
const changeMember = (
  row: string,
  types: readonly string[],
  name: string,
  value: unknown,
  isUnexpected = false,
): Mutation =>
  mutation(
    row,
    `${name} of ${types.join(" and ")} is ${JSON.stringify(value) ?? "absent"}`,
    changeEventData(types, (data) => ({ ...data, [name]: value })),
    isUnexpected ? { unexpectedData: types } : {},
  );

const changeIds = (name: string, id: (event: SentEvent, number: number) => unknown, status = 204): Mutation =>
  mutation(
    "event-id",
    name,
    () => {
      let number = 0;
      return { event: (event) => [{ ...event, id: id(event, number++) }] };
    },
    status === 204 ? {} : { refused: { "*": status } },
  );

const changeIdOrder = (name: string, id: (random: string, number: number) => string): Mutation =>
  mutation("event-id-order", name, ({ draw }) => {
    let number = 0;
    return { event: (event) => [{ ...event, id: id(draw.text(12), number++) }] };
  });

const changeDates = (name: string, createdAt: (iso: string) => unknown, status = 204): Mutation =>
  mutation(
    "event-id-order",
    name,
    { event: (event) => [{ ...event, createdAt: createdAt(String(event.createdAt)) }] },
    status === 204 ? {} : { refused: { "*": status } },
  );

const changePing = (name: string, change: (event: SentEvent) => Members): Mutation =>
  mutation("ping-data", name, {
    event: (event) => [event.type === "ping" ? ({ ...event, ...change(event) } as SentEvent) : event],
  });

const changeSignature = (name: string, change: (signature: string) => string, status = 204): Mutation =>
  mutation(
    "signature-time",
    name,
    changeHeader("service-signature", change),
    status === 204 ? {} : { refused: { "*": status } },
  );

const other = "0".repeat(64);
const changeTimestamp = (
  name: string,
  seconds: (now: number, attempt: number) => number,
  status: number,
  toleranceSeconds?: number,
): Mutation =>
  mutation(
    "signature-time",
    name,
    {
      delivery: ({ headers, body }, { sign, secret, nowSeconds, attempt }) => ({
        body,
        headers: headers.map(([each, old]) => [
          each,
          each === "service-signature" ? sign(body, secret, seconds(nowSeconds, attempt)) : old,
        ]),
      }),
    },
    {
      ...(status !== 204 && { refused: { "*": status } }),
      ...(toleranceSeconds !== undefined && { receiver: { toleranceSeconds } }),
    },
  );

export const webhookMutations: readonly Mutation[] = [
  changeMember("wallet", wallets, "wallet", "first"),
  changeMember("wallet", wallets, "wallet", { kind: "apple", device: 1 }),
  changeMember("wallet", wallets, "wallet", null),
  changeMember("wallet", wallets, "wallet", undefined),
  changeMember("wallet", wallets, "wallet", ["apple", "google"]),
  changeMember("wallet", wallets, "wallet", 2),

  changeMember("event-tier", ["tier.changed"], "tier", { id: 2, name: "Silver" }),
  changeMember("event-tier", ["tier.changed"], "tier", 2),
  changeMember("event-tier", ["tier.changed"], "previous", undefined),
  changeMember("event-tier", ["tier.changed"], "previous", "none"),

  changeMember("event-members", wallets, "passId", 42, true),
  changeMember("event-members", ["tier.changed"], "passId", undefined, true),
  changeMember("event-members", ["consent.changed"], "passIds", undefined, true),
  changeMember("event-members", ["consent.changed"], "passIds", [1], true),
  changeMember("event-members", ["balance.changed"], "balance", undefined, true),
  changeMember("event-members", ["balance.changed"], "balance", null, true),
  changeMember("event-members", ["balance.changed"], "change", undefined),
  changeMember("event-members", ["balance.changed"], "operation", "op_1"),
  changeMember("event-members", [...wallets, "balance.changed", "tier.changed"], "customerId", null),
  changeMember("event-members", ["consent.changed"], "customerId", undefined),

  changeIds("UUIDs", () => crypto.randomUUID()),
  changeIds("numbers as text", (_event, number) => String(number)),
  changeIds("colons and slashes", (_event, number) => `shop:1/${number}?x=#`),
  changeIds(
    "names of members that every object has",
    (_event, number) => ["__proto__", "constructor", "toString"][number] ?? `id${number}`,
  ),
  changeIds(
    "512 characters",
    (event, number) => `${event.id}`.padEnd(509, "x") + String(number).padStart(3, "0"),
  ),
  changeIds("letters of every script", (_event, number) => `寿🟢${number}é`),
  changeIds("ids that differ in case only", (_event, number) =>
    [...number.toString(2).padStart(8, "0")].map((bit) => (bit === "1" ? "A" : "a")).join(""),
  ),
  changeIds("ids that differ in spaces only", (_event, number) => `evt${" ".repeat(number)}`),
  changeIds("numbers", (_event, number) => number, 400),
  changeIds("513 characters", (_event, number) => `${number}`.padEnd(513, "x"), 400),
  changeIds("empty", () => "", 400),
  changeIds("absent", () => undefined, 400),

  changeIdOrder("random ids", (random) => random),
  changeIdOrder("ids that descend", (random, number) => `${String(999 - number).padStart(3, "0")}-${random}`),
  changeIdOrder("numbers that grow longer", (_random, number) => `evt_${number}`),
  changeDates("createdAt with an offset", (iso) => iso.replace("Z", "+00:00")),
  changeDates(
    "createdAt in another zone",
    (iso) => `${new Date(Date.parse(iso) + 7_200_000).toISOString().slice(0, -1)}+02:00`,
  ),
  changeDates("createdAt in microseconds", (iso) => iso.replace("Z", "123Z")),
  changeDates("createdAt without milliseconds", (iso) => iso.replace(/\.\d+/, "")),
  changeDates("createdAt with a space", (iso) => iso.replace("T", " ")),
  changeDates("createdAt that is not a date", () => "yesterday"),
  changeDates("createdAt as a number", (iso) => Date.parse(iso), 400),
  changeDates("createdAt is absent", () => undefined, 400),

  changePing("no data", () => ({ data: undefined })),
  changePing("null", () => ({ data: null })),
  changePing("text", () => ({ data: "ping" })),
  changePing("a list of everything", () => ({ data: [1, "a", null, { deep: [[[]]] }] })),
  changePing("members beside data", () => ({ data: { endpointId: "we_1" }, test: true, version: 2 })),

  mutation(
    "delivery-identifier",
    "another one for each attempt",
    changeHeader("service-delivery", (old, { attempt }) => `${old}-${attempt}`),
  ),
  mutation(
    "delivery-identifier",
    "the same for all deliveries",
    changeHeader("service-delivery", () => "dlv"),
  ),
  mutation("delivery-identifier", "absent", changeHeader("service-delivery", undefined)),
  mutation(
    "delivery-identifier",
    "two kilobytes",
    changeHeader("service-delivery", () => "d".repeat(2048)),
  ),
  mutation("delivery-identifier", "no Service-Event", changeHeader("service-event", undefined)),
  mutation(
    "delivery-identifier",
    "another type in Service-Event",
    changeHeader("service-event", () => "card.deleted"),
  ),
  mutation(
    "delivery-identifier",
    "header names in capitals",
    changeHeaders((headers) => headers.map(([name, value]) => [name.toUpperCase(), value])),
  ),
  mutation(
    "delivery-identifier",
    "header names with an X in front",
    changeHeaders((headers) =>
      headers.map(([name, value]) => [name.replace(/^service-/, "X-Service-"), value]),
    ),
    {
      refused: { "*": 401 },
    },
  ),
  ...["application/json; charset=utf-8", "application/cloudevents+json", "text/plain"].map((type) =>
    mutation(
      "delivery-identifier",
      `Content-Type ${type}`,
      changeHeader("content-type", () => type),
    ),
  ),
  mutation("delivery-identifier", "no Content-Type", changeHeader("content-type", undefined)),

  changeTimestamp("t of the first attempt, ten minutes ago", (now) => now - 600, 401),
  changeTimestamp(
    "t of the first attempt, eight hours ago, and the tolerance raised",
    (now) => now - 31_000 + 60,
    204,
    31_000,
  ),
  changeTimestamp("a clock that is a minute ahead", (now) => now + 60, 204),
  changeTimestamp("a clock that is ten minutes ahead", (now) => now + 600, 401),
  changeTimestamp("t in milliseconds", (now) => now * 1000, 401),
  changeTimestamp("the same t for attempts of one minute", (now) => now - (now % 60), 204),
  changeSignature("v1 before t", (signature) => signature.split(",").reverse().join(",")),
  changeSignature("a space after the comma", (signature) => signature.replace(",", ", ")),
  changeSignature("hex in capitals", (signature) =>
    signature.replace(/v1=(.*)/, (_all, hex: string) => `v1=${hex.toUpperCase()}`),
  ),
  changeSignature("an older and a newer scheme beside v1", (signature) => `v0=abc,${signature},v2=${other}`),
  changeSignature("two signatures, the second one is ours", (signature) =>
    signature.replace(",v1", `,v1=${other},v1`),
  ),
  changeSignature("v2 only", (signature) => signature.replace("v1=", "v2="), 401),
  changeSignature(
    "base64",
    (signature) =>
      signature.replace(/v1=(.*)/, (_all, hex) => `v1=${Buffer.from(hex, "hex").toString("base64")}`),
    401,
  ),
  changeSignature("t as a date", (signature) => signature.replace(/t=\d+/, "t=2026-01-01T00:00:00Z"), 401),

  mutation("several-endpoints", "each event comes once for each of three endpoints", {
    event: (event) => [event, { ...event }, { ...event }],
  }),
  mutation("several-endpoints", "a second endpoint has events of its own", {
    event: (event) => [event, { ...event, id: `${event.id}_2` }],
  }),
  mutation(
    "several-endpoints",
    "all events come to every endpoint, chosen or not",
    {
      event: (event) => [
        event,
        { ...event, id: `${event.id}_new`, type: "card.expired", data: { passId: "card_1" } },
      ],
    },
    { otherTypes: ["card.expired"] },
  ),
  mutation(
    "several-endpoints",
    "events come in lists",
    {
      delivery: ({ headers, body }, { sign, secret, nowSeconds }) => ({
        body: `[${body}]`,
        headers: headers.map(([name, old]) => [
          name,
          name === "service-signature" ? sign(`[${body}]`, secret, nowSeconds) : old,
        ]),
      }),
    },
    { refused: { "*": 400 } },
  ),

  mutation(
    "retry-secret",
    "the secret in force when the event was made",
    {}, // as the story sends them: those of before the new secret under the old one
  ),
  mutation("retry-secret", "retries are signed with the secret in force at the time", {
    delivery: ({ headers, body }, { sign, secret, otherSecret, nowSeconds, attempt }) => ({
      body,
      headers: headers.map(([name, old]) => [
        name,
        name === "service-signature" ? sign(body, attempt === 0 ? secret : otherSecret, nowSeconds) : old,
      ]),
    }),
  }),
  mutation("retry-secret", "both secrets sign for a while", {
    delivery: ({ headers, body }, { sign, secret, otherSecret, nowSeconds }) => ({
      body,
      headers: headers.map(([name, old]) => [
        name,
        name === "service-signature"
          ? `${sign(body, otherSecret, nowSeconds)},${sign(body, secret, nowSeconds).split(",")[1]}`
          : old,
      ]),
    }),
  }),
  mutation(
    "retry-secret",
    "a secret that the shop does not have",
    {
      delivery: ({ headers, body }, { sign, nowSeconds }) => ({
        body,
        headers: headers.map(([name, old]) => [
          name,
          name === "service-signature" ? sign(body, "whsec_other", nowSeconds) : old,
        ]),
      }),
    },
    { refused: { "*": 401 } },
  ),

  mutation("points-expiry", "the level changes alone when purchases expire", {
    event: (event) =>
      event.type === "tier.changed"
        ? [
            event,
            {
              ...event,
              id: `${event.id}_expiry`,
              createdAt: later(event),
              data: { ...event.data, tier: null, previous: event.data["tier"] },
            },
          ]
        : [event],
  }),
  mutation(
    "points-expiry",
    "an operation of another type",
    changeEventData(["balance.changed"], (data) => ({
      ...data,
      operation: { ...(data["operation"] as Members), type: "expiry" },
    })),
  ),
  mutation(
    "points-expiry",
    "expiry without an operation",
    changeEventData(["balance.changed"], (data) => ({ ...data, operation: null })),
  ),
  mutation(
    "points-expiry",
    "an event of its own",
    {
      event: (event) =>
        event.type === "balance.changed"
          ? [event, { ...event, id: `${event.id}_x`, type: "points.expired" }]
          : [event],
    },
    { otherTypes: ["points.expired"] },
  ),
  mutation(
    "points-expiry",
    "balances as text",
    changeEventData(["balance.changed"], (data) => ({ ...data, balance: String(data["balance"]) })),
    {
      unexpectedData: ["balance.changed"],
    },
  ),
  mutation(
    "points-expiry",
    "changes as text",
    changeEventData(["balance.changed"], (data) => ({ ...data, change: `+${data["change"]}` })),
  ),
  mutation(
    "points-expiry",
    "no data at all",
    changeEventData(all, () => undefined),
    {
      unexpectedData: all.filter((type) => type !== "ping").sort(),
    },
  ),
  mutation(
    "points-expiry",
    "members of every kind beside ours",
    changeEventData(all, (data) => ({ ...data, reason: { code: 1 }, toString: null, tags: [] })),
  ),

  mutation(
    "private-endpoints",
    "deliveries through a gateway that adds headers",
    changeHeaders((headers) => [
      ...headers,
      ["via", "1.1 gateway"],
      ["forwarded", "for=10.0.0.1;proto=https"],
      ["x-forwarded-for", "10.0.0.1"],
      ["x-forwarded-host", "shop.internal"],
    ]),
  ),
  mutation(
    "private-endpoints",
    "a gateway that compresses",
    changeHeaders((headers) => [...headers, ["content-encoding", "gzip"]]),
    {
      refused: { "*": 415 },
    },
  ),
  mutation(
    "private-endpoints",
    "another host name",
    changeHeaders((headers) => [...headers.filter(([name]) => name !== "host"), ["host", "10.0.0.7"]]),
  ),
];

const later = ({ createdAt }: SentEvent) => new Date(Date.parse(String(createdAt)) + 1).toISOString();
