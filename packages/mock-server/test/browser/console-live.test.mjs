/** The console while other programs change the service, and without the service. */
import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openBrowser } from "../../../../compat/browser.mjs";
import { openConsole } from "./console.mjs";
import { openReceiver, openShop } from "./shop.mjs";

let opened;
beforeAll(async () => {
  opened = await openBrowser();
});
afterAll(() => opened.close());

/** A headless browser has no tabs in the background. */
const setHidden = (page, hidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

/** The title, position and width of every column of the lists on the page. The cells of the delivery log have no titles. */
const readColumns = (page) =>
  page.$$eval("main th:not(.entry *), main .entry:first-child summary > *", (all) =>
    all.map((cell) => {
      const { x, width } = cell.getBoundingClientRect();
      return [cell.localName === "th" ? cell.textContent : "", x, width];
    }),
  );

/** The titles that are wider than their columns. */
const readWideTitles = (page) =>
  page.$$eval("main th", (all) =>
    all
      .filter((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const [title, column] = [range, cell].map((part) => part.getBoundingClientRect());
        return title.left < column.left || title.right > column.right;
      })
      .map(({ textContent }) => textContent),
  );

describe("the lists of the console", () => {
  it("keep the width of their columns when rows arrive, and have room for the titles", async (test) => {
    const shop = await openShop(test);
    const url = await openReceiver(test);
    const events = ["balance.changed", "tier.changed"];
    await shop.control("POST", "webhooks/endpoints", { url, events });
    const card = await shop.issue({ name: "Anna" });
    await shop.control("POST", `cards/${card.id}/purchase`, { points: 1 });
    await shop.control("POST", "wait", { delivery: { type: "balance.changed" } });
    const lists = [];
    for (const [address, rows] of [
      ["cards", "main tbody tr"],
      ["requests", "main tbody tr"],
      ["deliveries", ".entry"],
      [`card/${card.id}`, "main tbody tr"],
    ]) {
      const { page } = await openConsole(test, opened.browser, shop, { address: `#/${address}` });
      await page.locator(rows).wait();
      const read = async () => {
        const columns = [];
        for (const width of [1280, 900, 390]) {
          await page.setViewport({ width, height: 900 });
          columns.push([width, await readColumns(page)]);
          assert.deepEqual([address, width, await readWideTitles(page)], [address, width, []]);
        }
        return columns;
      };
      const columns = await read();
      const count = await page.$$eval(rows, ({ length }) => length);
      lists.push({ address, page, rows, read, columns, count });
    }

    const name = "Maximiliana-Antoinette".repeat(4);
    const other = await shop.issue({ name, email: `${name}@example.com` });
    for (const { id } of [card, other]) {
      await shop.control("POST", `cards/${id}/purchase`, { points: 123_456_789.123 });
      for (const wallet of ["apple", "google"]) await shop.control("PUT", `cards/${id}/wallets/${wallet}`);
    }
    await fetch(`${shop.baseUrl}/api/v1/${name}/${name}`);
    for (const { address, page, rows, read, columns, count } of lists) {
      await page.bringToFront();
      await page.waitForFunction(
        (selector, former) => document.querySelectorAll(selector).length > former,
        {},
        rows,
        count,
      );
      assert.deepEqual([address, await read()], [address, columns]);
    }
  });
});

describe("the console while other programs use the service", () => {
  it("shows changes of other programs at once, without scrolling or losing input", async (test) => {
    const shop = await openShop(test);
    let respond;
    const responded = new Promise((resolve) => {
      respond = resolve;
    });
    const url = await openReceiver(test, () => responded);
    const { page, visit, cleanly } = await openConsole(test, opened.browser, shop);
    const { id } = await shop.issue({ name: "Anna" });

    await visit("Cards");
    await page.locator("td a::-p-text(Anna)").click();
    await page.locator('[name="amount"]').fill("7");
    await shop.control("POST", `cards/${id}/purchase`, { points: 250 });
    await page.locator(".card .balance::-p-text(250)").wait();
    await page.locator(".tier::-p-text(Silver)").wait();
    assert.equal(await page.$eval('[name="amount"]', (input) => input.value), "7");

    const endpoint = await shop.control("POST", "webhooks/endpoints", { url, events: ["ping"] });
    await shop.control("POST", `webhooks/endpoints/${endpoint.id}/test`);
    await visit("Deliveries");
    await page.locator(".pill.pending").wait();
    await page.evaluate(() => {
      window.shifts = [];
      new PerformanceObserver((list) => {
        window.shifts.push(...list.getEntries().map(({ value }) => value));
      }).observe({ type: "layout-shift" });
      document.querySelector("summary").focus();
    });
    respond(204);
    await page.locator(".pill.delivered").wait();
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    const shifted = await page.evaluate(() => window.shifts.reduce((sum, value) => sum + value, 0));
    assert.ok(shifted < 0.0001, `shifted by ${shifted}`); // a word in its pill may
    assert.equal(await page.evaluate(() => document.activeElement.localName), "summary");
    cleanly();
  });

  it("stays live in eight tabs, which share one stream, also after the tab that reads it is hidden or closes", async (test) => {
    const shop = await openShop(test);
    const { id } = await shop.issue({ name: "Anna" });
    const tabs = [];
    for (let count = 0; count < 8; count += 1) {
      tabs.push(await openConsole(test, opened.browser, shop, { address: `#/card/${id}` }));
    }
    const allShow = async (balance, pages) => {
      for (const { page } of pages) {
        await page.locator(`.card .balance::-p-text(${balance})`).wait();
        await page.locator("#connection::-p-text(Live)").wait();
      }
    };
    const streams = () =>
      tabs.flatMap(({ seen }) => seen.urls).filter((url) => url.includes("/_mock/events"));
    await allShow(0, tabs);
    assert.deepEqual(await Promise.all(tabs.map(({ page }) => page.evaluate(() => document.hidden))), [
      ...Array(8).fill(false), // a headless browser shows every tab
    ]);
    await shop.control("POST", `cards/${id}/purchase`, { points: 111 });
    await allShow(111, tabs);
    assert.equal(streams().length, 1);

    const [reader, second, ...others] = tabs;
    const last = others.at(-1);
    await last.field("amount", "22");
    await last.press("Record it");
    await allShow(133, tabs);

    await setHidden(reader.page, true);
    await shop.control("POST", `cards/${id}/purchase`, { points: 100 });
    await allShow(233, [second, ...others]);
    await second.page.close();
    await shop.control("POST", `cards/${id}/purchase`, { points: 100 });
    await allShow(333, others);
    assert.equal(streams().length, 3);
    const shown = await reader.page.$eval(".card .balance", ({ textContent }) => textContent);
    assert.match(shown, /133/); // hidden tabs do nothing

    await setHidden(reader.page, false);
    await allShow(333, [reader, ...others]);
    assert.equal(streams().length, 3);
    last.cleanly();
  });

  it("shows that the service does not respond, and works again when it does", async (test) => {
    const shop = await openShop(test);
    const { page } = await openConsole(test, opened.browser, shop);
    await page.locator("#connection::-p-text(Live)").wait();
    await page.setOfflineMode(true);
    await page.locator('#pages a[href="#/cards"]').click();
    await page.locator("::-p-text(The service does not respond)").wait();
    await page.setOfflineMode(false);
    await page.locator('#pages a[href="#/faults"]').click();
    await page.locator("::-p-text(No faults)").wait();
  });
});
