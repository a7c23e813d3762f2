/**
 * Installs the packed tarballs into an empty folder, as a user does, and uses them there: the
 * program of the README as ES module and as CommonJS, every entry point, the commands, and the
 * types in four versions of TypeScript.
 */
import { match } from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import ts from "typescript";
import { readFromRoot, readRegion } from "../docs/snippets.ts";
import { entryPoints, published } from "../packages.ts";
import { pack } from "../release/pack.ts";
import { root, run, userEnvironment } from "../run.ts";

const compilers = ["5.4", "5.9", "6", "7"];
/** What the types of the entry points import. */
const peers = [
  "express@5",
  "@types/express@5",
  "fastify@5",
  "libsql@0.5",
  "msw@2",
  "undici@7",
  "@types/node@20",
];
const flags =
  "--strict --exactOptionalPropertyTypes --target es2022 --types node --module node16 --moduleResolution node16";
/** What the types must allow that need msw. */
const mswProgram = `import { createMockService } from "@loyalty-cards/mock-server";
import { mockHandlers } from "@loyalty-cards/mock-server/msw";
import { setupServer } from "msw/node";
export const server = setupServer(...mockHandlers(createMockService()));
`;

const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-smoke-"));
const write = (file: string, text: string) => writeFileSync(join(folder, file), text);

/**
 * Runs a Node binary there.
 * @returns what it printed.
 */
function runNode(binary: string, ...args: string[]): string {
  const env = { ...userEnvironment, PATH: `${dirname(binary)}${delimiter}${process.env["PATH"]}` };
  return run(binary, args, folder, env);
}

function install(): void {
  const tarballs = published.map((one) => pack(one.folder, folder));
  const typescript = compilers.map((version) => `typescript-${version}@npm:typescript@${version}`);
  write("package.json", JSON.stringify({ private: true, type: "module" }));
  cpSync(join(root, "tools/checks/smoke"), folder, { recursive: true });
  const args = ["install", "--no-audit", "--no-fund", ...tarballs, ...peers, ...typescript];
  run("npm", args, folder, userEnvironment);
}

const entries = entryPoints.map(({ specifier }) => specifier);

/**
 * The program of the README, which CommonJS needs in a function: it has `await` at the top level.
 */
function writeProgram(): void {
  const file = "examples/getting-started/first-card.ts";
  const program = readRegion(readFromRoot(file), file, "first-card");
  const [, imports = "", rest = ""] = /^([\s\S]*?\n)\n([\s\S]*)$/.exec(program) ?? [];
  const compile = (text: string, module: ts.ModuleKind) =>
    ts.transpileModule(text, { compilerOptions: { module, target: ts.ScriptTarget.ES2022 } })
      .outputText;
  write("first-card.mjs", compile(program, ts.ModuleKind.ES2022));
  write(
    "first-card.cjs",
    compile(`${imports}(async () => {\n${rest}\n})();`, ts.ModuleKind.CommonJS),
  );
}

function runOn(binary: string): void {
  const version = runNode(binary, "--version").trim();
  const exec = (...command: string[]) =>
    runNode(binary, "node_modules/@loyalty-cards/cli/bin.js", "exec", "--quiet", "--", ...command);
  for (const file of ["first-card.mjs", "first-card.cjs"])
    match(exec(binary, file), /^card_\w+ http:/);
  runNode(binary, "entries.mjs", ...entries);
  match(exec("sh", "-e", "commands.sh"), /"status": ?"active"/);
  console.log(
    `✓ Node ${version}: the program of the README, ${entries.length} entry points, the commands`,
  );
}

/** Library checks are on, except for /msw: msw's own types do not pass them. */
function compileTypes(version: string): void {
  const compile = (...args: string[]) =>
    runNode(
      process.execPath,
      `node_modules/typescript-${version}/bin/tsc`,
      ...flags.split(" "),
      ...args,
    );
  compile(
    "--declaration",
    "--emitDeclarationOnly",
    "--outDir",
    "declarations",
    "types.mts",
    "types.cts",
  );
  compile("--noEmit", "--skipLibCheck", "types-msw.mts");
  console.log(`✓ TypeScript ${version}: the types, as ES module and as CommonJS`);
}

try {
  install();
  writeProgram();
  const node24 = join(root, "compat/node_modules/node-24/bin/node");
  for (const binary of [process.execPath, node24].filter((path) => existsSync(path))) runOn(binary);
  const others = entries
    .filter((entry) => !entry.endsWith("/msw"))
    .map((entry) => `import ${JSON.stringify(entry)};\n`);
  for (const file of ["types.mts", "types.cts"])
    write(file, others.join("") + readFromRoot("tools/checks/smoke/types.mts"));
  write("types-msw.mts", mswProgram);
  for (const version of compilers) compileTypes(version);
} finally {
  rmSync(folder, { recursive: true });
}
