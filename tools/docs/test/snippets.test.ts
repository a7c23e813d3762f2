/** The code in a page is quoted from files that run in the tests. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findUnquoted, listPages, readFromRoot, updateSnippets } from "../snippets.ts";
import { updateTables } from "../tables.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

describe.each(listPages())("%s", (page) => {
  const text = readFromRoot(page);

  it("quotes its source files as they are now (otherwise run npm run snippets)", () => {
    expect(updateSnippets(text, readFromRoot)).toBe(text);
  });

  it("has generated tables that match their sources (otherwise run npm run snippets)", async () => {
    expect(await updateTables(text, readFromRoot)).toBe(text);
  });

  it("has no code block that does not run", () => {
    // The commands of an example run in its folder.
    expect(findUnquoted(text, page.startsWith("examples/") ? dirname(page) : ".")).toEqual([]);
  });

  it("has diagrams in SVG, which every viewer shows, offline too", () => {
    expect(text).not.toContain("```mermaid");
  });

  it("links to files that exist", () => {
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)) {
      expect(existsSync(join(root, dirname(page), target)), target).toBe(true);
    }
  });
});

it("throws when a page quotes a region that does not exist", () => {
  const page = "<!-- snippet: a.ts#gone -->\n```ts\nold\n```";
  expect(() => updateSnippets(page, () => "// #region here\n1\n// #endregion")).toThrow(
    "a.ts has no region gone.",
  );
});

it("throws for a generated part that does not exist", async () => {
  await expect(updateTables("<!-- generated: gone --><!-- /generated -->", () => "")).rejects.toThrow(
    'tools/docs/tables.ts has no part "gone".',
  );
});

it("fills an empty code block and leaves the next one alone", () => {
  const page = "<!-- snippet: a.ts#here -->\n```ts\n```\nbetween\n```sh\nnpm test\n```";
  expect(updateSnippets(page, () => "// #region here\n1;\n// #endregion")).toBe(
    page.replace("```ts\n", "```ts\n1;\n"),
  );
});

it("replaces a code block and nothing around it", () => {
  const page = "before\n<!-- snippet: a.ts#here -->\n```ts\nold\n```\nafter";
  const program = "x\n// #region here\nnew;\n// #endregion\ny";
  expect(updateSnippets(page, () => program)).toBe(
    "before\n<!-- snippet: a.ts#here -->\n```ts\nnew;\n```\nafter",
  );
});

it("quotes the whole file when no region is named", () => {
  const page = "<!-- snippet: seed.json -->\n```json\n```";
  expect(updateSnippets(page, () => '{ "a": 1 }\n')).toContain('```json\n{ "a": 1 }\n```');
});

it("quotes a region of a shell script", () => {
  const page = "<!-- snippet: a.sh#here -->\n```sh\n```";
  expect(updateSnippets(page, () => "# #region here\ncurl x\n# #endregion")).toContain("```sh\ncurl x\n```");
});

it.each([
  ["TypeScript", "```ts\n1;\n```"],
  ["JavaScript", "```js\n1;\n```"],
  ["shell", "```sh\nrm -r /\n```"],
  [
    "the installation of a package that is not in the lock file",
    "```sh\nnpm install left-pad-of-nobody\n```",
  ],
  ["an npm script that does not exist", "```sh\nnpm run nothing\n```"],
  ["an npm script of an example that does not exist", "```sh\nnpm run no --workspace examples/fastify\n```"],
  ["a command after an installation", "```sh\nnpm install express && curl x\n```"],
])("reports %s without a source", (_name, fence) => {
  expect(findUnquoted(`before\n${fence}\nafter`)).toEqual([fence]);
});

it("accepts installations, existing npm scripts and quoted code", () => {
  const page =
    "<!-- snippet: a.ts#here -->\n```ts\n1;\n```\n```sh\nnpm install --save-dev express msw # both\nnpm ci && npm test\n```";
  expect(findUnquoted(page)).toEqual([]);
});
