/**
 * Packs each package and checks the tarball: publint, attw, its size and the size of its bundle,
 * that it has the files that its code and source maps refer to, and that it has nothing that only
 * this repository needs.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, posix } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { entryPoints, type Published, published } from "../packages.ts";
import { pack } from "../release/pack.ts";
import { renderThirdParty } from "../release/third-party.ts";
import { root, run } from "../run.ts";

/**
 * In kB: the tarball, and for packages that users bundle or that should stay small the main entry,
 * minified and gzipped.
 */
const budgets: Readonly<Record<string, { tarball: number; bundle?: number }>> = {
  cli: { tarball: 390 },
  contract: { tarball: 45 },
  "issuing-client": { tarball: 270, bundle: 20 },
  "issuing-outbox": { tarball: 292 },
  "mock-server": { tarball: 1_200 },
  "webhook-inbox": { tarball: 220 },
  "webhook-verify": { tarball: 160, bundle: 12 },
};
/** The largest file has the metadata of phone numbers and the validators of the control API. */
const maxFileBytes = 530_000;
/** Node.js prints the line that threw before the message of an error that nobody catches. */
const maxLineLength = 1_000;
/** Swagger UI, compressed. */
const isReference = (path: string) => path.startsWith("dist/reference/");

/** Not with npx, which takes a second to start. */
function runTool(name: string, ...args: string[]): string[] {
  const { status, stdout } = spawnSync(join("node_modules/.bin", name), args, {
    cwd: join(root, "compat"),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32",
  });
  return status === 0 ? [] : [`${name} reports problems\n${stdout}`];
}

/** The size of a program that uses everything of the main entry point, minified and gzipped. */
async function measureBundle({ name }: { name: string }): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from ${JSON.stringify(name)}`, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
  });
  return gzipSync(outputFiles[0]?.contents ?? "").length;
}

/** What is wrong with one file, read from the folder that was packed. */
function findFileProblems(path: string, folder: string, paths: readonly string[]): string[] {
  const file = join(folder, path);
  const problems: string[] = [];
  if (/(^|\/)test\/|\.test(-d)?\.\w+$/.test(path)) problems.push("is a test");
  if (isReference(path)) return problems;
  if (statSync(file).size > maxFileBytes) problems.push(`is larger than ${maxFileBytes} bytes`);
  if (isCode(path) && readLines(file).some((line) => line.length > maxLineLength))
    problems.push(`has a line of more than ${maxLineLength} characters`);
  for (const target of listTargets(path, file)) {
    const isThere = paths.includes(posix.join(posix.dirname(path), target));
    if (!isThere) problems.push(`refers to ${target}, which is not in the tarball`);
  }
  return problems;
}

const isCode = (path: string) => /^dist\/.*\.[cm]?[jt]s$/.test(path);

const readLines = (file: string) => readFileSync(file, "utf8").split("\n");

/** The files to which a source map, or the code with a source map, refers. */
function listTargets(path: string, file: string): string[] {
  const isMap = path.endsWith(".map");
  if (!isMap && !isCode(path)) return [];
  const text = readFileSync(file, "utf8");
  if (isMap) {
    const { sources, sourcesContent = [] } = JSON.parse(text) as SourceMap;
    return sources.filter((source, index) => source.endsWith(".ts") && !sourcesContent[index]);
  }
  return Array.from(text.matchAll(/^\/\/# sourceMappingURL=(.+)$/gm), ([, map = ""]) => map);
}

interface SourceMap {
  sources: string[];
  /** The text of a source that is not a file of the tarball. */
  sourcesContent?: (string | null)[];
}

async function findSizeProblems(one: Published, tarballBytes: number): Promise<string[]> {
  const { tarball, bundle } = budgets[one.name] ?? { tarball: 0 };
  const problems: string[] = [];
  if (tarballBytes > tarball * 1_000)
    problems.push(`its tarball has ${tarballBytes} bytes, more than ${tarball} kB`);
  if (bundle !== undefined && (await measureBundle(one.manifest)) > bundle * 1_000)
    problems.push(`its bundle is larger than ${bundle} kB`);
  return problems;
}

/**
 * Packs a package and prints its problems.
 * @returns how many it has.
 */
async function checkPackage(one: Published, destination: string): Promise<number> {
  const { name, folder } = one;
  const file = pack(folder, destination);
  const listed = run("tar", ["--list", "--file", basename(file)], destination);
  const packed = listed.trimEnd().split("\n");
  const paths = packed.map((path) => path.replace("package/", ""));
  const { size } = statSync(file);
  const problems = runTool("publint", "--strict", file);
  if (entryPoints.some((entry) => entry.name === name)) problems.push(...runTool("attw", file));
  for (const path of paths)
    problems.push(...findFileProblems(path, folder, paths).map((text) => `${path} ${text}`));
  if (renderThirdParty(one) !== undefined && !paths.includes("THIRD-PARTY.md"))
    problems.push("contains software of others, but not its licences: THIRD-PARTY.md");
  problems.push(...(await findSizeProblems(one, size)));
  for (const problem of problems) console.log(`✗ ${name}: ${problem}`);
  console.log(`${name}: ${paths.length} files, ${Math.round(size / 1000)} kB`);
  return problems.length;
}

const destination = mkdtempSync(join(tmpdir(), "loyalty-cards-tarballs-"));
let failures = 0;
for (const one of published) failures += await checkPackage(one, destination);
rmSync(destination, { recursive: true });
process.exitCode = failures === 0 ? 0 : 1;
