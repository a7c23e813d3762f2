/** The page of the benchmarks is that of the committed results. */
import { expect, it } from "vitest";
import { renderPage } from "../benchmarks.ts";
import { readFromRoot } from "../snippets.ts";

it("has the committed results on its page (npm run bench -- --page)", async () => {
  expect(readFromRoot("docs/benchmarks.md")).toBe(await renderPage());
});
