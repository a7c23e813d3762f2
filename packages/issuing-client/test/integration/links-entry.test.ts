/** The package as it is published, installed in an empty folder: card links in a browser, in ESM and in CommonJS. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as bundle } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";

const source = fileURLToPath(new URL("../..", import.meta.url));
const shop = mkdtempSync(join(tmpdir(), "links-entry-"));
afterAll(() => rmSync(shop, { recursive: true }));

beforeAll(() => {
  const require = createRequire(import.meta.url);
  const installed = join(shop, "node_modules/@loyalty-cards/issuing-client");
  mkdirSync(installed, { recursive: true });
  cpSync(join(source, "package.json"), join(installed, "package.json"));
  const tsup = join(dirname(require.resolve("tsup/package.json")), "dist/cli-default.js");
  execFileSync(process.execPath, [tsup, "--no-dts", "--out-dir", join(installed, "dist")], {
    cwd: source,
    stdio: "ignore",
  });
  for (const name of Object.keys(require("../../package.json").dependencies ?? {}))
    symlinkSync(join(source, "../../node_modules", name), join(shop, "node_modules", name));
}, 60_000);

/** The output of a user's program in that folder. */
const printedBy = (program: string, type: "module" | "commonjs") =>
  execFileSync(process.execPath, [`--input-type=${type}`, "--eval", program], {
    cwd: shop,
    encoding: "utf8",
  });

const page = "https://cards.test/cards/abc";
const show = `console.log(cardLinks("${page}").addToSecondWallet)`;
const imports = (entry: string) => `import { cardLinks } from "${entry}"; ${show}`;
const requires = (entry: string) => `const { cardLinks } = require("${entry}"); ${show}`;

it.each(["@loyalty-cards/issuing-client", "@loyalty-cards/issuing-client/links"])(
  "exports cardLinks from %s in ESM and in CommonJS",
  (entry) => {
    expect(printedBy(imports(entry), "module")).toBe(`${page}/google\n`);
    expect(printedBy(requires(entry), "commonjs")).toBe(`${page}/google\n`);
  },
);

async function browserBundle(contents: string): Promise<string> {
  const { outputFiles } = await bundle({
    stdin: { contents, resolveDir: shop },
    bundle: true,
    minify: true,
    write: false,
    platform: "browser", // a Node module would fail here
  });
  return outputFiles[0]?.text ?? "";
}

it.each([
  ["import", imports, 3_500],
  ["require", requires, 18_000], // with the QR code: CommonJS is not tree-shaken
] as const)("bundles /links with %s for a browser without the client", async (_how, program, maxLength) => {
  const text = await browserBundle(program("@loyalty-cards/issuing-client/links"));
  expect(printedBy(text, "commonjs")).toBe(`${page}/google\n`);
  const client = /browser|fetch|authorization|api\/v1|process\./i;
  expect(text).not.toMatch(client);
  expect(text.length).toBeLessThan(maxLength);
  expect(await browserBundle(program("@loyalty-cards/issuing-client"))).toMatch(client);
});
