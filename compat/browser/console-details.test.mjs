/** The console's times, links, clipboard, warnings and webhook endpoints, in a headless Chromium. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openBrowser } from "./browser.mjs";
import { openConsole } from "./console.mjs";
import { openShop } from "./shop.mjs";

let opened;
before(async () => {
  opened = await openBrowser();
});
after(() => opened.close());

/** The zone in which it is 22 o'clock or shortly before at this moment. */
function zoneAt22(nowMs) {
  const offset = 22 - new Date(nowMs).getUTCHours();
  const hours = offset > 14 ? offset - 24 : offset;
  return `Etc/GMT${hours > 0 ? "-" : "+"}${Math.abs(hours)}`; // these names have the opposite sign of the offset
}

describe("times in the console", { concurrency: false }, () => {
  it("have no date on the current day of the browser's time zone, and are complete in the title", async (test) => {
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
    await late.page.waitForFunction(() => /\d{4}/.test(document.querySelector("main time").textContent));
    const day = new Intl.DateTimeFormat("en-US", { day: "2-digit", month: "short", timeZone: lateEvening });
    assert.ok((await late.read()).textContent.startsWith(day.format(issuedMs)));
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
