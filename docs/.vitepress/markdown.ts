/** Markdown of the repository as pages of the site: links to files, anchors as on GitHub, tabs, and types on hover. */
import { posix, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { resolveFile, root } from "./pages.ts";

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

/** The anchor that GitHub gives a heading, so that one link works on both. */
export const toAnchor = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");

/** Turns relative links between files of the repository into links to pages, or to GitHub for files that are no pages. */
function linkFiles(tokens: readonly Token[], page: string): void {
  for (const token of tokens) {
    if (token.children) linkFiles(token.children, page);
    const href = token.type === "link_open" ? (token.attrGet("href") ?? "") : "";
    if (href === "" || /^([a-z]+:|#|\/)/.test(href)) continue;
    const [path = "", anchor] = href.split("#");
    const target = resolveFile(decodeURI(posix.join(posix.dirname(page), path)));
    if (target === undefined) throw new Error(`${page} links to ${href}, which does not exist`);
    token.attrSet("href", anchor === undefined ? target : `${target}#${anchor}`);
  }
}

/** For `markdown.config` of VitePress. */
export function extendMarkdown(md: MarkdownRenderer): void {
  md.core.ruler.push("link-files", ({ tokens, env }) =>
    linkFiles(tokens, relative(root, env.realPath ?? env.path)),
  );
}
