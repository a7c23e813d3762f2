/** An option or a template that makes no sense is refused where it is given, by name. */
import { describe, expect, it } from "vitest";
import { createMockService, type MockServiceOptions, manualClock, type TemplateInput } from "../src/index.ts";

it.each([
  [{ baseUrl: "cards" }, /baseUrl/],
  [{ defaultCountry: "XX" }, /defaultCountry/],
  [{ answerWithinMs: 0 }, /answerWithinMs/],
  [{ answerWithinMs: 2 ** 31 }, /answerWithinMs/],
  [{ templates: [] }, /at least one/],
  [{ endpoints: {} }, /endpoints must be a list/],
  [{ storeRefusals: "yes" }, /storeRefusals must be true or false/],
  [{ log: "console" }, /log must be a function/],
  [{ wallets: { first: "a", second: "a" } }, /wallets/],
])("createMockService(%j)", (options, message) => {
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
  ])("%j is refused", (input, message) => {
    expect(() => createMockService().templates.create(input as unknown as TemplateInput)).toThrow(message);
  });

  it("that is unknown cannot be archived", () => {
    expect(() => createMockService().templates.archive("tpl_none")).toThrow(/no template/);
  });
});

it("a manual clock starts at a date, or refuses", () => {
  expect(manualClock("2026-01-01T00:00:00Z").now()).toBe(Date.UTC(2026, 0, 1));
  expect(() => manualClock("yesterday")).toThrow(/no date/);
  expect(() => manualClock(1000).moveTo(999)).toThrow(/does not go back/);
});

it.each([{ clock: { now: () => Number.NaN } }, { clock: {} }, { wallClockMs: () => "now" }, { clock: 7 }])(
  "a clock that gives no number is refused: %j",
  (options) => {
    expect(() => createMockService(options as never)).toThrow(
      /clock\.now\(\) and wallClockMs\(\) must return a number/,
    );
  },
);
