/** Invalid options and templates are rejected with an error that names the member; a wrong `deliver` function or clock does not crash the process. */
// G20
import { expect, it } from "vitest";
import { createMockService, type MockServiceOptions, manualClock, type TemplateInput } from "../src/index.ts";
import { noon, openShop } from "./shop.ts";

it.each([
  [{ baseUrl: "cards" }, /baseUrl/],
  [{ defaultCountry: "XX" }, /defaultCountry/],
  [{ deliveryTimeoutMs: 0 }, /deliveryTimeoutMs/],
  [{ deliveryTimeoutMs: 2 ** 31 }, /deliveryTimeoutMs/],
  [{ templates: [] }, /at least one/],
  [{ endpoints: {} }, /endpoints must be a list/],
  [{ storeRefusals: "yes" }, /storeRefusals must be true or false/],
  [{ log: "console" }, /log must be a function/],
  [{ wallets: { first: "a", second: "a" } }, /wallets/],
])("rejects createMockService(%j)", (options, message) => {
  expect(() => createMockService(options as unknown as MockServiceOptions)).toThrow(message);
});

const field = { key: "a", type: "text" };

it.each([
  [{ name: "" }, /name/],
  [{ name: "A", id: "a/b" }, /template\.id/],
  [{ name: "A", id: ".." }, /template\.id/],
  [{ name: "A", id: "tpl_mock" }, /already/],
  [{ name: "A", fields: [{ ...field, key: "" }] }, /no key/],
  [{ name: "A", fields: [{ ...field, type: "date" }] }, /name, text, number/],
  [{ name: "A", fields: [field, field] }, /two fields/],
  [{ name: "A", tiers: [{ name: "Gold" }] }, /tier/],
])("rejects templates.create(%j)", (input, message) => {
  const { templates } = createMockService();
  expect(() => templates.create(input as unknown as TemplateInput)).toThrow(message);
  expect(() => templates.archive("tpl_none")).toThrow(/no template/);
});

it("creates a manual clock at a date, and rejects what is not a date", () => {
  expect(manualClock("2026-01-01T00:00:00Z").now()).toBe(Date.UTC(2026, 0, 1));
  expect(() => manualClock("yesterday")).toThrow(/not a date/);
  expect(() => manualClock(1000).moveTo(999)).toThrow(/cannot move back/);
});

it.each([
  { clock: { now: () => Number.NaN } },
  { clock: {} },
  { testing: { wallClockMs: () => "now" } },
  { clock: 7 },
])("rejects a clock that does not return a number: %j", (options) => {
  expect(() => createMockService(options as never)).toThrow(
    /clock\.now\(\) and testing\.wallClockMs\(\) must return a number/,
  );
});

const fail = (error: unknown) => () => {
  throw error;
};
const unreadable = Object.create(Error.prototype, { message: { get: fail(new Error("no")) } });
const causeWithoutText = new Error("x", { cause: { code: Object.create(null) } });

it.each<[what: string, misbehave: () => unknown, error: unknown]>([
  ["throws synchronously", fail(new Error("boom")), "boom"],
  ["throws a value that is not an Error", fail(null), "the receiver threw null"],
  ["throws an error that cannot be read", fail(unreadable), /cannot be read/],
  ["rejects with a cause that is not text", () => Promise.reject(causeWithoutText), /cannot be read/],
  ["returns nothing", () => undefined, "the receiver returned undefined, not a Response"],
  ["returns null later", async () => null, "the receiver returned null, not a Response"],
  ["returns a text", () => "204", "the receiver returned string, not a Response"],
  ["returns a text as its status", () => ({ status: "204" }), "the receiver returned object, not a Response"],
  [
    "returns NaN as its status",
    () => ({ status: Number.NaN }),
    "the receiver returned object, not a Response",
  ],
])("makes a failed attempt when deliver %s, and the next one comes", async (_what, misbehave, error) => {
  let isWell = false;
  const deliver = () => (isWell ? new Response(null, { status: 204 }) : misbehave());
  const { service } = openShop({ deliver: deliver as () => Response });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  service.webhooks.sendTest(id);
  await service.idle();
  const text = error instanceof RegExp ? expect.stringMatching(error) : error;
  expect(service.webhooks.deliveries()).toMatchObject([{ state: "pending", attempts: [{ error: text }] }]);
  isWell = true;
  await service.clock.runUntilIdle();
  expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
});

it.each([["text"], [{ cancel: fail(new Error("no")) }], [{ cancel: 1 }], [7]])(
  "evaluates the status of a response, with any body: %j",
  async (body) => {
    const { service } = openShop({ deliver: () => ({ status: 204, body }) as never });
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    service.webhooks.sendTest(id);
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
  },
);

it("rejects idle() without a crash when the clock returns NaN", async () => {
  let nowMs = noon;
  const { service } = openShop({
    clock: { now: () => nowMs },
    deliver: () => new Response(null, { status: 500 }),
  });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  service.webhooks.sendTest(id);
  nowMs = Number.NaN;
  await expect(service.idle()).rejects.toThrow(RangeError);
  await service.idle();
});
