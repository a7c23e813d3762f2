/** The console says what came of requests and actions: the Requests page, toasts, a delivery's request, faults, lists. */
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

/** Sends a request as an app does, also one that fails. */
const send = (shop, method, path, { key = shop.apiKeys.website, body, headers } = {}) =>
  fetch(`${shop.baseUrl}/api/v1/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => undefined);

/** The text of each row of the page's first table. */
const readRows = (page) => page.$$eval("main tbody tr", (rows) => rows.map(({ innerText }) => innerText));

describe("the page Requests", () => {
  it("says what came of each request while it is open, and has filters, search and page in the address", async (test) => {
    const shop = await openShop(test);
    const { page, visit, text, field, cleanly } = await openConsole(test, opened.browser, shop);
    await visit("Requests");
    await text("No requests yet");

    const passes = `templates/${shop.templateId}/passes`;
    const signUp = { fieldValues: {}, customer: { name: "Anna", consents: { privacy: { version: "1" } } } };
    const once = { body: signUp, headers: { "idempotency-key": "user-7" } };
    const { id } = await (await send(shop, "POST", passes, once)).json();
    await page.locator("td::-p-text(201)").wait();
    await send(shop, "POST", passes, once);
    await send(shop, "POST", passes, { body: { customer: { name: "Secret" } } });
    await send(shop, "GET", `passes/${id}`, { key: "unknown" });
    await shop.control("POST", "faults", { phase: "before", kind: "destroy", times: 1 });
    await send(shop, "GET", `passes/${id}`);
    await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 5);
    const [destroyed, unauthorized, invalid, replay, first] = await readRows(page);
    assert.match(destroyed, new RegExp(`None.*GET.*/passes/${id}.*injected fault: destroy\\s+${id}`, "s"));
    assert.match(unauthorized, /401.*unknown key/s);
    assert.match(invalid, /422.*POST.*customer\.consents is missing/s);
    assert.match(replay, new RegExp(`201.*Replay of ${id}`, "s"));
    assert.match(first, new RegExp(`^\\d\\d:\\d\\d:\\d\\d\\s+201.*${id}\\s+\\d+ ms$`, "s"));
    const shown = await page.$eval("main", ({ innerText }) => innerText);
    for (const hidden of ["Anna", "Secret", "user-7", shop.apiKeys.website])
      assert.ok(!shown.includes(hidden));

    await page.locator('select[name="result"]').fill("failed");
    await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 3);
    await field("query", "unknown");
    await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
    assert.equal(new URL(page.url()).hash, "#/requests?result=failed&query=unknown");
    await page.reload();
    await page.locator("td::-p-text(unknown key)").wait();
    assert.equal((await readRows(page)).length, 1);
    assert.equal(await page.$eval('[name="query"]', ({ value }) => value), "unknown");
    await field("query", "nothing");
    await text("No matching requests");
    assert.equal(await page.title(), "Requests – Loyalty cards console");

    // Two thousand requests are a hundred pages; the oldest five are no longer stored.
    for (let count = 0; count < 2_000; count += 1) await send(shop, "GET", `passes/card_${count}`);
    await page.goto(`${shop.baseUrl}/console#/requests?page=100`);
    await page.locator("td::-p-text(card_0)").wait();
    await page.locator('.pager [aria-label="Page 99"]').click();
    await page.locator("td::-p-text(card_39)").wait();
    assert.equal(new URL(page.url()).hash, "#/requests?page=99");
    assert.match(await page.$eval(".pager", ({ innerText }) => innerText), /1,961–1,980 of 2,000/);
    await page.goto(`${shop.baseUrl}/console#/requests?page=7000`);
    await page.locator("td::-p-text(card_0)").wait();
    await page.goto(`${shop.baseUrl}/console#/requests?query=card_1999`);
    await page.locator("td::-p-text(card_1999)").wait();
    cleanly();
  });
});

