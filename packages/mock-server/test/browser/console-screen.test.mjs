/**
 * How the console behaves on a screen: polling, half-filled forms, an outage, the keyboard, times,
 * forced colours, rows on a monitor and on a phone.
 */
import assert from "node:assert/strict";
import { it } from "vitest";
import { openFilledShop, openReceiver, openStandaloneShop, useBrowser } from "./shop.mjs";

const openConsole = useBrowser();

/** A headless browser has no tabs in the background. */
const setHidden = (page, hidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

it("polls only the clock, about once a second, reads again when something changed, and does nothing while it is hidden", async (test) => {
  const { shop, page, seen, texts, cleanly } = await openConsole(test);
  await shop.issue({ name: "Anna" });
  await texts(".traffic .row", 1);
  const isClock = (response) => response.url().includes("/_mock/clock");
  await page.waitForResponse(isClock); // its version may be new, and then the page reads the card
  await page.waitForResponse(isClock);
  seen.urls.length = 0;
  const { length } = await (await page.waitForResponse(isClock)).text();
  const readAt = Date.now();
  await page.waitForResponse(isClock);
  assert.ok(Date.now() - readAt > 700, "the service responds at once although nothing changed");
  assert.deepEqual([...new Set(seen.urls.map((url) => new URL(url).pathname))], ["/_mock/clock"]);
  assert.ok(length < 160, `${length} bytes`);
  await setHidden(page, true);
  await shop.issue({ name: "Ben" });
  seen.urls.length = 0;
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 1500))); // longer than the pause between polls
  assert.deepEqual(seen.urls, []);
  await setHidden(page, false);
  await texts(".traffic .row", 2);
  cleanly();
});

it("repeats a read that lost its connection, although nothing changed since", async (test) => {
  const { shop, page, texts } = await openConsole(test);
  const lost = [];
  page.on("request", (request) => {
    const isLost = request.url().includes("/_mock/traffic") && lost.length < 2;
    if (isLost) lost.push(request.abort());
    else void request.continue();
  });
  await page.setRequestInterception(true);
  await shop.issue({ name: "Anna" });
  await texts(".traffic .row", 1);
  assert.equal(lost.length, 2);
});

it("keeps half-filled forms, the focus and the place while things change, and says how to start a service that stopped", async (test) => {
  const { shop, page, seen, field, view, cleanly } = await openConsole(test);
  const { id } = await shop.issue({ name: "Anna" });
  await view("Cards");
  await page.locator(".cards .row ::-p-text(Anna)").click();
  await field("points", "7");
  await page.locator('select[name="kind"]').fill("reward");
  await page.locator('[name="points"]').click();
  await shop.control("POST", `cards/${id}/purchase`, { points: 250 });
  await page.locator(".card .balance::-p-text(250)").wait();
  const form = () =>
    page.$eval("form", ({ elements }) => [
      elements.points.value,
      elements.kind.value,
      document.activeElement.name,
    ]);
  assert.deepEqual(await form(), ["7", "reward", "points"]);
  cleanly();

  const { port } = new URL(shop.baseUrl);
  await page.setOfflineMode(true);
  await page
    .locator(
      `.lost::-p-text(the command that started it, for example npx loyalty-cards dev --port ${port})`,
    )
    .wait();
  const enabled = await page.$$eval(
    ".bar button:not(.help, dialog *), .bar select, main button",
    (all) => all.filter(({ disabled }) => !disabled).length,
  );
  assert.deepEqual([enabled, await form()], [0, ["7", "reward", "points"]]);
  await page.setOfflineMode(false);
  await page.waitForFunction(() => document.querySelector(".lost") === null);
  await page.locator("form button").click();
  await page.locator("::-p-text(Recorded: +7 points.)").wait();
  seen.complaints = seen.complaints.filter(
    (complaint) => !complaint.includes("ERR_INTERNET_DISCONNECTED"),
  );
  cleanly();
});

it("works with the keyboard alone, always shows the focus, and returns it to the row", async (test) => {
  const { shop, page, texts, cleanly } = await openConsole(test);
  for (const name of ["Anna", "Ben"]) await shop.issue({ name });
  await texts(".traffic .row", 2);
  const tabTo = async (wanted) => {
    let before = "nothing";
    for (let steps = 0; steps < 40; steps += 1) {
      await page.keyboard.press("Tab");
      const { name, isShown } = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        const name = document.activeElement.ariaLabel ?? document.activeElement.innerText;
        return { name, isShown: outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2 };
      });
      assert.ok(isShown, `no focus to be seen on "${name}", which follows "${before}"`);
      if (name.includes(wanted)) return page.keyboard.press("Enter");
      before = name;
    }
    return assert.fail(`"${wanted}" cannot be reached`);
  };
  await tabTo("issueCard");
  await page.waitForFunction(() => document.activeElement.className === "detail");
  const opened = await page.$eval(".row[aria-current='true']", ({ id }) => id);
  await tabTo("Close the detail");
  await page.waitForFunction((id) => document.activeElement.id === id, {}, opened);
  // On a closed list of choices the arrow opens the list; it does not choose.
  await page.locator("[aria-label='Inject a fault']").click();
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  assert.deepEqual((await shop.control("GET", "faults")).items, []);
  cleanly();
});

