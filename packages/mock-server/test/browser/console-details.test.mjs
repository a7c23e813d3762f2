/** The console's times, links, clipboard, warnings and webhook endpoints, in a headless Chromium. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openBrowser } from "../../../../compat/browser.mjs";
import { openConsole } from "./console.mjs";
import { openReceiver, openShop } from "./shop.mjs";

let opened;
beforeAll(async () => {
  opened = await openBrowser();
});
afterAll(() => opened.close());

const allowClipboard = (shop) =>
  opened.browser
    .defaultBrowserContext()
    .overridePermissions(shop.baseUrl, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);

/** The zone in which it is 22 o'clock or shortly before at this moment. */
function zoneAt22(nowMs) {
  const offset = 22 - new Date(nowMs).getUTCHours();
  const hours = offset > 14 ? offset - 24 : offset;
  return `Etc/GMT${hours > 0 ? "-" : "+"}${Math.abs(hours)}`; // these names have the opposite sign of the offset
}

describe("times in the console", () => {
  it("show no date on the current day of the browser's time zone, and the complete time in the title", async (test) => {
    const shop = await openShop(test);
    const { id } = await shop.issue({ name: "Anna" });
    const { issuedAt } = await shop.control("GET", `cards/${id}`);
    const issuedMs = Date.parse(issuedAt);
    const timeOn = async (timeZone) => {
      const { page } = await openConsole(test, opened.browser, shop, { address: `#/card/${id}`, timeZone });
      await page.locator("main time").wait();
      const read = () =>
        page.$eval("main time", ({ textContent, title, dateTime }) => ({ textContent, title, dateTime }));
      return { page, read };
    };
    const lateEvening = zoneAt22(issuedMs);
    const morning = zoneAt22(issuedMs + 12 * 3_600_000);
    const [late, early] = [await timeOn(lateEvening), await timeOn(morning)];
    const complete = (timeZone) =>
      new Intl.DateTimeFormat("en-US", {
        dateStyle: "full",
        timeStyle: "long",
        hourCycle: "h23",
        timeZone,
      }).format(issuedMs);
    for (const [{ read }, timeZone] of [
      [late, lateEvening],
      [early, morning],
    ]) {
      const { textContent, title, dateTime } = await read();
      assert.match(textContent, /^\d\d:\d\d:\d\d$/);
      assert.deepEqual([title, dateTime], [complete(timeZone), issuedAt]);
    }

    await shop.control("POST", "clock/advance", { duration: "3h" });
    await late.page.bringToFront();
    await late.page.waitForFunction(() => /[A-Z]/.test(document.querySelector("main time").textContent));
    const inZone = (options, atMs) =>
      new Intl.DateTimeFormat("en-US", { ...options, timeZone: lateEvening }).format(atMs);
    const day = inZone({ day: "2-digit", month: "short" }, issuedMs);
    const [year, nextYear] = [issuedMs, issuedMs + 3 * 3_600_000].map((atMs) =>
      inZone({ year: "numeric" }, atMs),
    );
    const shown = (await late.read()).textContent;
    assert.ok(shown.startsWith(`${day}, `), shown);
    assert.equal(shown.includes(`, ${year}, `), year !== nextYear, shown);
    await early.page.bringToFront();
    const hour = `, ${new Intl.DateTimeFormat("en-US", { hour: "2-digit", hourCycle: "h23", timeZone: morning }).format(issuedMs)}:`;
    await early.page.waitForFunction(
      (former) => !document.querySelector(".now").textContent.includes(former),
      {},
      hour,
    );
    assert.match((await early.read()).textContent, /^\d\d:\d\d:\d\d$/);
  });
});