describe("toasts and deliveries", () => {
  it("say what a receiver responded, and have everything to repeat and check the request", async (test) => {
    const shop = await openShop(test);
    const url = await openReceiver(test, (type) => (type === "tier.changed" ? 401 : 204));
    const events = ["balance.changed", "tier.changed"];
    const { id, secret } = await shop.control("POST", "webhooks/endpoints", { url, events });
    const card = await shop.issue({ name: "Anna", phone: "+48600100200", email: "anna@shop.test" });
    const { page, press, text, field, visit, cleanly } = await openConsole(test, opened.browser, shop);
    await opened.browser
      .defaultBrowserContext()
      .overridePermissions(shop.baseUrl, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);

    await visit("Cards");
    await page.locator("td::-p-text(anna@shop.test)").wait();
    const [row] = await readRows(page);
    assert.match(row, new RegExp(`Anna.*\\+48600100200.*${card.id}.*\\d\\d:\\d\\d:\\d\\d`, "s"));
    await page.locator(`td a::-p-text(${card.id})`).click();
    await text("No deliveries yet");
    await field("amount", "50");
    await press("Record it");
    await text("Recorded: +50 points. balance.changed → 204");
    await field("amount", "150");
    await press("Record it");
    await text("tier.changed → 401");
    await page.locator("main td::-p-text(401)").wait();
    await page.locator("main a::-p-text(All deliveries of this card)").click();
    await page.locator("main h1::-p-text(Deliveries)").wait();
    await page.locator(`.entry-card::-p-text(${card.id})`).wait();
    assert.equal(new URL(page.url()).hash, `#/deliveries?query=${card.id}`);
    await page.locator('select[name="type"]').fill("tier.changed");
    await page.waitForFunction(() => document.querySelectorAll(".entry").length === 1);
    const { items } = await shop.control("GET", `webhooks/deliveries?query=${card.id}&type=tier.changed`);
    const { id: deliveryId, body, eventId } = items[0];
    await text(eventId);

    await page.goto(`${shop.baseUrl}/console#/delivery/${deliveryId}`);
    await press("Resend");
    await text("The delivery is sent again. tier.changed → 401");
    const { attempts } = await shop.control("GET", `webhooks/deliveries/${deliveryId}`);
    assert.equal(attempts.length, 2);
    const { signature } = attempts[1];
    const copied = async (name) => {
      await page.evaluate(() => navigator.clipboard.writeText(""));
      await press(`Copy: ${name}`);
      await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.equal(await copied("Raw body"), body);
    assert.match(await copied("Request headers"), new RegExp(`^service-signature: ${signature}$`, "m"));
    const curl = await copied("The request as curl");
    for (const part of [`curl -i '${url}'`, `-H 'service-signature: ${signature}'`, `--data-raw '${body}'`])
      assert.ok(curl.includes(part), part);
    assert.ok(!(await page.content()).includes(secret));

    // Nothing listens on port 2; fetch refuses port 1.
    await shop.control("PATCH", `webhooks/endpoints/${id}`, { url: "http://127.0.0.1:2/" });
    await page.evaluate(() => scrollTo(0, 0)); // else the top bar may cover the button
    await press("Resend");
    await text("ECONNREFUSED: nothing listens on port 2");
    await visit("Clock");
    await press("Until all is delivered or failed");
    await text("attempts: 0 delivered.");

    await page.goto(`${shop.baseUrl}/console#/delivery/${deliveryId}`);
    await page.waitForFunction(
      (title) => document.title === title,
      {},
      `tier.changed, ${deliveryId} – Loyalty cards console`,
    );
    await page.locator(`main dd a::-p-text(${card.id})`).click();
    await page.locator("main h1::-p-text(Anna)").wait();
    assert.equal(new URL(page.url()).hash, `#/card/${card.id}`);
    assert.equal(await page.title(), "Card of Anna – Loyalty cards console");
    await page.goBack();
    await page.locator("main h1::-p-text(tier.changed)").wait();
    const checks = opened.browser.waitForTarget((target) => target.url().includes("/check-signature#"));
    const repeated = await shop.control("GET", `webhooks/deliveries/${deliveryId}`);
    await press("Check the signature ↗");
    const address = new URL((await checks).url());
    assert.equal(address.search, "");
    assert.deepEqual(Object.fromEntries(new URLSearchParams(address.hash.slice(1))), {
      header: repeated.attempts.findLast((attempt) => attempt.signature).signature,
      body,
      secret,
    });
    cleanly();
  });

  it("show a response body as text, and on every page that a fault is active", async (test) => {
    const shop = await openShop(test);
    const { page, visit, press, text, cleanly } = await openConsole(test, opened.browser, shop);
    await visit("Faults");
    await press("Add the fault");
    await text("1 more time");
    for (const name of ["Requests", "Clock"]) {
      await visit(name);
      await page.locator('.top a[href="#/faults"]::-p-text(1 active fault)').wait();
      assert.equal(await page.title(), `${name} – Loyalty cards console`);
    }
    await send(shop, "GET", "passes/card_1");
    await page.waitForFunction(() => !document.querySelector("#fault-count").checkVisibility());
    const guides = await page.$eval(".elsewhere a", ({ href }) => href);
    assert.equal(guides, "https://loyalty-cards.github.io/loyalty-cards/");

    // The mock service itself as a receiver: it responds with problem details.
    const url = `${shop.baseUrl}/api/v1/nowhere`;
    const { id } = await shop.control("POST", "webhooks/endpoints", { url, events: ["ping"] });
    const delivery = await shop.control("POST", `webhooks/endpoints/${id}/test`);
    await page.goto(`${shop.baseUrl}/console#/delivery/${delivery.id}`);
    await page.locator(".block code::-p-text(/api/v1/nowhere)").wait();
    cleanly();
  });
});
