/**
 * How the console is read: rows and details with the keyboard, whole bodies, one message at a time,
 * widths with two receivers, more than a hundred rows.
 */
import assert from "node:assert/strict";
import { it } from "vitest";
import { findViolations } from "../../../../compat/browser.mjs";
import { openReceiver, openStandaloneShop, useBrowser } from "./shop.mjs";

const openConsole = useBrowser();

const isClock = (response) => response.url().includes("/_mock/clock");

/** As long as so many polls of the page take, a second each. */
async function waitForPolls(page, count) {
  for (let polls = 0; polls < count; polls += 1) await page.waitForResponse(isClock);
}

it("moves among rows with ↑ ↓ j k, opens with Enter, closes with Esc, searches with / and lists the keys with ?", async (test) => {
  const { shop, page, texts, cleanly } = await openConsole(test);
  for (const name of ["Anna", "Ben", "Celine"]) await shop.issue({ name });
  await texts(".traffic .row", 3);
  const ids = await page.$$eval(".traffic .row", (rows) => rows.map(({ id }) => id));
  const press = (...keys) =>
    keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
  const isFocused = (id) =>
    page.waitForFunction((wanted) => document.activeElement.id === wanted, {}, id);
  const isOpen = (id) =>
    page.waitForFunction(
      (wanted) =>
        document.querySelector(".row[aria-current='true']")?.id === wanted &&
        document.activeElement.className === "detail",
      {},
      id,
    );
  await press("j");
  await isFocused(ids[0]);
  await press("ArrowDown", "j", "ArrowDown", "k"); // there is no row below the third
  await isFocused(ids[1]);
  await press("Enter");
  await isOpen(ids[1]);
  assert.notEqual(
    await page.$eval(".detail", (detail) => getComputedStyle(detail).outlineStyle),
    "none",
  );
  await press("ArrowDown");
  await isOpen(ids[2]);
  await press("Escape");
  await isFocused(ids[2]);
  await texts(".detail", 0);
  await press("/");
  await page.keyboard.type("jBen?");
  assert.equal(await page.$eval('[type="search"]', ({ value }) => value), "jBen?");
  await press("Escape"); // clears the words
  await texts(".traffic .row", 3);
  await press("ArrowDown");
  await isFocused(ids[0]);
  await press("/");
  await page.keyboard.type("nobody");
  await texts(".traffic .row", 0);
  await press("Escape"); // the focus stays
  await page.keyboard.type("Ben");
  await texts(".traffic .row", 1);
  await press("Escape");
  await texts(".traffic .row", 3);
  await press("Escape", "j", "k");
  await isFocused(ids[0]);
  await press("?");
  await page.locator("dialog[open] ::-p-text(next row)").wait();
  await page.locator("dialog[open] ::-p-text(webhook to your app)").wait();
  assert.deepEqual(await findViolations(page), []);
  await press("Escape");
  await isFocused(ids[0]);
  cleanly();
});

it("keeps the words and the row of the card list with Esc, and finds with / and Enter what is the only result", async (test) => {
  const { shop, page, texts, search, hash, cleanly } = await openConsole(test, {
    address: "#/cards",
  });
  await shop.issue({ name: "Celine" });
  const cards = [];
  for (const name of ["Anna Nowak", "Anna Rossi"]) cards.push(await shop.issue({ name }));
  await texts(".cards .row", 3);
  const isFocused = (selector) =>
    page.waitForFunction((wanted) => document.activeElement.matches(wanted), {}, selector);
  await search("Anna");
  await texts(".cards .row", 2);
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await page.locator(".card .holder::-p-text(Anna Nowak)").wait();
  await page.keyboard.press("Escape");
  await isFocused(`[id="${cards[0].id}"]`);
  assert.equal(hash(), "#/cards?query=Anna");
  await page.keyboard.press("Enter");
  await page.locator(".card .holder").wait();
  await page.keyboard.press("/");
  await isFocused('[type="search"]');
  assert.equal(hash(), "#/cards");
  await page.keyboard.type("Anna R");
  await page.keyboard.press("Enter"); // before the list has changed
  await page.locator(".card .holder::-p-text(Anna Rossi)").wait();
  assert.equal(hash(), `#/cards/${cards[1].id}?query=Anna+R`);
  await page.goto(`${shop.baseUrl}/console#/setup`);
  await page.locator(".setup").wait();
  await page.keyboard.press("/");
  await isFocused('[type="search"]');
  await page.keyboard.type(cards[1].id);
  await page.keyboard.press("Enter");
  await page.locator(".detail h2::-p-text(issueCard)").wait();
  cleanly();
});