it("shows times in the zone of the browser, and the days when they are more than today", async (test) => {
  const timeZone = "Asia/Tokyo"; // nine hours ahead of UTC, all year
  const shop = await openStandaloneShop(test);
  await shop.control("PUT", "clock", { mode: "manual" });
  await shop.advanceTo(21); // six o'clock in Tokyo
  await shop.issue({ name: "Anna" });
  const { page, texts } = await openConsole(test, { shop, timeZone });
  assert.deepEqual(await texts(".traffic time", 1), ["06:00:00"]);
  await texts(".day", 1); // of the clock, which is ahead
  await shop.control("POST", "clock/advance", { duration: "24h" });
  await shop.issue({ name: "Ben" });
  await texts(".traffic .row", 2);
  assert.deepEqual(await texts(".traffic time", 2), ["06:00:00", "06:00:00"]);
  const days = await page.$$eval(
    ".traffic time",
    (times, zone) =>
      times.map(({ dateTime }) =>
        new Date(dateTime).toLocaleDateString("en-US", {
          month: "short",
          day: "numeric",
          timeZone: zone,
        }),
      ),
    timeZone,
  );
  assert.deepEqual(await texts(".day", 2), days);
});

/** The rows that are complete above the fold, and the results, times and reasons that are cut. */
const readRows = (page) =>
  page.evaluate(() => {
    const rows = [...document.querySelectorAll(".rows .row")];
    // The second line of a reason is hidden.
    const isCut = ({ className, offsetHeight, scrollWidth, clientWidth }) =>
      className.includes("text") ? offsetHeight > 20 : scrollWidth > clientWidth + 1;
    const wanted = "time, .status, .name, .id, .points, .again, .marks, .warning, .phrase, .text";
    return {
      count: rows.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length,
      heights: rows.map((row) => Math.round(row.getBoundingClientRect().height)),
      lines: rows.map((row) => (row.querySelector(".text:not(:empty)") === null ? 2 : 3)),
      cut: [...document.querySelectorAll(wanted)].filter(isCut).map(({ innerText }) => innerText),
    };
  });

it("has at least 21 rows on a monitor of 900 px, on a phone two lines for each and one for the reason of a failure, and cuts no result, time or reason", async (test) => {
  const url = await openReceiver(test, () => 500);
  const shop = await openStandaloneShop(test);
  await shop.advanceTo(6); // all rows are of one day
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  for (let number = 0; number < 12; number += 1) {
    const { id } = await shop.issue({ name: `Anna-Maria Kowalska-Wisniewska ${number}` });
    await shop.control("POST", `cards/${id}/purchase`, { points: 1 });
  }
  await shop.control("POST", "clock/advance", { duration: "4h" }); // "again in 4 h 36 min"
  const { page, texts } = await openConsole(test, { shop });
  const again = await texts(".traffic .row .again", 12);
  assert.match(again.join(), /^(in 4 h 3[56] min,?){12}$/);
  await page.locator(".traffic .delivery").click();
  await page.locator(".tabs .again").wait();
  assert.match((await texts(".tabs .again", 1))[0], /^again in 4 h 3[56] min$/);
  await page.keyboard.press("Escape");
  await texts(".detail", 0);
  const monitor = await readRows(page);
  assert.deepEqual(monitor.cut, []);
  assert.ok(monitor.count >= 21, `${monitor.count} rows`);
  for (const width of [390, 320]) {
    await page.setViewport({ width, height: 844 });
    const { heights, lines, cut } = await readRows(page);
    assert.deepEqual([width, cut], [width, []]);
    const isLow = heights.every((height, index) => height <= lines[index] * 20 + 18);
    assert.ok(isLow, `${heights} px at ${width}`);
    const bar = await page.$eval(".bar", (element) => element.clientHeight);
    const help = await page.$eval(".help", (button) => button.checkVisibility());
    assert.ok(help, "what the symbols mean cannot be read");
    if (width === 390) assert.ok(bar <= 90, `the bar has more than two lines: ${bar} px`);
    const open = await page.$eval(".traffic .row", ({ href }) => href);
    await page.goto(open);
    await page.locator(".detail").wait();
    assert.equal(await page.$eval(".list", (list) => list.checkVisibility()), false);
    await page.locator("[aria-label='Close the detail']").click();
    await page.locator(".traffic .row").wait();
  }
  await page.setViewport({ width: 390, height: 844, hasTouch: true, isMobile: true });
  await page.locator(".bar a::-p-text(API)").wait();
  assert.equal(await page.$eval(".bar", ({ clientHeight }) => clientHeight < 105), true);
  for (const view of ["", "setup", "cards"]) {
    await page.goto(`${shop.baseUrl}/console#/${view}`);
    await page.locator("main [aria-label]").wait();
    const low = await page.$$eval("button, .button, input, select, nav a, summary", (all) =>
      all
        .filter((control) => control.checkVisibility() && control.offsetHeight < 40)
        .map(({ innerText }) => innerText),
    );
    assert.deepEqual([view, low], [view, []]);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  }
});

