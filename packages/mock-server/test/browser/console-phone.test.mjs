/** The console on a phone of 390 px: nothing overlaps, nothing is cut off, and what scrolls shows that it scrolls. */
import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openBrowser, openPage } from "../../../../compat/browser.mjs";
import { openFilledShop } from "./shop.mjs";

let opened;
beforeAll(async () => {
  opened = await openBrowser();
});
afterAll(() => opened.close());

const phone = { width: 390, height: 844 };

/** Opens every page of the console with its forms and details open. */
async function forEachPage(test, options, check) {
  const { shop, pages } = await openFilledShop(test, "Anna-Maria Kowalska-Wisniewska");
  const consolePages = pages.filter(([address]) => address.includes("/console"));
  assert.ok(consolePages.length >= 10);
  for (const [address, selector] of consolePages) {
    const { page } = await openPage(opened.browser, shop.baseUrl, options);
    await page.goto(address);
    await page.locator(selector).wait();
    const toOpen = 'main details:not([open]) > summary, main [aria-expanded="false"]';
    await page.$$eval(toOpen, (all) => {
      for (const element of all) element.click();
    });
    await page.waitForFunction((wanted) => document.querySelector(wanted) === null, {}, toOpen);
    await check(page, address.split("#")[1]);
    await page.close();
  }
}

/** The controls and texts that overlap on the page, as pairs of their texts. */
function findOverlaps() {
  const tolerancePx = 3;
  const visibleRect = (element, { left, top, right, bottom }) => {
    const rect = { left, top, right, bottom };
    for (let parent = element; parent !== null; parent = parent.parentElement) {
      if (getComputedStyle(parent).overflow === "visible") continue;
      const clip = parent.getBoundingClientRect();
      rect.left = Math.max(rect.left, clip.left);
      rect.top = Math.max(rect.top, clip.top);
      rect.right = Math.min(rect.right, clip.right);
      rect.bottom = Math.min(rect.bottom, clip.bottom);
    }
    return rect;
  };
  const boxes = [];
  for (const element of document.querySelectorAll("a, button, input, select, summary, [role=img]")) {
    // A link that continues on the next line has one rectangle per line.
    for (const rect of element.getClientRects())
      boxes.push({ node: element, rect: visibleRect(element, rect) });
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.data.trim() === "" || node.parentElement.closest("option, script")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      boxes.push({ node, rect: visibleRect(node.parentElement, rect) });
    }
  }
  const shared = (a, b) =>
    Math.min(
      Math.min(a.right, b.right) - Math.max(a.left, b.left),
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top),
    );
  const getName = ({ node }) => (node.ariaLabel || node.textContent || node.name).trim().slice(0, 40);
  const overlaps = [];
  for (const [index, a] of boxes.entries()) {
    for (const b of boxes.slice(index + 1)) {
      if (a.node.contains(b.node) || b.node.contains(a.node)) continue;
      if (shared(a.rect, b.rect) > tolerancePx) overlaps.push(`${getName(a)} / ${getName(b)}`);
    }
  }
  return { count: boxes.length, overlaps };
}

/** How much darker or lighter than the middle the left and the right edge of an element are, from 0 to 255. */
async function edgeContrast(page, element) {
  const png = await element.screenshot({ encoding: "base64" });
  return page.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    // The padding above the header's text shows only the background.
    const lightness = (x) => canvas.getImageData(x, 6, 1, 1).data[1];
    const middle = lightness(60);
    return {
      left: Math.abs(lightness(3) - middle),
      right: Math.abs(lightness(image.width - 4) - middle),
    };
  }, png);
}

