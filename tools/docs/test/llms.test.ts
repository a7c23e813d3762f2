/** `llms.txt` of the site lists every page of the users' sidebar, with a line about each guide, package and error. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createLlmsTxt } from "../../../docs/.vitepress/llms.ts";
import { root, site } from "../../../docs/.vitepress/pages.ts";
import { createUserSidebar, type Item } from "../../../docs/.vitepress/sidebar.ts";

const text = createLlmsTxt("Loyalty Cards", "The summary.");
const lines = text.split("\n").filter((line) => line.startsWith("- "));

it("begins with the title and the summary, and has the sections of the sidebar", () => {
  expect(text.startsWith("# Loyalty Cards\n\n> The summary.\n\n## ")).toBe(true);
  const sections = [...text.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(createUserSidebar().map(({ text }) => text));
});

it("links to each page of the sidebar once, with an absolute address", () => {
  const list = (items: readonly Item[]): string[] =>
    items.flatMap(({ link, items = [] }) => [
      ...(link === undefined ? [] : [`${site}${link}`]),
      ...list(items),
    ]);
  const links = lines.map((line) => /^- \[[^\]]+\]\((https:[^)]+)\)/.exec(line)?.[1]);
  expect(links).toEqual(list(createUserSidebar()));
  expect(new Set(links).size).toBe(links.length);
});

it.each([
  ["guides", readdirSync(join(root, "docs/guides")).map((name) => `guides/${name.replace(".md", "")}`)],
  ["packages", readdirSync(join(root, "packages")).map((name) => `packages/${name}`)],
  [
    "errors",
    readdirSync(join(root, "docs/errors"))
      .filter((name) => name !== "README.md")
      .map((name) => `errors/${name.replace(".md", "")}`),
  ],
])("has one line of text about each of the %s", (_name, pages) => {
  for (const page of pages) {
    const line = lines.find((each) => each.includes(`(${site}/${page})`)) ?? "";
    expect(line.split("): ")[1], page).toMatch(/^.{10,}$/);
    expect(line.split("): ")[1], page).not.toMatch(/\]\(|\|/);
    if (page.startsWith("packages/")) expect(line).toContain(`[@loyalty-cards/${page.slice(9)}]`);
  }
});
