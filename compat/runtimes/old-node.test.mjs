/** Every entry point of the built packages, and the command, on a Node.js that is too old: an error with both versions. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { hasEntryPoints, published } from "../../tools/published.ts";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const binaries = { "18.20.8": "node-18", "20.10.0": "node-20-10" };
/** They run in browsers too, and need nothing that an older Node.js lacks. */
const notGuarded = ["./package.json", "./links"];

const entries = published.filter(hasEntryPoints).flatMap(({ manifest: { name, exports } }) =>
  Object.entries(exports)
    .filter(([path, target]) => typeof target === "object" && !notGuarded.includes(path))
    .map(([path]) => ({ name, entry: name + path.slice(1) })),
);

describe.each(Object.entries(binaries))("Node %s", (version, folder) => {
  async function run(...args) {
    const node = here(`../node_modules/${folder}/bin/node`);
    const ended = promisify(execFile)(node, args, { cwd: here("../..") });
    return ended.then(
      () => ({ code: 0 }),
      ({ code, stderr }) => ({ code, stderr }),
    );
  }

  it.each(entries)("is refused by $entry, as ESM and as CommonJS", async ({ name, entry }) => {
    const message = `Error: ${name} needs Node.js 20.19 or newer, and this process runs ${version}: upgrade Node.js.`;
    for (const type of ["module", "commonjs"]) {
      const load = type === "module" ? "import" : "require";
      const { code, stderr } = await run(
        `--input-type=${type}`,
        "--eval",
        `${load}(${JSON.stringify(entry)})`,
      );
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
  });

  it("is refused by the command loyalty-cards", async () => {
    expect(await run("packages/cli/bin.js", "--version")).toEqual({
      code: 2,
      stderr: `loyalty-cards needs Node.js 20.19 or newer, and this process runs ${version}: upgrade Node.js.\n`,
    });
  });

  it("is refused by the command loyalty-cards-mock", async () => {
    const { code, stderr } = await run("packages/mock-server/bin.js", "--version");
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        `needs Node.js 20.19 or newer, and this process runs ${version}: upgrade Node.js.`,
      ),
    ]);
  });
});