describe("the console at 390 px", () => {
  it("has no page that scrolls horizontally and no overlapping controls or texts", async (test) => {
    await forEachPage(test, phone, async (page, name) => {
      const { scrollWidth, innerWidth } = await page.evaluate(() => ({
        scrollWidth: document.documentElement.scrollWidth,
        innerWidth,
      }));
      assert.ok(scrollWidth <= innerWidth, `${name} is ${scrollWidth} px wide`);
      const { count, overlaps } = await page.evaluate(findOverlaps);
      assert.ok(count > 15, `${name}: only ${count} boxes were measured`);
      assert.deepEqual([name, overlaps], [name, []]);
    });
  });

  it("shows the whole link of the current page beside the number of warnings", async (test) => {
    const { shop } = await openFilledShop(test);
    const { page } = await openPage(opened.browser, shop.baseUrl, phone);
    test.onTestFinished(() => page.close());
    await page.goto(`${shop.baseUrl}/console#/keys`);
    await page.locator("#warning-count:not([hidden])").wait();
    await page.waitForFunction(() => {
      const [link, row] = ["#pages [aria-current]", "#pages"].map((selector) =>
        document.querySelector(selector).getBoundingClientRect(),
      );
      return link.left >= row.left && link.right <= row.right;
    });
  });

  it("shows the change of each operation and complete times of deliveries without scrolling", async (test) => {
    const { shop, card } = await openFilledShop(test);
    const { items } = await shop.control("GET", `cards/${card.id}/operations`);
    await shop.control("POST", `operations/${items[0].id}/cancel`);
    await shop.control("POST", "clock/advance", { duration: "24h" }); // times have their date
    const open = async (address, selector) => {
      const { page } = await openPage(opened.browser, shop.baseUrl, phone);
      test.onTestFinished(() => page.close());
      await page.goto(`${shop.baseUrl}/console#/${address}`);
      await page.locator(selector).wait();
      return page;
    };
    const history = await open(`card/${card.id}`, "table.history tbody");
    const hiddenPx = await history.$eval(".scroll:has(.history)", (frame) => {
      const change = frame.querySelector("th:nth-child(3)").getBoundingClientRect();
      return change.right - frame.getBoundingClientRect().right;
    });
    assert.ok(hiddenPx <= 0, `${hiddenPx} px of the change are hidden`);
    assert.deepEqual((await history.evaluate(findOverlaps)).overlaps, []);

    const log = await open("deliveries", ".entry-next time");
    const times = await log.$$eval(".entry-next", (all) =>
      all.map(({ innerText, scrollWidth, clientWidth }) => [innerText, scrollWidth <= clientWidth]),
    );
    assert.ok(times.some(([text]) => /^\w{3} \d\d, /.test(text)));
    assert.deepEqual(
      times.filter(([, isComplete]) => !isComplete),
      [],
    );
  });

  for (const scheme of ["light", "dark"]) {
    it(`shades the edge of a table that can be scrolled, also with the keyboard: ${scheme}`, async (test) => {
      let scrolled = 0;
      await forEachPage(test, { ...phone, scheme }, async (page, name) => {
        for (const table of await page.$$("main .scroll:has(table)")) {
          const { role, label, tabIndex, hidden } = await table.evaluate((element) => ({
            role: element.getAttribute("role"),
            label: element.ariaLabel,
            tabIndex: element.tabIndex,
            hidden: element.scrollWidth - element.clientWidth,
          }));
          assert.deepEqual([name, role, tabIndex, label?.length > 3], [name, "region", 0, true]);
          if (hidden <= 0) continue;
          scrolled += 1;
          const atStart = await edgeContrast(page, table);
          await table.focus();
          await page.keyboard.press("ArrowRight");
          await page.waitForFunction((element) => element.scrollLeft > 0, {}, table);
          await table.evaluate((element) => {
            element.blur();
            element.scrollLeft = element.scrollWidth;
          });
          const atEnd = await edgeContrast(page, table);
          assert.ok(
            atStart.left < 4 && atStart.right > 12,
            `${name}, at the start: ${JSON.stringify(atStart)}`,
          );
          assert.ok(atEnd.left > 12 && atEnd.right < 4, `${name}, at the end: ${JSON.stringify(atEnd)}`);
        }
      });
      assert.ok(scrolled >= 3, `only ${scrolled} tables scrolled`);
    });
  }
});
