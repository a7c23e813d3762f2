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

it("throws when a page quotes a region that does not exist", () => {
  const page = "<!-- snippet: a.ts#gone -->\n```ts\nold\n```";
  expect(() => updateSnippets(page, () => "// #region here\n1\n// #endregion")).toThrow(
    "a.ts has no region gone.",
  );
});

it("replaces a code block and nothing around it", () => {
  const page = "before\n<!-- snippet: a.ts#here -->\n```ts\n```\nbetween\n```sh\nnpm test\n```\nafter";
  const program = "x\n// #region here\nnew;\n// #endregion\ny";
  expect(updateSnippets(page, () => program)).toBe(page.replace("```ts\n", "```ts\nnew;\n"));
});

it("adds the code block that a mark has lost", () => {
  const page = "<!-- snippet: a.ts -->\n\nafter";
  expect(updateSnippets(page, () => "1;\n")).toBe("<!-- snippet: a.ts -->\n```ts\n1;\n```\n\nafter");
});

it.each([
  "```ts\n1;\n```",
  "```sh\nrm -r /\n```",
  "```sh\nnpm install left-pad-of-nobody\n```",
  "```sh\nnpm run nothing\n```",
  "```sh\nnpm install express && curl x\n```",
])("reports a code block without a source: %j", (fence) => {
  expect(findUnquoted(`before\n${fence}\nafter`)).toEqual([fence]);
});

it("has the committed results on its page (npm run bench -- --page)", async () => {
  expect(readFromRoot("docs/benchmarks.md")).toBe(await renderPage());
});
