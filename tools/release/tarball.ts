/**
 * Packs each package and checks the tarball: publint, attw, that every import is installed with it, that the links of its
 * documentation lead to files of the tarball, and that its files are those of `packages/NAME/tarball.txt`. `--write` updates the lists.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { findBrokenLinks } from "../docs/excerpts.ts";
import { hasEntryPoints, type Manifest, type Published, published, root } from "../published.ts";
import { pack } from "./pack.ts";

let failures = 0;
function fail(sentence: string): void {
  failures += 1;
  console.log(`✗ ${sentence}`);
}

function runTool(name: string, ...args: string[]): void {
  const { status, stdout } = spawnSync("npx", args, {
    cwd: join(root, "compat"),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) fail(`${name}: ${args[0]}\n${stdout}`);
}

/** Sources and hashed chunks are summarised, because their names change often. */
function toList(paths: readonly string[]): string {
  const names = paths.map((path) =>
    path.startsWith("src/") ? "src/**" : path.replace(/[^/]+-[\w-]{8}(?=(\.d)?\.c?[jt]s(\.map)?$)/, "*-HASH"),
  );
  return `${[...new Set(names)].sort().join("\n")}\n`;
}

/** Packages that a file imports and that npm does not install with it. */
function findUninstalledImports(text: string, { name, dependencies, peerDependencies }: Manifest): string[] {
  const installed = new Set([name, ...Object.keys({ ...dependencies, ...peerDependencies })]);
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((specifier) => !specifier.startsWith(".") && !isBuiltin(specifier))
    .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
    .filter((packageName) => !installed.has(packageName));
}

function check(one: Published, destination: string): void {
  const { name, folder, manifest } = one;
  const { file, paths, size } = pack(folder, destination);
  runTool(name, "publint", "--strict", file);
  if (hasEntryPoints(one)) runTool(name, "attw", file);
  else console.log(`${name}: attw has nothing to check, because the package has no entry point`);
  for (const path of paths.filter(
    (one) => /^dist\/.*\.c?[jt]s$/.test(one) && !one.startsWith("dist/reference/"),
  )) {
    for (const other of findUninstalledImports(readFileSync(join(folder, path), "utf8"), manifest))
      fail(`${name}: ${path} imports ${other}, which is neither a dependency nor a peer dependency`);
  }
  for (const path of paths.filter((one) => one.startsWith("docs/") || one === "llms.txt")) {
    for (const target of findBrokenLinks(path, readFileSync(join(folder, path), "utf8"), paths))
      fail(`${name}: ${path} links to ${target}, which is not in the tarball`);
  }
  const [list, listFile] = [toList(paths), join(folder, "tarball.txt")];
  if (process.argv.includes("--write")) writeFileSync(listFile, list);
  const expected = existsSync(listFile) ? readFileSync(listFile, "utf8") : "";
  const [actualLines, expectedLines] = [new Set(list.split("\n")), new Set(expected.split("\n"))];
  const differences = [
    ...[...actualLines].filter((line) => !expectedLines.has(line)).map((line) => `+ ${line}`),
    ...[...expectedLines].filter((line) => !actualLines.has(line)).map((line) => `- ${line}`),
  ];
  if (list !== expected)
    fail(`${name}: its files differ from tarball.txt (--write updates it)\n${differences.join("\n")}`);
  console.log(`${name}: ${paths.length} files, ${Math.round(size / 1000)} kB`);
}

const destination = mkdtempSync(join(tmpdir(), "loyalty-cards-tarballs-"));
for (const one of published) check(one, destination);
rmSync(destination, { recursive: true });
process.exitCode = failures === 0 ? 0 : 1;
