/** The built site in a browser, served as a static host does: pages, the search, and the check of a signature. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { findViolations, openBrowser, openPage } from "../../../../compat/browser.mjs";

const dist = fileURLToPath(new URL("../../../../docs/.vitepress/dist", import.meta.url));
const base = "/loyalty-cards/";
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };

/** Serves the site below its path, and pages without extensions. */
const server = createServer((request, response) => {
  const path = new URL(request.url, "http://localhost").pathname.slice(base.length);
  const file = [path, `${path}.html`, join(path, "index.html")]
    .map((name) => join(dist, name))
    .find((name) => existsSync(name) && statSync(name).isFile());
  response.writeHead(file === undefined ? 404 : 200, {
    "content-type": types[extname(file ?? "")] ?? "application/octet-stream",
  });
  response.end(file === undefined ? "" : readFileSync(file));
});

let browser;
beforeAll(async () => {
  if (!existsSync(dist)) throw new Error("The site is not built: run `npm run docs`.");
  browser = await openBrowser();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(async () => {
  await browser?.close();
  server.close();
});

/** Opens a page of the site until the end of the test. */
async function open(path) {
  const origin = `http://127.0.0.1:${server.address().port}`;
  const { page, seen } = await openPage(browser, origin);
  onTestFinished(() => page.close());
  const response = await page.goto(`${origin}${base}${path}`, { waitUntil: "networkidle0" });
  assert.equal(response.status(), 200, path);
  return { page, seen };
}

it.each(["", "guides/receiving-webhooks", "reference/issuing-client", "check-signature"])(
  "has no serious finding of axe, no foreign request, no error and no broken link: /%s",
  async (path) => {
    const { page, seen } = await open(path);
    assert.deepEqual([await findViolations(page), seen.foreign, seen.complaints], [[], [], []]);
    const links = await page.$$eval('a[href^="/"]', (all) => all.map(({ href }) => href.split("#")[0]));
    assert.ok(links.length > 5);
    for (const link of new Set(links)) assert.equal((await fetch(link)).status, 200, link);
  },
);

it("follows a link of the sidebar without loading the page again", async () => {
  const { page } = await open("guides/getting-started");
  await page.evaluate(() => {
    globalThis.isSame = true;
  });
  await page.locator(`.VPSidebar a[href="${base}guides/testing"]`).click();
  await page.waitForFunction(() => document.querySelector("h1")?.textContent.includes("Testing"));
  assert.equal(await page.evaluate(() => globalThis.isSame), true);
});

it.each([
  ["idempotency", /^guides\/sign-up/],
  ["secret rotation", /^guides\/receiving-webhooks/],
  ["429", /^errors#rate-limited/],
  ["createIssuingClient", /^reference\/issuing-client#createissuingclient/],
  ["mismatch", /^errors#webhook-mismatch/],
  ["401", /^(errors#unauthorized|guides\/troubleshooting#401)/],
  ["GDPR", /^guides\/.*(gdpr|data|erase|forget)/],
  ["retry", /^guides\/.*retr/],
  ["undefined userId", /^errors#configuration/],
])("the search finds for %s the page that explains it first", async (words, expected) => {
  const { page } = await open("");
  await page.locator(".VPNavBarSearchButton, #local-search button").click();
  await page.locator(".VPLocalSearchBox input").fill(words);
  await page.locator(".VPLocalSearchBox .result").wait();
  const found = await page.$$eval(".VPLocalSearchBox .result", (all) =>
    all.map((result) => result.getAttribute("href").replace("/loyalty-cards/", "")),
  );
  assert.match(found[0], expected, found.join("\n"));
});

it("says why a signature does not match, without a request", async () => {
  const { page, seen } = await open("check-signature");
  await page.locator("form button[type=button]").click();
  await page.locator("form output a").wait();
  expect(await page.$eval("form output", ({ innerText }) => innerText)).toMatch(
    /^Rejected: mismatch\s+The signature matches without the line break at the end/,
  );
  const loaded = seen.urls.length;
  await page.locator("form input[name=secret]").fill("whsec_other");
  await page.locator("form button[type=submit]").click();
  await page.waitForFunction(() => document.querySelector("output").innerText.includes("Expected for this"));
  assert.deepEqual(seen.urls.slice(loaded), []);
});
