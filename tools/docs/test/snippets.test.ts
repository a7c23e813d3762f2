/** The code in a page is quoted from files that run in the tests, its generated tables are fresh, and the page of the benchmarks is that of the committed results. */

import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { renderPage } from "../benchmarks.ts";
import { findUnquoted, listPages, readFromRoot, updateSnippets } from "../snippets.ts";
import { updateTables } from "../tables.ts";

describe.each(listPages())("%s", (page) => {
  const text = readFromRoot(page);

  it("has quotations and generated tables as their sources are now (otherwise run npm run snippets)", async () => {
    expect(await updateTables(updateSnippets(text, readFromRoot), readFromRoot)).toBe(text);
  });

  it("has no code block that does not run", () => {
    // The commands of an example run in its folder.
    expect(findUnquoted(text, page.startsWith("examples/") ? dirname(page) : ".")).toEqual([]);
  });
});

it("has the committed results on its page (npm run bench -- --page)", async () => {
  expect(readFromRoot("docs/benchmarks.md")).toBe(await renderPage());
});
