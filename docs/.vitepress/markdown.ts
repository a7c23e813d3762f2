/** Markdown of the repository as pages of the site: links to files, anchors as on GitHub, diagrams and tabs. */
import { readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";
import type { MarkdownEnv, MarkdownOptions, MarkdownRenderer } from "vitepress";
import { resolveFile, root } from "./pages.ts";

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

/** The anchor that GitHub gives a heading, so that one link works on both. */
const toAnchor = (heading: string) =>
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

/** The smallest text of a diagram has 13 px; on a phone it has at least 11, and the diagram scrolls. */
const smallestScale = 11 / 13;

/** Lets a diagram, which is alone in its paragraph, scroll where it would be illegible. */
function scrollDiagrams(tokens: readonly Token[], page: string): void {
  for (const [index, { children }] of tokens.entries()) {
    const [image, ...others] = children ?? [];
    const source = image?.type === "image" ? (image.attrGet("src") ?? "") : "";
    if (image === undefined || others.length > 0 || !source.endsWith(".svg")) continue;
    const svg = readFileSync(join(root, posix.dirname(page), source), "utf8");
    const [, width = ""] = /^<svg [^>]*width="(\d+)"/.exec(svg) ?? [];
    image.attrSet("style", `min-width: ${Math.ceil(Number(width) * smallestScale)}px`);
    tokens[index - 1]?.attrSet("class", "diagram");
    tokens[index - 1]?.attrSet("tabindex", "0");
  }
}

/**
 * Turns code blocks between `<!-- tabs -->` and `<!-- end tabs -->` into a group with tabs. Each block has its title above it, as a
 * bold line, which is what GitHub shows.
 */
function groupTabs(tokens: readonly Token[], page: string): Token[] {
  const result: Token[] = [];
  let title: string | undefined;
  let isOpen = false;
  for (const token of tokens) {
    const mark = token.type === "html_block" ? /^<!-- (end )?tabs -->/.exec(token.content) : null;
    if (mark !== null) {
      isOpen = mark[1] === undefined;
      token.type = `container_code-group_${isOpen ? "open" : "close"}`;
      token.nesting = isOpen ? 1 : -1;
      result.push(token);
    } else if (!isOpen) {
      result.push(token);
    } else if (token.type === "inline") {
      title = /^\*\*(.+)\*\*$/.exec(token.content)?.[1];
    } else if (token.type === "fence") {
      if (title === undefined)
        throw new Error(`${page}: a code block between tabs needs a bold line above it`);
      token.info = `${token.info} [${title}]`;
      title = undefined;
      result.push(token);
    }
  }
  if (isOpen) throw new Error(`${page}: <!-- tabs --> without <!-- end tabs -->`);
  return result;
}

/** Marks the options of commands, which must not break after their hyphens. */
const markOptions: NonNullable<MarkdownOptions["codeTransformers"]>[number] = {
  span(node) {
    const [text] = node.children;
    if (text?.type === "text" && /^ --\w/.test(text.value)) this.addClassToHast(node, "option");
  },
};

export const markdown: MarkdownOptions = {
  codeTransformers: [markOptions],
  anchor: { slugify: toAnchor },
  theme: { light: "github-light-high-contrast", dark: "github-dark-default" },
  config(md) {
    md.core.ruler.push("repository", (state) => {
      const env = state.env as MarkdownEnv & { realPath?: string };
      if (env.path === undefined) return; // a title alone
      const page = relative(root, env.realPath ?? env.path).replaceAll("\\", "/");
      linkFiles(state.tokens, page);
      scrollDiagrams(state.tokens, page);
      state.tokens = groupTabs(state.tokens, page);
    });
  },
};
