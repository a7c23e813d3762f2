/**
 * What people do with the console: a purchase from end to end, a lost response, a 401, retries in a
 * moved time, settings, every control.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";
import { findViolations } from "../../../../compat/browser.mjs";
import { openReceiver, openStandaloneShop, useBrowser } from "./shop.mjs";

const openConsole = useBrowser();

/** The next one is chosen after the response, because two requests at once arrive in any order. */
const injectFault = (page, fault) =>
  Promise.all([
    page.waitForResponse((response) => response.request().method() === "POST"),
    page.locator('[aria-label="Inject a fault"]').fill(fault),
  ]);

it("shows a purchase from end to end in one list: the card, the purchase, the webhook and its response", async (test) => {
  const url = await openReceiver(test);
  const { shop, page, text, field, press, view, texts, cleanly } = await openConsole(test);
  await text("No traffic yet");
  await view("Setup");
  await field("url", url);
  await press("Add");
  await page.locator(`section.endpoint[aria-label="${url}"]`).wait();
  const { id, publicUrl } = await shop.issue(
    { name: "Anna", phone: "+48600100200" },
    { name: "Anna" },
  );
  await view("Cards");
  await page.locator(".cards .row ::-p-text(Anna)").click();
  await field("points", "30");
  await press("Record");
  await text("Recorded: +30 points. balance.changed → 204");
  await page.locator(".card .balance strong::-p-text(30)").wait();
  assert.equal(await page.$eval(".face a", ({ href }) => href), publicUrl);
  const names = ["purchase", "balance.changed", "purchase", "issueCard"]; // history and traffic
  assert.deepEqual(await texts(".card-view .row .name", 4), names);

  await view("Traffic");
  const rows = (await texts(".list .row", 3)).map((row) => row.replace(/^\d\d:\d\d:\d\d /, ""));
  assert.deepEqual(rows, [
    "204 → balance.changed Anna +30 → 30 ✓",
    "· purchase Anna +30",
    "201 ← issueCard Anna new card",
  ]);
  await page.locator(".traffic .name::-p-text(purchase)").click();
  assert.deepEqual(await texts(".related", 1), ["balance.changed → 204"]);
  await page.locator(".traffic .name::-p-text(balance.changed)").click();
  await page.locator(".detail h2::-p-text(balance.changed)").wait();
  const delivery = await page.$eval(".detail", ({ innerText }) => innerText);
  for (const part of [
    "HTTP 204",
    `Sent to ${url}`,
    "service-signature: t=",
    '"balance": 30',
    "1 ✓ 204 ·",
  ])
    assert.ok(delivery.includes(part), part);
  await page.locator(".traffic .name::-p-text(issueCard)").click();
  await page.locator(".detail h2::-p-text(issueCard)").wait();
  const sent = await page.$eval(".detail", ({ innerText }) => innerText);
  for (const part of [
    "Your app sent at",
    "API key: website · Idempotency-Key: none",
    '"phone": "+48600100200"',
    "It got 201",
    `"id": "${id}"`,
  ])
    assert.ok(sent.includes(part), part);
  await press("Purchase +50");
  await text("Recorded: +50 points. balance.changed → 204 at :");
  await texts(".related", 0); // the webhooks of her card have other causes
  cleanly();
});