it("has headings, and the same columns in every row on a monitor, on a small screen and beside a detail", async (test) => {
  const { shop } = await openFilledShop(test);
  const { page, texts } = await openConsole(test, { shop });
  const headings = "Time Status Operation or event Who What happened Outcome";
  assert.deepEqual(await texts(".traffic .head", 1), [headings]);
  const columns = ["time", "status", "holder", "phrase", "outcome"];
  const readLefts = () =>
    page.evaluate(
      (names) =>
        names.map((name) => {
          const cells = document.querySelectorAll(`.traffic .${name}, .traffic ${name}`);
          const lefts = Array.from(cells, (cell) => cell.getBoundingClientRect().left);
          return new Set(lefts.filter((left) => left > 0)).size; // 0 where it is empty
        }),
      columns,
    );
  const same = columns.map(() => 1);
  for (const width of [1440, 1024]) {
    await page.setViewport({ width, height: 900 });
    assert.deepEqual([width, await readLefts()], [width, same]);
  }
  await page.setViewport({ width: 1440, height: 900 });
  await page.locator(".traffic .row").click();
  await page.locator(".detail h2").wait();
  assert.deepEqual(await readLefts(), same);
  await page.setViewport({ width: 390, height: 844 });
  await page.locator("[aria-label='Close the detail']").click();
  await page.locator(".traffic .row").wait();
  const isShown = await page.$eval(".traffic .head", (head) => head.checkVisibility());
  assert.equal(isShown, false);
});

it("carries each state in characters, for forced colours", async (test) => {
  const { shop, pages } = await openFilledShop(test);
  const { page, texts, press } = await openConsole(test, { shop });
  const cdp = await page.createCDPSession();
  await cdp.send("Emulation.setEmulatedMedia", {
    features: [{ name: "forced-colors", value: "active" }],
  });
  const marks = await texts(".row .marks", 4);
  assert.deepEqual([...new Set(marks)].sort(), ["✓", "✕·····"]);
  const underlined = "[aria-current='true'], [aria-current='page']";
  for (const [address] of pages.filter(([each]) => each.includes("/console"))) {
    await page.goto(address);
    await page.locator(underlined).wait();
    const lines = await page.$$eval(underlined, (all) =>
      all
        .filter((one) => !one.classList.contains("row"))
        .map((one) => getComputedStyle(one).textDecorationLine),
    );
    assert.deepEqual([address, [...new Set(lines)]], [address, ["underline"]]);
  }
  await press("Send test");
  await page.locator(".message ::-p-text(ping → 204)").wait();
  assert.match((await texts(".message", 1))[0], /^✓ Created a ping for \S+ ping → 204 at/);
});

it("has two lines of the bar and one of faults on a phone, with five faults and a clock that is ahead", async (test) => {
  const url = await openReceiver(test, () => 500);
  const shop = await openStandaloneShop(test);
  await shop.control("POST", "webhooks/endpoints", { url, events: ["balance.changed"] });
  const { id } = await shop.issue({ name: "Anna" });
  await shop.control("PUT", "clock", { mode: "manual" });
  await shop.control("POST", "clock/advance", { duration: "9h" });
  await shop.control("POST", `cards/${id}/purchase`, { points: 1 });
  await shop.control("POST", "clock/advance", { duration: "45m" });
  for (const status of [500, 501, 502, 503, 504])
    await shop.control("POST", "faults", { kind: "status", phase: "before", status, times: 1 });
  const { page, texts, first } = await openConsole(test, { shop });
  await page.setViewport({ width: 390, height: 844, hasTouch: true, isMobile: true });
  await texts(".chip", 5);
  await first(".now a", /^9 h 4\d min ahead$/);
  await first(".next", /^Next, 1 h 5\d min$/);
  const heights = await page.$$eval(".bar, .faults", (all) =>
    all.map(({ clientHeight }) => clientHeight),
  );
  assert.ok(heights[0] < 105 && heights[1] < 60, `${heights}`);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  await page.focus(".chip:last-child button");
  for (const selector of [".chip:last-child", ".clock .next"]) {
    const { x, width } = await (await page.$(selector)).boundingBox();
    assert.ok(x + width <= 390, `${selector} ends at ${x + width}`);
  }
});
