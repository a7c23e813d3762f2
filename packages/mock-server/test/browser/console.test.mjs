/** Every button and form of the console, errors beside the fields, and the keyboard. */
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

describe("the console", () => {
  it("has a working button for every action", async (test) => {
    const shop = await openShop(test);
    const responses = { ping: 204 };
    const url = await openReceiver(test, (type) => responses[type] ?? 503);
    const { page, seen, press, text, field, visit, gone, cleanly } = await openConsole(
      test,
      opened.browser,
      shop,
    );
    await opened.browser
      .defaultBrowserContext()
      .overridePermissions(shop.baseUrl, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);

    await text("First steps");
    await press("Copy the Website key");
    await text("Copied.");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), shop.apiKeys.website);
    await press("Copy as .env");
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("LOYALTY_URL="));

    // A template with two fields and two levels
    await visit("Templates");
    await press("Create a template");
    await field("name", "Bakery");
    await press("Add a field");
    await page.locator('[data-row="field"]:last-child [data-part="key"]').fill("flavour");
    await press("Add a field");
    await page.locator('[data-row="field"]:last-child button').click();
    await press("Add a level");
    await page.locator('[data-row="tier"]:last-child [data-part="name"]').fill("Gold");
    await page.locator('[data-row="tier"]:last-child [data-part="from"]').fill("500");
    await press("Create the template");
    await text("The template was created.");
    const { items: templates } = await shop.control("GET", "templates");
    const bakery = templates.find(({ name }) => name === "Bakery");
    assert.deepEqual(
      [bakery.fields.map(({ key }) => key), bakery.tiers.map(({ name }) => name)],
      [
        ["name", "flavour"],
        ["Silver", "Gold"],
      ],
    );

    // An endpoint for everything; its secret is shown once
    await visit("Webhooks");
    await text("No endpoints yet");
    await field("url", url);
    await press("Add the endpoint");
    const secret = await page
      .locator("dialog code")
      .map((code) => code.textContent)
      .wait();
    assert.match(secret, /^whsec_/);
    await press("I have copied it");
    await gone(secret);
    await press(`New secret for ${url}`);
    await press("Create a new secret");
    const renewed = await page
      .locator("dialog .secret code")
      .map((code) => code.textContent)
      .wait();
    assert.notEqual(renewed, secret);
    await press("I have copied it");
    await press("Add an endpoint");
    await page.locator('input[name="url"]').wait();
    await press(`Send test to ${url}`);
    await text("A ping was sent");
    await press(`Edit ${url}`);
    await page.locator('[data-submit="update"] [name="events"][value="ping"]').click();
    await press("Save the changes");
    await text("The endpoint was changed.");
    const other = "http://localhost:1/other";
    await shop.control("POST", "webhooks/endpoints", { url: other, events: ["ping"] });
    await press(`Delete ${other}`);
    await press("Delete the endpoint");
    await text("The endpoint was deleted.");

    // A card, and everything that happens to it
    await visit("Cards");
    await text("No cards yet");
    await press("Issue a test card");
    await page.locator('select[name="template"]').fill(bakery.id);
    await field("fieldValues/flavour", "Poppy seed");
    await field("fieldValues/name", "Anna");
    await field("customer/phone", "+48600100200");
    await field("customer/name", "Anna Kowalska");
    await press("Issue the card");
    await page.locator("main h1::-p-text(Anna Kowalska)").wait();
    await press("Add to Apple Wallet");
    await press("Remove from Apple Wallet");
    await press("Give");
    await press("Withdraw");
    for (const [kind, points] of [
      ["purchase", "120"],
      ["reward", "30"],
      ["redeem", "50"],
      ["correct", "-1"],
    ]) {
      await page.locator('select[name="kind"]').fill(kind);
      await field("amount", points);
      await press("Record it");
      await page.waitForFunction(() => document.querySelector('[name="amount"]').value === "");
    }
    await page.locator(".card .balance::-p-text(99)").wait();
    await press("Cancel the purchase of +120");
    await text("The balance is 99; it cannot change by -120.");
    await press("Cancel the redemption of −50");
    await page.locator(".card .balance::-p-text(149)").wait();
    const { items: cards } = await shop.control("GET", "cards");
    assert.deepEqual([cards[0].loyaltyBalance, cards[0].loyaltyTier], [149, "Silver"]);

    // Found again by a part of the phone number
    await page.locator("::-p-text(← All cards)").click();
    await field("query", "600100");
    await page.locator("td a::-p-text(Anna Kowalska)").wait();
    await field("query", "an unknown customer");
    await text("No card matches");
    await field("query", "");

    // The log: failed deliveries are resent after the receiver is repaired
    await visit("Deliveries");
    await page.locator('select[name="state"]').fill("pending");
    await page.locator("summary::-p-text(balance.changed)").click();
    await page.locator(".entry-inside td::-p-text(503)").wait();
    for (const type of ["balance.changed", "tier.changed", "consent.changed", "card.added", "card.removed"])
      responses[type] = 204;
    await page.locator('[open] [data-action="resend"]').click();
    await text("The delivery is sent again.");
    await page.locator('select[name="state"]').fill("delivered");
    await page.locator("summary::-p-text(balance.changed)").wait();

    // Time
    await press("Next delivery: move the clock there");
    await text("delivered.");
    await visit("Clock");
    await press("To the next delivery");
    await press("+1 h: move the clock forward");
    await press("Until all is delivered or failed");
    await text("no pending delivery");
    const before = Date.parse((await shop.control("GET", "clock")).now);
    await press("+1 day");
    await text("No delivery was due.");
    assert.ok(Date.parse((await shop.control("GET", "clock")).now) - before >= 86_400_000);
    await page.locator('select[name="mode"]').fill("manual");
    await press("Set the clock");
    await text("stands still until it is moved");

    // Faults of both sorts
    await visit("Faults");
    await text("No faults");
    await field("times", "2");
    await page.locator('select[name="operation"]').fill("issueCard");
    await press("Add the fault");
    await press("Remove the fault: An error status");
    await text("No faults");
    await page.locator('select[name="kind"]').fill("in-progress");
    await field("durationMs", "2500");
    await page.locator('select[name="status"]').fill("423");
    await press("Add the fault");
    await text("before processing · status 423 · 2500 ms");
    await press("Remove the fault: The first request is still running");
    await text("No faults");
    await page.locator('select[name="kind"]').fill("duplicate");
    await page.locator('select[name="event"]').fill("balance.changed");
    await press("Add the fault");
    await text("event: balance.changed");
    await press("Remove all");
    await page.locator("dialog ::-p-text(Remove all)").wait();
    await page.locator('dialog button[value="yes"]').click();
    await text("No faults");

    // Keys
    await visit("API keys");
    await field("name", "Staging");
    await press("Create the key");
    const key = await page
      .locator("dialog code")
      .map((code) => code.textContent)
      .wait();
    await press("I have copied it");
    await press("Revoke Staging");
    await press("Keep as it is");
    await press("Revoke Staging");
    await press("Revoke it");
    await text("The key was revoked.");
    await page.waitForFunction(
      (revoked) => !document.querySelector("main").innerText.includes(revoked),
      {},
      key,
    );

    await visit("Templates");
    await press("Archive Bakery");
    await press("Archive it");
    await text("Archived");

    // A long list has pages
    for (let number = 0; number < 25; number += 1) await shop.issue({ email: `member-${number}@shop.test` });
    await visit("Cards");
    await page.locator('.pager [aria-label="Page 2"]').click();
    await page.locator(".pager::-p-text(21–26 of 26)").wait();
    await page.locator('.pager [aria-label="Page 1"]').click();

    await visit("Start");
    await press("Start over");
    await page.locator('dialog button[value="yes"]').click();
    await page.locator(".counts a::-p-text(0 cards)").wait();
    assert.equal((await shop.control("GET", "cards")).total, 0);

    const { offered, pressed } = await page.evaluate(() => ({
      offered: [...window.offered],
      pressed: [...window.pressed],
    }));
    assert.deepEqual(
      offered.filter((name) => !pressed.includes(name)),
      ["skip"],
    );
    assert.ok(
      offered.length >= 28,
      `only ${offered.length} kinds of buttons and forms were offered: ${offered}`,
    );
    for (const hidden of [secret, renewed, key, shop.apiKeys.website, shop.apiKeys.full]) {
      assert.deepEqual(
        seen.urls.filter((address) => address.includes(hidden)),
        [],
      );
    }
    const refused = /409/;
    seen.complaints = seen.complaints.filter((complaint) => !refused.test(complaint)); // the purchase above
    cleanly();
  });

  it("shows validation errors beside the field and keeps the input", async (test) => {
    const shop = await openShop(test);
    const { page, press, field, visit } = await openConsole(test, opened.browser, shop);
    await visit("Cards");
    await press("Issue a test card");
    await field("customer/phone", "12");
    await field("customer/name", "Anna");
    await press("Issue the card");
    await page.locator('[data-error="customer/phone"]::-p-text(The phone number is not valid.)').wait();
    const { focused, isInvalid, name } = await page.evaluate(() => ({
      focused: document.activeElement.name,
      isInvalid: document.activeElement.getAttribute("aria-invalid"),
      name: document.querySelector('[name="customer/name"]').value,
    }));
    assert.deepEqual([focused, isInvalid, name], ["customer/phone", "true", "Anna"]);

    await visit("Webhooks");
    await field("url", "http://example.com/hook");
    await press("Add the endpoint");
    await page.locator(".form-error::-p-text(https://)").wait();
  });

  it("works with the keyboard alone and always shows the focus", async (test) => {
    const shop = await openShop(test);
    const url = await openReceiver(test);
    await shop.control("POST", "webhooks/endpoints", { url, events: ["ping"] });
    const { page, text, cleanly } = await openConsole(test, opened.browser, shop);
    await text("First steps");
    const where = () =>
      page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return {
          name: document.activeElement.ariaLabel ?? document.activeElement.innerText,
          isShown: outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2,
        };
      });
    const tabTo = async (name) => {
      for (let steps = 0; steps < 40; steps += 1) {
        await page.keyboard.press("Tab");
        const at = await where();
        assert.ok(at.isShown, `no focus to be seen on "${at.name}"`);
        if (at.name === name) return;
      }
      assert.fail(`"${name}" cannot be reached`);
    };
    await tabTo("Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await page.reload();
    await text("First steps");
    await tabTo("Webhooks");
    await page.keyboard.press("Enter");
    await page.locator("main h1::-p-text(Webhooks)").wait();
    await tabTo(`Send test to ${url}`);
    await page.keyboard.press("Enter");
    await text("A ping was sent");
    assert.equal((await where()).name, `Send test to ${url}`);
    cleanly();
  });
});
