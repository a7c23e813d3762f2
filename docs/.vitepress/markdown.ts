/** Markdown of the repository as pages of the site: links to files, anchors as on GitHub, tabs, JavaScript, and types on hover. */
import { posix, relative } from "node:path";
import { transformerTwoslash, type VitePressPluginTwoslashOptions } from "@shikijs/vitepress-twoslash";
import { format } from "prettier";
import blankTypes from "ts-blank-space";
import type { MarkdownEnv, MarkdownOptions, MarkdownRenderer } from "vitepress";
import { listPages, readFromRoot, splitAtRegion } from "../../tools/docs/snippets.ts";
import { resolveFile, root } from "./pages.ts";

type Token = ReturnType<MarkdownRenderer["parse"]>[number];
type TokenClass = new (type: string, tag: string, nesting: 0 | 1 | -1) => Token;

/** The main snippets: their types are shown on hover. Each costs about a second of the build. */
const withTypes =
  /^examples\/(snippets\/outbox\/one-machine|snippets\/receivers\/(express|fastify|next-route)|getting-started\/(first-card|loyalty))\.ts$/;

const block = /<!-- snippet: \S+ -->\n```ts\n([\s\S]*?)\n```/g;

/** JavaScript of the quoted TypeScript blocks, by their text: the same program without types, formatted again. Blocks without types are absent, and those that consist of types. */
const javaScript: ReadonlyMap<string, string> = new Map(await convertPages());

async function convertPages(): Promise<[string, string][]> {
  const pages = listPages().map(readFromRoot).join("\n");
  const programs = new Set([...pages.matchAll(block)].map(([, program = ""]) => program));
  const converted: [string, string][] = [];
  for (const program of programs) {
    const blanked = blankTypes(program);
    if (blanked === program || blanked.trim() === "") continue;
    // Lines that had only types, such as an import, leave no gap.
    const lines = program.split("\n");
    const kept = blanked
      .split("\n")
      .filter((line, index) => line.trim() !== "" || lines[index]?.trim() === "");
    const named = kept.join("\n").replace(/^(\/\/ .*\.)ts\b/, "$1js"); // the comment with the name of the file
    converted.push([program, (await format(named, { parser: "babel", printWidth: 84 })).trimEnd()]);
  }
  return converted;
}

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

/** Pictures scroll on a phone: style.css, and the keyboard, have to reach them. */
function markPictures(tokens: readonly Token[]): void {
  for (const [index, token] of tokens.entries()) {
    const children = tokens[index + 1]?.children ?? [];
    if (token.type !== "paragraph_open" || children.length !== 1 || children[0]?.type !== "image") continue;
    token.attrSet("class", "picture");
    token.attrSet("tabindex", "0");
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
  for (const [index, token] of tokens.entries()) {
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
        throw new Error(`${page}: a code block between tabs needs a bold line above it (token ${index})`);
      token.info = `${token.info} [${title}]`;
      title = undefined;
      result.push(token);
    }
  }
  if (isOpen) throw new Error(`${page}: <!-- tabs --> without <!-- end tabs -->`);
  return result;
}

/**
 * Turns what is between `<!-- text tabs -->` and `<!-- end text tabs -->` into tabs with text and any number of code blocks. Each tab
 * begins with its title, a bold line. The elements are those of a code group, whose script of VitePress selects a tab.
 */
function groupTextTabs(tokens: readonly Token[], page: string, Token: TokenClass): Token[] {
  const html = (content: string) => Object.assign(new Token("html_block", "", 0), { content });
  const result: Token[] = [];
  let bar: Token | undefined; // of the open group: the titles follow
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as Token;
    const mark = token.type === "html_block" ? /^<!-- (end )?text tabs -->/.exec(token.content) : null;
    const [, title] = /^\*\*(.+)\*\*$/.exec(tokens[index + 1]?.content ?? "") ?? [];
    if (mark !== null && mark[1] === undefined) {
      bar = html("");
      result.push(html('<div class="vp-code-group text-tabs"><div class="tabs">'), bar);
      result.push(html('</div><div class="blocks">'));
    } else if (mark !== null) {
      result.push(html("</div></div></div>"));
      bar = undefined;
    } else if (bar !== undefined && token.type === "paragraph_open" && title !== undefined) {
      const isFirst = bar.content === "";
      const id = `text-tab-${index}`;
      bar.content += `<input type="radio" name="text-tabs" id="${id}"${isFirst ? " checked" : ""}>`;
      bar.content += `<label data-title="${title}" for="${id}">${title}</label>`;
      result.push(html(isFirst ? '<div class="text-tab active">' : '</div><div class="text-tab">'));
      index += 2; // the title is in the bar
    } else {
      result.push(token);
    }
  }
  if (bar !== undefined) throw new Error(`${page}: <!-- text tabs --> without <!-- end text tabs -->`);
  return result;
}

