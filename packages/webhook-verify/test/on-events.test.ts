/** onEvents calls exactly the handler of the signed type. */
import { expect, it } from "vitest";
import { type Delivery, onEvents, type WebhookEvent } from "../src/index.ts";
import { balanceChanged } from "./signed-delivery.ts";

const delivery: Delivery = {
  id: "dlv_1",
  rawBody: new Uint8Array(),
  receivedAt: new Date(),
  signal: new AbortController().signal,
};
const createEvent = (type: string, data: unknown = {}) =>
  ({ id: "evt_1", type, createdAt: "x", data }) as unknown as WebhookEvent;

function createHandlers() {
  const seen: string[] = [];
  const handler = (name: string) => (event: { type: string }) => void seen.push(`${name}:${event.type}`);
  return { seen, handler };
}

it("calls the handler of a known event with the delivery", async () => {
  const seen: unknown[] = [];
  const dispatch = onEvents({
    "balance.changed": (event, via) => void seen.push(event, via),
    otherTypes: () => {},
  });
  await dispatch(balanceChanged(), delivery);
  expect(seen).toEqual([balanceChanged(), delivery]);
});

it("calls `otherTypes` for a known event without a handler", async () => {
  const { seen, handler } = createHandlers();
  await onEvents({ otherTypes: handler("otherTypes"), unexpectedData: handler("unexpectedData") })(
    createEvent("ping"),
    delivery,
  );
  expect(seen).toEqual(["otherTypes:ping"]);
});

it("calls `unexpectedData` for an unknown event, else `otherTypes`", async () => {
  const { seen, handler } = createHandlers();
  await onEvents({ otherTypes: handler("otherTypes"), unexpectedData: handler("unexpectedData") })(
    createEvent("card.renamed"),
    delivery,
  );
  await onEvents({ otherTypes: handler("otherTypes") })(createEvent("card.renamed"), delivery);
  expect(seen).toEqual(["unexpectedData:card.renamed", "otherTypes:card.renamed"]);
});

it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
  "calls `unexpectedData` for the type %s",
  async (type) => {
    const { seen, handler } = createHandlers();
    await onEvents({ otherTypes: handler("otherTypes"), unexpectedData: handler("unexpectedData") })(
      createEvent(type),
      delivery,
    );
    expect(seen).toEqual([`unexpectedData:${type}`]);
  },
);

it("calls `unexpectedData`, else `otherTypes`, and never the handler of the type when data differs", async () => {
  const { seen, handler } = createHandlers();
  const known = { "balance.changed": handler("balance") };
  const differing = createEvent("balance.changed", { balance: "120" });
  await onEvents({ ...known, otherTypes: handler("otherTypes"), unexpectedData: handler("unexpectedData") })(
    differing,
    delivery,
  );
  await onEvents({ ...known, otherTypes: handler("otherTypes") })(differing, delivery);
  expect(seen).toEqual(["unexpectedData:balance.changed", "otherTypes:balance.changed"]);
});

it("rejects with the paths and the fix when data differs and there is neither `unexpectedData` nor `otherTypes`", async () => {
  const { seen, handler } = createHandlers();
  const handlers: object = { "balance.changed": handler("balance") };
  const dispatch = onEvents(handlers as Parameters<typeof onEvents>[0]);
  const differing = createEvent("balance.changed", { ...balanceChanged().data, balance: "+48600100200" });
  await expect(dispatch(differing, delivery)).rejects.toThrow(
    'The data of balance.changed differs from the contract at /data/balance: pass onEvents a handler "unexpectedData" or "otherTypes"',
  );
  await dispatch(createEvent("card.renamed"), delivery); // newer than this version, and without a handler
  expect(seen).toEqual([]);
});

it("throws for a handler of an unknown event type", () => {
  const handlers = { "balance.change": () => {}, otherTypes: () => {} } as Parameters<typeof onEvents>[0];
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
  ["othertype", "otherTypes"],
])("throws for a handler of %s, suggests %s, and lists the names", (name, meant) => {
  const create = () => onEvents({ [name]: () => {}, otherTypes: () => {} } as Parameters<typeof onEvents>[0]);
  expect(create).toThrow(TypeError);
  expect(create).toThrow(`Did you mean "${meant}"?`);
  expect(create).toThrow(
    "The names are card.added, card.removed, balance.changed, tier.changed, consent.changed, ping, unexpectedData, otherTypes",
  );
});

it("suggests nothing for a name that resembles none, and handles a long one", () => {
  for (const name of ["invoice.paid", "", "__proto", "b".repeat(1_000_000)]) {
    const create = () =>
      onEvents({ [name]: () => {}, otherTypes: () => {} } as Parameters<typeof onEvents>[0]);
    expect(create).toThrow("The names are card.added");
    expect(create).not.toThrow("Did you mean");
  }
});

it.each([
  ["undefined", undefined],
  ["null", null],
  ["string", "save"],
  ["object", { handle() {} }],
])("throws with the name of a handler that is %s", (given, handler) => {
  for (const name of ["balance.changed", "unexpectedData", "otherTypes"]) {
    const handlers = { otherTypes: () => {}, [name]: handler } as unknown as Parameters<typeof onEvents>[0];
    expect(() => onEvents(handlers)).toThrow(TypeError);
    expect(() => onEvents(handlers)).toThrow(`the handler of "${name}" must be a function; it is ${given}`);
  }
});

it.each([undefined, null, () => {}])("throws with an example for %s instead of handlers", (handlers) => {
  expect(() => onEvents(handlers as unknown as Parameters<typeof onEvents>[0])).toThrow(
    /onEvents needs an object of handlers: \{ "balance\.changed"/,
  );
});

it("awaits and ignores the result of a handler", async () => {
  const balances = new Map<string, number>();
  let isDone = false;
  const dispatch = onEvents({
    "balance.changed": ({ data }) => balances.set(data.passId, data.balance),
    ping: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      isDone = true;
      return 7;
    },
    otherTypes: () => "ignored",
  });
  expect(await dispatch(balanceChanged(), delivery)).toBeUndefined();
  await dispatch(createEvent("ping"), delivery);
  expect([[...balances], isDone]).toEqual([[["card_1", 120]], true]);
});

it("rejects when a handler rejects", async () => {
  const dispatch = onEvents({ otherTypes: () => Promise.reject(new Error("database down")) });
  await expect(dispatch(createEvent("ping"), delivery)).rejects.toThrow("database down");
});