it("loses a response, and shows that the retry gets the first card", async (test) => {
  const { shop, page, press, text, view, texts, first, cleanly } = await openConsole(test);
  const choose = (fault) => injectFault(page, fault);
  const presets = await texts("option:not([value=''])", 10);
  const lost = "Next issueCard request: done, but the response is lost";
  await choose(lost);
  assert.deepEqual(await texts(".chip", 1), [`${lost}✕`]);
  await first(".faults p", /^Active:$/);
  await view("Cards");
  await press("Issue a test card"); // faults are for requests of the app
  await text("Issued a card to");
  await view("Traffic");
  await texts(".chip", 1);
  const issue = () => shop.issue({ name: "Anna" }, {}, shop.templateId, "user-7");
  await assert.rejects(issue);
  const { id } = await issue();
  await texts(".chip", 0);
  const rows = await texts(".traffic .row", 3);
  assert.match(rows[0], /201 ← issueCard Anna same key: the first card again$/);
  assert.match(rows[1], /— ← issueCard Anna response lost; the card exists$/);
  assert.match(rows[2], /201 ← issueCard .* new card by the console$/);
  assert.equal((await shop.control("GET", "cards")).items[0].id, id);
  await page.locator(".traffic .phrase::-p-text(response lost)").click();
  await page.locator(".detail h3::-p-text(It got no response)").wait();
  for (const preset of presets) await choose(preset);
  await choose("All requests: 3 s late"); // equal ones are one chip
  await choose("Next request: 503");
  await first(".chip", /^Next 2 requests: 503/);
  await first(".faults p", /^Active; the first that fits applies:$/);
  // In the order in which they are tried, in the words of the list: of those that stay the newest.
  assert.deepEqual(await texts(".chip", 9), [
    "Next 2 requests: 503✕",
    `${lost}✕`,
    "Next request: 429, Retry-After 2 s✕",
    "Next 4 attempts: 500, not sent✕",
    "Next webhook: sent twice✕",
    "Next webhook: 5 s late, after newer ones✕",
    "All requests: 3 s late✕",
    "All attempts: no response, not sent✕",
    "All requests: 503✕",
  ]);
  await page.locator(".chip ::-p-text(✕)").click();
  await texts(".chip", 8);
  const { items } = await shop.control("GET", "faults");
  assert.deepEqual(items.map(({ kind }) => kind).sort(), [
    "destroy",
    "duplicate",
    "fail",
    "fail",
    "fail",
    "latency",
    "latency",
    "reorder",
    "status",
    "status",
  ]);
  await choose("All requests: 503"); // two equal ones are tried before the one of three seconds
  await first(".chip:nth-last-child(3)", /^All requests: 503✕$/);
  await page.locator(`[aria-label='Remove: ${lost}']`).click();
  await texts(".chip", 7);
  await page.locator("[aria-label='Remove: Next request: 429, Retry-After 2 s']").click();
  await texts(".chip", 6);
  await assert.rejects(issue, /503/);
  cleanly();
});

