/** The face of the package: an added export is seen here, and browsers get the same names. */
import { expect, it } from "vitest";

it("exports from .", async () => {
  expect(Object.keys(await import("@loyalty-cards/issuing-client")).sort()).toMatchInlineSnapshot(`
    [
      "IssuingError",
      "ProblemError",
      "cardLinks",
      "createIssuingClient",
      "defineTemplate",
      "deriveIdempotencyKey",
      "isIssuingError",
    ]
  `);
});

it("exports from ./links, ./undici and ./otel", async () => {
  expect(Object.keys(await import("@loyalty-cards/issuing-client/links"))).toEqual(["cardLinks"]);
  expect(Object.keys(await import("@loyalty-cards/issuing-client/undici"))).toEqual(["undiciTransport"]);
  expect(Object.keys(await import("@loyalty-cards/issuing-client/otel"))).toEqual(["withOpenTelemetry"]);
});

it("exports the same names to a browser, where importing them throws the reason", async () => {
  const { readFileSync } = await import("node:fs");
  const source = readFileSync(new URL("../src/browser.ts", import.meta.url), "utf8");
  const names = [...source.matchAll(/^export const (\w+)/gm)].map(([, name]) => name).sort();
  expect(names).toEqual(Object.keys(await import("../src/index.ts")).sort());
  await expect(import("../src/browser.ts")).rejects.toThrow(/must not run in a browser/);
});