describe("the page of a delivery", () => {
  it("opens from a copied link, also after a reload", async (test) => {
    const shop = await openShop(test);
    const url = await openReceiver(test, () => 503);
    const endpoint = await shop.control("POST", "webhooks/endpoints", { url, events: ["ping"] });
    const send = () => shop.control("POST", `webhooks/endpoints/${endpoint.id}/test`);
    const [first, second] = [await send(), await send()];

    const { page, text } = await openConsole(test, opened.browser, shop, {
      address: "#/deliveries",
    });
    await allowClipboard(shop);
    await page.locator("details:nth-of-type(2) > summary").click();
    await page.locator('details[open] [aria-label="Copy the link to this delivery"]').click();
    await text("Copied.");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, `${shop.baseUrl}/console#/delivery/${first.id}`);

    const other = await openConsole(test, opened.browser, shop);
    await other.page.goto(link);
    for (const reload of [false, true]) {
      if (reload) await other.page.reload();
      await other.page.locator("main h1::-p-text(ping)").wait();
      await other.page.locator("tbody td::-p-text(503)").wait();
      const shown = await other.page.$eval("main", (main) => main.innerText);
      for (const part of [first.id, first.eventId, "503", url]) assert.ok(shown.includes(part), part);
      assert.ok(!shown.includes(second.id));
    }
    assert.equal(await other.page.$eval("[aria-current]", ({ textContent }) => textContent), "Deliveries");

    await other.press("Resend");
    await other.text("The delivery is sent again.");
    await other.page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
    await shop.control("DELETE", `webhooks/endpoints/${endpoint.id}`);
    await other.text("The endpoint was deleted");
    assert.equal(await other.page.$('[data-action="resend"]'), null);
    await other.page.goto(`${shop.baseUrl}/console#/deliveries?endpointId=${endpoint.id}`);
    await other.page.locator(`summary::-p-text(${endpoint.id} \\(deleted\\))`).wait();
    const filter = await other.page.$eval(
      '[name="endpointId"]',
      ({ selectedOptions }) => selectedOptions[0].label,
    );
    assert.equal(filter, `${endpoint.id} (deleted)`);
    await other.page.goto(`${shop.baseUrl}/console#/delivery/none`);
    await other.text('There is no delivery "none".');
  });
});

