/** The sidebars: one for users, one about the project itself, and one for each package of the generated reference. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { guides, readTitle, root, toPage } from "./pages.ts";

/** The part of VitePress's type that is used here, because tests of this file run without VitePress. */
export interface Item {
  text: string;
  link?: string;
  collapsed?: boolean;
  items?: Item[];
}
/** By the beginning of the paths of their pages. */
type Sidebars = Readonly<Record<string, Item[]>>;

const toItem = (file: string): Item => ({
  text: readTitle(file).replace("@loyalty-cards/", ""),
  link: `/${toPage(file).replace(/(index)?\.md$/, "")}`,
});

/** The README of each folder in `folder`. */
const listReadmes = (folder: string) =>
  readdirSync(join(root, folder))
    .map((name) => `${folder}/${name}/README.md`)
    .filter((file) => existsSync(join(root, file)));

const listFolder = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `${folder}/${file}`);

export function createUserSidebar(): Item[] {
  return [
    ...guides.map(({ text, guides }) => ({
      text,
      items: guides.map(({ file }) => toItem(`docs/${file}.md`)),
    })),
    {
      text: "Look up",
      items: [
        toItem("docs/errors.md"),
        toItem("docs/check-signature.md"),
        { text: "Reference", link: "/reference/" },
      ],
    },
    {
      text: "Packages",
      items: [...listReadmes("packages"), "packages/mock-server/CONTROL.md"].map(toItem),
    },
    { text: "Examples", items: listReadmes("examples").map(toItem) },
    {
      text: "About",
      items: [
        ...["guarantees", "specification", "assumptions"].map((page) => `docs/${page}.md`),
        "SECURITY.md",
      ]
        .map(toItem)
        .concat({ text: "Project", link: "/architecture" }),
    },
  ];
}

/** The pages for contributors, and for readers who want to see how the packages are tested and measured. */
export function createProjectSidebars(): Sidebars {
  const pages = ["architecture", "simulation", "measurements", "benchmarks"].map((page) => `docs/${page}.md`);
  const items = [...pages, "CONTRIBUTING.md"].map(toItem);
  const decisions: Item = {
    text: "Decisions",
    collapsed: true,
    items: listFolder("docs/decisions").map(toItem),
  };
  const sidebar: Item[] = [
    { text: "Project", items: [...items, decisions] },
    { text: "For users", items: [{ text: "Guides", link: "/guides/getting-started" }] },
  ];
  return Object.fromEntries(
    ["/decisions/", ...items.map(({ link = "" }) => link)].map((link) => [link, sidebar]),
  );
}

/** What typedoc-plugin-markdown writes to navigation.json. */
export interface Navigation {
  title: string;
  path?: string | null;
  children?: readonly Navigation[];
}

/** Returns nothing when `typedoc` has not run. */
function readNavigation(): readonly Navigation[] {
  const file = join(root, "docs/reference/navigation.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
}

/** A module with its groups, such as "Functions"; a single group is left out. */
function toModule({ title, path, children = [] }: Navigation): Item {
  const link = toLink(path);
  const [only] = children;
  // Groups that can be collapsed are links, because VitePress nests a button in a button otherwise.
  const groups = children.map(({ title, children = [] }) => ({
    text: title,
    link: `${link}#${title.toLowerCase().replaceAll(" ", "-")}`,
    collapsed: true,
    items: children.map(toSymbol),
  }));
  return {
    text: title.replace("@loyalty-cards/", ""),
    link,
    collapsed: true,
    items: children.length === 1 ? (only?.children ?? []).map(toSymbol) : groups,
  };
}

const toSymbol = ({ title, path }: Navigation): Item => ({ text: title, link: toLink(path) });
const toLink = (path?: string | null) => `/reference/${path?.replace(/(index)?\.md$/, "") ?? ""}`;

/**
 * One sidebar for each package, because every page contains the whole sidebar: its entry points with their symbols, and links to the
 * other packages. The sidebar of the index groups all entry points by package.
 */
export function createReferenceSidebars(modules = readNavigation()): Sidebars {
  if (modules.length === 0) return {};
  const createSidebar = (items: Item[]): Item[] => [{ text: "Reference", link: "/reference/", items }];
  const names = [...new Set(modules.map(({ path }) => path?.split("/")[0] ?? ""))];
  const packages = names.map(
    (name) => [name, modules.filter(({ path }) => path?.split("/")[0] === name)] as const,
  );
  const toEntryPoint = ({ title, path = null }: Navigation): Item =>
    toSymbol({ title: title.replace("@loyalty-cards/", ""), path });
  const links = packages.map(([text, [first]]) => ({ text, link: toLink(first?.path) }));
  return {
    "/reference/": createSidebar(
      packages.map(([text, entryPoints]) => ({ text, items: entryPoints.map(toEntryPoint) })),
    ),
    ...Object.fromEntries(
      packages.map(([name, entryPoints]) => [
        `/reference/${name}/`,
        [
          ...createSidebar(entryPoints.map(toModule)),
          { text: "Other packages", items: links.filter(({ text }) => text !== name) },
        ],
      ]),
    ),
  };
}
