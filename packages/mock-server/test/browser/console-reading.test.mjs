/**
 * How the console is read: rows and details with the keyboard, whole bodies, one message at a time,
 * widths with two receivers, more than a hundred rows.
 */
import assert from "node:assert/strict";
import { it } from "vitest";
import { findViolations } from "../../../../compat/browser.mjs";
import { openReceiver, openShop, useBrowser } from "./shop.mjs";

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
  await press("?");
  await page.locator("dialog[open] ::-p-text(next row)").wait();
  assert.deepEqual(await findViolations(page), []);
  await press("Escape");
  await isFocused(ids[0]);
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
  const { shop, page, press, texts, first, cleanly } = await openConsole(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const { id } = await shop.issue({ name: "Anna" });
  await page.goto(`${shop.baseUrl}/console#/cards/${id}`);
  const at = `at :${new URL(url).port}/webhooks`;
  await press("Purchase +10");
  await first(".message", /Recorded: \+10 points/);
  await press("Purchase +50");
  await first(".message", new RegExp(`Recorded: \\+50 points\\. balance\\.changed → 204 ${at}`));
  await texts(".message", 1);
  const [foot, bottom] = await page.evaluate(() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    return [box(".foot").top, box("main").bottom];
  });
  assert.ok(foot >= bottom, `the message begins at ${foot}, the page ends at ${bottom}`);
  await texts(".message", 0); // it disappears

  const responses = [];
  respond = () => new Promise((resolve) => responses.push(resolve));
  await press("Purchase +10");
  await first(".message", /Recorded: \+10 points/);
  respond = () => 500;
  await press("Purchase +120");
  await first(".message.failed", new RegExp(`\\+120 points\\. balance\\.changed → 500 ${at}`));
  assert.deepEqual(await findViolations(page), []);
  responses[0](204); // of the earlier purchase, whose message does not return
  await first(".traffic li:nth-child(3) .row", /204 → balance.changed Anna \+10 → 70/);
  await waitForPolls(page, 8); // longer than a message that reports a success
  assert.match((await texts(".message", 1))[0], /\+120 points/);
  await page.locator(".message [aria-label='Close']").click();
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
  await first(
    ".message.failed",
    /\d+ attempts: 0 delivered, \d+ failed at :\d+\/webhooks Problems/,
  );
  await page.locator(".message a::-p-text(Problems)").click();
  await texts(".traffic .row", 50);
  assert.equal(hash(), "#/?problems=true");
  cleanly();
});

it("keeps everything inside its row at 1024 px with two receivers: the address gives way first", async (test) => {
  const shop = await openShop(test);
  for (const path of ["one", "another/with/a/long/path"]) {
    const url = `${await openReceiver(test, () => 401)}/${path}`;
    await shop.control("POST", "webhooks/endpoints", {
      url,
      events: ["balance.changed", "consent.changed", "card.removed"],
    });
  }
  const { id } = await shop.issue({ name: "Anna-Maria Kowalska-Wiśniewska" });
  await shop.control("POST", `cards/${id}/purchase`, { points: 1250.5 });
  await shop.control("PUT", `cards/${id}/wallets/apple`);
  await shop.control("DELETE", `cards/${id}/wallets/apple`);
  await shop.control("POST", "clock/advance", { duration: "1h" });
  const { page, texts } = await openConsole(test, { shop, width: 1024, height: 700 });
  await texts(".traffic .again", 4);
  const read = () =>
    page.evaluate(() => {
      const box = (element) => element.getBoundingClientRect();
      const all = (selector) => [...document.querySelectorAll(selector)];
      const isCut = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1;
      return {
        outside: all(".row *")
          .filter((part) => box(part).right > box(part.closest(".row")).right)
          .map(({ innerText }) => innerText),
        cutTexts: all(".response .text").filter(isCut).length,
        names: [...new Set(all(".name, .detail h2").map((name) => box(name).height))],
        controls: box(document.querySelector(".controls")).height < 40,
        width: document.documentElement.scrollWidth,
      };
    });
  const expected = { outside: [], cutTexts: 0, names: [20], controls: true, width: 1024 };
  assert.deepEqual(await read(), expected);
  await page.locator(".traffic .row").click();
  await page.locator(".detail h2").wait();
  const { cutTexts } = await read(); // the two lines of a row have less room
  assert.deepEqual(await read(), { ...expected, cutTexts });
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