it("shows bodies whole and in colours, with one scroll and a bar that stays", async (test) => {
  const { shop, page, first, cleanly } = await openConsole(test);
  const fieldValues = Object.fromEntries(
    Array.from({ length: 80 }, (_, number) => [`key${number}`, "A value of this field"]),
  );
  await shop.issue({ name: "Anna" }, fieldValues);
  await page.locator(".traffic .row").click();
  await first(".detail .pre", /"key79": "A value of this field"/);
  await first(".json-key", /^"fieldValues":$/);
  const { scrolling, isLong, top } = await page.$eval(".detail", (detail) => {
    const isScrolling = ({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1;
    detail.scrollTop = detail.scrollHeight;
    const inside = [...detail.querySelectorAll("*")].filter(
      (element) => getComputedStyle(element).overflowY !== "visible" && isScrolling(element),
    );
    const { top } = detail.querySelector("header button").getBoundingClientRect();
    return { scrolling: inside.length, isLong: isScrolling(detail), top };
  });
  assert.deepEqual([scrolling, isLong], [0, true]);
  assert.ok(top > 0 && top < 150, `Copy is at ${top} px`);
  cleanly();
});

it("shows one message at a time below the page, with the endpoint, for six seconds or until it is read", async (test) => {
  let respond = () => 204;
  const url = await openReceiver(test, () => respond());
  const { shop, page, press, field, texts, first, cleanly } = await openConsole(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const { id } = await shop.issue({ name: "Anna" });
  await page.goto(`${shop.baseUrl}/console#/cards/${id}`);
  const at = `at :${new URL(url).port}/webhooks`;
  const record = async (points) => {
    await field("points", points);
    await press("Record");
  };
  await press("Record"); // the form suggests ten points
  await first(".message", /Recorded: \+10 points/);
  await record("50");
  await first(".message", new RegExp(`Recorded: \\+50 points\\. balance\\.changed → 204 ${at}`));
  await texts(".message", 1);
  const [foot, bottom] = await page.evaluate(() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    return [box(".foot").top, box("main").bottom];
  });
  assert.ok(foot >= bottom, `the message begins at ${foot}, the page ends at ${bottom}`);
  await texts(".message", 0); // it disappears

  const responses = [];
  const arrived = new Promise((arrive) => {
    respond = () => {
      arrive();
      return new Promise((resolve) => responses.push(resolve));
    };
  });
  await press("Record");
  await first(".message", /Recorded: \+10 points/);
  await arrived;
  respond = () => 500;
  await record("120");
  await first(
    ".message",
    new RegExp(`^✓ Recorded: \\+120 points\\. ✕ balance\\.changed → 500 ${at} open`),
  );
  assert.deepEqual(await findViolations(page), []);
  responses[0](204); // of the earlier purchase, whose message does not return
  await first(".traffic li:nth-child(4) .row", /204 → balance.changed Anna \+10 → 70/);
  await waitForPolls(page, 8); // longer than a message that reports a success
  assert.match((await texts(".message", 1))[0], /\+120 points/);
  await page.locator(".message [aria-label='Close']").click();
  await texts(".message", 0);
  cleanly();
});

it("says of an action only what it caused, also when a shop causes events and an earlier one is retried meanwhile", async (test) => {
  let status = 500;
  const url = await openReceiver(test, () => status);
  const { shop, page, press, first } = await openConsole(test);
  const events = ["balance.changed", "consent.changed"];
  await shop.control("POST", "webhooks/endpoints", { url, events });
  const { id } = await shop.issue({ name: "Anna" });
  const { id: other } = await shop.issue({ name: "Ben" });
  const purchase = () => shop.control("POST", `cards/${id}/purchase`, { points: 1 });
  await purchase();
  await first(".traffic .row", /500 → balance.changed/);
  status = 204;
  for (let count = 0; count < 50; count += 1) await purchase();
  await page.goto(`${shop.baseUrl}/console#/cards/${id}`);
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    if (request.method() === "POST") {
      await shop.control("POST", "clock/advance-to-next-delivery");
      await shop.issue({ consents: { privacy: { version: "1" }, marketing: {} } });
      await shop.control("POST", `cards/${other}/purchase`, { points: 5 });
    }
    await request.continue();
  });
  await press("Record"); // the form suggests ten points
  const [message] = await first(".message", /→/);
  assert.match(message, /^✓ Recorded: \+10 points\. balance\.changed → 204 at \S+ open/);
});

