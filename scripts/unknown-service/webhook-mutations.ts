/** Services that decided otherwise about webhooks. */
import {
  carrying,
  header,
  type Members,
  type Mutation,
  mutation,
  type SentEvent,
  telling,
} from "./mutation.ts";

const wallets = ["card.added", "card.removed"];
const all = [...wallets, "balance.changed", "tier.changed", "consent.changed", "ping"];

/** One member of the data of some types otherwise; undefined leaves it out. */
const member = (
  row: string,
  types: readonly string[],
  name: string,
  value: unknown,
  isUnknown = false,
): Mutation =>
  mutation(
    row,
    `${name} of ${types.join(" and ")} is ${JSON.stringify(value) ?? "absent"}`,
    telling(types, (data) => ({ ...data, [name]: value })),
    isUnknown ? { unknown: types } : {},
  );

const identified = (
  name: string,
  id: (event: SentEvent, number: number) => unknown,
  status = 204,
): Mutation =>
  mutation(
    "event-id",
    name,
    () => {
      let number = 0;
      return { event: (event) => [{ ...event, id: id(event, number++) }] };
    },
    status === 204 ? {} : { refused: { "*": status } },
  );

const ordered = (name: string, id: (random: string, number: number) => string): Mutation =>
  mutation("event-id-order", name, ({ draw }) => {
    let number = 0;
    return { event: (event) => [{ ...event, id: id(draw.text(12), number++) }] };
  });

const dated = (name: string, createdAt: (iso: string) => unknown, status = 204): Mutation =>
  mutation(
    "event-id-order",
    name,
    { event: (event) => [{ ...event, createdAt: createdAt(String(event.createdAt)) }] },
    status === 204 ? {} : { refused: { "*": status } },
  );

const pinging = (name: string, change: (event: SentEvent) => Members): Mutation =>
  mutation("ping-data", name, {
    event: (event) => [event.type === "ping" ? ({ ...event, ...change(event) } as SentEvent) : event],
  });

const signing = (name: string, change: (signature: string) => string, status = 204): Mutation =>
  mutation(
    "signature-time",
    name,
    header("service-signature", change),
    status === 204 ? {} : { refused: { "*": status } },
  );

