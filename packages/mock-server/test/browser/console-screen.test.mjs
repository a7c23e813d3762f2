/** How the console behaves on a screen: the keyboard, times, changes of other programs, many tabs, a phone of 390 px. */
import assert from "node:assert/strict";
import { it } from "vitest";
import { openFilledShop, openReceiver, openShop, useBrowser } from "./shop.mjs";

const { openAt, openConsole } = useBrowser();

it("works with the keyboard alone and always shows the focus", async (test) => {
  const url = await openReceiver(test);
  const { shop, page, text, cleanly } = await openConsole(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["ping"] });
  await text("First steps");
  const where = () =>
    page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      const isShown = outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2;
      return { name: document.activeElement.ariaLabel ?? document.activeElement.innerText, isShown };
    });
  const tabTo = async (name) => {
    for (let steps = 0; steps < 40; steps += 1) {
      await page.keyboard.press("Tab");
      const at = await where();
      assert.ok(at.isShown, `no focus to be seen on "${at.name}"`);
      if (at.name === name) return page.keyboard.press("Enter");
    }
    return assert.fail(`"${name}" cannot be reached`);
  };
  await tabTo("Skip to the content");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.reload();
  await text("First steps");
  await tabTo("Webhooks");
  await page.locator("main h1::-p-text(Webhooks)").wait();
  await tabTo(`Send test to ${url}`);
  await text("A ping was sent");
  assert.equal((await where()).name, `Send test to ${url}`);
  cleanly();
});

it("shows a time without its date on the same day of the browser's zone, and the complete time in the title", async (test) => {
  const timeZone = "Asia/Tokyo"; // nine hours ahead of UTC, all year
  const shop = await openShop(test);
  const { now } = await shop.control("PUT", "clock", { mode: "manual" });
  const advance = (hours) => shop.control("POST", "clock/advance", { duration: hours * 3_600_000 });
  await advance(21 + 24 - ((Date.parse(now) / 3_600_000) % 24)); // to six o'clock in Tokyo
  const { id } = await shop.issue({ name: "Anna" });
  const { issuedAt } = await shop.control("GET", `cards/${id}`);
  const { page, read } = await openConsole(test, { shop, address: `#/card/${id}`, timeZone });
  const format = (options) => new Date(issuedAt).toLocaleString("en-US", { ...options, timeZone });
  assert.match(await read("main time"), /^06:00:\d\d$/);
  const complete = await page.$eval("main time", ({ title, dateTime }) => [title, dateTime]);
  const title = format({ dateStyle: "full", timeStyle: "long", hourCycle: "h23" });
  assert.deepEqual(complete, [title, issuedAt]);
  await advance(16);
  await page.waitForFunction(() => document.querySelector(".now").textContent.includes("22:0"));
  assert.match(await read("main time"), /^06:00:\d\d$/);
  await advance(8);
  await page.locator(`main time::-p-text(${format({ day: "2-digit", month: "short" })}, )`).wait();
});

it("shows changes of other programs at once, without scrolling or losing input, and works again after an outage", async (test) => {
  let respond;
  const responded = new Promise((resolve) => {
    respond = resolve;
  });
  const url = await openReceiver(test, () => responded);
  const { shop, page, visit, field, read, cleanly } = await openConsole(test);
  const { id } = await shop.issue({ name: "Anna" });
  await visit("Cards");
  await page.locator("td a::-p-text(Anna)").click();
  await field("amount", "7");
  await shop.control("POST", `cards/${id}/purchase`, { points: 250 });
  await page.locator(".card .balance::-p-text(250)").wait();
  assert.equal(await read('[name="amount"]'), "7");

  const endpoint = await shop.control("POST", "webhooks/endpoints", { url, events: ["ping"] });
  await shop.control("POST", `webhooks/endpoints/${endpoint.id}/test`);
  await visit("Deliveries");
  await page.locator(".pill.pending").wait();
  await page.evaluate(() => {
    window.shifted = 0;
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) window.shifted += value;
    }).observe({ type: "layout-shift" });
    document.querySelector("summary").focus();
  });
  respond(204);
  await page.locator(".pill.delivered").wait();
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  const [shifted, focused] = await page.evaluate(() => [window.shifted, document.activeElement.localName]);
  assert.ok(shifted < 0.0001, `shifted by ${shifted}`); // a word in its pill may
  assert.equal(focused, "summary");
  cleanly();

  await page.setOfflineMode(true);
  await page.locator('#pages a[href="#/cards"]').click();
  await page.locator("::-p-text(The service does not respond)").wait();
  await page.setOfflineMode(false);
  await page.locator('#pages a[href="#/faults"]').click();
  await page.locator("::-p-text(No faults)").wait();
});

