/** What a page quotes is what runs. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { pages, quoted, readFromRoot, unquoted } from "../snippets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe.each(pages())("%s", (page) => {
  const text = readFromRoot(page);

  it("quotes its programs as they are; npm run snippets brings it up to date", () => {
    expect(quoted(text, readFromRoot)).toBe(text);
  });

  it("quotes no program that does not run", () => {
    // An example is started where it stands.
    expect(unquoted(text, page.startsWith("examples/") ? dirname(page) : ".")).toEqual([]);
  });

  it("draws in SVG, which shows everywhere and offline", () => {
    expect(text).not.toContain("```mermaid");
  });

  it("links to files that are there", () => {
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)) {
      expect(existsSync(join(root, dirname(page), target)), target).toBe(true);
    }
  });
});

it("a page that quotes what does not exist is refused", () => {
  const page = "<!-- snippet: a.ts#gone -->\n```ts\nold\n```";
  expect(() => quoted(page, () => "// #region here\n1\n// #endregion")).toThrow("a.ts has no region gone.");
});

it("a neighbour is quoted as what it compiles to", () => {
  const page = "<!-- snippet: a.ts#here -->\n```ts\n```";
  const program = '// #region here\nimport { b } from "./b.ts";\n// #endregion';
  expect(quoted(page, () => program)).toContain('from "./b.js"');
});

it("an empty quotation is filled, up to its own end", () => {
  const page = "<!-- snippet: a.ts#here -->\n```ts\n```\nbetween\n```sh\nnpm test\n```";
  expect(quoted(page, () => "// #region here\n1;\n// #endregion")).toBe(
    page.replace("```ts\n", "```ts\n1;\n"),
  );
});

it("a quotation is replaced, and nothing around it", () => {
  const page = "before\n<!-- snippet: a.ts#here -->\n```ts\nold\n```\nafter";
  const program = "x\n// #region here\nnew;\n// #endregion\ny";
  expect(quoted(page, () => program)).toBe("before\n<!-- snippet: a.ts#here -->\n```ts\nnew;\n```\nafter");
});

it("a whole file is quoted when no region is named", () => {
  const page = "<!-- snippet: seed.json -->\n```json\n```";
  expect(quoted(page, () => '{ "a": 1 }\n')).toContain('```json\n{ "a": 1 }\n```');
});

it("a line of shell is quoted by its own marks", () => {
  const page = "<!-- snippet: a.sh#here -->\n```sh\n```";
  expect(quoted(page, () => "# #region here\ncurl x\n# #endregion")).toContain("```sh\ncurl x\n```");
});

it.each([
  ["TypeScript", "```ts\n1;\n```"],
  ["JavaScript", "```js\n1;\n```"],
  ["shell", "```sh\nrm -r /\n```"],
  ["a package that nobody here installs", "```sh\nnpm install left-pad-of-nobody\n```"],
  ["a script that there is not", "```sh\nnpm run nothing\n```"],
  [
    "a script of an example that there is not",
    "```sh\nnpm run no --workspace examples/fastify-receiver\n```",
  ],
  ["a command after an installation", "```sh\nnpm install express && curl x\n```"],
])("%s without a source is found", (_name, fence) => {
  expect(unquoted(`before\n${fence}\nafter`)).toEqual([fence]);
});

it("installations, scripts that there are, and quotations are let be", () => {
  const page =
    "<!-- snippet: a.ts#here -->\n```ts\n1;\n```\n```sh\nnpm install --save-dev express msw # both\nnpm ci && npm test\n```";
  expect(unquoted(page)).toEqual([]);
});
