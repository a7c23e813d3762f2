/** Headless Chromium: a page on a secure origin that loads the bundle and judges the vectors. */
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import { build } from "esbuild";
import puppeteer from "puppeteer-core";

export async function inBrowser({ vectors }) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("judge-in-page.mjs", import.meta.url))],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    logLevel: "error",
  });
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>vectors</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await puppeteer.launch({
    args: [...chromium.args, "--no-sandbox"],
    executablePath: await chromium.executablePath(),
    headless: "shell",
  });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`); // loopback counts as a secure origin: crypto.subtle is there
    await page.addScriptTag({ content: outputFiles[0].text });
    return await page.evaluate((given) => globalThis.judgeVectors(given), vectors);
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
}
