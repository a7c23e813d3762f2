/** Parts of pages for documents outside of the site, such as those in the tarballs: sections, quoted code, and links that work there. */
import { posix } from "node:path";
import { resolveFile, site } from "../../docs/.vitepress/pages.ts";
import { readFromRoot, updateSnippets } from "./snippets.ts";

const images = "https://raw.githubusercontent.com/loyalty-cards/loyalty-cards/main";

/** Returns the code block of a snippet, given as `file#region`. */
export const quote = (snippet: string) =>
  withoutComments(updateSnippets(`<!-- snippet: ${snippet} -->\n\`\`\`\n\`\`\``, readFromRoot)).trim();

/** Calls `change` with each part of a page outside of its code blocks. */
export const outsideOfCode = (page: string, change: (text: string) => string) =>
  page
    .split(/^(```[\s\S]*?^```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join("");

/** Removes the marks of our own tools, which are lines with an HTML comment. */
export const withoutComments = (page: string) =>
  outsideOfCode(page, (text) => text.replace(/^<!--.*-->\n|\n<!--.*-->$(?!\n)/gm, ""));

/** A section with its heading at level 3, and those below it at level 4. @throws when the page has no such heading. */
export function readSection(page: string, heading: string, file: string): string {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.replace(/^#+ /, "") === heading && line.startsWith("#"));
  if (start < 0) throw new Error(`${file} has no heading "${heading}".`);
  const level = /^#+/.exec(lines[start] ?? "")?.[0].length ?? 0;
  let isCode = false;
  const end = lines.findIndex((line, index) => {
    if (line.startsWith("```")) isCode = !isCode;
    return index > start && !isCode && (/^#+(?= )/.exec(line)?.[0].length ?? 7) <= level;
  });
  const section = lines
    .slice(start, end < 0 ? undefined : end)
    .join("\n")
    .trim();
  return outsideOfCode(section, (text) =>
    text.replace(/^#+(?= )/gm, (marks) => "#".repeat(marks.length - level + 3)),
  );
}

/** Turns relative links into links to other files of the tarball, or to the site and the repository. */
export function linkPages(page: string, file: string, localPages: ReadonlyMap<string, string>): string {
  return outsideOfCode(page, (text) =>
    text.replace(
      /(!?)(\[[^\]]*\])\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g,
      (_whole, image, label, path, anchor = "") => {
        const target = posix.join(posix.dirname(file), path);
        if (image === "!") return `![${label.slice(1, -1)}](${images}/${target})`;
        return `${label}(${localPages.get(target) ?? toAddress(target)}${anchor})`;
      },
    ),
  );
}

/** @throws when the repository has no such file. */
function toAddress(file: string): string {
  const found = resolveFile(file);
  if (found === undefined) throw new Error(`A page of the packages links to ${file}, which does not exist.`);
  return found.startsWith("/") ? site + found.replace(/(\/index)?\.md$/, "") : found;
}

/** @returns the relative links of a page that lead to no file of the tarball. */
export function findBrokenLinks(path: string, page: string, paths: readonly string[]): string[] {
  const targets: string[] = [];
  outsideOfCode(page, (text) => {
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) targets.push(target);
    return text;
  });
  return targets.filter((target) => {
    if (/^(https?:|#)/.test(target)) return false;
    return !paths.includes(posix.join(posix.dirname(path), target.split("#")[0] ?? ""));
  });
}
