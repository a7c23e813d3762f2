/** The browser entry point has the same names as the main one, and the README has a method for each operation. */
import { readFileSync } from "node:fs";
import { operations } from "@loyalty-cards/openapi/operations";
import { expect, it } from "vitest";

// G22
it("exports the same names to a browser, where the import throws an error with the reason", async () => {
  const source = readFileSync(new URL("../src/browser.ts", import.meta.url), "utf8");
  const names = [...source.matchAll(/^export const (\w+)/gm)].map(([, name]) => name).sort();
  expect(names).toEqual(Object.keys(await import("../src/index.ts")).sort());
  await expect(import("../src/browser.ts")).rejects.toThrow(/must not run in a browser/);
});

it("describes the method of each operation in the README", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const missing = Object.keys(operations).filter((id) => !new RegExp(`^\\|.*\`${id}\\(`, "m").test(readme));
  expect(missing, "the table of methods in README.md needs these operations").toEqual([]);
});