it("lets the receiver fail without sending it anything, and shows the retries", async (test) => {
  let received = 0;
  const url = await openReceiver(test, () => {
    received += 1;
    return 204;
  });
  const { shop, page, press, texts, first, text, search, cleanly } = await openConsole(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const { id } = await shop.issue({ name: "Anna" });
  const choose = (fault) => injectFault(page, fault);
  await shop.control("PUT", "clock", { mode: "manual" }); // the next attempt stays in one minute
  await choose("Next 3 attempts: 500, not sent");
  await texts(".chip", 1);
  await shop.control("POST", `cards/${id}/purchase`, { points: 1 });
  await first(".traffic .row", /500 → \S+ Anna injected fault; not sent .* ✕····· in 1 min$/);
  await page.locator(".next:not(:disabled)").click();
  await first(".message", /✕ balance\.changed → 500 \(injected fault; not sent\) at :/);
  await texts(".chip", 1);
  assert.equal(received, 0);
  await press("+1 h");
  const recovered =
    /^✓ The clock was moved\. balance\.changed → 500 \(injected fault; not sent\) → 204 at /;
  await first(".message", recovered);
  await texts(".message .failed", 0);
  await texts(".chip", 0);
  await texts(".message", 0); // nothing is open, so it disappears
  await first(".traffic .row", /204 → .* \+1 → 1 after purchase at \d\d:\d\d ✕✕✕✓$/);
  assert.equal(received, 1);
  await choose("All attempts: no response, not sent");
  await texts(".chip", 1);
  await page.locator(".traffic .row").click();
  await press("Resend");
  await first(".traffic .row", /— → \S+ Anna injected fault; not sent .* …✕✓↻✕····· in 1 min$/);
  await text("Your receiver did not get this attempt");
  await text(`Not sent to ${url}`);
  const label =
    "attempt 1 failed, 2 failed, 3 failed, 4 delivered, sent again, 5 failed; at most 6";
  await page.locator(`.marks[aria-label="${label}"]`).wait();
  assert.match(
    await page.$eval(".tabs", ({ innerText }) => innerText.replace(/\s+/g, " ")),
    /1 ✕ 500 injected · .* 4 ✓ 204 · \S+ ↻ sent again 5 ✕ no response injected · \S+ again in 1 min$/,
  );
  const [bad, good] = await page.$$eval(".tabs .bad, .tabs .good", (all) =>
    all.slice(2, 4).map((tab) => getComputedStyle(tab).color),
  );
  assert.notEqual(bad, good);
  await search("injected");
  await texts(".traffic .row", 1);
  cleanly();
});

it("explains a 401 of the receiver, keeps the response of each attempt, and sends again", async (test) => {
  const statuses = [401, 503, 204];
  const url = await openReceiver(test, () => statuses.shift());
  const { shop, page, press, text, copied, texts, first, cleanly } = await openConsole(test, {
    address: "#/setup",
  });
  const { secret } = await shop.control("POST", "webhooks/endpoints", { url, events: ["ping"] });
  await press("Send test");
  const at = `:${new URL(url).port}/webhooks`;
  await first(
    ".message",
    new RegExp(`^✓ Created a ping for ${at}\\. ✕ ping → 401 at ${at} open ✕$`),
  );
  await page.locator(".message a::-p-text(open)").click();
  await page
    .locator(`.detail p::-p-text(The secret of this endpoint ends in …${secret.slice(-4)})`)
    .wait();
  assert.equal(await copied("Copy the secret"), secret);
  await first(".traffic .row", /401 → ping signature mismatch test ✕····· in \d+ (s|min)$/);
  await press("Resend");
  await page.locator(".message .failed::-p-text(✕ ping → 503)").wait();
  await press("Resend");
  await page.locator(".message ::-p-text(Sent again. ping → 204)").wait();
  await first(".traffic .row", /204 → ping test ✕✕↻✓$/);
  const tabs = await texts(".tabs button", 3);
  assert.match(tabs.join(), /1 ✕ 401 · .*2 ✕ 503 · .*3 ✓ 204 · /);
  await page.locator(".tabs ::-p-text(1 ✕ 401)").click();
  await page.locator('.pre::-p-text("error": "signature mismatch")').wait();
  const { items } = await shop.control("GET", "traffic?kind=delivery");
  const { body, attempts } = items[0];
  const curl = await copied("Copy curl");
  for (const part of [
    `'${url}'`,
    `-H 'service-signature: ${attempts[0].signature}'`,
    `--data-raw '${body}'`,
  ])
    assert.ok(curl.includes(part), part);
  await shop.control("POST", `webhooks/endpoints/${items[0].endpointId}/new-secret`);
  await text(", after this attempt: Resend signs with the new one.");
  statuses.push(401);
  await press("Resend");
  await page.locator(".tabs ::-p-text(4 ✕ 401)").click();
  await text(": the receiver may still have the old one.");
  const silent = await openReceiver(test, () => 401, "");
  await shop.control("PATCH", `webhooks/endpoints/${items[0].endpointId}`, { url: silent });
  await press("Resend");
  await first(".traffic .row", /401 → ping new secret at \d\d:\d\d test .*/);
  cleanly();
});

it("explains a 401 of the app, names the reason of each request, and puts warnings below theirs", async (test) => {
  const { shop, page, text, copied, texts, cleanly } = await openConsole(test);
  const passes = `${shop.baseUrl}/api/v1/templates/${shop.templateId}/passes`;
  const consents = { privacy: { version: "1" } };
  const send = (customer, idempotencyKey, key = shop.apiKeys.website) =>
    fetch(passes, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": idempotencyKey,
      },
      body: JSON.stringify({ customer: { consents, ...customer } }),
    });
  await send({ name: "Anna", emial: "x" }, "user-1");
  await send({ phone: "12" }, "o'k");
  await send({}, "user-3", "mock_webiste_key");
  const [unknown, invalid, warned] = await texts(".traffic .row", 3);
  assert.match(unknown, /401 ← issueCard unknown key$/);
  assert.match(invalid, /422 ← issueCard customer\.phone: The phone number is not valid$/);
  assert.match(
    warned,
    /201 .* ! customer has members that the service ignores: "emial" \(did you mean "email"\?\)/,
  );
  await page.locator(".traffic ::-p-text(unknown key)").click();
  await text("401? The website key is");
  assert.equal(await copied("Copy the key"), shop.apiKeys.website);
  await page.locator(".traffic ::-p-text(The phone number is not valid)").click();
  await page.locator('.detail .pre::-p-text("phone": "12")').wait();
  const curl = await copied("Copy curl");
  const sent = `${curl.replace("curl -i", "printf '%s\\n'")}`;
  const lines = execFileSync("sh", ["-c", sent], {
    env: { LOYALTY_API_KEY: "k'1" },
    encoding: "utf8",
  });
  for (const part of [
    passes,
    "authorization: Bearer k'1",
    "idempotency-key: o'k",
    JSON.stringify({ customer: { consents, phone: "12" } }),
  ])
    assert.ok(lines.split("\n").includes(part), part);
  const twoSlashes = `${shop.baseUrl}//api/v1/x`; // of an address with a slash at its end
  await fetch(twoSlashes);
  await page.locator(".traffic .name::-p-text(//api/v1/x)").click();
  await page.locator(".detail h2::-p-text(//api/v1/x)").wait();
  assert.ok((await copied("Copy curl")).startsWith(`curl -i -X GET '${twoSlashes}'`));
  assert.ok(!(await page.content()).includes("mock_webiste_key"));
  cleanly();
});

