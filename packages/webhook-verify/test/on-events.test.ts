/** Each event reaches exactly the handler of its signed type. */
import { expect, it } from "vitest";
import { type Delivery, onEvents, type WebhookEvent } from "../src/index.ts";
import { balanceChanged } from "./signed-delivery.ts";

const delivery: Delivery = {
  id: "dlv_1",
  rawBody: new Uint8Array(),
  receivedAt: new Date(),
  signal: new AbortController().signal,
};
const ofType = (type: string, data: unknown = {}) =>
  ({ id: "evt_1", type, createdAt: "x", data }) as unknown as WebhookEvent;

function recording() {
  const seen: string[] = [];
  const handler = (name: string) => (event: { type: string }) => void seen.push(`${name}:${event.type}`);
  return { seen, handler };
}

it("a known event reaches its handler, with the delivery", async () => {
  const seen: unknown[] = [];
  const dispatch = onEvents({
    "balance.changed": (event, via) => void seen.push(event, via),
    other: () => {},
  });
  await dispatch(balanceChanged(), delivery);
  expect(seen).toEqual([balanceChanged(), delivery]);
});

it("a known event without a handler reaches `other`", async () => {
  const { seen, handler } = recording();
  await onEvents({ other: handler("other"), unknown: handler("unknown") })(ofType("ping"), delivery);
  expect(seen).toEqual(["other:ping"]);
});

it("an unknown event reaches `unknown`, else `other`, else nobody", async () => {
  const { seen, handler } = recording();
  await onEvents({ other: handler("other"), unknown: handler("unknown") })(ofType("card.renamed"), delivery);
  await onEvents({ other: handler("other") })(ofType("card.renamed"), delivery);
  expect(seen).toEqual(["unknown:card.renamed", "other:card.renamed"]);
});

it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
  "the type %s is just unknown",
  async (type) => {
    const { seen, handler } = recording();
    await onEvents({ other: handler("other"), unknown: handler("unknown") })(ofType(type), delivery);
    expect(seen).toEqual([`unknown:${type}`]);
  },
);

it("an event of a known type whose data differs reaches `unknown`, else `other`, and never its handler", async () => {
  const { seen, handler } = recording();
  const known = { "balance.changed": handler("balance") };
  const differing = ofType("balance.changed", { balance: "120" });
  await onEvents({ ...known, other: handler("other"), unknown: handler("unknown") })(differing, delivery);
  await onEvents({ ...known, other: handler("other") })(differing, delivery);
  expect(seen).toEqual(["unknown:balance.changed", "other:balance.changed"]);
});

it("with neither `unknown` nor `other` it rejects for data that differs, and names the paths and the remedy", async () => {
  const { seen, handler } = recording();
  const handlers: object = { "balance.changed": handler("balance") };
  const dispatch = onEvents(handlers as Parameters<typeof onEvents>[0]);
  const differing = ofType("balance.changed", { ...balanceChanged().data, balance: "+48600100200" });
  await expect(dispatch(differing, delivery)).rejects.toThrow(
    'The data of balance.changed differs from the contract at /data/balance: give onEvents a handler "unknown" or "other"',
  );
  await dispatch(ofType("card.renamed"), delivery); // newer than this version: nobody asked for it
  expect(seen).toEqual([]);
});

it("a handler for no event is refused when it is given", () => {
  const handlers = { "balance.change": () => {}, other: () => {} } as Parameters<typeof onEvents>[0];
  expect(() => onEvents(handlers)).toThrow('"balance.change", which is not an event type');
});

it.each([
  ["balance.change", "balance.changed"],
  ["balanceChanged", "balance.changed"],
  ["blance.changed", "balance.changed"],
  ["BALANCE_CHANGED", "balance.changed"],
  ["tier.change", "tier.changed"],
  ["card.add", "card.added"],
  ["pings", "ping"],
  ["others", "other"],
])("for a handler of %s it asks whether %s was meant, and lists the names", (name, meant) => {
  const refused = () => onEvents({ [name]: () => {}, other: () => {} } as Parameters<typeof onEvents>[0]);
  expect(refused).toThrow(TypeError);
  expect(refused).toThrow(`Did you mean "${meant}"?`);
  expect(refused).toThrow(
    "The names are card.added, card.removed, balance.changed, tier.changed, consent.changed, ping, unknown, other",
  );
});

it("suggests nothing for a name that is like none, and survives a long one", () => {
  for (const name of ["invoice.paid", "", "__proto", "b".repeat(1_000_000)]) {
    const refused = () => onEvents({ [name]: () => {}, other: () => {} } as Parameters<typeof onEvents>[0]);
    expect(refused).toThrow("The names are card.added");
    expect(refused).not.toThrow("Did you mean");
  }
});

it.each([
  ["undefined", undefined],
  ["null", null],
  ["string", "save"],
  ["object", { handle() {} }],
])("a handler that is %s is refused by name when it is given", (given, handler) => {
  for (const name of ["balance.changed", "unknown", "other"]) {
    const handlers = { other: () => {}, [name]: handler } as unknown as Parameters<typeof onEvents>[0];
    expect(() => onEvents(handlers)).toThrow(TypeError);
    expect(() => onEvents(handlers)).toThrow(`the handler of "${name}" must be a function; it is ${given}`);
  }
});

it.each([undefined, null, () => {}])("%s instead of handlers is refused with an example", (handlers) => {
  expect(() => onEvents(handlers as unknown as Parameters<typeof onEvents>[0])).toThrow(
    /onEvents needs an object of handlers: \{ "balance\.changed"/,
  );
});

it("a handler may return anything, and what it returns is awaited", async () => {
  const balances = new Map<string, number>();
  let isDone = false;
  const dispatch = onEvents({
    "balance.changed": ({ data }) => balances.set(data.passId, data.balance),
    ping: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      isDone = true;
      return 7;
    },
    other: () => "ignored",
  });
  expect(await dispatch(balanceChanged(), delivery)).toBeUndefined();
  await dispatch(ofType("ping"), delivery);
  expect([[...balances], isDone]).toEqual([[["card_1", 120]], true]);
});

it("a handler's rejection is the caller's", async () => {
  const dispatch = onEvents({ other: () => Promise.reject(new Error("database down")) });
  await expect(dispatch(ofType("ping"), delivery)).rejects.toThrow("database down");
});
