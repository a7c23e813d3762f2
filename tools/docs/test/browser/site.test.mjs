/**
 * The built site in a browser, served as a static host does: pages, the search, and the check of a
 * signature.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import {
  findViolations,
  modes,
  openBrowser,
  openPage,
  readQrCode,
  setMode,
} from "../../../../compat/browser.mjs";

const dist = fileURLToPath(new URL("../../../../docs/.vitepress/dist", import.meta.url));
const base = "/loyalty-cards/";
const published = "https://loyalty-cards.github.io/loyalty-cards/";
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };

const isFile = (path) => existsSync(path) && statSync(path).isFile();
const isFolder = (path) => existsSync(path) && statSync(path).isDirectory();

/** What hosts try for an address without a slash at its end, in their order. */
const hosts = {
  "GitHub Pages": ["file", "page", "redirect"],
  "a host that prefers folders": ["file", "redirect", "page"],
  "a host without redirects": ["file", "page"],
};

/** The file of an address, `redirect` when the address needs a slash, or undefined. */
function findFile(path, order) {
  const name = join(dist, path);
  if (path.endsWith("/") || path === "") return [join(name, "index.html")].find(isFile);
  const found = {
    file: () => [name].find(isFile),
    page: () => [`${name}.html`].find(isFile),
    redirect: () => (isFolder(name) ? "redirect" : undefined),
  };
  return order.map((step) => found[step]()).find((file) => file !== undefined);
}

/** Serves the site below its path, as one of the hosts. */
function createHost(order) {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const file = findFile(pathname.slice(base.length), order);
    if (file === "redirect") return response.writeHead(301, { location: `${pathname}/` }).end();
    const shown = file ?? join(dist, "404.html");
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": types[extname(shown)] ?? "application/octet-stream",
    });
    response.end(readFileSync(shown));
  });
}

