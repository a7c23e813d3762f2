/** The documentation inside the tarballs: complete, self-contained, and quoted from pages that are checked. */
import { describe, expect, it } from "vitest";
import { published } from "../../published.ts";
import { findBrokenLinks, readSection } from "../excerpts.ts";
import { contents, packageDocs } from "../package-docs.ts";
import { readFromRoot } from "../snippets.ts";

const names = published.map(({ name }) => name);

it("exists for every published package", () => {
  expect(Object.keys(contents).sort()).toEqual([...names].sort());
});

describe.each(names)("%s", (name) => {
  const files = packageDocs(name);
  const paths = ["README.md", ...Object.keys(files)];

  it("has a page about its use, at least one guide, and llms.txt, which links to each of them", () => {
    expect(Object.keys(files).length).toBeGreaterThanOrEqual(3);
    for (const path of paths.filter((one) => one !== "llms.txt"))
      expect(files["llms.txt"]).toContain(`](${path})`);
  });

  it("has no link to a file that is not in the tarball, and no mark of our tools", () => {
    for (const [path, text] of Object.entries(files)) {
      expect(findBrokenLinks(path, text, paths), path).toEqual([]);
      expect(text, path).not.toMatch(/^<!--/m);
      expect(text, path).toMatch(path.startsWith("skills/") ? /^---\n/ : /^# /);
    }
  });

  it("names the package, the main calls and the mistakes, on a page that a program can read at once", () => {
    const page = files["docs/using.md"] ?? "";
    expect(page).toContain(`# Using @loyalty-cards/${name}\n`);
    expect([...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual(
      expect.arrayContaining(["Main calls", "Mistakes to avoid"]),
    );
    expect(page.match(/^```\w+\n/gm)?.length).toBeGreaterThanOrEqual(2);
    expect(page.length).toBeLessThan(12_000);
    expect(Object.values(files).join("").length).toBeLessThan(50_000);
  });

  it("has the code of the guides without a change", () => {
    for (const guide of Object.keys(contents[name]?.guides ?? {})) {
      const readCode = (page: string) => page.match(/^```[\s\S]*?^```$/gm);
      expect(readCode(files[`docs/${guide}.md`] ?? "")).toEqual(
        readCode(readFromRoot(`docs/guides/${guide}.md`)),
      );
    }
  });
});

const page = "# A\n\n## One\n\n```sh\n# no heading\n```\n\n### Below\n\ntext\n\n## Two\n\nmore\n";

it("a section ends at the next heading of its level, and not in a code block", () => {
  expect(readSection(page, "One", "a.md")).toBe("### One\n\n```sh\n# no heading\n```\n\n#### Below\n\ntext");
  expect(readSection(page, "Two", "a.md")).toBe("### Two\n\nmore");
});

it("throws when a page has lost the heading of a section", () => {
  expect(() => readSection(page, "Three", "docs/a.md")).toThrow('docs/a.md has no heading "Three".');
});

it("reports a link that leads to no file, also with an anchor", () => {
  const text = "[a](b.md#c) [d](../README.md) [e](https://example.com) [f](#g)\n```md\n[h](i.md)\n```\n";
  expect(findBrokenLinks("docs/a.md", text, ["README.md"])).toEqual(["b.md#c"]);
});
