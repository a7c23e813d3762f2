/** The pages, and the code in them, which is copied from files that run in the tests. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../run.ts";

/**
 * A mark such as `<!-- snippet: examples/getting-started/first-card.ts#first-card -->`, for a
 * region or (without `#…`) a whole file, and the code block below it.
 */
const mark = /<!-- snippet: (?<file>[^\s#]+)(?:#(?<region>[\w-]+))? -->\n/.source;
const codeBlock = /```\w*\n(?:[\s\S]*?\n)??```/.source;
const quotation = new RegExp(`(${mark})(${codeBlock})?`, "g");

/**
 * Returns the page with every quoted block as its source file is now.
 * @throws when the file or region does not exist.
 */
export function updateSnippets(page: string): string {
  return page.replace(
    quotation,
    (_whole, start: string, file: string, region?: string, block?: string) => {
      const source = readFromRoot(file);
      const program = region === undefined ? source.trimEnd() : readRegion(source, file, region);
      const end = block === undefined ? "\n" : ""; // a mark without its block gets one
      return `${start}\`\`\`${toFenceLanguage(file)}\n${program}\n\`\`\`${end}`;
    },
  );
}

/** The extension, as a language that every highlighter knows. */
const toFenceLanguage = (file: string) => file.replace(/.*\./, "").replace("mjs", "js");

/**
 * Returns the lines of a region.
 * @throws when the program has no such region.
 */
export function readRegion(program: string, file: string, region: string): string {
  const lines = new RegExp(
    `^ *(?://|#) #region ${region}\\n([\\s\\S]*?)^ *(?://|#) #endregion$`,
    "m",
  ).exec(program)?.[1];
  if (lines === undefined) throw new Error(`${file} has no region ${region}.`);
  return lines.trimEnd();
}

/** The files below a folder, relative to the root, without what is installed or built. */
export function listFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return /^(node_modules|dist|\.\w+)$/.test(entry.name) ? [] : listFiles(path);
  });
}

/** Returns the path of every page, relative to the root. */
export function listPages(): string[] {
  const folders = ["docs", "packages", "examples"].flatMap(listFiles);
  const pages = folders.filter((file) => /^docs\/(?!reference\/).*\.md$|\/README\.md$/.test(file));
  return ["README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md", ...pages];
}

export const readFromRoot = (file: string) => readFileSync(join(root, file), "utf8");