const other = "0".repeat(64);
const timed = (
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
  member("wallet", wallets, "wallet", "first"),
  member("wallet", wallets, "wallet", { kind: "apple", device: 1 }),
  member("wallet", wallets, "wallet", null),
  member("wallet", wallets, "wallet", undefined),
  member("wallet", wallets, "wallet", ["apple", "google"]),
  member("wallet", wallets, "wallet", 2),
  member("wallet", wallets, "passId", 42, true),
  member("wallet", ["card.added"], "customerId", null, true),

  member("event-tier", ["tier.changed"], "tier", { id: 2, name: "Silver" }),
  member("event-tier", ["tier.changed"], "tier", 2),
  member("event-tier", ["tier.changed"], "previous", undefined),
  member("event-tier", ["tier.changed"], "previous", "none"),
  member("event-tier", ["tier.changed"], "passId", undefined, true),

  identified("UUIDs", () => crypto.randomUUID()),
  identified("numbers as text", (_event, number) => String(number)),
  identified("colons and slashes", (_event, number) => `shop:1/${number}?x=#`),
  identified(
    "names of members that every object has",
    (_event, number) => ["__proto__", "constructor", "toString"][number] ?? `id${number}`,
  ),
  identified(
    "512 characters",
    (event, number) => `${event.id}`.padEnd(509, "x") + String(number).padStart(3, "0"),
  ),
  identified("letters of every script", (_event, number) => `寿🟢${number}é`),
  identified("ids that differ in case only", (_event, number) =>
    [...number.toString(2).padStart(8, "0")].map((bit) => (bit === "1" ? "A" : "a")).join(""),
  ),
  identified("ids that differ in spaces only", (_event, number) => `evt${" ".repeat(number)}`),
  identified("numbers", (_event, number) => number, 400),
  identified("513 characters", (_event, number) => `${number}`.padEnd(513, "x"), 400),
  identified("empty", () => "", 400),
  identified("absent", () => undefined, 400),

  ordered("random ids", (random) => random),
  ordered("ids that descend", (random, number) => `${String(999 - number).padStart(3, "0")}-${random}`),
  ordered("numbers that grow longer", (_random, number) => `evt_${number}`),
  dated("createdAt with an offset", (iso) => iso.replace("Z", "+00:00")),
  dated(
    "createdAt in another zone",
    (iso) => `${new Date(Date.parse(iso) + 7_200_000).toISOString().slice(0, -1)}+02:00`,
  ),
  dated("createdAt in microseconds", (iso) => iso.replace("Z", "123Z")),
  dated("createdAt without milliseconds", (iso) => iso.replace(/\.\d+/, "")),
  dated("createdAt with a space", (iso) => iso.replace("T", " ")),
  dated("createdAt that is no date", () => "yesterday"),
  dated("createdAt as a number", (iso) => Date.parse(iso), 400),
  dated("createdAt is absent", () => undefined, 400),

  pinging("no data", () => ({ data: undefined })),
  pinging("null", () => ({ data: null })),
  pinging("text", () => ({ data: "ping" })),
  pinging("a list of everything", () => ({ data: [1, "a", null, { deep: [[[]]] }] })),
  pinging("members beside data", () => ({ data: { endpointId: "we_1" }, test: true, version: 2 })),

  mutation(
    "delivery-identifier",
    "another one for each attempt",
    header("service-delivery", (old, { attempt }) => `${old}-${attempt}`),
  ),
  mutation(
    "delivery-identifier",
    "the same for all deliveries",
    header("service-delivery", () => "dlv"),
  ),
  mutation("delivery-identifier", "absent", header("service-delivery", undefined)),
  mutation(
    "delivery-identifier",
    "two kilobytes",
    header("service-delivery", () => "d".repeat(2048)),
  ),
  mutation("delivery-identifier", "no Service-Event", header("service-event", undefined)),
  mutation(
    "delivery-identifier",
    "another type in Service-Event",
    header("service-event", () => "card.deleted"),
  ),
  mutation(
    "delivery-identifier",
    "header names in capitals",
    carrying((headers) => headers.map(([name, value]) => [name.toUpperCase(), value])),
  ),
  mutation(
    "delivery-identifier",
    "header names with an X in front",
    carrying((headers) => headers.map(([name, value]) => [name.replace(/^service-/, "X-Service-"), value])),
    {
      refused: { "*": 401 },
    },
  ),
  ...["application/json; charset=utf-8", "application/cloudevents+json", "text/plain"].map((type) =>
    mutation(
      "delivery-identifier",
      `Content-Type ${type}`,
      header("content-type", () => type),
    ),
  ),
  mutation("delivery-identifier", "no Content-Type", header("content-type", undefined)),

  timed("t of the first attempt, ten minutes ago", (now) => now - 600, 401),
  timed(
    "t of the first attempt, eight hours ago, and the tolerance raised",
    (now) => now - 31_000 + 60,
    204,
    31_000,
  ),
  timed("a clock that is a minute ahead", (now) => now + 60, 204),
  timed("a clock that is ten minutes ahead", (now) => now + 600, 401),
  timed("t in milliseconds", (now) => now * 1000, 401),
  timed("the same t for attempts of one minute", (now) => now - (now % 60), 204),
  signing("v1 before t", (signature) => signature.split(",").reverse().join(",")),
  signing("a space after the comma", (signature) => signature.replace(",", ", ")),
  signing("hex in capitals", (signature) =>
    signature.replace(/v1=(.*)/, (_all, hex: string) => `v1=${hex.toUpperCase()}`),
  ),
  signing("an older and a newer scheme beside v1", (signature) => `v0=abc,${signature},v2=${other}`),
  signing("two signatures, the second one is ours", (signature) =>
    signature.replace(",v1", `,v1=${other},v1`),
  ),
  signing("v2 only", (signature) => signature.replace("v1=", "v2="), 401),
  signing(
    "base64",
    (signature) =>
      signature.replace(/v1=(.*)/, (_all, hex) => `v1=${Buffer.from(hex, "hex").toString("base64")}`),
    401,
  ),
  signing("t as a date", (signature) => signature.replace(/t=\d+/, "t=2026-01-01T00:00:00Z"), 401),

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
    { unknown: ["card.expired"] },
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
    telling(["balance.changed"], (data) => ({
      ...data,
      operation: { ...(data["operation"] as Members), type: "expiry" },
    })),
  ),
  mutation(
    "points-expiry",
    "expiry without an operation",
    telling(["balance.changed"], (data) => ({ ...data, operation: null })),
    {
      unknown: ["balance.changed"],
    },
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
    { unknown: ["points.expired"] },
  ),
  mutation(
    "points-expiry",
    "balances as text",
    telling(["balance.changed"], (data) => ({ ...data, balance: String(data["balance"]) })),
    {
      unknown: ["balance.changed"],
    },
  ),
  mutation(
    "points-expiry",
    "changes as text",
    telling(["balance.changed"], (data) => ({ ...data, change: `+${data["change"]}` })),
    {
      unknown: ["balance.changed"],
    },
  ),
  mutation(
    "points-expiry",
    "no data at all",
    telling(all, () => undefined),
    {
      unknown: all.filter((type) => type !== "ping").sort(),
    },
  ),
  mutation(
    "points-expiry",
    "members of every kind beside ours",
    telling(all, (data) => ({ ...data, reason: { code: 1 }, toString: null, tags: [] })),
  ),

  mutation(
    "private-endpoints",
    "deliveries through a gateway that adds headers",
    carrying((headers) => [
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
    carrying((headers) => [...headers, ["content-encoding", "gzip"]]),
    {
      refused: { "*": 415 },
    },
  ),
  mutation(
    "private-endpoints",
    "another host name",
    carrying((headers) => [...headers.filter(([name]) => name !== "host"), ["host", "10.0.0.7"]]),
  ),
];

const later = ({ createdAt }: SentEvent) => new Date(Date.parse(String(createdAt)) + 1).toISOString();
