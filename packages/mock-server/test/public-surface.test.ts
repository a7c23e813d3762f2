/** The face of the package, entry by entry: an added export is seen here. */
import { expect, it } from "vitest";

it("exports from .", async () => {
  expect(Object.keys(await import("@loyalty-cards/mock-server")).sort()).toMatchInlineSnapshot(`
    [
      "WaitTimeout",
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
      "startMockServer",
    ]
  `);
});
