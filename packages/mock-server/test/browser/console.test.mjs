/** What people do in the console: every button and form, errors beside the fields, links, the clipboard, warnings, the request log. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";
import { openReceiver, openShop, useBrowser } from "./shop.mjs";

const { openConsole } = useBrowser();

it("has a working button for every action", async (test) => {
  const responses = { ping: 204 };
  const url = await openReceiver(test, (type) => responses[type] ?? 503);
  const { shop, page, seen, press, text, read, field, visit, gone, copied, cleanly } =
    await openConsole(test);
  await text("First steps");
  assert.equal(await copied("Copy the Website key"), shop.apiKeys.website);
  assert.match(await copied("Copy as .env"), /^LOYALTY_URL=/);

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
  const names = [...bakery.fields.map(({ key }) => key), ...bakery.tiers.map(({ name }) => name)];
  assert.deepEqual(names, ["name", "flavour", "Silver", "Gold"]);

  // Endpoints: the secret is shown once; errors are beside the form
  await visit("Webhooks");
  await text("No endpoints yet");
  await field("url", "http://example.com/hook");
  await press("Add the endpoint");
  await page.locator(".form-error::-p-text(https://)").wait();
  await field("url", url);
  await press("Add the endpoint");
  const secret = await read("dialog code");
  assert.match(secret, /^whsec_/);
  await press("I have copied it");
  await gone(secret);
  await press(`New secret for ${url}`);
  await press("Create a new secret");
  const renewed = await read("dialog .secret code");
  assert.notEqual(renewed, secret);
  await press("I have copied it");
  await press("Add an endpoint");
  await page.locator('input[name="url"]').wait();
  await press(`Send test to ${url}`);
  await text("A ping was sent");
  const endpoints = async () => (await shop.control("GET", "webhooks/endpoints")).items;
  const [{ events }] = await endpoints();
  await press(`Edit ${url}`);
  await page.locator('li.panel [name="url"]').fill("http://example.com/hook");
  await press("Save the changes");
  await page.locator("li.panel .form-error::-p-text(https://)").wait();
  await press(`Cancel the changes of ${url}`);
  await press(`Edit ${url}`);
  assert.equal(await read('li.panel [name="url"]'), url);
  await page.locator('[data-submit="update"] [name="events"][value="ping"]').click();
  await press("Save the changes");
  await text("The endpoint was changed.");
  assert.deepEqual((await endpoints())[0].events, [...events, "ping"]);
  const other = "http://localhost:1/other";
  await shop.control("POST", "webhooks/endpoints", { url: other, events: ["ping"] });
  await press(`Delete ${other}`);
  await press("Keep as it is");
  assert.equal((await endpoints()).length, 2);
  await press(`Delete ${other}`);
  await press("Delete the endpoint");
  await text("The endpoint was deleted.");
  await gone(other);

  // A card, and everything that happens to it
  await visit("Cards");
  await text("No cards yet");
  await press("Issue a test card");
  await page.locator('select[name="template"]').fill(bakery.id);
  await field("fieldValues/flavour", "Poppy seed");
  await field("fieldValues/name", "Anna");
  await field("customer/name", "Anna Kowalska");
  await field("customer/phone", "12");
  await press("Issue the card");
  await page.locator('[data-error="customer/phone"]::-p-text(The phone number is not valid.)').wait();
  const { name, ariaInvalid, kept } = await page.evaluate(() => {
    const { name, ariaInvalid } = document.activeElement;
    return { name, ariaInvalid, kept: document.querySelector('[name="customer/name"]').value };
  });
  assert.deepEqual([name, ariaInvalid, kept], ["customer/phone", "true", "Anna Kowalska"]);
  await field("customer/phone", "+48600100200");
  await press("Issue the card");
  await page.locator("main h1::-p-text(Anna Kowalska)").wait();
  await press("Add to Apple Wallet");
  await press("Remove from Apple Wallet");
  await press("Give");
  await press("Withdraw");
  const amounts = { purchase: "120", reward: "30", redeem: "50", correct: "-1" };
  for (const [kind, points] of Object.entries(amounts)) {
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
  await page.locator("::-p-text(← All cards)").click();
  await field("query", "600100"); // a part of the phone number
  await page.locator("td a::-p-text(Anna Kowalska)").wait();
  await field("query", "an unknown customer");
  await text("No card matches");
  await field("query", "");

  // The log: failed deliveries are resent after the receiver is repaired
  await visit("Deliveries");
  await page.locator('select[name="state"]').fill("pending");
  await page.locator("summary::-p-text(balance.changed)").click();
  await page.locator(".entry-inside td::-p-text(503)").wait();
  for (const type of events) responses[type] = 204;
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
  await press("+1 day");
  await text("No delivery was due.");
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
  await page.locator('select[name="kind"]').fill("duplicate");
  await page.locator('select[name="event"]').fill("balance.changed");
  await press("Add the fault");
  await text("event: balance.changed");
  await page.locator('.top a[href="#/faults"]::-p-text(2 active faults)').wait();
  await press("Remove all");
  await page.locator('dialog button[value="yes"]').click();
  await text("No faults");
  await page.waitForFunction(() => !document.querySelector("#fault-count").checkVisibility());

  // Keys
  await visit("API keys");
  await field("name", "Staging");
  await press("Create the key");
  const key = await read("dialog code");
  await press("I have copied it");
  await press("Revoke Staging");
  await press("Revoke it");
  await text("The key was revoked.");
  await gone(key);
  await visit("Templates");
  await press("Archive Bakery");
  await press("Archive it");
  await text("Archived");

  await visit("Start");
  await press("Start over");
  await page.locator('dialog button[value="yes"]').click();
  await page.locator(".counts a::-p-text(0 cards)").wait();

  const [offered, pressed] = await page.evaluate(() => [[...window.offered], [...window.pressed]]);
  const unused = offered.filter((action) => !pressed.includes(action));
  assert.deepEqual([unused, offered.length >= 28], [["skip"], true], `offered: ${offered}`);
  for (const hidden of [secret, renewed, key, shop.apiKeys.website, shop.apiKeys.full])
    assert.ok(!seen.urls.join().includes(hidden));
  seen.complaints = seen.complaints.filter((complaint) => !/409|422/.test(complaint)); // the errors above
  cleanly();
});

it("opens a delivery from a copied link, says what the receiver responded, and has the request to repeat it", async (test) => {
  const url = await openReceiver(test, (type) => (type === "tier.changed" ? 401 : 204));
  const { shop, page, press, text, field, show, hash, count, copied, waitForTab, cleanly } =
    await openConsole(test);
  const events = ["balance.changed", "tier.changed"];
  const { id: endpointId, secret } = await shop.control("POST", "webhooks/endpoints", { url, events });
  const card = await shop.issue({ name: "Anna", phone: "+48600100200", email: "anna@shop.test" });
  await show(`card/${card.id}`);
  await field("amount", "50");
  await press("Record it");
  await text("Recorded: +50 points. balance.changed → 204");
  await field("amount", "150");
  await press("Record it");
  await text("tier.changed → 401");
  await page.locator("main a::-p-text(All deliveries of this card)").click();
  await page.locator(`.entry-card::-p-text(${card.id})`).wait();
  assert.equal(hash(), `#/deliveries?query=${card.id}`);
  await page.locator('select[name="type"]').fill("tier.changed");
  await count(".entry", 1);
  const read = async () => (await shop.control("GET", "webhooks/deliveries?type=tier.changed")).items[0];
  const { id, body, eventId } = await read();
  await page.locator("summary").click();
  const link = await copied("Copy the link to this delivery");
  assert.equal(link, `${shop.baseUrl}/console#/delivery/${id}`);

  await page.goto(link);
  await page.reload();
  await page.locator("main h1::-p-text(tier.changed)").wait();
  await page.locator("tbody td::-p-text(401)").wait();
  const shown = await page.$eval("main", ({ innerText }) => innerText);
  for (const part of [id, eventId, "401", url]) assert.ok(shown.includes(part), part);
  assert.equal(await page.title(), `tier.changed, ${id} – Loyalty cards console`);
  await press("Resend");
  await text("The delivery is sent again. tier.changed → 401");
  const { signature } = (await read()).attempts[1];
  assert.equal(await copied("Copy: Raw body"), body);
  assert.match(await copied("Copy: Request headers"), new RegExp(`^service-signature: ${signature}$`, "m"));
  const curl = await copied("Copy: The request as curl");
  for (const part of [`curl -i '${url}'`, `-H 'service-signature: ${signature}'`, `--data-raw '${body}'`])
    assert.ok(curl.includes(part), part);
  assert.ok(!(await page.content()).includes(secret));
  const checks = waitForTab("/check-signature#");
  await press("Check the signature ↗");
  const address = new URL((await checks).url());
  const given = Object.fromEntries(new URLSearchParams(address.hash.slice(1)));
  assert.deepEqual([address.search, given], ["", { header: signature, body, secret }]);

  // Nothing listens on port 2; fetch refuses port 1.
  await page.bringToFront();
  await shop.control("PATCH", `webhooks/endpoints/${endpointId}`, { url: "http://127.0.0.1:2/" });
  await page.evaluate(() => scrollTo(0, 0)); // else the top bar may cover the button
  await press("Resend");
  await text("ECONNREFUSED: nothing listens on port 2");
  // The mock service itself as a receiver: its problem details are shown as text.
  await shop.control("PATCH", `webhooks/endpoints/${endpointId}`, { url: `${shop.baseUrl}/api/v1/nowhere` });
  await press("Resend");
  await page.locator(".block code::-p-text(/api/v1/nowhere)").wait();
  await shop.control("DELETE", `webhooks/endpoints/${endpointId}`);
  await text("The endpoint was deleted");
  assert.equal(await page.$('[data-action="resend"]'), null);
  await page.locator(`main dd a::-p-text(${card.id})`).click();
  await page.locator("main h1::-p-text(Anna)").wait();
  assert.equal(await page.title(), "Card of Anna – Loyalty cards console");
  await show(`deliveries?endpointId=${endpointId}`);
  await page.locator(`summary::-p-text(${endpointId} \\(deleted\\))`).wait();
  cleanly();
  await show("delivery/none");
  await text('There is no delivery "none".');
});

it("copies the settings as .env, with the secret of the chosen endpoint, and shows them when it may not copy", async (test) => {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-seed-"));
  test.onTestFinished(() => rmSync(folder, { recursive: true }));
  const secret = "it's #1"; // needs quotes
  const endpoints = [{ url: "http://localhost:3000/webhooks", events: ["ping"], secret }];
  writeFileSync(join(folder, "seed.json"), JSON.stringify({ endpoints }));
  const shop = await openShop(test, "--seed", join(folder, "seed.json"));
  const { page, press, read, copied, forbidClipboard, cleanly } = await openConsole(test, { shop });
  const settings = `LOYALTY_URL=${shop.baseUrl}\nLOYALTY_API_KEY=${shop.apiKeys.website}\nLOYALTY_TEMPLATE_ID=${shop.templateId}\n`;
  const added = await shop.control("POST", "webhooks/endpoints", { ...endpoints[0], secret: undefined });
  await Promise.all([
    page.waitForResponse((response) => response.url().endsWith(`${added.id}/secret`)),
    page.locator('select[name="endpointId"]').fill(added.id),
  ]);
  assert.equal(await copied("Copy as .env"), `${settings}LOYALTY_SIGNING_SECRET=${added.secret}\n`);
  assert.ok(!(await page.content()).includes(added.secret));
  cleanly();
  await shop.control("DELETE", `webhooks/endpoints/${added.id}`);
  await page.reload();
  await forbidClipboard();
  await press("Copy as .env");
  writeFileSync(join(folder, ".env"), await read("dialog code"));
  const program = [`--env-file=${join(folder, ".env")}`, "-p", "process.env.LOYALTY_SIGNING_SECRET"];
  assert.equal(execFileSync(process.execPath, program, { encoding: "utf8" }).trim(), secret);
});

it("lists and counts warnings while the page is open, without personal data", async (test) => {
  const { shop, page, visit, text, count, cleanly } = await openConsole(test);
  await visit("Warnings");
  await text("No warnings");
  const fields = [{ key: "name", type: "name" }];
  const { id: template } = await shop.control("POST", "templates", { name: "Club", fields });
  const card = await shop.issue({ name: "Anna", phone: "+48600100200" }, {}, template, "user-7-secret-key");
  for (const name of ["Bernd", "Bernd"]) await shop.issue({ name }, {}, template, "user-7-secret-key"); // one warning
  await shop.issue({ name: "Celine" }, { nmae: "Celine Secret" }, template, "user-8");
  await shop.issue({ name: "Dora", emial: "dora@secret.test" }, { name: "Dora" }, template, "user-9");
  await count("main li.panel", 3);
  await page.locator("#warning-count::-p-text(3)").wait();
  const links = await page.$$eval("main li.panel .actions a:first-child", (all) =>
    all.map((link) => link.getAttribute("href")),
  );
  assert.deepEqual(links, ["api/docs", "#/templates", `#/card/${card.id}`]);
  const shown = await page.$eval("main", ({ innerText }) => innerText);
  const titles =
    /Unknown members of the request.*Unknown field keys.*did you mean.*key repeated with other content/s;
  assert.match(shown, titles);
  for (const hidden of ["Anna", "Bernd", "Celine", "dora@", "+48600100200", "user-7"])
    assert.ok(!shown.includes(hidden));
  await shop.control("POST", "reset");
  await text("No warnings");
  await page.waitForFunction(() => !document.querySelector("#warning-count").checkVisibility());
  cleanly();
});

it("says what came of each request while it is open, and has filters, search and page in the address", async (test) => {
  const { shop, page, visit, text, field, show, hash, count, cleanly } = await openConsole(test);
  /** Sends a request as an app does, also one that fails. */
  const send = (method, path, { key = shop.apiKeys.website, body, headers } = {}) =>
    fetch(`${shop.baseUrl}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch(() => undefined);
  await visit("Requests");
  await text("No requests yet");
  const passes = `templates/${shop.templateId}/passes`;
  const signUp = { fieldValues: {}, customer: { name: "Anna", consents: { privacy: { version: "1" } } } };
  const once = { body: signUp, headers: { "idempotency-key": "user-7" } };
  const { id } = await (await send("POST", passes, once)).json();
  await send("POST", passes, once);
  await send("POST", passes, { body: { customer: { name: "Secret" } } });
  await send("GET", `passes/${id}`, { key: "unknown" });
  await shop.control("POST", "faults", { phase: "before", kind: "destroy", times: 1 });
  await send("GET", `passes/${id}`);
  await count("main tbody tr", 5);
  const rows = await page.$$eval("main tbody tr", (all) => all.map(({ innerText }) => innerText));
  const expected = [
    `None.*GET.*/passes/${id}.*injected fault: destroy\\s+${id}`,
    "401.*unknown key",
    "422.*POST.*customer\\.consents is missing",
    `201.*Replay of ${id}`,
    `^\\d\\d:\\d\\d:\\d\\d\\s+201.*${id}\\s+\\d+ ms$`,
  ];
  for (const [index, pattern] of expected.entries()) assert.match(rows[index], new RegExp(pattern, "s"));
  for (const hidden of ["Anna", "Secret", "user-7", shop.apiKeys.website])
    assert.ok(!rows.join().includes(hidden));

  await page.locator('select[name="result"]').fill("failed");
  await count("main tbody tr", 3);
  await field("query", "unknown");
  await count("main tbody tr", 1);
  assert.equal(hash(), "#/requests?result=failed&query=unknown");
  await page.reload();
  await page.locator("td::-p-text(unknown key)").wait();
  assert.equal(await page.$eval('[name="query"]', ({ value }) => value), "unknown");
  await field("query", "nothing");
  await text("No matching requests");
  for (let number = 0; number < 60; number += 1) await send("GET", `passes/card_${number}`);
  await show("requests?page=3");
  await page.locator("td::-p-text(card_19)").wait();
  await page.locator('.pager [aria-label="Page 2"]').click();
  await page.locator("td::-p-text(card_39)").wait();
  assert.equal(hash(), "#/requests?page=2");
  assert.match(await page.$eval(".pager", ({ innerText }) => innerText), /21–40 of 65/);
  await show("requests?page=7000"); // the last one
  await page.locator("td::-p-text(unknown key)").wait();
  cleanly();
});
