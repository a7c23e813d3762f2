/**
 * A headless Chromium with an empty profile: the installed one when there is one, else the one from
 * npm.
 */
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import jsQR from "jsqr";
import puppeteer from "puppeteer-core";

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { "@sparticuz/chromium": version } = require("./package.json").devDependencies;

const systemChromes = [
  "/usr/bin/google-chrome",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

export async function openBrowser() {
  const system = [process.env.CHROME_PATH, ...systemChromes].find(
    (path) => path && existsSync(path),
  );
  if (system === undefined && `${process.platform} ${process.arch}` !== "linux x64") {
    throw new Error("No Chrome found: set CHROME_PATH. The one from npm is for Linux x64.");
  }
  return puppeteer.launch({
    executablePath: system ?? (await unpackChromium()),
    headless: "shell",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-component-update"],
  });
}

/**
 * Unpacks Chromium where it was not. The folder appears when it is complete: several processes may
 * unpack it at once, and one may be killed.
 */
async function unpackChromium() {
  const folder = join(tmpdir(), `loyalty-cards-chromium-${version}`);
  if (!existsSync(folder)) {
    const own = mkdtempSync(`${folder}-`);
    const { TMPDIR } = process.env;
    process.env.TMPDIR = own; // where the package writes
    try {
      await chromium.executablePath();
    } finally {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
    }
    try {
      renameSync(own, folder);
    } catch {
      rmSync(own, { recursive: true }); // another process was faster
    }
  }
  return join(folder, "chromium");
}

/**
 * A page that records its requests, errors and warnings.
 * @param own the origin that it may send requests to.
 */
export async function openPage(
  browser,
  own,
  { width = 1280, height = 900, scheme = "light", timeZone = "UTC" } = {},
) {
  const page = await browser.newPage();
  await page.emulateTimezone(timeZone);
  const seen = { foreign: [], urls: [], complaints: [] };
  page.on("request", (request) => {
    const url = request.url();
    seen.urls.push(url);
    if (!url.startsWith(`${own}/`) && !url.startsWith("data:")) seen.foreign.push(url);
  });
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type())) seen.complaints.push(message.text());
  });
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  page.setDefaultTimeout(30_000); // for a busy machine
  return { page, seen };
}

/** The colour schemes and widths in which pages are checked: a monitor and a phone. */
export const modes = [
  ["light", 1280],
  ["dark", 1280],
  ["dark", 390],
  ["light", 390],
];

/**
 * Changes the open page, which is faster than opening it again, and waits for the transitions of
 * its colours.
 */
export async function setMode(page, [scheme, width]) {
  await page.setViewport({ width, height: width < 800 ? 844 : 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    // An animation of something that is not shown does not run, and so would not end.
    for (const animation of document.getAnimations())
      if (Number.isFinite(animation.effect.getComputedTiming().endTime)) animation.finish();
  });
}

/** What axe finds on the page with one of these impacts: the impact, the rule and an element. */
export async function findViolations(page, impacts = ["serious", "critical"]) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ["violations"] }),
  );
  return violations
    .filter(({ impact }) => impacts.includes(impact))
    .map(
      ({ id, impact, nodes: [{ html, failureSummary }] }) =>
        `${impact} ${id}: ${html} ${failureSummary}`,
    );
}

/** The text of the QR code in a picture of the element. */
export async function readQrCode(page, element) {
  const base64 = await element.screenshot({ encoding: "base64" });
  const { data, width, height } = await page.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return {
      data: [...canvas.getImageData(0, 0, image.width, image.height).data],
      width: image.width,
      height: image.height,
    };
  }, base64);
  return jsQR(Uint8ClampedArray.from(data), width, height)?.data;
}
