/** The browser entry point has the same names as the main one. */
import { expect, it } from "vitest";

it("exports the same names to a browser, where the import throws an error with the reason", async () => {
  const { readFileSync } = await import("node:fs");
  const source = readFileSync(new URL("../src/browser.ts", import.meta.url), "utf8");
  const names = [...source.matchAll(/^export const (\w+)/gm)].map(([, name]) => name).sort();
  expect(names).toEqual(Object.keys(await import("../src/index.ts")).sort());
  await expect(import("../src/browser.ts")).rejects.toThrow(/must not run in a browser/);
});
