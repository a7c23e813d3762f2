/** The package as it is published, installed in an empty folder: card links in ESM and in CommonJS. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
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
}, 60_000);

const page = "https://cards.test/cards/abc";
const show = `console.log(cardLinks("${page}").addToSecondWallet)`;

it.each(["@loyalty-cards/issuing-client", "@loyalty-cards/issuing-client/links"])(
  "exports cardLinks from %s in ESM and in CommonJS",
  (entry) => {
    for (const [type, program] of [
      ["module", `import { cardLinks } from "${entry}"; ${show}`],
      ["commonjs", `const { cardLinks } = require("${entry}"); ${show}`],
    ]) {
      const args = [`--input-type=${type}`, "--eval", program ?? ""];
      expect(execFileSync(process.execPath, args, { cwd: shop, encoding: "utf8" })).toBe(`${page}/google\n`);
    }
  },
);
