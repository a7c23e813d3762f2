/** The built site in a browser: serves it as a static host does, below its path and without extensions, and opens its pages. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { openBrowser, openPage } from "../../../../compat/browser.mjs";

const dist = fileURLToPath(new URL("../../../../docs/.vitepress/dist", import.meta.url));
const base = "/loyalty-cards/";
const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".json": "application/json",
};

async function serveSite() {
  if (!existsSync(dist)) throw new Error("The site is not built: run `npm run docs`.");
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const path = pathname.startsWith(base) ? pathname.slice(base.length) : "404";
    const file = [path, `${path}.html`, join(path, "index.html")]
      .map((name) => join(dist, name))
      .find((name) => existsSync(name) && statSync(name).isFile());
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": types[extname(file ?? "")] ?? "text/plain",
    });
    response.end(file === undefined ? "" : readFileSync(file));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    url: (page) => `${origin}${base}${page}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/**
 * Starts the site and a browser for all tests of a file.
 * @returns opens a page of the site, which is closed at the end of the test.
 */
export function startSite() {
  let site;
  let opened;
  beforeAll(async () => {
    site = await serveSite();
    opened = await openBrowser();
  });
  afterAll(async () => {
    await opened?.close();
    await site?.close();
  });
  return async (path, { waitUntil = "networkidle0", ...options } = {}) => {
    const { page, seen } = await openPage(opened.browser, site.origin, options);
    onTestFinished(async () => {
      if (!page.isClosed()) await page.close();
    });
    const response = await page.goto(site.url(path), { waitUntil });
    assert.equal(response.status(), 200, path);
    return { page, seen };
  };
}
