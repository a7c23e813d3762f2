/** A page with the console open, and the short forms that its tests use. */
import assert from "node:assert/strict";
import { afterAll, beforeAll } from "vitest";
import { openBrowser, openPage } from "../../../../compat/browser.mjs";
import { openShop } from "./shop.mjs";

/** One browser for the tests of a file. @returns functions that open a page in it. */
export function useBrowser() {
  let opened;
  beforeAll(async () => {
    opened = await openBrowser();
  });
  afterAll(() => opened.close());

  /** @param address what follows the base URL, such as `/console#/cards`. */
  async function openAt(test, shop, address, options) {
    const { page, seen } = await openPage(opened.browser, shop.baseUrl, options);
    test.onTestFinished(() => page.isClosed() || page.close());
    await page.evaluateOnNewDocument(recordActions);
    await page.goto(`${shop.baseUrl}${address}`);
    await page.bringToFront(); // only the front page receives key presses
    return { page, seen };
  }

  /** @param options `address` is what follows `/console`; `shop` is a shop that runs, by default a new one. */
  async function openConsole(test, { shop: given, address = "", ...options } = {}) {
    const shop = given ?? (await openShop(test));
    const { page, seen } = await openAt(test, shop, `/console${address}`, options);
    const setClipboard = (permissions) =>
      opened.browser.defaultBrowserContext().overridePermissions(shop.baseUrl, permissions);
    const press = (name) => page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
    return {
      shop,
      page,
      seen,
      press,
      text: (words) => page.locator(`::-p-text(${words})`).wait(),
      read: (selector) =>
        page
          .locator(selector)
          .map((element) => element.value ?? element.textContent)
          .wait(),
      field: (name, value) => page.locator(`[name="${name}"]`).fill(value),
      show: (hash) => page.goto(`${shop.baseUrl}/console#/${hash}`),
      hash: () => new URL(page.url()).hash,
      /** Clicks the link in the navigation and waits for its page. */
      async visit(name) {
        await page.locator(`#pages a::-p-text(${name})`).click();
        await page.locator(`main h1::-p-text(${name})`).wait();
      },
      count: (...expected) =>
        page.waitForFunction(
          (selector, number) => document.querySelectorAll(selector).length === number,
          {},
          ...expected,
        ),
      gone: (words) => page.waitForFunction((hidden) => !document.body.innerText.includes(hidden), {}, words),
      /** The text that a button copies. */
      async copied(name) {
        await setClipboard(["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
        await page.evaluate(() => navigator.clipboard.writeText(""));
        await press(name);
        await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
        return page.evaluate(() => navigator.clipboard.readText());
      },
      forbidClipboard: () => setClipboard([]),
      waitForTab: (path) => opened.browser.waitForTarget((target) => target.url().includes(path)),
      cleanly: () => assert.deepEqual([seen.complaints, seen.foreign], [[], []]),
    };
  }
  return { openAt, openConsole };
}

/** Records in the page which buttons and forms were shown and which were used. */
function recordActions() {
  const [offered, pressed] = [new Set(), new Set()];
  Object.assign(window, { offered, pressed });
  const getName = (element) => {
    const name = element.dataset.action ?? `form ${element.dataset.submit}`;
    const isOfThePage = name !== "copy" && element.closest("main") !== null;
    return isOfThePage ? `${document.title.split(" – ")[0]}: ${name}` : name;
  };
  const look = () => {
    for (const element of document.querySelectorAll("[data-action], [data-submit]"))
      offered.add(getName(element));
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  for (const type of ["click", "submit"]) {
    const use = (event) => {
      const element = event.target.closest(type === "click" ? "[data-action]" : "[data-submit]");
      if (element !== null && event.isTrusted) pressed.add(getName(element));
    };
    document.addEventListener(type, use, true);
  }
}