it("moves the clock: to the next attempt, by hours, faster, and not at all", async (test) => {
  let status = 500;
  const url = await openReceiver(test, () => status);
  const { shop, page, press, confirm, text, texts, field, view, first, cleanly } =
    await openConsole(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const { id } = await shop.issue({ name: "Anna" });
  for (const points of [1, 2]) await shop.control("POST", `cards/${id}/purchase`, { points });
  const next = page.locator(".next::-p-text(Next attempt, )");
  await next.wait();
  const readPlaces = () =>
    page.$$eval(".clock > *", (all) =>
      all.map(({ offsetLeft, offsetWidth }) => [offsetLeft, offsetWidth]),
    );
  const places = await readPlaces();
  await next.click();
  await page.locator(".message .failed::-p-text(balance.changed → 500)").wait();
  await first(".traffic .row", /500 .* signature mismatch .* ✕✕···· in (4|5) min$/);
  status = 204;
  await press("+1 h");
  await page.locator(".message ::-p-text(The clock was moved. balance.changed → 204)").wait();
  await first(".traffic .row", /204 .* ✕✕✓$/);
  const label = "attempt 1 failed, 2 failed, 3 delivered; at most 6";
  await page.locator(`.marks[aria-label="${label}"][title="${label}"]`).wait();
  const colours = await page.$$eval(".status.good", (all) =>
    all.map((status) => getComputedStyle(status).color),
  );
  assert.deepEqual([colours.length, new Set(colours).size], [5, 1]); // also of the row that moved
  await page.locator(".traffic .row").click();
  await first(
    ".detail .note",
    /^Signed with real time, t = \d\d:\d\d:\d\d, because a receiver would refuse one that is (5|6) min ahead\.$/,
  );
  await page.keyboard.press("Escape");
  await press("+6 h");
  await text("No delivery was due.");
  await page.locator(".next:disabled").wait();
  assert.deepEqual(await readPlaces(), places);
  await first(".bar .now a", /^7 h( 1 min)? ahead$/);
  await page.locator(".bar .now a").click();
  await text("Time cannot go back:");
  await press("Stand still");
  await text("Clock: stands still, 7 h");
  await shop.control("POST", "faults", { kind: "reorder" });
  await press("Send test");
  await first(".message", /^✓ .* ping waits for the clock, .* still: press “Next attempt”\. ✕$/);
  await field("factor", "60");
  await press("Run");
  await text("Clock: runs × 60, 7 h");
  await page
    .locator(".setup section[aria-label='Reset'] ::-p-text(A clock that is ahead returns)")
    .wait();
  for (let month = 0; month < 12; month++) {
    const shown = await page.$eval(".date", ({ innerText }) => innerText);
    await shop.control("POST", "clock/advance", { duration: "30d" });
    await first(".date", new RegExp(`^(?!${shown}$)`));
    assert.deepEqual(await readPlaces(), places, shown);
  }
  await confirm("Start over");
  await text("The service was reset.");
  await texts(".bar .now a", 0);
  await view("Traffic");
  await text("No traffic yet");
  cleanly();
});

it("tells customers of one name apart, and links a lost request with its repeat and a webhook with its cause", async (test) => {
  const url = await openReceiver(test);
  const { shop, page, text, texts, first, hash, cleanly } = await openConsole(test, {
    address: "#/?kind=delivery",
  });
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const cards = [];
  for (const phone of ["+48600100200", "+48600100201"])
    cards.push(await shop.issue({ name: "Anna", phone }));
  await shop.control("POST", `cards/${cards[0].id}/purchase`, { points: 5 });
  await first(".traffic .row", /204 → balance.changed/);
  await page.locator(".traffic .row").click();
  assert.deepEqual(await texts(".related", 1), ["purchase +5"]);
  await page.locator(".related").click();
  await page.locator(".detail h2::-p-text(purchase)").wait();
  assert.deepEqual(await texts(".related", 1), ["balance.changed → 204"]);
  const holders = await texts(".row .holder", 4);
  const [one, two] = cards.map(({ id }) => `Anna …${id.slice(-4)}`);
  assert.deepEqual(holders, [one, one, two, one]);
  assert.match(hash(), /^#\/\?open=act_\w+$/); // the filter would hide its row

  const fault = { kind: "destroy", phase: "after-commit", times: 1 };
  await shop.control("POST", "faults", fault);
  const issue = () => shop.issue({ name: "Ben" }, {}, shop.templateId, "user-7");
  await assert.rejects(issue);
  await issue();
  await page.locator(".traffic ::-p-text(response lost; the card exists)").click();
  await text("It got no response");
  await first(".related", /^\d\d:\d\d:\d\d issueCard → 201$/);
  await page.locator(".related").click();
  await text("It got 201");
  await first(".related", /issueCard → —$/);
  cleanly();
});

it("has filters, search and the open entry in the address, so that a reload and a link keep them", async (test) => {
  const url = await openReceiver(test, () => 500);
  const { shop, page, text, search, view, hash, texts, first, cleanly } = await openConsole(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const cards = [];
  for (const name of ["Anna", "Ben"]) cards.push(await shop.issue({ name }));
  await shop.control("POST", `cards/${cards[0].id}/purchase`, { points: 1 });
  await texts(".traffic .row", 4);
  const readSearch = () =>
    page.$eval("[type='search']", (field) => [field.offsetLeft, field.offsetWidth]);
  const place = await readSearch();
  await page.locator(".traffic li:last-child .row").click();
  await page.locator(".detail h2::-p-text(issueCard)").wait();
  await page.locator(".filters ::-p-text(Problems 1)").click();
  await first(".traffic .row", /500 → balance.changed/);
  await texts(".detail", 0);
  await first(".count", /^1 entry$/);
  assert.deepEqual(await readSearch(), place);
  assert.match(
    await page.evaluate(() => document.activeElement.innerText),
    /Problems/,
    "the focus stays on the filter",
  );
  await page.locator(".filters ::-p-text(All)").click();
  await texts(".traffic .row", 4);
  await page.locator(".filters ::-p-text(Requests)").click();
  await texts(".traffic .row", 2);
  await first(".traffic .head", /^Time Status Operation or event Who What happened$/);
  await search(cards[1].id);
  await texts(".traffic .row", 1);
  await page.locator(".traffic .row").click();
  await page.locator(".detail").wait();
  assert.match(hash(), new RegExp(`^#/\\?kind=request&query=${cards[1].id}&open=req_\\w+$`));
  await page.reload();
  await page.locator(".detail h2::-p-text(issueCard)").wait();
  await texts(".traffic .row", 1);
  assert.equal(await page.$eval('[type="search"]', ({ value }) => value), cards[1].id);
  await search("nothing");
  await text("Nothing matches: Requests, “nothing”.");
  await texts(".detail", 0); // its row is not in the list
  await first(".count", /^0 entries$/);
  await page.locator("a::-p-text(Show all)").click();
  await texts(".traffic .row", 4);
  assert.deepEqual([hash(), await page.$eval('[type="search"]', ({ value }) => value)], ["#/", ""]);
  await search("anna"); // her request, the purchase, and its webhook
  await texts(".traffic .row", 3);
  await page.keyboard.press("Escape"); // clears the field
  await texts(".traffic .row", 4);

  await page.locator(".filters ::-p-text(Hide older)").click();
  await texts(".traffic .row", 0);
  const { now } = await shop.control("GET", "clock");
  await first(
    ".list .note:not(.actions)",
    new RegExp(`^Traffic before ${now.slice(11, 14)}\\d\\d is hidden\\. Show it$`),
  );
  await page.locator(".next:not(:disabled)").click();
  await first(".traffic .row", /500 → balance.changed .* ✕✕····/);
  await shop.issue({ name: "Celine" });
  await texts(".traffic .row", 2);
  await page.locator("::-p-text(Show it)").click();
  await first(".traffic .row", /201 ← issueCard Celine/);
  await texts(".traffic .row", 5);
  await view("Cards");
  await texts(".cards .row", 3);
  await search("bEN");
  await texts(".cards .row", 1);
  await page.reload();
  await texts(".cards .row", 1);
  await page.goto(`${shop.baseUrl}/console#/?open=dlv_none`);
  await page.locator(".detail ::-p-text(Not found)").wait();
  cleanly();
});

it("says that a search was refused, because its text is too long for a request", async (test) => {
  const { shop, page, text, texts } = await openConsole(test);
  await shop.issue({ name: "Anna" });
  await texts(".traffic .row", 1);
  for (const view of ["", "cards"]) {
    await page.goto(`${shop.baseUrl}/console#/${view}?query=${"a".repeat(16 * 1024)}`);
    await page.reload();
    await text("The service responded 431.");
    await texts("[aria-label='First steps']", 0);
  }
});

it("has one choice at a time, and shows what is open among the problems until another is opened", async (test) => {
  let status = 500;
  const url = await openReceiver(test, () => status);
  const { shop, page, press, texts, first, search, hash, cleanly } = await openConsole(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const { id } = await shop.issue({ name: "Anna" });
  for (const points of [1, 2]) await shop.control("POST", `cards/${id}/purchase`, { points });
  await texts(".traffic .row .again", 2);
  await page.locator(".filters ::-p-text(Requests)").click();
  await page.locator(".filters ::-p-text(Problems 2)").click();
  await texts(".traffic .row", 2);
  assert.equal(hash(), "#/?problems=true");
  assert.deepEqual(await texts(".filters [aria-current='true']", 1), ["Problems 2"]);
  await page.locator(".traffic li:nth-child(2) .row").click();
  status = 204;
  await press("Resend");
  await first(".traffic .row[aria-current='true']", /204 → .* ✕↻✓$/);
  await page.locator(".traffic .row:not([aria-current='true'])").click();
  await first(".traffic .row[aria-current='true']", /500 → /);
  await press("Resend");
  await texts(".traffic .row", 1); // the first one recovered and is no longer open
  await first(".traffic .row[aria-current='true']", /204 → /);
  await page.keyboard.press("Escape");
  await page.reload();
  await page.locator("main p::-p-text(Nothing matches: Problems.)").wait();
  await page.locator("a::-p-text(Show all)").click();
  await texts(".traffic .row", 5);
  await search("consent");
  await first(".traffic .found", /^in the body: .*"consents":/);
  assert.deepEqual(await texts(".traffic mark", 1), ["consent"]);
  await page.goto(`${shop.baseUrl}/console#/cards?query=zzz`);
  await page.locator("main p::-p-text(Nothing matches: “zzz”.)").wait();
  await page.locator("a::-p-text(Show all)").click();
  await texts(".cards .row", 1);
  cleanly();
});

it("issues a card to an invented member, and does to a card all that a shop can do", async (test) => {
  const url = await openReceiver(test);
  const { shop, page, seen, press, text, field, search, texts, first, view, cleanly } =
    await openConsole(test, {
      address: "#/cards",
    });
  await shop.control("POST", "webhooks/endpoints", {
    url,
    events: ["card.added", "card.removed", "consent.changed"],
  });
  await first("main", /^No cards yet: your app or the button issues one\. Issue a test card$/);
  await press("Issue a test card");
  await text("Issued a card to");
  await page.locator(".card .holder").wait();
  await texts(".history .head", 0); // without operations
  const facts = ["Card", "Status", "Template", "Customer", "Phone", "Email"]; // the card has the name
  assert.deepEqual(await texts(".card-view dt", 6), facts);
  await view("Cards");
  await field("holder", "Łukasz Żak");
  await press("Issue a test card");
  await page.locator(".card .holder::-p-text(Łukasz Żak)").wait();
  await press("Add to Apple Wallet");
  await text("Added to Apple Wallet. card.added → 204");
  await press("✓ In Apple Wallet: remove");
  await text("Removed from Apple Wallet. card.removed → 204");
  await text("Marketing consent: ✓ given");
  await press("Withdraw");
  await text("Consent withdrawn. consent.changed → 204");
  await text("Marketing consent: withdrawn");
  await press("Give");
  await text("Consent given. consent.changed → 204");
  const amounts = { purchase: "120", reward: "30", redeem: "50", correct: "-1" };
  for (const [kind, points] of Object.entries(amounts)) {
    await page.locator('select[name="kind"]').fill(kind);
    await field("points", points);
    await press("Record");
    await page.waitForFunction(() => document.querySelector('[name="points"]').value === "10");
  }
  await first(".message", /No endpoint gets an event\. Webhook endpoints ✕$/);
  await page.locator(".card .balance::-p-text(99)").wait();
  await texts("main [aria-label^='Purchase']", 0); // the form records purchases too
  await press("Cancel the purchase of +120");
  await text("The balance is 99; it cannot change by -120.");
  await press("Cancel the redemption of −50");
  await page.locator(".card .balance::-p-text(149)").wait();
  await texts(".history .row", 5);
  await page.locator('select[name="kind"]').fill("purchase");
  await field("points", "-5");
  await press("Record");
  await page.locator('form [role="alert"]::-p-text(must be > 0)').wait();
  assert.equal(await page.evaluate(() => document.activeElement.name), "points");
  await texts(".history .head", 1);
  await view("Cards");
  const [row] = await texts(".cards .row", 2);
  assert.match(row, /^Łukasz Żak \+48600\d{6} card_\w+ 149 Silver \w+ \d\d? \d\d:\d\d:\d\d$/);
  assert.deepEqual(await texts(".cards .head", 1), [
    "Name Phone or email Card Points Tier Wallets Issued",
  ]);
  await search("zak lukasz");
  await texts(".cards .row", 1);
  await view("Traffic");
  await page.locator(".traffic .name::-p-text(setConsent)").click();
  await page.locator(".detail h3::-p-text(The console sent at)").wait();
  await texts(".detail [aria-label^='Purchase']", 0);
  await page.locator(".traffic .name::-p-text(consent.changed)").click();
  await page.locator(".story a").click();
  await page.locator(".card .holder").wait();
  seen.complaints = seen.complaints.filter((complaint) => !/409|422/.test(complaint)); // the errors above
  cleanly();
});

it("manages endpoints, and has the settings as .env with the secret, also where it may not copy", async (test) => {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-seed-"));
  test.onTestFinished(() => rmSync(folder, { recursive: true }));
  const url = "http://localhost:3000/webhooks";
  const seed = { endpoints: [{ url, events: ["ping"], secret: "it's #1" }] }; // needs quotes
  writeFileSync(join(folder, "seed.json"), JSON.stringify(seed));
  const shop = await openStandaloneShop(test, "--seed", join(folder, "seed.json"));
  const { page, press, confirm, text, field, view, copied, texts, first, forbidClipboard, seen } =
    await openConsole(test, { shop, address: "#/setup" });
  await texts(".endpoint", 1);
  writeFileSync(join(folder, ".env"), await copied("Copy .env"));
  const program = `JSON.stringify(["URL", "API_KEY", "TEMPLATE_ID", "WEBHOOK_URL", "SIGNING_SECRET"].map((name) => process.env["LOYALTY_" + name]))`;
  const variables = execFileSync(
    process.execPath,
    [`--env-file=${join(folder, ".env")}`, "-p", program],
    {
      encoding: "utf8",
    },
  );
  assert.deepEqual(JSON.parse(variables), [
    shop.baseUrl,
    shop.apiKeys.website,
    shop.templateId,
    url,
    "it's #1",
  ]);
  assert.equal(await copied("Copy the secret"), "it's #1");
  assert.equal(await copied("Copy Full key"), shop.apiKeys.full);

  await press("New secret");
  await first("dialog p", /^New secret for :3000\/webhooks\? The old one is invalid at once/);
  assert.deepEqual(await findViolations(page), []);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.activeElement.innerText === "New secret");
  assert.equal((await shop.control("GET", "webhooks/endpoints")).items[0].secret, "it's #1");
  await confirm("New secret");
  await text("Replaced the secret of :3000/webhooks");
  const { items } = await shop.control("GET", "webhooks/endpoints");
  await page.locator(`.endpoint code::-p-text(${items[0].secret})`).wait();
  await press("Edit");
  await press("Cancel");
  await texts(".endpoint form", 0);
  const readPlace = () =>
    page.$eval("section[aria-label='Templates']", (section) => {
      const { left, top } = section.getBoundingClientRect();
      return [left, top];
    });
  const place = await readPlace();
  await press("Edit");
  await texts(".endpoint form", 1);
  assert.deepEqual(await readPlace(), place);
  const sizes = await page.$$eval(".endpoint label", (labels) =>
    labels.map((label) => [label.offsetHeight < 25, label.scrollWidth <= label.clientWidth]),
  );
  assert.deepEqual(sizes, Array(6).fill([true, true])); // each on one line
  await page.locator(".endpoint input[value='card.added']").click();
  await page.locator(".endpoint [name='url']").fill("http://10.0.0.1/x");
  await press("Save");
  await page.locator(".endpoint [role='alert']:not(:empty)").wait();
  await page.locator(".endpoint [name='url']").fill("http://localhost:3001/");
  await press("Save");
  await page.locator(".endpoint ::-p-text(card.added, ping)").wait();
  await text("Changed :3001/.");
  await confirm("Delete");
  await texts(".endpoint", 0);
  await text("Deleted :3001/.");
  await field("url", url);
  await press("Add");
  await texts(".endpoint", 1);
  await text("Added :3000/webhooks. Its secret is in the list and in .env.");
  assert.equal((await shop.control("GET", "webhooks/endpoints")).items[0].events.length, 6);
  seen.complaints = seen.complaints.filter((complaint) => !complaint.includes("422"));
  assert.deepEqual(seen.complaints, []);

  await confirm("Revoke"); // the website key, the first in the list
  const missing = "No website key: create one";
  const inSetup = /^No website key: create one with “New website key”$/;
  await first("section[aria-label='.env'] p", inSetup);
  await first("section[aria-label='API keys'] > p:last-child", inSetup);
  assert.ok(!(await copied("Copy .env")).includes("API_KEY"));
  await view("Cards");
  await press("Issue a test card");
  await first(".message", new RegExp(`^✕ ${missing} ✕$`));
  await shop.issue().catch(() => {});
  await view("Traffic");
  await page.locator(".traffic ::-p-text(unknown key)").click();
  await first(".detail p:has(a[href='#/setup'])", new RegExp(`^${missing}$`));
  await page.locator(".detail a[href='#/setup']").click();
  await press("New website key");
  await first(
    "section[aria-label='API keys'] > p:last-child",
    /has the newest website key filled in/,
  );
  const { website } = (await shop.control("GET", "settings")).apiKeys;

  await forbidClipboard();
  await press("Copy Website key");
  await page.locator(`.message .pre::-p-text(${website})`).wait();
});