/** Adds the JavaScript of a quoted block in a second tab. */
function addJavaScript(tokens: readonly Token[], Token: TokenClass): Token[] {
  const result: Token[] = [];
  let isInTabs = false;
  for (const [index, token] of tokens.entries()) {
    const { type, content } = token;
    if (type === "html_block" && /^<!-- (end )?tabs -->/.test(content))
      isInTabs = !content.startsWith("<!-- end");
    const program = type === "fence" && token.info === "ts" ? javaScript.get(content.trimEnd()) : undefined;
    const mark = tokens[index - 1];
    if (isInTabs || program === undefined || !mark?.content.startsWith("<!-- snippet: ")) {
      result.push(token);
      continue;
    }
    const block = Object.assign(new Token("fence", "code", 0), {
      info: "js [JavaScript]",
      content: `${program}\n`,
      markup: token.markup,
      map: token.map,
      block: true,
    });
    token.info = "ts [TypeScript]";
    const [open, close] = [
      new Token("container_code-group_open", "div", 1),
      new Token("container_code-group_close", "div", -1),
    ];
    result.splice(-1, 1, open, mark); // the mark stays before its block
    result.push(token, block, close);
  }
  return result;
}

/** Gives a quoted block the rest of its file, hidden, so that the compiler knows the type of each name. */
function addTypes(tokens: readonly Token[]): void {
  for (const [index, token] of tokens.entries()) {
    const mark = /^<!-- snippet: ([^\s#]+)#([\w-]+) -->/.exec(tokens[index - 1]?.content ?? "");
    const [, file = "", region = ""] = mark ?? [];
    if (token.type !== "fence" || !withTypes.test(file)) continue;
    const { before, after } = splitAtRegion(readFromRoot(file), file, region);
    token.content = `// @filename: ${file}\n${before}\n// ---cut-before---\n${token.content}// ---cut-after---\n${after}\n`;
    token.info = token.info.replace(/^\w+/, "$& twoslash");
  }
}

export interface SearchEnv extends MarkdownEnv {
  /** Rendered for the search index: without colours and types. */
  isForSearch?: boolean;
}

/** Some snippets are on several pages: the compiler reads each once. */
type TypesCache = NonNullable<VitePressPluginTwoslashOptions["typesCache"]>;
const knownTypes = new Map<string, ReturnType<TypesCache["read"]>>();

type CodeTransformer = NonNullable<MarkdownOptions["codeTransformers"]>[number];

export const markdown: MarkdownOptions = {
  anchor: { slugify: toAnchor },
  theme: { light: "github-light-high-contrast", dark: "github-dark-default" },
  codeTransformers: [
    transformerTwoslash({
      typesCache: {
        read: (code) => knownTypes.get(code) ?? null,
        write: (code, types) => void knownTypes.set(code, types),
      },
      twoslashOptions: {
        compilerOptions: {
          customConditions: ["@loyalty-cards/source"],
          allowImportingTsExtensions: true,
          noEmit: true,
          strict: true,
          moduleResolution: 100, // bundler
          types: ["node"],
        },
      },
    }) as unknown as CodeTransformer, // typed for another major version of Shiki
  ],
  config(md) {
    md.core.ruler.push("repository", (state) => {
      const env = state.env as SearchEnv & { realPath?: string };
      if (env.path === undefined) return; // a title alone
      const page = relative(root, env.realPath ?? env.path).replaceAll("\\", "/");
      linkFiles(state.tokens, page);
      markPictures(state.tokens);
      if (!env.isForSearch) {
        state.tokens = addJavaScript(state.tokens, state.Token);
        addTypes(state.tokens);
        state.tokens = groupTextTabs(state.tokens, page, state.Token);
      }
      state.tokens = groupTabs(state.tokens, page);
    });
  },
};