it("says that a proxy or another server responded, with status and address", async (test) => {
  const { shop, page, press, first } = await openConsole(test);
  const { id } = await shop.issue({ name: "Anna" });
  await page.goto(`${shop.baseUrl}/console#/cards/${id}`);
  await page.setRequestInterception(true);
  page.on("request", (request) =>
    request.method() === "POST"
      ? request.respond({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" })
      : request.continue(),
  );
  await press("Record");
  const [message] = await first(".message", /JSON/);
  assert.ok(message.includes(`502 from ${shop.baseUrl}/_mock/cards/${id}/purchase`), message);
});

it("says equal results once, shows each in one line that begins with the reason, and says them no longer after the next action or on another page", async (test) => {
  const { shop, page, press, text, texts, first, view, cleanly } = await openConsole(test);
  await shop.control("PUT", "clock", { mode: "manual" }); // all attempts are due together
  const url = "http://127.0.0.1:65535/webhooks"; // where nothing listens
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const { id } = await shop.issue({ name: "Anna" });
  for (let count = 0; count < 4; count += 1)
    await shop.control("POST", `cards/${id}/purchase`, { points: 1 });
  await texts(".traffic .row .again", 4);
  await page.locator(".next").click();
  const refused = "balance\\.changed → nothing listens there \\(ECONNREFUSED\\)";
  await first(
    ".message",
    new RegExp(`^✓ The clock was moved\\. ✕ ${refused} ×4 at :65535/webhooks open`),
  );
  await first(".traffic .row", /Anna nothing listens there \(ECONNREFUSED\) \+1 → 4 .* ✕✕····/);
  for (const width of [1440, 1024]) {
    await page.setViewport({ width, height: 900 });
    const heights = await page.$$eval(".traffic .row", (rows) =>
      rows.map(({ offsetHeight }) => offsetHeight),
    );
    assert.deepEqual([width, ...new Set(heights)], [width, 34]);
  }
  await page.locator(".message a").click();
  await text("Your receiver did not respond");
  await texts(".message", 0);
  await press("Resend");
  await page.locator(".message .failed").wait();
  await page.locator("[aria-label='Inject a fault']").fill("Next request: 503");
  await texts(".message", 0);
  await press("Resend");
  await page.locator(".message .failed").wait();
  await view("Setup");
  await page.locator(".setup").wait();
  await texts(".message", 0);
  cleanly();
});

it("leads from a summary of many attempts to the problems, and shows a hundred rows more", async (test) => {
  const url = await openReceiver(test, () => 500);
  const { shop, page, press, texts, first, hash, cleanly } = await openConsole(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const { id } = await shop.issue({ name: "Anna" });
  for (let count = 0; count < 50; count += 1)
    await shop.control("POST", `cards/${id}/purchase`, { points: 1 });
  await texts(".traffic .row", 100);
  await first(".note.actions", /^100 of 101 Show 100 more$/);
  await press("Show 100 more");
  await texts(".traffic .row", 101);
  await press("+6 h");
  await first(".message", /✕ \d+ attempts: 0 delivered, \d+ failed at :\d+\/webhooks Problems/);
  await page.locator(".message a::-p-text(Problems)").click();
  await texts(".traffic .row", 50);
  assert.equal(hash(), "#/?problems=true");
  cleanly();
});

it("counts what is new above a scrolled list, leads there as Traffic does, and marks the open row", async (test) => {
  const { shop, page, press, texts, first, view } = await openConsole(test);
  for (let count = 0; count < 40; count += 1) await shop.issue({ name: "Anna" });
  await texts(".traffic .row", 40);
  const scroll = (selector) =>
    page.$eval(selector, (element) => {
      element.scrollTop = 300;
    });
  await scroll("main");
  for (const name of ["Ben", "Celine"]) await shop.issue({ name });
  await first(".count button", /^2 new ↑$/);
  await press("2 new ↑");
  await texts(".filters button", 0);
  const isAtTop = () => page.waitForFunction(() => document.querySelector("main").scrollTop === 0);
  await isAtTop();
  const [bottom, top] = await page.evaluate(() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    return [box(".filters").bottom, box(".rows").top];
  });
  assert.ok(bottom >= top - 1, "rows are seen between the filters and the list");
  await page.locator(".traffic li:nth-child(31) .row").click();
  await page.locator(".detail h2").wait();
  const edges = await page.$$eval(".traffic .row[aria-current], .traffic .row:hover", (rows) =>
    rows.map((row) => [row.ariaCurrent, getComputedStyle(row).borderLeftWidth]),
  );
  assert.deepEqual(
    edges.filter(([current]) => current === "true"),
    [["true", "4px"]],
  );
  await scroll(".list");
  await view("Traffic");
  await texts(".detail", 0);
  await isAtTop();
});

it("keeps everything inside its row at 1024 px with two receivers: the address gives way first", async (test) => {
  const shop = await openStandaloneShop(test);
  for (const path of ["one", "another/with/a/long/path"]) {
    const url = `${await openReceiver(test, () => 401)}/${path}`;
    await shop.control("POST", "webhooks/endpoints", {
      url,
      events: ["balance.changed", "consent.changed", "card.removed"],
    });
  }
  const name = "Anna-Maria Kowalska-Wiśniewska von Hohenstein-Wittgenstein zu Rosenberg";
  const { id } = await shop.issue({ name, phone: "+48600100200" });
  await shop.control("POST", `cards/${id}/purchase`, { points: 1250.5 });
  await shop.control("PUT", `cards/${id}/wallets/apple`);
  await shop.control("DELETE", `cards/${id}/wallets/apple`);
  await shop.control("POST", "clock/advance", { duration: "1h" });
  const { page, texts } = await openConsole(test, { shop, width: 1024, height: 700 });
  await texts(".traffic .row .again", 4);
  const read = () =>
    page.evaluate(() => {
      const box = (element) => element.getBoundingClientRect();
      const all = (selector) => [...document.querySelectorAll(selector)];
      const isCut = ({ offsetHeight }) => offsetHeight > 20; // the second line is hidden
      const unbroken = ".row .name, .row .marks, .detail h2";
      return {
        outside: all(".row *")
          .filter((part) => box(part).right > box(part.closest(".row")).right)
          .map(({ innerText }) => innerText),
        cutTexts: all(".text").filter(isCut).length,
        ports: all(".url").filter((url) => box(url).width < 56).length,
        heights: [...new Set(all(unbroken).map((part) => box(part).height))],
        bar: box(document.querySelector(".bar")).height < 50,
        width: document.documentElement.scrollWidth,
      };
    });
  const expected = { outside: [], cutTexts: 0, ports: 0, heights: [20], bar: true, width: 1024 };
  assert.deepEqual(await read(), expected);
  await page.locator(".traffic .row").click();
  await page.locator(".detail h2").wait();
  const { cutTexts } = await read(); // the rows have less room
  assert.deepEqual(await read(), { ...expected, cutTexts });
  const searchWidth = await page.$eval("[type='search']", ({ offsetWidth }) => offsetWidth);
  assert.ok(searchWidth > 300, `${searchWidth} px`);
  await page.keyboard.press("Escape");
  await page.setViewport({ width: 390, height: 844 });
  const urls = await page.$$eval(".url", (all) =>
    all.map(({ innerText, scrollWidth, clientWidth }) => [innerText, scrollWidth > clientWidth]),
  );
  const places = await page.$$eval(".delivery .outcome", (all) =>
    all.map((outcome) => {
      const box = (part) => outcome.querySelector(part).getBoundingClientRect();
      const [marks, url] = [box(".marks"), box(".url")];
      return outcome.innerText.endsWith("/one") ? url.top === marks.top : url.left === marks.left;
    }),
  );
  assert.ok(!places.includes(false), "an address has a line of its own only where it does not fit");
  assert.match(urls.join(" "), /^(:\d+\/webhooks\/(one|another\/with\/a\/long\/path),false ?)+$/);
  await page.goto(`${shop.baseUrl}/console#/?query=purchase`);
  await texts(".traffic .row", 3); // a click before that may meet a row that moves away
  await page.locator(".traffic .action").click();
  const followed = await texts(".related", 2);
  assert.match(followed.sort().join(), /changed → 401 at :\d+\S+,.* 401 at :\d+\S+$/);
  await page.goto(`${shop.baseUrl}/console#/cards`);
  await texts(".cards .row", 1);
  for (const width of [1024, 390]) {
    await page.setViewport({ width, height: 844 });
    const shown = await page.$$eval(".row .name, .row .contact", (all) =>
      all.map(({ innerText, offsetHeight }) => [innerText, offsetHeight]),
    );
    assert.deepEqual(shown, [
      [name, 20],
      ["+48600100200", 20],
    ]);
  }
});

it("disables everything that needs the service while it is down, Copy too", async (test) => {
  const { page, texts } = await openConsole(test, { address: "#/setup" });
  await texts(".pre", 1);
  await page.setOfflineMode(true);
  await page.locator(".lost").wait();
  const enabled = await page.$$eval("main button", (all) =>
    all.filter(({ disabled }) => !disabled).map(({ innerText }) => innerText),
  );
  assert.deepEqual(enabled, []);
});
