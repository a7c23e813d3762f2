/** The documentation site: every Markdown file of the repository that is for readers, and the generated reference. */
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DefaultTheme, defineConfigWithTheme } from "vitepress";
import { createLlmsTxt } from "./llms.ts";
import { markdown, type SearchEnv } from "./markdown.ts";
import { excluded, help, repository, root, toPage } from "./pages.ts";
import { createProjectSidebars, createReferenceSidebars, createUserSidebar } from "./sidebar.ts";

/** The logo of theme/Layout.vue: a card. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0f766e"/><rect x="6" y="9" width="20" height="14" rx="3" fill="#fff"/><rect x="6" y="12.5" width="20" height="3.5" fill="#0f766e"/></svg>`;

const title = "Loyalty Cards";
const description =
  "TypeScript SDK of the Loyalty Card Issuing Service: issue cards, receive signed webhooks, test both.";

/** The configuration of theme/Layout.vue, beside that of VitePress. */
interface ThemeConfig extends DefaultTheme.Config {
  help: Readonly<Record<string, { text: string; link: string }>>;
}

export default defineConfigWithTheme<ThemeConfig>({
  title,
  description,
  lang: "en",
  base: "/loyalty-cards/",
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  // Pages stay where they are in the repository, READMEs of packages included.
  srcDir: "..",
  srcExclude: excluded,
  rewrites: toPage,
  cleanUrls: true,
  metaChunk: true,
  ignoreDeadLinks: "localhostLinks",
  markdown,
  transformPageData({ relativePath, frontmatter }) {
    if (relativePath.startsWith("reference/"))
      return { frontmatter: { ...frontmatter, pageClass: "reference", editLink: false } };
    // Pages to look something up have no order in which to read them.
    if (/^(errors\.md|check-signature)/.test(relativePath))
      return { frontmatter: { ...frontmatter, prev: false, next: false } };
    return {};
  },
  // The site has each JSON Schema at the address of its $id.
  buildEnd({ outDir }) {
    for (const name of ["openapi.json", "events"])
      cpSync(join(root, "packages/contract", name), join(outDir, "contract", name), { recursive: true });
    writeFileSync(join(outDir, "llms.txt"), createLlmsTxt(title, description));
  },
  vite: {
    resolve: { conditions: ["@loyalty-cards/source"] }, // components import the sources of the packages
    build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4_000 },
  },
  themeConfig: {
    nav: [
      { text: "Guides", link: "/guides/getting-started", activeMatch: "^/guides/" },
      { text: "Errors", link: "/errors", activeMatch: "^/errors" },
      { text: "Packages", link: "/packages/issuing-client", activeMatch: "^/packages/" },
      { text: "Reference", link: "/reference/", activeMatch: "^/reference/" },
    ],
    sidebar: { ...createReferenceSidebars(), ...createProjectSidebars(), "/": createUserSidebar() },
    socialLinks: [{ icon: "github", link: repository }],
    editLink: {
      pattern: ({ filePath }) => `https://github.com/loyalty-cards/loyalty-cards/edit/main/${filePath}`,
      text: "Edit this page",
    },
    help,
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: {
        detailedView: true,
        _render(source, env: SearchEnv, md) {
          if (/^(decisions\/|index\.md)/.test(toPage(env.relativePath))) return "";
          const { highlight } = md.options;
          md.options.highlight = null;
          const html = md.render(source, Object.assign(env, { isForSearch: true }));
          md.options.highlight = highlight;
          return html;
        },
        miniSearch: {
          searchOptions: {
            // Words of readers, and the words of these pages for the same thing. VitePress copies the text of this function into
            // the page, so that it contains everything it uses.
            processTerm(term: string) {
              const synonyms: Record<string, string> = {
                privacy: "consents",
                quick: "getting",
                quickstart: "getting started",
                tutorial: "getting started",
                dlq: "dead letter",
                queue: "outbox inbox",
                backfill: "import",
                hmac: "signature",
                "401": "unauthorized",
                "429": "rate limited",
                undefined: "configuration",
                delete: "forget",
                remove: "delete forget",
                erase: "delete forget",
              };
              const word = term.toLowerCase();
              return [word, ...((Object.hasOwn(synonyms, word) && synonyms[word]?.split(" ")) || [])];
            },
            // A status finds the section about its error. Guides come before pages about packages, and these before the reference, unless
            // the reader types the name of a symbol. VitePress copies the text of this function into the page.
            boostDocument(id: string, term: string) {
              if (id.includes("/errors#")) return /^(\d{3}|unauthorized|limit(ed)?)$/.test(term) ? 12 : 1;
              if (!id.includes("/reference/")) return id.includes("/guides/") ? 3 : 1;
              const [path = "", anchor] = id.split("#");
              const name = path.slice(path.lastIndexOf("/") + 1);
              const isSymbol = /[a-z][A-Z]/.test(name) && name.toLowerCase() === term && anchor === term;
              return isSymbol ? 1.3 : 0.4;
            },
          },
        },
      },
    },
  },
});
