/** onEvents calls exactly the handler of the signed type. */
import { readFileSync } from "node:fs";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { balanceChanged } from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it } from "vitest";
import {
  type Delivery,
  type EventHandlers,
  isKnownEvent,
  onEvents,
  type WebhookEvent,
} from "../src/index.ts";

/** In JavaScript. */
const create = (handlers: unknown) => () => onEvents(handlers as EventHandlers);

const knownTypes = Object.keys(openapi.webhooks);

const delivery: Delivery = {
  id: "dlv_1",
  rawBody: new Uint8Array(),
  receivedAt: new Date(),
  signal: new AbortController().signal,
};
const quiet = { log: () => {} };
const createEvent = (type: string, data: unknown) =>
  ({ id: "evt_1", type, createdAt: "x", data }) as unknown as WebhookEvent;

function createHandlers() {
  const seen: string[] = [];
  const handler = (name: string) => (event: { type: string }) =>
    void seen.push(`${name}:${event.type}`);
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

describe("what a handler needs", () => {
  interface DataSchema {
    $ref?: string;
    required?: string[];
  }
  const { schemas, examples } = openapi.components;
  const findSchema = (schema: DataSchema): DataSchema =>
    schema.$ref === undefined
      ? schema
      : (schemas[schema.$ref.split("/").at(-1) as keyof typeof schemas] as DataSchema);

  it.each(Object.entries(examples).filter(([name]) => name.endsWith("Event")))(
    "is what the OpenAPI document requires of the data of %s",
    (name, { value }) => {
      const event = value as unknown as WebhookEvent & { data: object };
      const schema = schemas[name as keyof typeof schemas] as { properties: { data: DataSchema } };
      const needed = Object.keys(event.data).filter((member) => {
        const data = Object.fromEntries(
          Object.entries(event.data).filter(([other]) => other !== member),
        );
        return !isKnownEvent({ ...event, data } as WebhookEvent);
      });
      expect(isKnownEvent(event)).toBe(true);
      expect(needed).toEqual(findSchema(schema.properties.data).required ?? []);
    },
  );
});

it.each([{}, null])(
  "calls `otherTypes` for a known event without a handler, with the data %j",
  async (data) => {
    const { seen, handler } = createHandlers();
    const handlers = {
      otherTypes: handler("otherTypes"),
      unexpectedData: handler("unexpectedData"),
    };
    await onEvents(handlers, quiet)(createEvent("balance.changed", data), delivery);
    expect(seen).toEqual(["otherTypes:balance.changed"]);
  },
);

it.each(["card.renamed", "constructor", "__proto__", "toString", "hasOwnProperty"])(
  "calls `otherTypes` for the type %s, which is not of this version",
  async (type) => {
    const { seen, handler } = createHandlers();
    const handlers = { ping: handler("ping"), unexpectedData: handler("unexpectedData") };
    await onEvents({ ...handlers, otherTypes: handler("otherTypes") }, quiet)(
      createEvent(type, {}),
      delivery,
    );
    expect(seen).toEqual([`otherTypes:${type}`]);
  },
);

const { data: whole } = balanceChanged();

it.each([
  ["balance.changed", { passId: "card_1", balance: 120 }],
  ["balance.changed", { ...whole, bonus: [1], change: "+20", operation: null, customerId: 7 }],
  ["balance.changed", { ...whole, operation: { id: 7 } }],
  ["card.added", { passId: "card_1", wallet: 1 }],
  ["card.removed", { passId: "card_1", customerId: null, wallet: ["apple"] }],
  ["tier.changed", { passId: "card_1" }],
  ["tier.changed", { passId: "card_1", tier: { name: "Gold" }, previous: 1 }],
  ["consent.changed", { passIds: [], marketingConsent: "given" }],
  ["consent.changed", { passIds: ["card_1"] }],
  ["ping", undefined],
  ["ping", null],
  ["ping", [7]],
])(
  "calls the handler of %s with what it needs, whatever the rest of the data is: %j",
  async (type, data) => {
    const { seen, handler } = createHandlers();
    const handlers = { [type]: handler("own"), unexpectedData: handler("unexpectedData") };
    const event = createEvent(type, data);
    await onEvents({ ...handlers, otherTypes: handler("otherTypes") })(event, delivery);
    expect([seen, isKnownEvent(event)]).toEqual([[`own:${type}`], true]);
  },
);

it.each([
  ["balance.changed", { passId: "card_1", balance: "120" }, "/data/balance"],
  ["balance.changed", { passId: "card_1" }, "/data/balance"],
  [
    "balance.changed",
    { ...whole, change: null, passId: 1, balance: null },
    "/data/passId, /data/balance",
  ],
  ["balance.changed", { ...whole, balance: Number.POSITIVE_INFINITY }, "/data/balance"],
  ["balance.changed", undefined, "/data"],
  ["balance.changed", null, "/data"],
  ["balance.changed", [], "/data"],
  ["balance.changed", "text", "/data"],
  ["card.added", {}, "/data/passId"],
  ["card.removed", { passId: 7 }, "/data/passId"],
  ["tier.changed", [], "/data"],
  ["consent.changed", { customerId: "cus_1" }, "/data/passIds"],
  ["consent.changed", { customerId: "cus_1", passIds: ["a", 7, 8] }, "/data/passIds/1"],
  ["consent.changed", { customerId: "cus_1", passIds: [7, "b"] }, "/data/passIds/0"],
])(
  "rejects for %s with %j, also with `otherTypes`, unless there is `unexpectedData`",
  async (type, data, paths) => {
    const { seen, handler } = createHandlers();
    const handlers = { [type]: handler("own"), otherTypes: handler("otherTypes") };
    const event = createEvent(type, data);
    await expect(onEvents(handlers)(event, delivery)).rejects.toThrow(
      `The data of ${type} lacks what its handler needs at ${paths}: update this package, or pass onEvents a handler "unexpectedData".`,
    );
    expect([seen, isKnownEvent(event)]).toEqual([[], false]);
    await onEvents({ ...handlers, unexpectedData: handler("unexpectedData") })(event, delivery);
    expect(seen).toEqual([`unexpectedData:${type}`]);
  },
);

it("logs each new type once, each type that is ignored too, and at most 100 types", async () => {
  const log: string[] = [];
  const types = ["card.added", "card.renamed\u001b[2J", "card.added", "balance.changed"];
  const options = { log: (line: string) => log.push(line) };
  const ignoring = onEvents({ "balance.changed": () => {} } as unknown as EventHandlers, options);
  for (const type of types) await ignoring(createEvent(type, balanceChanged().data), delivery);
  expect(log).toEqual([
    "webhook-verify: onEvents has no handler for card.added (evt_1): it is ignored. Add a handler or otherTypes, or do not select the type in the service's console. Further events of this type are not logged.",
    expect.stringContaining(
      "no handler for card.renamed\ufffd[2J (evt_1): it is ignored. Look for a newer",
    ),
  ]);
  log.length = 0;
  const dispatch = onEvents({ "balance.changed": () => {}, otherTypes: () => {} }, options);
  for (const type of types) await dispatch(createEvent(type, balanceChanged().data), delivery);
  expect(log).toEqual([
    "webhook-verify: onEvents has no handler for card.renamed\ufffd[2J (evt_1): otherTypes is called. Look for a newer version of this package. Further events of this type are not logged.",
  ]);
  for (let number = 0; number < 1_000; number++)
    await dispatch(createEvent(`new.${number}`, {}), delivery);
  expect(log).toHaveLength(100);
});

// G17
it("ignores and logs a newer type when every known type has a handler, so that the service does not repeat it", async () => {
  const log: string[] = [];
  const { seen, handler } = createHandlers();
  const own = handler("own");
  const handlers = Object.fromEntries(
    knownTypes.map((type) => [type, own]),
  ) as unknown as EventHandlers;
  const dispatch = onEvents(handlers, { log: (line) => log.push(line) });
  await dispatch(createEvent("card.renamed", {}), delivery);
  await dispatch(createEvent("card.renamed", {}), delivery);
  expect(seen).toEqual([]);
  expect(log).toEqual([
    expect.stringContaining("no handler for card.renamed (evt_1): it is ignored."),
  ]);
});

it.each([undefined, null, () => {}])(
  "throws with an example for %s instead of handlers",
  (handlers) => {
    expect(create(handlers)).toThrow(/onEvents needs an object of handlers: \{ "balance\.changed"/);
  },
);

it("throws when it is called with an event, as by handler: onEvents", () => {
  expect(create(balanceChanged())).toThrow(
    /event instead of handlers: call it once, as in handler:/,
  );
});

it.each([
  undefined,
  [{ id: "1", data: {} }],
  { id: "1", name: "balance.changed", data: {} },
  { type: "balance.changed", data: {} },
])("rejects for what is not an event, such as the jobs of a queue: %o", async (jobs) => {
  const dispatch = onEvents({ otherTypes: () => {} });
  await expect(dispatch(jobs as never, delivery)).rejects.toThrow(
    /not an event\. For the worker of a queue, write inboxHandler\(onEvents\(/,
  );
});

it.each([{}, { unexpectedData: () => {} }])(
  "throws when there is no handler for any type: %o",
  (handlers) => {
    const example = '{ "balance.changed": (event) => …, otherTypes: () => {} }.';
    expect(create(handlers)).toThrow(
      new TypeError(`onEvents has no handler for any event type: ${example}`),
    );
  },
);

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
  const createWith = create({ [name]: () => {}, otherTypes: () => {} });
  expect(createWith).toThrow(TypeError);
  expect(createWith).toThrow(
    `"${name}", which is not an event type of this version. Did you mean "${meant}"?`,
  );
  expect(createWith).toThrow(
    `The names are ${[...knownTypes, "unexpectedData", "otherTypes"].join(", ")}`,
  );
});

it("suggests nothing for a name that resembles none, and handles a long one", () => {
  for (const name of ["invoice.paid", "", "__proto", "b".repeat(1_000_000)]) {
    const createWith = create({ [name]: () => {}, otherTypes: () => {} });
    const start = `onEvents has a handler for "${name.slice(0, 50)}", which is not an event type`;
    expect(createWith).toThrow(`${start} of this version. The names are card.added, `);
  }
});

it.each([
  ["undefined", undefined],
  ["null", null],
  ["string", "save"],
  ["object", { handle() {} }],
])("throws with the name of a handler that is %s", (given, handler) => {
  for (const name of ["balance.changed", "unexpectedData", "otherTypes"])
    expect(create({ otherTypes: () => {}, [name]: handler })).toThrow(
      new RegExp(`the handler of "${name}" must be a function; it is ${given}\\.`),
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
  await dispatch(createEvent("ping", {}), delivery);
  expect([[...balances], isDone]).toEqual([[["card_1", 120]], true]);
});

it.each(["ping", "card.renamed", "balance.changed"])(
  "rejects when the handler for %s returns a function, which nothing calls",
  async (type) => {
    const store = () => () => expect.fail();
    const handlers = { ping: store, "balance.changed": () => {}, otherTypes: store };
    const dispatch = onEvents({ ...handlers, unexpectedData: store }, quiet);
    await expect(dispatch(createEvent(type, {}), delivery)).rejects.toThrow(
      "A handler of onEvents returned a function, which nothing calls",
    );
  },
);

it("throws for an option that it does not have", () => {
  expect(() => onEvents({ otherTypes: () => {} }, { logs: () => {} } as object)).toThrow(
    'onEvents has no option "logs". Did you mean log?',
  );
});

it("rejects when a handler rejects", async () => {
  const dispatch = onEvents({ otherTypes: () => Promise.reject(new Error("database down")) });
  await expect(dispatch(createEvent("ping", {}), delivery)).rejects.toThrow("database down");
});

it("exports the type of each event", () => {
  const source = readFileSync(new URL("../src/index.ts", import.meta.url), "utf8");
  const names = Object.values(openapi.webhooks).map(({ post }) =>
    post.requestBody.content["application/json"].schema.$ref.replace(/^.*\/(\w+)Event$/, "$1"),
  );
  const missing = names.filter((name) => !new RegExp(`\\b${name},`).test(source));
  expect(missing, "src/index.ts must export these types").toEqual([]);
});
