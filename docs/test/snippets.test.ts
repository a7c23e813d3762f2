/** What a page quotes is what runs. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { pages, quoted, readFromRoot } from "../snippets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe.each(pages())("%s", (page) => {
  const text = readFromRoot(page);

  it("quotes its programs as they are; npm run snippets brings it up to date", () => {
    expect(quoted(text, readFromRoot)).toBe(text);
  });

  it("quotes no TypeScript that does not run", () => {
    const fences = [...text.matchAll(/^```(ts|tsx|js)\n/gm)].length;
    expect(fences).toBe([...text.matchAll(/<!-- snippet: /g)].length);
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