async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${server.address().port}`;
}

const server = createHost(hosts["GitHub Pages"]);
let origin;
let browser;
beforeAll(async () => {
  if (!existsSync(dist)) throw new Error("The site is not built: run `npm run docs`.");
  browser = await openBrowser();
  origin = await listen(server);
});
afterAll(async () => {
  await browser?.close();
  server.close();
});

/** Opens a page of the site until the end of the test. */
async function open(path, size, status = 200) {
  const { page, seen } = await openPage(browser, origin, size);
  onTestFinished(() => page.close());
  const response = await page.goto(`${origin}${base}${path}`, { waitUntil: "networkidle0" });
  assert.equal(response.status(), status, path);
  return { page, seen };
}
const allImpacts = ["minor", "moderate", "serious", "critical"];
const getTitle = (page) => page.$eval("h1", ({ textContent }) => textContent);

it.each([
  "",
  "guides/receiving-webhooks",
  "guides/sign-up",
  "guarantees",
  "reference/issuing-client",
  "check-signature",
])(
  "has no finding of axe, no foreign request, no error, and fits each screen: /%s",
  async (path) => {
    const { page, seen } = await open(path);
    for (const mode of [modes[0], modes[2]]) {
      await setMode(page, mode);
      assert.deepEqual([mode, await findViolations(page, allImpacts)], [mode, []]);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= mode[1], `${width} px`);
    }
    assert.deepEqual([seen.foreign, seen.complaints], [[], []]);
  },
);

it("has the reference of a package with a slash at its end, too", async () => {
  const { page, seen } = await open("reference/issuing-client/");
  assert.match(await getTitle(page), /^@loyalty-cards\/issuing-client/);
  assert.deepEqual(seen.complaints, []);
});

it("says that a page does not exist, without a finding of axe", async () => {
  const { page } = await open("guides/nothing", {}, 404);
  assert.equal(await getTitle(page), "This page does not exist");
  assert.deepEqual(await findViolations(page, allImpacts), []);
});

/** The pages of the site by their paths, with what they link in the site and their anchors. */
function readPages() {
  const files = readdirSync(dist, { recursive: true }).filter((file) => file.endsWith(".html"));
  return files.map((file) => {
    const html = readFileSync(join(dist, file), "utf8");
    const links = Array.from(html.matchAll(/<a [^>]*?href="([^"]+)"/g), ([, href]) => href);
    const own = links.map((link) => link.replace(published, base));
    return { file, links: own.filter((link) => link.startsWith(base)) };
  });
}

it.each(Object.entries(hosts))(
  "each link of each page leads to its heading on %s",
  async (_name, order) => {
    const host = createHost(order);
    const address = await listen(host);
    onTestFinished(() => host.close());
    const links = new Set(readPages().flatMap((page) => page.links));
    assert.ok(links.size > 200, `${links.size} links`);
    // A reader may add or omit the slash of a package's reference.
    for (const link of [...links].filter((each) => each.startsWith(`${base}reference/`))) {
      const [path] = link.split("#");
      if (isFolder(join(dist, path.slice(base.length))))
        for (const either of [path.replace(/\/$/, ""), path.replace(/\/?$/, "/")])
          links.add(either);
    }
    const texts = new Map();
    const broken = [];
    for (const link of links) {
      const [path, anchor] = link.split("#");
      if (!texts.has(path)) {
        const response = await fetch(address + path);
        texts.set(path, response.ok ? await response.text() : undefined);
      }
      const text = texts.get(path);
      const exists = anchor === undefined || text?.includes(`id="${decodeURIComponent(anchor)}"`);
      if (text === undefined || !exists) broken.push(link);
    }
    assert.deepEqual(broken, []);
  },
);

it("shows a command to copy, and code beside the card, on the first screen, and pictures of the chosen scheme", async () => {
  const { page } = await open("", { width: 1440, height: 900 });
  const readBox = (selector) =>
    page.$eval(selector, (element) => element.getBoundingClientRect().toJSON());
  const [code, card] = [await readBox(".first .language-ts"), await readBox(".first .card")];
  assert.ok(code.bottom <= 900 && card.bottom <= 900 && code.right < card.left);
  assert.ok((await readBox(".first .language-sh button.copy")).bottom < code.top);
  const heading = await readBox("h1");
  assert.ok(card.top >= heading.top && card.top < heading.bottom, `The card is at ${card.top} px.`);
  const footer = await page.$eval("footer", ({ innerText }) => innerText);
  assert.match(footer, /^(Version \d|Not released yet).* · MIT License$/);
  assert.equal(
    await readQrCode(page, await page.$(".card .code")),
    "https://cards.example.com/cards/8sT2kq",
  );
  await page.locator(".VPSwitchAppearance").click();
  await page.evaluate(() => document.querySelector(".screens").scrollIntoView());
  await page.waitForFunction(() => {
    const shown = [...document.querySelectorAll(".screens img")].map((image) => image.currentSrc);
    return shown.length === 2 && shown.every((source) => /-dark\./.test(source));
  });
  await page.setViewport({ width: 390, height: 844 });
  const cut = await page.$$eval(".first pre, .wide, .narrow", (all) =>
    all.filter((each) => each.scrollWidth > each.clientWidth).map(({ className }) => className),
  );
  assert.deepEqual(cut, []);
  for (const picture of [".narrow img", ".screens img"])
    assert.ok(await page.$eval(picture, (image) => image.checkVisibility()));
});

it("shows the copy button of a code block on a phone, where nothing hovers", async () => {
  const { page } = await open("guides/sign-up");
  await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true });
  const readOpacity = () =>
    page.$eval("button.copy", (button) => {
      for (const animation of button.getAnimations()) animation.finish();
      return getComputedStyle(button).opacity;
    });
  await expect.poll(readOpacity).toBe("1");
});

it("shows diagrams on a phone with text of at least 11 px, which scroll by themselves", async () => {
  const { page } = await open("guides/sign-up", { width: 390, height: 844 });
  const { smallest, isScrolling, isFading } = await page.$eval(".diagram img", async (image) => {
    await image.decode();
    const { width, naturalWidth, parentElement } = image;
    const scale = width / naturalWidth; // the smallest text has 13 px
    const isFading = getComputedStyle(parentElement).maskImage !== "none";
    const isScrolling = width > parentElement.clientWidth;
    return { smallest: 13 * scale, isScrolling, isFading };
  });
  assert.ok(smallest >= 11 && isScrolling, `${smallest} px`);
  assert.ok(isFading, "nothing shows that it scrolls");
});

it("breaks a command on a phone before an option, never in it, and not under the button", async () => {
  const { page } = await open("guides/command-line", { width: 390, height: 844 });
  const lines = await page.$$eval(".language-sh .option", (all) =>
    all.map((option) => [option.textContent, option.getClientRects().length]),
  );
  assert.ok(lines.some(([text]) => text === " --privacy"));
  assert.deepEqual(new Set(lines.map(([, count]) => count)), new Set([1]));
  const countCovered = () =>
    page.$$eval(
      ".language-sh",
      (all) =>
        all.filter((block) => {
          const { left } = block.querySelector("button.copy").getBoundingClientRect();
          const words = [...block.querySelectorAll(".line > span")].flatMap((word) => [
            ...word.getClientRects(),
          ]);
          return Math.max(...words.map(({ right }) => right)) > left;
        }).length,
    );
  for (let width = 390; width <= 1024; width += 8) {
    await page.setViewport({ width, height: 844 });
    assert.deepEqual([width, await countCovered()], [width, 0]);
  }
});

it("wraps the lines of a program on a phone, and copies commands and programs only", async () => {
  const { page } = await open("guides/getting-started", { width: 390, height: 844 });
  const scrolling = await page.$$eval(".vp-doc pre", (all) =>
    all.filter((each) => each.scrollWidth > each.clientWidth).map(({ innerText }) => innerText),
  );
  assert.deepEqual(scrolling, []);
  const copied = await page.$$eval("button.copy", (all) =>
    all
      .filter((each) => each.checkVisibility())
      .map(({ parentElement }) => parentElement.classList[0]),
  );
  assert.deepEqual(new Set(copied), new Set(["language-sh", "language-ts"]));
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
  if (words === "retry") assert.deepEqual(await findViolations(page, allImpacts), []);
  // Until the last character is typed, the results are those of a part of the words.
  const readFirst = () =>
    page.$eval(".VPLocalSearchBox .result", (result) =>
      result.getAttribute("href").replace("/loyalty-cards/", ""),
    );
  await expect.poll(readFirst).toMatch(expected);
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
  await page.waitForFunction(() =>
    document.querySelector("output").innerText.includes("Expected for this"),
  );
  assert.deepEqual(seen.urls.slice(loaded), []);
});
