/** The ways in which the real service may differ from each row of docs/assumptions.md, and what client and receiver do then. */
import { EventEmitter, once } from "node:events";
import { type Call, type Case, eventTypes, type Header, type Members, type Reply, twinName } from "./run.ts";

type Row = Partial<Case>;
type Rows = Row | readonly Rows[];
type Values = readonly unknown[];
const ends = (end: string, calls: RegExp): Row => ({ ends: [calls, end] });
const invalid = (calls: RegExp) => ends("invalid-response", calls);
const invalidCard = invalid(/^signUp(?!Invalid)|^getCard/);
const invalidList = invalid(/^list/);
const signUps = /^signUp(?!Invalid)/;
const issuing = /^signUp|archived|wrongKey/;
const replays = /signUp(Again|Later)/;
const puts = /^(give|withdraw)Consent/;
const none = /^$/;
const noState = ends("undefined", puts);
const noBooleans = ["true", 1, "given", { given: true }, null, ["email"], undefined];
const refused = (status: number): Row => ({ refused: status });
const unexpected = (on: RegExp): Row => ({ unexpectedData: eventTypes.filter((type) => on.test(type)) });

/** One row for each item, which is its name. */
const each = <Item>(items: readonly Item[], toRow: (item: Item) => Row, expected?: Row): Row[] =>
  items.map((item) => ({ name: JSON.stringify(item) ?? `${item}`, ...toRow(item), ...expected }));
/** The responses to these operations have other members. */
const reply = (on: RegExp, items: readonly object[], expected?: Row) =>
  each(items, (item) => ({ on, response: () => item }), expected);
/** The bodies of these responses are what the functions return. */
const body = (on: RegExp, changed: readonly ((body: Members) => unknown)[], expected?: Row) =>
  each(changed, (change) => ({ on, response: (one) => ({ body: change(one.body) }) }), expected);
/** A member of these bodies has each of these values. */
const set = (on: RegExp, name: string, values: Values, expected?: Row) =>
  each(values, (value) => ({ on, response: (one) => ({ body: { ...one.body, [name]: value } }) }), expected);
const card = (name: string, accepted: Values, refused: Values = []) => [
  ...set(/Card$/, name, accepted),
  ...set(/Card$/, name, refused, invalidCard),
];
const list = (change: (items: Members[]) => unknown, expected?: Row) =>
  body(/list/, [({ items }) => change(items)], expected);
const entry = (name: string, values: Values, expected?: Row) =>
  values.flatMap((it) => list((all) => ({ items: all.map((one) => ({ ...one, [name]: it })) }), expected));
/** Instead of the responses with a status: how these calls end then. */
const instead = (of: number, items: readonly object[], end = "", calls = none) =>
  reply(/./, items, { of, ...(end && ends(end, calls)) });
const addHeaders = (more: object): Row[] =>
  each([more], () => ({ on: /./, response: ({ headers }) => ({ headers: { ...headers, ...more } }) }));
const inCharset = (charset: string) => ({ "content-type": `application/json; charset=${charset}` });
const hugeBalance = { text: '{"id":"c","publicUrl":"https://c.test","loyaltyBalance":1e999}' };
const html = { headers: { "content-type": "text/html; charset=utf-8" } };
const bare = (status: number, headers = {}) => ({ status, headers, body: undefined });
const found = (body: unknown) => ({ status: 200, body });
const redirect = bare(303, { location: "/api/v1/passes/1" });
const problem = (status: number, retryAfter = "") => ({
  status,
  headers: { "content-type": "application/problem+json", ...(retryAfter && { "retry-after": retryAfter }) },
  body: { type: "about:blank", title: "No", status, detail: "Please call us." },
});

const codes = { 403: "forbidden", 404: "not-found", 409: "conflict", 422: "validation" };
/** Requests that are meant get an error, in which these calls end. */
const refuse = (status: number, calls: RegExp, isMeant = (_: Call) => true, on = /issue/): Row => ({
  name: `${status} if ${isMeant}`,
  on,
  request: (request) => isMeant(request) && problem(status),
  ...ends(codes[status as 403] ?? "rejected", calls),
});
const isInvalid = ({ body }: Call) => body["customer"].phone === "12";
const isTogether = ({ body }: Call) => body["customer"].name === twinName;
const isUnknown = ({ path }: Call) => path.includes("card_of_nobody");
const isArchived = ({ path }: Call) => path.includes("archived");
const hasLimit = ({ path }: Call) => path.includes("limit=");
const getKey = ({ headers }: Call) => headers["idempotency-key"] ?? "";
const getPhone = ({ body }: Call) => `${body["customer"].phone}`;
/** The service gets another request. */
const requests = (on: RegExp, request: (request: Call) => object): Row => ({ on, request });
const inBody = (change: (body: Members) => object) =>
  requests(/issue/, ({ body }) => ({ body: { ...body, ...change(body) } }));
