/** The documentation site: the Markdown files of the repository that are for users, and the generated reference. */
import { cpSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { defineConfig } from "vitepress";
import { isOnNpm } from "../../tools/docs/installation.ts";
import { writeContract } from "../../tools/generate/contract.ts";
import { published } from "../../tools/packages.ts";
import { markdown } from "./markdown.ts";
import { excluded, readStart, repository, sections, site, toLink, toPage } from "./pages.ts";

const title = "Loyalty Cards";
const description =
  "TypeScript SDK of the Loyalty Card Issuing Service: issue cards, receive signed webhooks, test both.";
const version = isOnNpm ? `Version ${published[0]?.manifest["version"]}` : "Not released yet";
const license = `<a href="${repository}/blob/main/LICENSE">MIT License</a>`;
const toAddress = (svg: string) => `data:image/svg+xml,${encodeURIComponent(svg)}`;
const logo = toAddress(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0f766e"/><rect x="6" y="9" width="20" height="14" rx="3" fill="#fff"/><rect x="6" y="12.5" width="20" height="3.5" fill="#0f766e"/></svg>`,
);

/** Hosts differ in what they serve for `/page` beside a folder `page/`: both addresses have it. */
function serveFolders(outDir: string): void {
  for (const entry of readdirSync(outDir, { withFileTypes: true, recursive: true })) {
    if (!entry.isDirectory()) continue;
    const folder = join(entry.parentPath, entry.name);
    const [page, index] = [`${folder}.html`, join(folder, "index.html")];
    if (existsSync(page)) cpSync(page, index);
    else if (existsSync(index)) cpSync(index, page);
  }
}

/**
 * `llms.txt` of the site: its pages for a program that reads documentation, with the first sentence
 * of each.
 * @param summary one sentence.
 */
function createLlmsTxt(title: string, summary: string): string {
  const lists = sections.map(({ text, files }) => {
    const lines = files.map((file) => {
      const { title, paragraph } = readStart(file);
      const [sentence] = /^.+?[.:](?= |$)/.exec(paragraph) ?? [];
      return `- [${title}](${site}${toLink(file)})${sentence === undefined ? "" : `: ${sentence}`}`;
    });
    return `## ${text}\n\n${lines.join("\n")}`;
  });
  return `${[`# ${title}`, `> ${summary}`, ...lists].join("\n\n")}\n`;
}

/** The markup of VitePress's search: it is a dialog, and its options are the links themselves. */
const searchMarkup: readonly [RegExp, string][] = [
  [/role="button"/, 'role="dialog" aria-modal="true" aria-label="Search"'],
  [/aria-expanded="true"\s+aria-haspopup="listbox"\s+aria-labelledby="localsearch-label"/, ""],
  [/(:id="'localsearch-item-'[^>]+role="option")(\s*>\s*<a)/, 'role="none"$2 $1'],
  [/:aria-label="\[\.\.\.p\.titles[^"]+"/, ""],
  [/class="title-icon"/, 'class="title-icon" aria-hidden="true"'],
  [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
];

const accessibleSearch: Plugin = {
  name: "accessible-search",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/VPLocalSearchBox.vue")) return;
    return searchMarkup.reduce((before, [pattern, replacement]) => {
      const after = before.replace(pattern, replacement);
      if (after === before) throw new Error(`VitePress's search box has no ${pattern} any more.`);
      return after;
    }, code);
  },
};

export default defineConfig({
  title,
  description,
  lang: "en",
  base: "/loyalty-cards/",
  head: [["link", { rel: "icon", href: logo }]],
  // Pages stay where they are in the repository, READMEs of packages included.
  srcDir: "..",
  srcExclude: excluded,
  rewrites: toPage,
  cleanUrls: true,
  metaChunk: true,
  ignoreDeadLinks: "localhostLinks",
  markdown,
  // A page loads what its links lead to when a visitor follows them.
  router: { prefetchLinks: false },
  transformPageData({ relativePath, frontmatter }) {
    if (relativePath.startsWith("reference/"))
      return { frontmatter: { ...frontmatter, editLink: false } };
    return {};
  },
  // The site has each JSON Schema at the address of its $id.
  buildEnd({ outDir }) {
    writeContract(join(outDir, "contract"));
    serveFolders(outDir);
    writeFileSync(join(outDir, "llms.txt"), createLlmsTxt(title, description));
  },
  vite: {
    plugins: [accessibleSearch],
    resolve: { conditions: ["@loyalty-cards/source"] }, // components import the sources of the packages
    build: { chunkSizeWarningLimit: 4_000 },
  },
  themeConfig: {
    logo,
    nav: [
      { text: "Guides", link: "/guides/getting-started", activeMatch: "^/guides/" },
      { text: "Errors", link: "/errors", activeMatch: "^/errors" },
      { text: "Packages", link: "/packages/issuing-client", activeMatch: "^/packages/" },
      { text: "Reference", link: "/reference/", activeMatch: "^/reference/" },
    ],
    sidebar: sections.map(({ text, files }) => ({
      text,
      items: files.map((file) => ({
        text: readStart(file).title.replace("@loyalty-cards/", ""),
        link: toLink(file),
      })),
    })),
    socialLinks: [{ icon: "github", link: repository }],
    editLink: { pattern: `${repository}/edit/main/:path`, text: "Edit this page" },
    footer: { message: `${version} · ${license}` }, // of the landing page
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: {
        detailedView: true,
        miniSearch: {
          // A search for "retry" finds "retries".
          options: {
            processTerm: (term) =>
              term
                .toLowerCase()
                .replace(/ies$/, "y")
                .replace(/([^s])s$/, "$1"),
          },
          searchOptions: {
            fuzzy: (term) => (/\d/.test(term) ? false : 0.2), // 401 is not 400
            boostDocument: (id) =>
              id.includes("/errors#")
                ? 2.5
                : id.includes("/guides/")
                  ? 2
                  : id.includes("/reference/")
                    ? 0.6
                    : 1,
          },
        },
      },
    },
  },
});
