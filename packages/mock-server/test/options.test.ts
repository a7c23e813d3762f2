/** Invalid options and templates are rejected with an error that names the member. */
import { describe, expect, it } from "vitest";
import { createMockService, type MockServiceOptions, manualClock, type TemplateInput } from "../src/index.ts";

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

describe("a template", () => {
  it.each([
    [{ name: "" }, /name/],
    [{ name: "A", id: "a/b" }, /template\.id/],
    [{ name: "A", id: ".." }, /template\.id/],
    [{ name: "A", id: "tpl_mock" }, /already/],
    [{ name: "A", fields: [{ key: "", type: "text" }] }, /no key/],
    [{ name: "A", fields: [{ key: "a", type: "date" }] }, /name, text, number/],
    [
      {
        name: "A",
        fields: [
          { key: "a", type: "text" },
          { key: "a", type: "text" },
        ],
      },
      /two fields/,
    ],
    [{ name: "A", tiers: [{ name: "Gold" }] }, /tier/],
  ])("is rejected: %j", (input, message) => {
    expect(() => createMockService().templates.create(input as unknown as TemplateInput)).toThrow(message);
  });

  it("cannot be archived when it is unknown", () => {
    expect(() => createMockService().templates.archive("tpl_none")).toThrow(/no template/);
  });
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
