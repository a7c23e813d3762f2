/** Public exports of each entry point. The browser entry point has the same names. */
import { expect, it } from "vitest";

it("exports these names from the main entry point", async () => {
  expect(Object.keys(await import("@loyalty-cards/issuing-client")).sort()).toMatchInlineSnapshot(`
    [
      "IssuingError",
      "ProblemError",
      "UnreadableBodyError",
      "cardLinks",
      "createIssuingClient",
      "defineTemplate",
      "deriveIdempotencyKey",
      "fetchTransport",
      "isIssuingError",
      "nodeTransport",
    ]
  `);
});

it("exports these names from ./links and ./otel", async () => {
  expect(Object.keys(await import("@loyalty-cards/issuing-client/links")).sort()).toEqual([
    "cardLinks",
    "qrCodeSvg",
    "walletButtonsHtml",
  ]);
  expect(Object.keys(await import("@loyalty-cards/issuing-client/otel"))).toEqual(["withOpenTelemetry"]);
});

it("exports the same names to a browser, where the import throws an error with the reason", async () => {
  const { readFileSync } = await import("node:fs");
  const source = readFileSync(new URL("../src/browser.ts", import.meta.url), "utf8");
  const names = [...source.matchAll(/^export const (\w+)/gm)].map(([, name]) => name).sort();
  expect(names).toEqual(Object.keys(await import("../src/index.ts")).sort());
  await expect(import("../src/browser.ts")).rejects.toThrow(/must not run in a browser/);
});
