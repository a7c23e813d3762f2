/**
 * Programs for browsers that import the built client: the bundle throws when it is loaded, and has
 * no code that sends the API key.
 */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import { describe, expect, it, onTestFinished } from "vitest";
import webpack from "webpack";

/** Bundles a file into another one, minified, as a classic script. */
const bundlers = {
  vite: (input, file) =>
    vite({
      configFile: false,
      logLevel: "silent",
      build: {
        outDir: join(file, ".."),
        emptyOutDir: false,
        rolldownOptions: { input, output: { format: "iife", entryFileNames: "bundle.js" } },
      },
    }),
  webpack: (entry, file) =>
    new Promise((resolve, reject) => {
      const output = { path: join(file, ".."), filename: "bundle.js" };
      webpack({ entry, output, mode: "production", target: "web" }, (error, stats) => {
        if (error || stats.hasErrors()) reject(error ?? new Error(stats.toString()));
        else resolve();
      });
    }),
  esbuild: (input, outfile) =>
    esbuild({
      entryPoints: [input],
      outfile,
      bundle: true,
      minify: true,
      platform: "browser",
      format: "iife",
    }),
};

describe.each(Object.entries(bundlers))("a bundle of %s", (_name, bundle) => {
  async function build(program) {
    // Below this folder, so that it finds the packages of the workspace.
    const folder = mkdtempSync(fileURLToPath(new URL("program-", import.meta.url)));
    onTestFinished(() => rm(folder, { recursive: true }));
    writeFileSync(join(folder, "program.js"), program);
    await bundle(join(folder, "program.js"), join(folder, "bundle.js"));
    return readFileSync(join(folder, "bundle.js"), "utf8");
  }
  const client = 'from "@loyalty-cards/issuing-client"';
  const use =
    'globalThis.loyalty = createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k" });';

  // G22
  it.each([
    ["is used", `import { createIssuingClient } ${client}; ${use}`],
    [
      "is used through a namespace",
      `import * as sdk ${client}; globalThis.error = sdk.IssuingError;`,
    ],
    ["is exported again", `export { createIssuingClient } ${client};`],
  ])("throws the reason when the client %s, and cannot send the key", async (_case, program) => {
    const code = await build(program);
    expect(code).not.toMatch(/authorization|Bearer/);
    expect(() => runInNewContext(code)).toThrow(/must not run in a browser/);
  });

  it("runs the card links", async () => {
    const code = await build(
      'import { cardLinks } from "@loyalty-cards/issuing-client/links"; globalThis.links = cardLinks("https://cards.test/1");',
    );
    const page = { URL };
    runInNewContext(code, page);
    expect(page.links.addToFirstWallet).toBe("https://cards.test/1/pass.pkpass");
    expect(code).not.toMatch(/must not run in a browser|authorization|Bearer/);
    expect(code.length).toBeLessThan(4_000); // nothing but the links
  });
});

it.each([
  ["workerd", "worker", "browser"],
  ["edge-light", "worker", "browser"],
  ["bun", "browser"],
  ["deno", "browser"],
])("a bundle for %s creates a client", async (...conditions) => {
  const { outputFiles } = await esbuild({
    stdin: {
      contents: 'export * from "@loyalty-cards/issuing-client";',
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    conditions,
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  const { createIssuingClient } = await import(`data:text/javascript;base64,${code}`);
  createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "key" });
});
