/** The package libsql in programs that are bundled, as ES modules and as CommonJS. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createFolder } from "@loyalty-cards/testing/resources";
import { build } from "esbuild";
import { expect, it } from "vitest";

const source = new URL("../../sqlite/database-node.ts", import.meta.url).pathname;
const libsql = createRequire(import.meta.url).resolve("libsql");

/**
 * Bundles a program that opens a file, and runs it beside a package libsql.
 * @param prelude runs before the file is opened.
 */
async function runBundle(format: "esm" | "cjs", libsqlEntry: string, prelude = "") {
  const folder = createFolder({
    "entry.ts": `import { openLibsql } from ${JSON.stringify(source)};
      ${prelude}
      console.log(openLibsql(process.argv[2]).prepare("SELECT 1 AS one").get().one);`,
    "node_modules/libsql/package.json": '{ "name": "libsql", "main": "index.js" }',
    "node_modules/libsql/index.js": libsqlEntry,
  });
  const outfile = join(folder, format === "esm" ? "program.mjs" : "program.cjs");
  await build({
    entryPoints: [join(folder, "entry.ts")],
    outfile,
    format,
    bundle: true,
    platform: "node",
    external: ["libsql"],
    logLevel: "error",
  });
  const output = execFileSync(process.execPath, [outfile, join(folder, "shop.db")], {
    stdio: "pipe",
  });
  return { output: output.toString().trim(), code: readFileSync(outfile, "utf8") };
}

const plain = `module.exports = require(${JSON.stringify(libsql)});`;
/** As webpack makes an external module of an ES module. */
const asNamespace = `module.exports = { default: require(${JSON.stringify(libsql)}) };`;

it.each([
  ["esm", plain],
  ["cjs", plain],
  ["esm", asNamespace],
] as const)("opens a file in a bundle (%s)", async (format, entry) => {
  const { output } = await runBundle(format, entry);
  expect(output).toBe("1");
});

it("is required by its name in CommonJS, so that tracers of files find it", async () => {
  const { code } = await runBundle("cjs", plain);
  expect(code).toMatch(/\bmodule\.require\("libsql"\)/);
});

it.each([
  ["has", "({})", ""],
  [
    "has no",
    "undefined",
    ` Node ${process.versions.node} has no node:sqlite: Node 22.13 or later has it.`,
  ],
])("is asked for where the runtime %s node:sqlite", async (_, nodeSqlite, alternative) => {
  const prelude = `process.getBuiltinModule = () => ${nodeSqlite};`;
  const running = runBundle("esm", 'throw new Error("not installed");', prelude);
  await expect(running).rejects.toThrow(
    `Error: The package libsql cannot be loaded. Run "npm install libsql": a bundle needs node_modules with it beside itself.${alternative}\n`,
  );
});
