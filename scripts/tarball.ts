/** Looks at what each tarball has inside: everything that is needed, and nothing that nothing leads to. */
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { isAbsolute, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { pack } from "./pack.ts";
import { type Manifest, published, targetsOf } from "./published.ts";

/** What a reader needs whom no link leads there. The change log is written with the first release. */
const always = ["package.json", "README.md", "LICENSE"];
const readByPeople = [...always, "CHANGELOG.md", "THIRD-PARTY.md"];
/** Found by name when the mock server runs, so no import leads there. */
const foundByName = /^dist\/reference\//;

/** One sentence per file that is missing or that nothing leads to, and per import of a package that npm does not install. */
export function tarballFaults(
  name: string,
  manifest: Manifest,
  paths: readonly string[],
  read: (path: string) => string,
): string[] {
  const inside = new Set(paths);
  const needed = reached(manifest, paths, read);
  const missing = [...new Set([...always, ...needed])].filter((path) => !inside.has(path));
  const spare = paths.filter((path) => !needed.has(path) && !readByPeople.includes(path));
  const machines = paths.filter((path) => path.endsWith(".map") && namedIn(read(path)).some(isAbsolute));
  const built = paths.filter((path) => /^dist\/.*\.c?[jt]s$/.test(path) && needed.has(path));
  return [
    ...built.flatMap((path) =>
      strangersIn(read(path), manifest).map(
        (other) => `packages/${name}: ${path} imports ${other}, which is no dependency and no peer`,
      ),
    ),
    ...machines.map((path) => `packages/${name}: ${path} has a path of the machine that built it`),
    ...missing.map((path) => `packages/${name} has no ${path}: its tarball would be without it`),
    ...spare
      .filter((path) => !foundByName.test(path))
      .map((path) => `packages/${name} would publish ${path}, to which nothing leads`),
  ];
}

/** From the manifest along imports, source maps and links, to every file that somebody may ask for. */
function reached(manifest: Manifest, paths: readonly string[], read: (path: string) => string): Set<string> {
  const { exports = {}, main, module, types, bin = {}, typesVersions = {} } = manifest;
  const named = [
    ...targetsOf(exports),
    ...[main, module, types].filter((path) => path !== undefined),
    ...Object.values(bin),
    ...Object.values(typesVersions["*"] ?? {}).flat(),
    "README.md",
  ].map((path) => posix.normalize(path));
  const open = named.flatMap((path) => (path.includes("*") ? matching(path, paths) : [path]));
  const found = new Set<string>();
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    if (paths.includes(path)) open.push(...targetsIn(path, read(path), paths));
  }
  return found;
}

/** Packages that a built file imports, its declarations included, and that npm does not install with it. */
function strangersIn(text: string, { name, dependencies, peerDependencies }: Manifest): string[] {
  const installed = new Set([name, ...Object.keys({ ...dependencies, ...peerDependencies })]);
  return importsOf(text)
    .filter((specifier) => !specifier.startsWith(".") && !isBuiltin(specifier))
    .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
    .filter((other) => !installed.has(other));
}

const importsOf = (text: string) =>
  ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);

function namedIn(map: string): string[] {
  const { file, sources } = JSON.parse(map) as { file?: string; sources: string[] };
  return file === undefined ? sources : [file, ...sources];
}

function matching(pattern: string, paths: readonly string[]): string[] {
  const [before = "", after = ""] = pattern.split("*");
  return paths.filter((path) => path.startsWith(before) && path.endsWith(after));
}

function targetsIn(path: string, text: string, paths: readonly string[]): string[] {
  const beside = (target: string) => posix.join(posix.dirname(path), target);
  if (path.endsWith(".map")) {
    // Inlined software of others is not published, only ours is.
    return namedIn(text)
      .map(beside)
      .filter((source) => paths.includes(source));
  }
  if (path.endsWith(".md")) {
    // What is outside of the package, npm links to the repository.
    return [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
      .map(([, target = ""]) => beside(target))
      .filter((target) => !target.startsWith(".."));
  }
  const isTypes = /\.d\.c?ts$/.test(path);
  const imports = importsOf(text)
    .filter((specifier) => specifier.startsWith("."))
    .map(beside)
    .map((target) => (isTypes ? target.replace(/\.(c?)js$/, ".d.$1ts") : target));
  const map = /^\/\/# sourceMappingURL=(\S+)$/m.exec(text)?.[1];
  return [...imports, ...(map === undefined ? [] : [beside(map)])];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let faults = 0;
  for (const { name, folder, manifest } of published) {
    const { paths, size } = pack(folder);
    const found = tarballFaults(name, manifest, paths, (path) => readFileSync(join(folder, path), "utf8"));
    for (const fault of found) console.log(`✗ ${fault}`);
    if (found.length === 0) console.log(`✓ ${name}: ${paths.length} files, ${Math.round(size / 1000)} kB`);
    faults += found.length;
  }
  process.exitCode = faults === 0 ? 0 : 1;
}
