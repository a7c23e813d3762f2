/** The documentation site: every Markdown file of the repository that is for readers, and the generated reference. */
import { defineConfig } from "vitepress";
import { extendMarkdown, toAnchor } from "./markdown.ts";
import { excluded, repository, toPage } from "./pages.ts";
import { createGuideSidebar, createReferenceSidebar } from "./sidebar.ts";

export default defineConfig({
  title: "Loyalty Cards",
  description:
    "TypeScript SDK of the Loyalty Card Issuing Service: issue cards, receive signed webhooks, test both.",
  lang: "en",
  base: "/loyalty-cards/",
  // Pages stay where they are in the repository, READMEs of packages included.
  srcDir: "..",
  srcExclude: excluded,
  rewrites: toPage,
  cleanUrls: true,
  metaChunk: true,
  ignoreDeadLinks: "localhostLinks",
  markdown: { anchor: { slugify: toAnchor }, config: extendMarkdown },
  vite: { build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    nav: [
      { text: "Guides", link: "/guides/getting-started", activeMatch: "^/(guides|errors)/" },
      { text: "Packages", link: "/packages/issuing-client", activeMatch: "^/packages/" },
      { text: "Reference", link: "/reference/", activeMatch: "^/reference/" },
    ],
    sidebar: { "/reference/": createReferenceSidebar(), "/": createGuideSidebar() },
    socialLinks: [{ icon: "github", link: repository }],
    editLink: {
      pattern: ({ filePath }) => `https://github.com/loyalty-cards/loyalty-cards/edit/main/${filePath}`,
      text: "Edit this page",
    },
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: {
        _render(source, env, md) {
          const html = md.render(source, env);
          return /^(decisions\/|index\.md)/.test(toPage(env.relativePath)) ? "" : html;
        },
        miniSearch: {
          searchOptions: {
            // Guides before pages about packages, and these before the reference.
            boostDocument: (id: string) =>
              id.includes("/reference/") ? 0.4 : id.includes("/guides/") ? 3 : 1,
          },
        },
      },
    },
  },
});
