/** The console while other programs change the service, in another sandbox, and without the service. */
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
    await page.locator(".card-preview-balance::-p-text(250)").wait();
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

  it("shows one sandbox, and changes to another", async (test) => {
    const shop = await openShop(test);
    const sandbox = await shop.control("POST", "sandboxes");
    await shop.issue({ name: "Anna" });
    const { page, visit, cleanly } = await openConsole(test, opened.browser, shop);
    await visit("Cards");
    await page.locator("td a::-p-text(Anna)").wait();
    await Promise.all([page.waitForNavigation(), page.locator("[data-sandbox]").fill(sandbox.id)]);
    await page.locator("::-p-text(No cards yet)").wait();
    assert.equal(new URL(page.url()).searchParams.get("sandbox"), sandbox.id);
    cleanly();
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
