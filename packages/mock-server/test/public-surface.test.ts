/** The exports of each entry point. */
import { expect, it } from "vitest";

it("exports from .", async () => {
  expect(Object.keys(await import("@loyalty-cards/mock-server")).sort()).toMatchInlineSnapshot(`
    [
      "WaitTimeoutError",
      "createMockService",
      "manualClock",
      "scaledClock",
      "systemClock",
    ]
  `);
});
it("exports from ./msw", async () => {
  expect(Object.keys(await import("@loyalty-cards/mock-server/msw")).sort()).toMatchInlineSnapshot(`
    [
      "failOnUnhandled",
      "mockHandlers",
    ]
  `);
});
it("exports from ./node", async () => {
  expect(Object.keys(await import("@loyalty-cards/mock-server/node")).sort()).toMatchInlineSnapshot(`
    [
      "createEnvironment",
      "readSeed",
      "runCommand",
      "startMockServer",
      "watchParent",
    ]
  `);
});
it("exports from ./doctor", async () => {
  expect(Object.keys(await import("@loyalty-cards/mock-server/doctor")).sort()).toMatchInlineSnapshot(`
    [
      "checkReceiver",
    ]
  `);
});
