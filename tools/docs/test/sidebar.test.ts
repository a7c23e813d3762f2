/** The sidebars: users see no pages about the project itself, and the reference is grouped by package. */
import { describe, expect, it } from "vitest";
import {
  createProjectSidebars,
  createReferenceSidebars,
  createUserSidebar,
  type Item,
  type Navigation,
} from "../../../docs/.vitepress/sidebar.ts";

const listLinks = (items: readonly Item[]): string[] =>
  items.flatMap(({ link, items = [] }) => [...(link === undefined ? [] : [link]), ...listLinks(items)]);

describe("the pages about the project", () => {
  const sidebars = createProjectSidebars();
  const reports = ["/simulation", "/measurements", "/benchmarks", "/test-reports"];
  const pages = ["/architecture", ...reports, "/contributing", "/decisions/"];

  it("have their own sidebar, which lists them, every decision and a way back", () => {
    expect(Object.keys(sidebars)).toEqual(pages);
    for (const sidebar of Object.values(sidebars)) {
      const links = listLinks(sidebar);
      expect(links).toEqual(expect.arrayContaining([...pages, "/guides/getting-started"]));
      expect(links.filter((link) => /^\/decisions\/\d\d-/.test(link)).length).toBeGreaterThan(10);
    }
  });

  it("are one link at the end of the users' sidebar", () => {
    const links = listLinks(createUserSidebar());
    const isProject = (link: string) => pages.some((page) => link.startsWith(page));
    expect(links.filter(isProject)).toEqual(["/architecture"]);
    expect(links.at(-1)).toBe("/architecture");
    expect(links).toContain("/guarantees");
  });
});

describe("the reference", () => {
  const name = (path: string) => path.slice(path.lastIndexOf("/") + 1).replace(".md", "");
  const toModule = (title: string, folder: string, symbols: readonly string[]): Navigation => ({
    title: `@loyalty-cards/${title}`,
    path: `${folder}/index.md`,
    children: [
      {
        title: "Functions",
        children: symbols.map((path) => ({ title: name(path), path: `${folder}/${path}` })),
      },
    ],
  });
  const sidebars = createReferenceSidebars([
    toModule("client", "client", ["functions/issue.md"]),
    toModule("verify", "verify", ["functions/verify.md"]),
    toModule("verify/koa", "verify/koa", ["functions/koaReceiver.md"]),
  ]);

  it("groups the entry points by package on its first page", () => {
    const [{ items: groups = [] } = {}] = sidebars["/reference/"] ?? [];
    expect(groups.map(({ text, items = [] }) => [text, items.map((item) => item.text)])).toEqual([
      ["client", ["client"]],
      ["verify", ["verify", "verify/koa"]],
    ]);
  });

  it("shows the symbols of one package, and links to the others", () => {
    const links = listLinks(sidebars["/reference/verify/"] ?? []);
    expect(links).toEqual([
      "/reference/",
      "/reference/verify/",
      "/reference/verify/functions/verify",
      "/reference/verify/koa/",
      "/reference/verify/koa/functions/koaReceiver",
      "/reference/client/",
    ]);
  });
});
