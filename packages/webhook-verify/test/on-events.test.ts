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
const ofType = (type: string) => ({ id: "evt_1", type, createdAt: "x", data: {} }) as unknown as WebhookEvent;

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

it("a handler for no event is refused when it is given", () => {
  const handlers = { "balance.change": () => {}, other: () => {} } as Parameters<typeof onEvents>[0];
  expect(() => onEvents(handlers)).toThrow('"balance.change", which is no event');
});

it("a handler's rejection is the caller's", async () => {
  const dispatch = onEvents({ other: () => Promise.reject(new Error("database down")) });
  await expect(dispatch(ofType("ping"), delivery)).rejects.toThrow("database down");
});
