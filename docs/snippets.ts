/** Copies the marked regions of programs that run in the tests into the pages that quote them. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** `<!-- snippet: examples/shop/sign-up.ts#sign-up -->` and the fence below it. */
const quotation = /(<!-- snippet: (?<file>[^\s#]+)#(?<region>[\w-]+) -->\n)```\w*\n(?:[\s\S]*?\n)??```/g;

/** The page with every quotation as its program has it now. @throws when a page quotes what does not exist. */
export function quoted(page: string, read: (file: string) => string): string {
  return page.replace(quotation, (_whole, mark: string, file: string, region: string) => {
    return `${mark}\`\`\`${file.split(".").at(-1)}\n${regionOf(read(file), file, region)}\n\`\`\``;
  });
}

function regionOf(program: string, file: string, region: string): string {
  const lines = program.split("\n");
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  const end = lines.findIndex((line, index) => index > start && line.trim() === "// #endregion");
  if (start < 0 || end < 0) throw new Error(`${file} has no region ${region}.`);
  // A reader compiles to JavaScript, where the neighbours are called .js.
  return lines
    .slice(start + 1, end)
    .join("\n")
    .replace(/(from "\.{1,2}\/[^"]+)\.ts"/g, '$1.js"');
}

/** Every page of the repository, from its root. */
export function pages(): string[] {
  const inDocs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !file.startsWith("api"))
    .map((file) => `docs/${file}`);
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