/** A headless browser has no tabs in the background. */
const setHidden = (page, hidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

it("stays live in eight tabs, also after some are hidden or closed", async (test) => {
  const shop = await openShop(test);
  const { id } = await shop.issue({ name: "Anna" });
  const tabs = [];
  for (let count = 0; count < 8; count += 1)
    tabs.push(await openConsole(test, { shop, address: `#/card/${id}` }));
  const purchase = () => shop.control("POST", `cards/${id}/purchase`, { points: 111 });
  const allShow = async (balance, pages) => {
    for (const { page } of pages) {
      await page.locator(`.card .balance::-p-text(${balance})`).wait();
      await page.locator("#connection::-p-text(Live)").wait();
    }
  };
  const [first, second, ...others] = tabs;
  await allShow(0, tabs);
  await setHidden(first.page, true);
  await second.page.close();
  await purchase();
  await allShow(111, others);
  assert.match(await first.read(".card .balance"), /0/); // hidden tabs do nothing
  await setHidden(first.page, false);
  await allShow(111, [first]);
  others[0].cleanly();
});

/** The controls and texts of the page that overlap by more than 3 px, as pairs of their texts. */
function findOverlaps() {
  const clip = (element, { left, top, right, bottom }) => {
    const rect = { left, top, right, bottom };
    for (let parent = element; parent !== null; parent = parent.parentElement) {
      if (getComputedStyle(parent).overflow === "visible") continue;
      const outer = parent.getBoundingClientRect();
      for (const side of ["left", "top"]) rect[side] = Math.max(rect[side], outer[side]);
      for (const side of ["right", "bottom"]) rect[side] = Math.min(rect[side], outer[side]);
    }
    return rect;
  };
  const boxes = [];
  const add = (node, element, rects) => {
    for (const rect of rects) boxes.push({ node, rect: clip(element, rect) }); // one for each line
  };
  for (const element of document.querySelectorAll("a, button, input, select, summary, [role=img]"))
    add(element, element, element.getClientRects());
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.data.trim() === "" || node.parentElement.closest("option, script")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    add(node, node.parentElement, range.getClientRects());
  }
  const overlap = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const getName = ({ node }) => (node.ariaLabel || node.textContent || node.name).trim().slice(0, 40);
  const isApart = (a, b) => a.node.contains(b.node) || b.node.contains(a.node) || !overlap(a.rect, b.rect);
  return boxes.flatMap((a, index) =>
    boxes.slice(index + 1).flatMap((b) => (isApart(a, b) ? [] : [`${getName(a)} / ${getName(b)}`])),
  );
}

it("fits on a phone: no page scrolls sideways, nothing overlaps, and tables scroll with the keyboard", async (test) => {
  const { shop, card, pages } = await openFilledShop(test, "Anna-Maria Kowalska-Wisniewska");
  const { items } = await shop.control("GET", `cards/${card.id}/operations`);
  await shop.control("POST", `operations/${items[0].id}/cancel`);
  await shop.control("POST", "clock/advance", { duration: "24h" }); // times have their date
  let scrolled = 0;
  const consolePages = pages.filter(([address]) => address.includes("/console"));
  for (const [address, selector] of consolePages) {
    const name = address.split("#")[1];
    const { page } = await openAt(test, shop, `/console#${name}`, { width: 390, height: 844 });
    await page.locator(selector).wait();
    const toOpen = 'main details:not([open]) > summary, main [aria-expanded="false"]';
    await page.$$eval(toOpen, (all) => {
      for (const element of all) element.click();
    });
    await page.waitForFunction((wanted) => document.querySelector(wanted) === null, {}, toOpen);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${name} is ${width} px wide`);
    assert.deepEqual([name, await page.evaluate(findOverlaps)], [name, []]);
    const cut = await page.$$eval(".entry-next, .history th:nth-child(3)", (all) =>
      all
        .filter(
          (cell) => cell.scrollWidth > cell.clientWidth || cell.getBoundingClientRect().right > innerWidth,
        )
        .map(({ innerText }) => innerText),
    );
    assert.deepEqual([name, cut], [name, []]); // the changes of a card and the next attempts are complete
    await page.waitForFunction(() => {
      const [link, row] = ["#pages [aria-current]", "#pages"].map((each) =>
        document.querySelector(each)?.getBoundingClientRect(),
      );
      return link === undefined || (link.left >= row.left && link.right <= row.right);
    });
    for (const table of await page.$$("main .scroll:has(table)")) {
      const { role, tabIndex, label, isWide } = await table.evaluate((element) => ({
        role: element.getAttribute("role"),
        tabIndex: element.tabIndex,
        label: element.ariaLabel,
        isWide: element.scrollWidth > element.clientWidth,
      }));
      assert.deepEqual([name, role, tabIndex, label?.length > 3], [name, "region", 0, true]);
      if (!isWide) continue;
      scrolled += 1;
      await table.focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction((element) => element.scrollLeft > 0, {}, table);
    }
    await page.close();
  }
  assert.ok(scrolled >= 3, `only ${scrolled} tables scrolled`);
});
