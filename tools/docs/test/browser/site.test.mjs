/** The built site in a browser, served as a static host does: pages, the search, and the check of a signature. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { axe, findViolations, openBrowser, openPage } from "../../../../compat/browser.mjs";

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

let opened;
beforeAll(async () => {
  if (!existsSync(dist)) throw new Error("The site is not built: run `npm run docs`.");
  opened = await openBrowser();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(async () => {
  await opened?.close();
  server.close();
});

/** Opens a page of the site until the end of the test. */
async function open(path) {
  const origin = `http://127.0.0.1:${server.address().port}`;
  const { page, seen } = await openPage(opened.browser, origin);
  onTestFinished(() => page.close());
  const response = await page.goto(`${origin}${base}${path}`, { waitUntil: "networkidle0" });
  assert.equal(response.status(), 200, path);
  return { page, seen };
}

it.each([
  "",
  "guides/receiving-webhooks",
  "reference/issuing-client/functions/createIssuingClient",
  "check-signature",
])("has no serious finding of axe, no foreign request and no error: /%s", async (path) => {
  const { page, seen } = await open(path);
  await page.evaluate(axe);
  const serious = (await findViolations(page)).filter((text) => /^(serious|critical)/.test(text));
  assert.deepEqual([serious, seen.foreign, seen.complaints], [[], [], []]);
});

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
  ["createIssuingClient", /^reference\/issuing-client\/functions\/createIssuingClient/],
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

const { vectors } = JSON.parse(
  readFileSync(new URL("../../../../openapi/vectors/signatures.json", import.meta.url), "utf8"),
);
const [valid] = vectors.filter(({ verdict }) => verdict === "valid");
const decode = (base64) => Buffer.from(base64, "base64").toString();

/** The page with a delivery in its fragment, as the console of the mock service passes it. @returns the text of the report. */
async function checkDelivery(changes = {}) {
  const fields = {
    header: valid.header.join(),
    body: decode(valid.body),
    secret: decode(valid.secrets[0]),
    ...changes,
  };
  const { page, seen } = await open(`check-signature#${new URLSearchParams(fields)}`);
  await page.waitForFunction(() => document.querySelectorAll(".check-report li").length === 5);
  return { report: await page.$eval(".check-report", ({ innerText }) => innerText), page, seen };
}

it("checks the delivery that the console of the mock service passes, and removes the secret from the address", async () => {
  const { report, page, seen } = await checkDelivery();
  expect(report).toMatch(/belong to this signature/);
  assert.equal(new URL(page.url()).hash, "");
  const secret = encodeURIComponent(decode(valid.secrets[0]));
  assert.deepEqual(
    seen.urls.filter((url) => url.replace(/#.*/, "").includes(secret)),
    [],
  );
});

it.each([
  [
    "a line break at the end of the body",
    { body: `${decode(valid.body)}\n` },
    /without the line break at the end/,
  ],
  ["another secret", { secret: "whsec_other" }, /Expected with this secret and body: v1=[\da-f]{64}/],
])("says why a signature does not match: %s", async (_name, changes, expected) => {
  expect((await checkDelivery(changes)).report).toMatch(expected);
});
