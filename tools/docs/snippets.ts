/** The pages, and the code in them, which is copied from files that run in the tests. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../published.ts";

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
  const lines = program.split("\n");
  const marks = (mark: string) => [`// ${mark}`, `# ${mark}`];
  const start = lines.findIndex((line) => marks(`#region ${region}`).includes(line.trim()));
  const end = lines.findIndex(
    (line, index) => index > start && marks("#endregion").includes(line.trim()),
  );
  if (start < 0 || end < 0) throw new Error(`${file} has no region ${region}.`);
  const inside = lines.slice(start + 1, end);
  return inside.join("\n").trimEnd();
}

/** Code blocks in these languages must be quoted from a file that runs. */
const programLanguages = new Set(
  "ts tsx mts cts js jsx mjs cjs sh bash shell console powershell py python php http".split(" "),
);
const fence = /^```(\w+)\n([\s\S]*?)^```/gm;

/**
 * Returns the code blocks of a page that are not quoted from a file, except installations and known
 * npm scripts.
 * @param home the folder in which the page's commands run, relative to the root.
 */
export function findUnquoted(page: string, home = "."): string[] {
  const unquoted: string[] = [];
  for (const { 0: block, 1: language = "", 2: program = "", index } of page.matchAll(fence)) {
    const isQuoted = /<!-- snippet: \S+ -->\n$/.test(page.slice(0, index));
    if (isQuoted || !programLanguages.has(language) || needsNoSource(program, home)) continue;
    unquoted.push(block);
  }
  return unquoted;
}

/** Whether each command installs packages of our lock file, or runs an npm script that exists. */
function needsNoSource(program: string, home: string): boolean {
  const commands = program
    .trimEnd()
    .split(/\n| && /)
    .map((line) => line.replace(/ +# .*$/, ""));
  return commands.every((command) => isInstallation(command) || isKnownScript(command, home));
}

function isInstallation(command: string): boolean {
  if (command === "npm ci" || command === "npm install") return true;
  const [, names] = /^npm install (?:--save-dev )?([@\w/. -]+)$/.exec(command) ?? [];
  if (names === undefined) return false;
  const { packages } = JSON.parse(readFromRoot("package-lock.json")) as { packages: object };
  return names.split(/ +/).every((name) => `node_modules/${name}` in packages);
}

/** `npm run demo`, `npm start --workspace examples/express`. */
function isKnownScript(command: string, home: string): boolean {
  const known = /^npm (?:run )?([\w:]+)(?: --workspace (examples\/[\w-]+))?(?: -- --\w+)?$/;
  const [, script = "", folder] = known.exec(command) ?? [];
  const folders = folder === undefined ? [home, "."] : [folder];
  return folders.some((each) => script in readScripts(each));
}

const readScripts = (folder: string) =>
  (JSON.parse(readFromRoot(join(folder, "package.json"))) as { scripts?: object }).scripts ?? {};

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
