/** The signature vectors, with the built verifier on every runtime and in a browser. */
import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { openBrowser } from "../browser.mjs";
import { runtimes } from "./runtimes.mjs";

const file = new URL("../../openapi/vectors/signatures.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8"));
const engines = { workerd: "WebCrypto", Chromium: "WebCrypto" };

it.each(Object.entries({ ...runtimes, Chromium: inBrowser }))(
  "verifies every vector on %s",
  async (runtime, run) => {
    const { verdicts, engine } = await run({ vectors });
    expect(engine).toBe(engines[runtime] ?? "node:crypto");
    const results = vectors.map(({ name }, index) => [name, [...new Set(verdicts[index])]]);
    expect(results).toEqual(vectors.map(({ name, reason = "valid" }) => [name, [reason]]));
  },
);

const program = `
import { verifyWebhook, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { verifyVectors } from "./setup.mjs";
globalThis.verifyVectors = (vectors) => verifyVectors({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors });`;

/**
 * Loads the bundle into the page of a local file, which counts as a secure origin: `crypto.subtle`
 * is there.
 */
async function inBrowser() {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    logLevel: "error",
  });
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(file.href);
    await page.addScriptTag({ content: outputFiles[0].text });
    return await page.evaluate((all) => globalThis.verifyVectors(all), vectors);
  } finally {
    await browser.close();
  }
}
