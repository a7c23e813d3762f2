/** A page with the console open, and the short forms that its tests use. */
import assert from "node:assert/strict";
import { openPage } from "../../../../compat/browser.mjs";

/**
 * Records which buttons and forms were shown and which were used.
 * @param address what follows `/console`, such as `#/cards`.
 */
export async function openConsole(test, browser, shop, { address = "", ...options } = {}) {
  const { page, seen } = await openPage(browser, shop.baseUrl, options);
  test.onTestFinished(() => page.isClosed() || page.close());
  await page.evaluateOnNewDocument(() => {
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
      document.addEventListener(
        type,
        (event) => {
          const element = event.target.closest(type === "click" ? "[data-action]" : "[data-submit]");
          if (element !== null && event.isTrusted) pressed.add(getName(element));
        },
        true,
      );
    }
  });
  await page.goto(`${shop.baseUrl}/console${address}`);
  await page.bringToFront(); // only the front page receives key presses

  const button = (name) => page.locator(`::-p-aria([name="${name}"][role="button"])`);
  const text = (words) => page.locator(`::-p-text(${words})`);
  return {
    page,
    seen,
    press: (name) => button(name).click(),
    text: (words) => text(words).wait(),
    field: (name, value) => page.locator(`[name="${name}"]`).fill(value),
    /** Clicks the link in the navigation and waits for its page. */
    async visit(name) {
      await page.locator(`#pages a::-p-text(${name})`).click();
      await page.locator(`main h1::-p-text(${name})`).wait();
    },
    gone: (words) => page.waitForFunction((wanted) => !document.body.innerText.includes(wanted), {}, words),
    cleanly() {
      assert.deepEqual(seen.complaints, []);
      assert.deepEqual(seen.foreign, []);
    },
  };
}
