/** Copies files and marked regions of programs that run in the tests into the pages that quote them. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** `<!-- snippet: examples/shop/sign-up.ts#sign-up -->`, or without a region for a whole file, and the fence below it. */
const quotation = /(<!-- snippet: (?<file>[^\s#]+)(?:#(?<region>[\w-]+))? -->\n)```\w*\n(?:[\s\S]*?\n)??```/g;

/** The page with every quotation as its program has it now. @throws when a page quotes what does not exist. */
export function quoted(page: string, read: (file: string) => string): string {
  return page.replace(quotation, (_whole, mark: string, file: string, region: string | undefined) => {
    const program = region === undefined ? read(file).trimEnd() : regionOf(read(file), file, region);
    return `${mark}\`\`\`${languageOf(file)}\n${program}\n\`\`\``;
  });
}

/** Names that every highlighter knows. */
const languageOf = (file: string) => {
  const extension = file.split(".").at(-1) ?? "";
  return extension === "mjs" ? "js" : extension;
};

/** The lines of a region, as a reader has them. @throws when the program has no such region. */
export function regionOf(program: string, file: string, region: string): string {
  const lines = program.split("\n");
  const marks = (mark: string) => [`// ${mark}`, `# ${mark}`];
  const start = lines.findIndex((line) => marks(`#region ${region}`).includes(line.trim()));
  const end = lines.findIndex((line, index) => index > start && marks("#endregion").includes(line.trim()));
  if (start < 0 || end < 0) throw new Error(`${file} has no region ${region}.`);
  // A reader compiles to JavaScript, where the neighbours are called .js.
  return lines
    .slice(start + 1, end)
    .join("\n")
    .replace(/(from "\.{1,2}\/[^"]+)\.ts"/g, '$1.js"');
}

/** Languages of programs: whatever is fenced in one of them has to run. */
const programs = /^```(ts|tsx|mts|cts|js|jsx|mjs|cjs|sh|bash|shell|console|powershell)\n([\s\S]*?)^```/gm;

/**
 * The fences of a page that are programs and quoted from nowhere.
 * @param home the folder in which the page's commands are run, from the root.
 */
export function unquoted(page: string, home = "."): string[] {
  return [...page.matchAll(programs)]
    .filter(({ index }) => !/<!-- snippet: \S+ -->\n$/.test(page.slice(0, index)))
    .map(([fence, , program = ""]) => (isHarmless(program, home) ? "" : fence))
    .filter((fence) => fence !== "");
}

const scriptsOf = (folder: string) =>
  (JSON.parse(readFromRoot(join(folder, "package.json"))) as { scripts?: object }).scripts ?? {};

/** Lines to install packages that we install too, and to run scripts that there are. */
function isHarmless(program: string, home: string): boolean {
  const { packages } = JSON.parse(readFromRoot("package-lock.json")) as { packages: object };
  return program
    .trimEnd()
    .split(/\n| && /)
    .map((line) => line.replace(/ +# .*$/, ""))
    .every((line) => {
      const installed = /^npm install (?:--save-dev )?([@\w/. -]+)$/.exec(line)?.[1]?.trim().split(/ +/);
      if (installed !== undefined) return installed.every((name) => `node_modules/${name}` in packages);
      if (line === "npm ci" || line === "npm install") return true;
      const [, script = "", folder] =
        /^npm (?:run )?([\w:]+)(?: --workspace (examples\/[\w-]+))?$/.exec(line) ?? [];
      const folders = folder === undefined ? [home, "."] : [folder];
      return folders.some((each) => script in scriptsOf(each));
    });
}

/** Every page of the repository, from its root. */
export function pages(): string[] {
  const inDocs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !file.startsWith("api"))
    .map((file) => `docs/${file.replaceAll("\\", "/")}`);
  const inPackages = readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`);
  const inExamples = readdirSync(join(root, "examples"))
    .map((name) => `examples/${name}/README.md`)
    .filter((file) => existsSync(join(root, file)));
  return ["README.md", "CONTRIBUTING.md", ...inPackages, ...inExamples, ...inDocs];
}

export const readFromRoot = (file: string) => readFileSync(join(root, file), "utf8");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of pages()) {
    const before = readFromRoot(page);
    const after = quoted(before, readFromRoot);
    if (after === before) continue;
    writeFileSync(join(root, page), after);
    console.log(`updated ${page}`);
  }
}