describe("Copy as .env", () => {
  it("copies the settings of a website, with the signing secret of the chosen endpoint", async (test) => {
    const shop = await openShop(test);
    const { page, seen, press, text } = await openConsole(test, opened.browser, shop);
    await allowClipboard(shop);
    const copied = async () => {
      await page.evaluate(() => navigator.clipboard.writeText(""));
      await press("Copy as .env");
      await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const settings = [
      `LOYALTY_URL=${shop.baseUrl}`,
      `LOYALTY_API_KEY=${shop.apiKeys.website}`,
      `LOYALTY_TEMPLATE_ID=${shop.templateId}`,
    ];
    await text("First steps");
    assert.equal(await copied(), `${settings.join("\n")}\n`);

    const create = (url) => shop.control("POST", "webhooks/endpoints", { url, events: ["ping"] });
    const first = await create("http://localhost:3000/webhooks/loyalty");
    await text("Includes the signing secret of the webhook endpoint.");
    assert.equal(await copied(), `${[...settings, `LOYALTY_SIGNING_SECRET=${first.secret}`].join("\n")}\n`);

    const second = await create("http://localhost:3001/webhooks");
    await Promise.all([
      page.waitForResponse((response) => response.url().endsWith(`${second.id}/secret`)),
      page.locator('select[name="endpointId"]').fill(second.id),
    ]);
    assert.equal(await copied(), `${[...settings, `LOYALTY_SIGNING_SECRET=${second.secret}`].join("\n")}\n`);
    assert.ok(!(await page.content()).includes(second.secret));
    assert.deepEqual(seen.complaints, []);
  });

  it("quotes a secret that has a space, and shows the settings when copying is not allowed", async (test) => {
    const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-seed-"));
    test.onTestFinished(() => rmSync(folder, { recursive: true }));
    const seed = join(folder, "seed.json");
    const secret = "it's #1";
    const endpoints = [{ url: "http://localhost:3000/webhooks/loyalty", events: ["ping"], secret }];
    writeFileSync(seed, JSON.stringify({ endpoints }));
    const shop = await openShop(test, "--seed", seed);
    const { page, press } = await openConsole(test, opened.browser, shop);
    await opened.browser.defaultBrowserContext().overridePermissions(shop.baseUrl, []);
    await press("Copy as .env");
    const shown = await page
      .locator("dialog code")
      .map((code) => code.textContent)
      .wait();
    const file = join(folder, ".env");
    writeFileSync(file, shown);
    const printed = execFileSync(
      process.execPath,
      [`--env-file=${file}`, "-p", "process.env.LOYALTY_SIGNING_SECRET"],
      { encoding: "utf8" },
    );
    assert.equal(printed.trim(), secret);
  });
});

describe("warnings in the console", () => {
  it("are listed and counted while the page is open, and are gone after a reset", async (test) => {
    const shop = await openShop(test);
    const { page, visit, text, cleanly } = await openConsole(test, opened.browser, shop);
    await visit("Warnings");
    await text("No warnings");
    const badge = () => page.$eval("#warning-count", (element) => element.checkVisibility());
    assert.equal(await badge(), false);

    const issue = (name) => shop.issue({ name, phone: "+48600100200" }, {}, undefined, "user-7-secret-key");
    const card = await issue("Anna");
    await issue("Bernd");
    await text("Idempotency key repeated with other content");
    await page.locator("#warning-count::-p-text(1)").wait();
    await page.locator(`main a[href="#/card/${card.id}"]`).wait();
    await issue("Bernd"); // the same mistake again is no further warning
    const fields = [{ key: "name", type: "name" }];
    const { id: template } = await shop.control("POST", "templates", { name: "Club", fields });
    await shop.issue({ name: "Celine" }, { nmae: "Celine Secret" }, template, "user-8");
    await text("Unknown field keys");
    await text("did you mean");
    await shop.issue({ name: "Dora", emial: "dora@secret.test" }, { name: "Dora" }, template, "user-9");
    await page.waitForFunction(() => document.querySelectorAll("main li.panel").length === 3);
    await page.locator("#warning-count::-p-text(3)").wait();
    const panels = await page.$$eval("main li.panel", (all) =>
      all.map((panel) => [
        panel.querySelector("h2").textContent,
        panel.querySelector(".actions a").getAttribute("href"),
      ]),
    );
    assert.deepEqual(panels, [
      ["Unknown members of the request", "api/docs"],
      ["Unknown field keys", "#/templates"],
      ["Idempotency key repeated with other content", `#/card/${card.id}`],
    ]);
    const shown = await page.$eval("main", (main) => main.innerText);
    for (const hidden of ["Anna", "Bernd", "Celine", "dora@", "+48600100200", "user-7"])
      assert.ok(!shown.includes(hidden));

    await shop.control("POST", "reset");
    await text("No warnings");
    await page.waitForFunction(() => !document.querySelector("#warning-count").checkVisibility());
    cleanly();
  });
});

describe("webhook endpoints in the console", () => {
  it("are edited and deleted, with errors beside the form and a confirmation", async (test) => {
    const shop = await openShop(test);
    const [url, moved] = [await openReceiver(test), await openReceiver(test)];
    const { id } = await shop.control("POST", "webhooks/endpoints", { url, events: ["card.added", "ping"] });
    const endpoints = async () => (await shop.control("GET", "webhooks/endpoints")).items;
    const { page, press, text, field, gone } = await openConsole(test, opened.browser, shop, {
      address: "#/webhooks",
    });
    await press(`Edit ${url}`);
    await page.locator('[name="events"]').wait();
    const chosen = await page.$$eval('[name="events"]:checked', (all) => all.map(({ value }) => value));
    assert.deepEqual(chosen, ["card.added", "ping"]);
    await field("url", "http://example.com/hook");
    await press("Save the changes");
    await page.locator("li.panel .form-error::-p-text(https://)").wait();
    assert.deepEqual(await endpoints(), [{ id, url, events: ["card.added", "ping"] }]);
    await press(`Cancel the changes of ${url}`);

    await press(`Edit ${url}`);
    const kept = await page
      .locator('[name="url"]')
      .map((input) => input.value)
      .wait();
    assert.equal(kept, url);
    await field("url", moved);
    await page.locator('[name="events"][value="card.added"]').click();
    await page.locator('[name="events"][value="balance.changed"]').click();
    await press("Save the changes");
    await text("The endpoint was changed.");
    await page.locator(`h2::-p-text(${moved})`).wait();
    assert.deepEqual(await endpoints(), [{ id, url: moved, events: ["balance.changed", "ping"] }]);

    await press(`Delete ${moved}`);
    await press("Keep as it is");
    assert.equal((await endpoints()).length, 1);
    await press(`Delete ${moved}`);
    await press("Delete the endpoint");
    await text("The endpoint was deleted.");
    await text("No endpoints yet");
    await gone(moved);
    assert.deepEqual(await endpoints(), []);
  });
});