const customer = (change: (old: Members) => object | false | "") =>
  inBody(({ customer }) => ({ customer: { ...customer, ...change(customer) } }));
const path = (on: RegExp, pattern: string | RegExp, other: string) =>
  requests(on, (one) => ({ path: one.path.replace(pattern, other) }));
const key = (change: (old: string, request: Call) => string) =>
  requests(/issue/, (one) => ({ headers: { ...one.headers, "idempotency-key": change(getKey(one), one) } }));

type History = (next: () => Promise<Reply>, count: number, first?: Reply) => Promise<Reply>;
/** Responds by how many requests had the same key, or another `name`, and by the response to the first of them. */
function byHistory(history: History, name = getKey, on = /issue/): Row {
  const known = new Map<string, { count: number; first?: Reply }>();
  async function respond(request: Call, next: (request: Call) => Promise<Reply>): Promise<Reply> {
    const earlier = known.get(name(request)) ?? { count: 0 };
    known.set(name(request), earlier);
    const response = await history(() => next(request), earlier.count++, earlier.first);
    earlier.first ??= response;
    return response;
  }
  return { on, respond };
}
const getCall = (one: Call) => `${one.method} ${one.path} ${getKey(one)}`;
const atFirst = (response: Reply) =>
  byHistory(async (next, count) => (count === 0 ? response : await next()), getCall, /./);
/** After a success or refusal the response is the first one, with these members. */
const replay = (item: object, of = 201, name = getKey) =>
  byHistory(async (next, _, first) => (first?.status === of ? { ...first, ...item } : await next()), name);
/** The response to the request that issues a card is replaced; `later` follows until the fifth request. */
const lost = (response: Reply, later?: Reply) =>
  byHistory(async (next, count) => {
    if (count > 0) return count < 4 && later ? later : await next();
    await next();
    return response;
  });
/** The fourth request of a customer has another key. */
const fourth = (response: Reply) =>
  byHistory(async (next, count) => (count < 3 ? await next() : response), getPhone);
/** Of two concurrent requests the first waits until the second arrived; `second` responds to that one and its retries. */
function concurrent(second: (count: number) => Reply | false): Row {
  const signals = new EventEmitter();
  const wait: History = async (next, count) => {
    if (count === 0) await once(signals, "second");
    else signals.emit("second");
    return (count > 0 && second(count)) || (await next());
  };
  const { respond = (one, next) => next(one) } = byHistory(wait);
  return { on: /issue/, respond: (one, next) => (isTogether(one) ? respond(one, next) : next(one)) };
}

/** Each event of these types comes once with each value of a member. */
const event = (on: RegExp, name: string, values: Values, expected?: Row): Row => ({
  on,
  events: (one) => values.map((value, at) => ({ ...one, id: `${one["id"]}_${at}`, [name]: value })),
  ...expected,
});
const data = (on: RegExp, name: string, values: Values, expected?: Row): Row => {
  const changed = (old: Members) => values.map((value) => ({ ...old, [name]: value }));
  return { on, events: (one) => event(on, "data", changed(one["data"])).events?.(one) ?? [], ...expected };
};
/** The deliveries have these values of a header in turn; without values they have none. */
const header = (name: string, values: readonly Header[], expected?: Row): Row => ({
  headers(headers, attempt) {
    const value = values[(attempt.index + attempt.number) % values.length];
    if (value) headers.set(name, value(headers.get(name) ?? "", attempt));
    else headers.delete(name);
  },
  ...expected,
});
const signature = (values: readonly Header[], more?: Row) => header("service-signature", values, more);
const zeros = "0".repeat(64);
const toBase64 = (old: string) =>
  old.replace(/v1=(.*)/, (_, hex) => `v1=${Buffer.from(hex, "hex").toString("base64")}`);
const unescapedPath = path(/Card|Cons|list/, /%2F%C3.*252F/, "");

/** The name of each assumption, and below it its cases. */
export const cases: readonly (string | Rows)[] = [
  "card-members",
  body(/Card$/, [(old) => ({ ...old, loyalty_balance: "0", more: [null, {}], ...Array(100).fill(1) })]),
  body(/Card$/, [(old) => ({ ...old, toString: "x", constructor: {}, valueOf: null, toJSON: 1 })]),
  body(/Card$/, [(old) => ({ ...old, id: `${old["id"]}/ü ?#%2F` })], unescapedPath),
  card("fieldValues", [undefined]),
  card("customerId", [undefined], [7]),
  card("publicUrl", [], [{ href: "https://cards.test/1" }]),
  card("loyaltyBalance", [undefined], [null, [120], "0", "120,00", { value: 0, unit: "points" }]),
  reply(/getCard/, [hugeBalance], invalid(/^getCard/)),
  reply(/issue/, [{ status: 200 }, { status: 202 }, { status: 203 }, { status: 207 }]),
  reply(/issue/, [bare(204)], invalid(signUps)),
  "card-required",
  card("id", [], [null, "", 42]),
  card("publicUrl", [], [undefined, "/cards/1", "javascript:alert(1)"]),
  body(/Card$/, [({ id, publicUrl }) => ({ id, public_url: publicUrl, loyalty_balance: 0 })], invalidCard),
  body(/Card$/, [(data) => ({ data }), (pass) => ({ pass }), (card) => [card]], invalidCard),
  body(/Card$/, [(card) => ({ id: "req_1", status: "ok", card }), () => null, () => ({})], invalidCard),
  body(/Card$/, [(data) => ({ id: "req_1", object: "x", data }), JSON.stringify], invalidCard),
  "card-later",
  reply(/issue/, [{ status: 202, body: { id: "job_1" } }, bare(202)], invalid(signUps)),
  "response-charset",
  ["iso-8859-2", "windows-1250"].map((charset) => ({
    on: /Card$/,
    response: ({ body }) => ({ body: { ...body, shop: "Łódź" }, headers: inCharset(charset) }),
    ...invalidCard,
  })),
  "card-status",
  card("status", ["blocked", "pending", "ACTIVE", "", "🟢", undefined], [1, {}, null]),
  "issued-via",
  card("issuedVia", ["api", "WEBSITE", "import", "", undefined], [{ kind: "website" }]),
  "tier-rule",
  card("loyaltyTier", ["Base", "", null, undefined], [["Silver"], false, { name: "Silver" }, 2]),
  "field-values",
  card("fieldValues", [{}, { name: null, isVip: true, tags: ["a"], address: { city: "Łódź" } }]),
  card("fieldValues", [{ "": "", " name ": "x", "a/b~c": 1, constructor: "x" }]),
  card("fieldValues", [], [null, [{ key: "name", value: "Anna" }], "name=Anna"]),
  "points-field",
  card("fieldValues", [{ stamps: 0 }, { points: "0 pts" }, { points: 7 }]),
  "name-field",
  card("fieldValues", [{ name: "ANNA" }, { firstName: "Anna", lastName: "Nowak" }]),
  refuse(422, /(Corr\w+|Suffix|Elsewhere)$|archived|wrong/, ({ body }) => !("name" in body["fieldValues"])),
  "template-definition",
  refuse(422, issuing), // a required field that the shop does not know
  inBody(() => ({ fieldValues: {} })),
  "points-expiry",
  data(/tier/, "tier", [null]),
  data(/balance/, "operation", [{ type: "expiry" }, null]),
  data(/balance/, "change", ["+120"]),
  data(/balance/, "balance", ["120"], unexpected(/balance/)),
  event(/balance/, "type", ["balance.changed", "points.expired"], { otherTypes: ["points.expired"] }),
  event(/./, "data", [undefined], unexpected(/\./)),
  data(/./, "reason", [{ code: 1 }, null, []]),
  "customer-members",
  refuse(422, issuing, (one) => !isInvalid(one)), // a birthday is required
  customer(() => ({ name: undefined })),
  card("customer", [{ id: "cus_1", phone: null, tags: [] }]),
  "blank-members",
  [null, ""].map((it) => refuse(422, none, ({ body }) => Object.values(body["customer"]).includes(it))),
  refuse(400, none, ({ body }) => JSON.stringify(body).includes('" "')),
  "phone-format",
  refuse(422, /(Corrected|Suffix)$/, (one) => /^\d+ /.test(getPhone(one))), // only E.164
  { ...customer(({ phone }) => phone === "12" && { phone: "+48600000012" }), ...ends("value", /Invalid/) },
  "customer-match",
  card("customerId", ["cus_of_card"]),
  customer(({ email }) => email && { email: `x-${email}` }), // compared letter by letter
  { ...fourth(problem(409)), ...ends("conflict", /UnderAnotherKey/) },
  "another-key",
  { ...fourth(problem(422)), ...ends("validation", /UnderAnotherKey/) },
  replay({ status: 200 }, 201, getPhone), // the card that the customer has
  "customer-blanks",
  set(/getConsent/, "customer", [{ id: "cus_1", name: "Overwritten", phone: "+48600000000" }]),
  customer(({ phone }) => phone && { email: undefined }),
  "marketing-at-issue",
  { on: /consent/, events: () => [] },
  data(/consent/, "marketingConsent", [true, true]), // also without a change
  customer(() => ({ consents: { privacy: { version: "2026-01" } } })), // has to be confirmed
  "archived-templates",
  each([403, 409, 410, 422], (status) => refuse(status, /archived/, isArchived)),
  { ...path(/issue/, "archived", "club"), ...ends("value", /archived/) },
  "validation-order",
  instead(404, [problem(422)], "validation", /archived|unknown/), // the fields before the template
  refuse(422, none, isInvalid), // fields before the idempotency key
  "replay-header",
  ["idempotent-replayed", "idempotency-replayed"].map((name) => replay({ headers: { [name]: "1" } })),
  "idempotency-replay",
  [replay({ status: 200 }), replay({})],
  each([redirect, bare(200)], (item) => replay(item), invalid(replays)),
  { ...replay(problem(409)), ...ends("conflict", replays) },
  { ...replay(problem(422)), ...ends("validation", replays) },
  "idempotency-scope",
  key((old, { path }) => `${path.length}-${old}`),
  key((old, { headers }) => `${headers["authorization"]?.slice(-6)}-${old}`),
  "idempotency-namespace",
  key((old) => `shared-${old}`),
  key((old, { headers }) => `${headers["user-agent"]?.length}-${old}`),
  "idempotency-key-form",
  refuse(400, issuing, (one) => getKey(one).length > 32),
  refuse(422, issuing, (one) => !/^[\da-f-]{36}$/.test(getKey(one))),
  key((old) => old.slice(0, 40)),
  key((old) => old.toLowerCase()),
  "idempotency-successes",
  { ...replay({}, 422), ...ends("validation", /Corrected/) },
  { ...replay({}, 404) },
  { ...replay(problem(409), 422), ...ends("conflict", /Corrected/) }, // another body under the key of a refusal
  lost(problem(500)),
  lost({ ...bare(201), text: '{"id":"card_1","publicUrl":' }),
  atFirst({ ...bare(502), ...html, text: "<h1>Bad gateway</h1>" }),
  "concurrent-key",
  each([409, 423], (status) => concurrent((count) => count < 4 && problem(status))), // it runs for a while
  each([409, 423], (status) => concurrent(() => problem(status)), ends("conflict", /AtOnceToo/)),
  each([425, 503], (status) => concurrent((count) => count === 1 && problem(status))),
  each([409, 423], (status) => lost(problem(504), problem(status))),
  "operation-members",
  entry("items", [[], { id: 1 }, null]),
  entry("change", [undefined, null, "+120", { points: 120 }]),
  entry("balance", [undefined, null, "120", { before: 0, after: 1 }]),
  entry("createdAt", [undefined, null, 1_767_225_600]),
  entry("id", [7, undefined], invalidList),
  list((items) => ({ items: [...items, null] }), invalidList),
  "operation-type",
  entry("type", [undefined]),
  entry("type", [3, { name: "purchase" }], invalidList),
  data(/balance/, "operation", [{ id: "op_1", type: "TRANSFER" }]),
  "operation-list",
  list((items) => items),
  list((items) => ({ items, total: 5, page: { next: "abc" } })),
  ["operations", "data", "results"].map((name) => list((items) => ({ [name]: items, next: null }))),
  ["passes", "history", "Items"].map((name) => list((items) => ({ [name]: items }), invalidList)),
  list((items) => ({ data: { items } }), invalidList),
  list((items) => ({ items: { ...items } }), invalidList),
  body(/list/, [() => null, () => ({ items: null })], invalidList),
  reply(/list/, [{ text: '{"id":"op_1"}\n{"id":"op_2"}' }, bare(204)], invalidList),
  "operation-limit",
  [1, 3].map((limit) => list((items) => ({ items: items.slice(0, limit) }))),
  path(/list/, /\?limit=\d+/, ""), // is ignored
  refuse(422, /Two/, hasLimit, /list/),
  refuse(400, /listOperations/, (one) => !hasLimit(one), /list/),
  "consent-owner",
  data(/consent/, "passIds", [["card_1"], []]),
  data(/consent/, "passIds", [undefined], unexpected(/consent/)),
  "consent-customer",
  set(/Consent/, "customer", ["cus_1", null, undefined, [{ id: 1 }], { data: {} }]),
  "marketing-consent",
  set(/getConsent/, "marketingConsent", noBooleans, invalid(/get.*Consent/)),
  set(/setConsent/, "marketingConsent", noBooleans, noState),
  data(/consent/, "marketingConsent", ["given", 1, null, { email: true }]),
  "consent-put-response",
  reply(/set/, [bare(204), bare(200), { status: 202, body: { status: "queued" } }], noState),
  reply(/set/, [{ headers: { "content-type": "text/plain" }, text: "OK" }], noState),
  body(/set/, [() => ({}), () => true, (customer) => ({ id: "card_1", customer })], noState),
  reply(/set/, [{ status: 201 }]),
  reply(/set/, [redirect], invalid(puts)),
  "consent-versions",
  refuse(422, /withdraw/, ({ body }) => !("version" in body), /set/), // is required
  refuse(409, /give/, ({ body }) => "version" in body, /set/), // is not the newest
  set(/Consent/, "privacy", [{ version: "2026-01" }]),
  "problem-type",
  set(/./, "type", ["https://errors.cards.test/no", 7], { of: 400 }),
  set(/./, "detail", ["x".repeat(2 ** 20), { text: "no" }], { of: 400 }),
  set(/./, "errors", ["all", { "customer.phone": ["is not valid"] }], { of: 400 }),
  reply(/./, [{ body: undefined }, { body: [{ message: "no" }] }, { text: '{"type":"about:' }], { of: 400 }),
  reply(/./, [{ ...html, text: "<h1>No</h1>" }], { of: 400 }),
  "unauthorized",
  instead(401, [problem(403)], "forbidden", /wrongKey/),
  instead(401, [problem(404)], "not-found", /wrongKey/),
  instead(401, [problem(400)], "rejected", /wrongKey/),
  instead(401, [redirect, { ...html, status: 200, text: "<form>" }], "invalid-response", /wrongKey/),
  "key-kinds",
  refuse(403, puts, () => true, /set/),
  refuse(403, /^list/, () => true, /list/),
  refuse(404, /^(get|list)/, () => true, /^(get|list)/),
  "card-not-found",
  each([400, 403, 410, 422], (status) => refuse(status, /unknownCard/, isUnknown, /get/)),
  instead(404, [null, {}, [], { card: null }].map(found), "invalid-response", /unknown|archived/),
  "unknown-path",
  instead(404, [{ ...html, text: "<h1>404</h1>" }]),
  instead(404, [bare(410), bare(405, { allow: "GET" })], "rejected", /unknownCard|archived/),
  "bad-request",
  instead(422, [problem(400), bare(406)], "rejected", /Invalid/),
  "unsupported-media-type",
  refuse(415, issuing, ({ headers }) => !headers["content-type"]?.includes("charset")),
  ["text/plain", "application/vnd.cards+json"].map((type) => addHeaders({ "content-type": type })),
  addHeaders(html.headers),
  "body-too-large",
  refuse(413, /signUp(Again|ByEmail|AtOnce.*)?$/, ({ body }) => JSON.stringify(body).length > 100),
  refuse(431, issuing, (one) => getKey(one).length > 40), // for long headers
  "rate-limit",
  ["", "0", "Thu, 01 Jan 2026 00:00:00 GMT", "soon", "-1"].map((time) => atFirst(problem(429, time))),
  atFirst(problem(503)),
  { on: /./, request: () => problem(429, "0"), ...ends("rate-limited", /./) },
  addHeaders({ ratelimit: '"default";r=0;t=1', "x-ratelimit-remaining": "0", "retry-after": "3600" }),
  "deprecation",
  addHeaders({ deprecation: "@1767225600", sunset: "Thu, 01 Jan 2026 00:00:00 GMT", link: "</v2>" }),
  addHeaders({ deprecation: "yes, soon", sunset: "tomorrow", warning: '299 - "old"' }),
  refuse(410, /./, () => true, /./),
  "wallet",
  [data(/card/, "wallet", ["first", { kind: "apple" }, null, undefined, ["apple", "google"], 2])],
  "event-tier",
  data(/tier/, "tier", [{ name: "Silver" }, 2]),
  data(/tier/, "previous", [undefined, "none"]),
  "event-members",
  data(/card/, "passId", [42], unexpected(/card/)),
  data(/tier/, "passId", [undefined], unexpected(/tier/)),
  data(/consent/, "passIds", [undefined, [1]], unexpected(/consent/)),
  data(/balance/, "balance", [undefined, null], unexpected(/balance/)),
  data(/balance/, "change", [undefined]),
  data(/balance/, "operation", ["op_1"]),
  data(/\./, "customerId", [null, undefined]),
  "event-id",
  event(/./, "id", ["5f6071a0-3c1d-4b62-8f0e-9a7d1c2b3e4f", "42", "shop:1/1?x=#", "__proto__"]),
  event(/./, "id", ["x".repeat(512), `${"x".repeat(511)}y`, "寿🟢é", "aA", "AA", "evt ", "evt  "]),
  event(/./, "id", ["constructor", "toString"]),
  event(/./, "id", [42, "x".repeat(513), "", undefined], refused(400)),
  "event-id-order",
  event(/./, "createdAt", ["2026-01-01T00:00:00+00:00", "2026-01-01T02:00:00+02:00", "yesterday"]),
  event(/./, "createdAt", ["2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00Z", "2026-01-01 00:00:00Z"]),
  event(/./, "createdAt", [1_767_225_600_000, undefined], refused(400)),
  "ping-data",
  event(/ping/, "data", [undefined, null, "ping", [1, "a", null, { deep: [[[]]] }]]),
  { on: /ping/, events: (one) => [{ ...one, data: { endpointId: "we_1" }, test: true, version: 2 }] },
  "delivery-identifier",
  header("service-delivery", [(old, { number }) => `${old}-${number}`, () => "dlv", () => zeros.repeat(32)]),
  header("service-event", [() => "card.deleted"]),
  header("content-type", [(old) => `${old}; charset=utf-8`, () => "application/cloudevents+json"]),
  header("content-type", [() => "text/plain"]),
  ["service-delivery", "service-event", "content-type"].map((name) => header(name, [])),
  header("service-signature", [], refused(401)), // as if its name were another one
  "signature-time",
  signature([(_, { sign, now }) => sign(now - 30_940)], { toleranceSeconds: 31_000 }),
  signature([(_, { sign, now }) => sign(now + 60), (_, { sign, now }) => sign(now - (now % 60))]),
  signature([(old) => old.split(",").reverse().join(","), (old) => old.replace(",", ", ")]),
  signature([(old) => old.toUpperCase().replace("T=", "t=").replace("V1=", "v1=")]),
  signature([(old) => `v0=abc,${old},v2=${zeros}`, (old) => old.replace(",v1", `,v1=${zeros},v1`)]),
  signature([(_, { sign, now }) => sign(now - 600), (_, { sign, now }) => sign(now + 600)], refused(401)),
  signature([(_, { sign, now }) => sign(now * 1000), (old) => old.replace("v1=", "v2=")], refused(401)),
  signature([(old) => old.replace(/t=\d+/, "t=2026-01-01T00:00:00Z")], refused(401)),
  signature([toBase64], refused(401)),
  "several-endpoints",
  { on: /./, events: (one) => [one, one, one] },
  event(/./, "more", [1, 2]), // a second endpoint has events of its own
  event(/ping/, "type", ["ping", "card.expired"], { otherTypes: ["card.expired"] }),
  { text: (body) => `[${body}]`, refused: 400 },
  "retry-secret",
  signature([(old, { number, now, sign, otherSecret }) => (number === 0 ? old : sign(now, otherSecret))]),
  signature([(old, { now, sign, otherSecret }) => `${sign(now, otherSecret)},${old.split(",")[1]}`]),
  signature([(_, { now, sign }) => sign(now, "whsec_other")], refused(401)),
  "private-endpoints",
  header("x-forwarded-for", [() => "10.0.0.1"]),
  header("via", [() => "1.1 gateway"]),
  header("host", [() => "10.0.0.7"]),
  header("content-encoding", [() => "gzip"], refused(415)),
];
