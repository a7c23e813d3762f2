/**
 * Every page: accessibility, phone screens, hostile input, the QR code, the wallets.
 */
import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, it } from "vitest";
import {
  findViolations,
  modes,
  openBrowser,
  openPage,
  readQrCode,
  setMode,
} from "../../../../compat/browser.mjs";
import { openFilledShop, openStandaloneShop } from "./shop.mjs";

let browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

async function opensAt(shop, [address, sign], options) {
  const { page, seen } = await openPage(browser, shop.baseUrl, options);
  await page.goto(address);
  await page.locator(sign).wait();
  return { page, seen };
}

describe("every page", () => {
  it("has no moderate or worse finding of axe in both colour schemes and on a phone, no foreign request and no console error", {
    timeout: 300_000,
  }, async (test) => {
    const { shop, pages } = await openFilledShop(test);
    const empty = await openStandaloneShop(test);
    const places = pages.map((place) => [shop, place]);
    places.push([empty, [`${empty.baseUrl}/console`, "::-p-text(No traffic yet)"]]);
    for (const [owner, place] of places) {
      const { page, seen } = await opensAt(owner, place);
      // Check the content of collapsed elements, too.
      await page.$$eval("main details:not([open]) > summary, [role=tab]", (all) => {
        for (const element of all) element.click();
      });
      for (const mode of modes) {
        await setMode(page, mode);
        const found = await findViolations(page, ["moderate", "serious", "critical"]);
        assert.deepEqual([place[0], mode, found], [place[0], mode, []]);
      }
      assert.deepEqual([place[0], seen.foreign], [place[0], []]);
      // Chromium logs an error for a 404 page.
      const isNotFound = place[0].endsWith("nobody");
      const complaints = seen.complaints.filter(
        (text) => !(isNotFound && text.includes("404 (Not Found)")),
      );
      assert.deepEqual([place[0], complaints], [place[0], []]);
      await page.close();
    }
  });

  it("fits a phone of 320 px", async (test) => {
    const { shop, pages } = await openFilledShop(test);
    for (const place of pages.slice(0, -1)) {
      const { page } = await opensAt(shop, place, { width: 320, height: 640 });
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 320, `${place[0]} is ${width} px wide`);
      await page.close();
    }
  });

  it("shows user input as text and never executes it", async (test) => {
    const words = `<script>window.hacked=1</script><img src=x onerror="window.hacked=2">'"&amp;`;
    const { shop, pages } = await openFilledShop(test, words);
    let shown = 0;
    for (const place of pages) {
      const { page, seen } = await opensAt(shop, place);
      const { hacked, foreign, text } = await page.evaluate(() => ({
        hacked: window.hacked,
        foreign: document.querySelectorAll('script:not([src]), [onerror], img[src="x"]').length,
        text: document.body.innerText,
      }));
      assert.deepEqual([place[0], hacked, foreign], [place[0], undefined, 0]);
      assert.ok(
        !seen.complaints.some((complaint) => complaint.includes("Content Security Policy")),
        place[0],
      );
      if (text.includes(words)) shown += 1;
      await page.close();
    }
    assert.ok(shown >= 7, `only ${shown} pages showed it`);
  });

  it("shows the search term as text", async (test) => {
    const shop = await openStandaloneShop(test);
    await shop.issue({ name: "Anna" });
    const { page } = await opensAt(shop, [`${shop.baseUrl}/console#/cards`, ".cards .row"]);
    await page.locator('[type="search"]').fill("<img src=x onerror=window.hacked=1>");
    await page.locator("::-p-text(Nothing matches: “<img src=x onerror=window.hacked=1>”)").wait();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  });
});

describe("a card", () => {
  it("has the same look in the console and on its page", async (test) => {
    const shop = await openStandaloneShop(test);
    const fields = [{ key: "name", type: "name" }];
    const tiers = [
      { name: "Gold", from: 10 },
      { name: "Platinum", from: 1000 },
    ];
    for (const [templateId, name] of [
      ["tpl_coffee", "Coffee club"],
      ["tpl_bakery", "Bakery"],
    ]) {
      const template = { id: templateId, name, fields, tiers };
      await shop.control("POST", "templates", template);
      const { id, publicUrl } = await shop.issue(
        { name: "Customer" },
        { name: "Anna" },
        templateId,
      );
      await shop.control("POST", `cards/${id}/purchase`, { points: 12 });
      const readLook = async (address, selector) => {
        const { page } = await opensAt(shop, [address, selector]);
        await page.waitForNetworkIdle({ concurrency: 1 }); // the console waits for a change
        const look = await page.$eval(selector, (card) => ({
          background: getComputedStyle(card).backgroundImage,
          progress: card.querySelector("progress").position,
          texts: [".shop", ".tier", ".balance strong", ".next", ".holder"].map((part) => {
            const element = card.querySelector(part);
            const { fontSize, fontWeight, color } = getComputedStyle(element);
            return [element.textContent, fontSize, fontWeight, color];
          }),
        }));
        await page.close();
        return look;
      };
      const look = await readLook(publicUrl, ".card");
      assert.equal(look.progress, 2 / 990);
      assert.deepEqual(await readLook(`${shop.baseUrl}/console#/cards/${id}`, "main .card"), look);
    }
  });
});

describe("the card's page", () => {
  it("has a QR code that contains the page's address", async (test) => {
    const { shop, card } = await openFilledShop(test);
    const { page } = await opensAt(shop, [card.publicUrl, ".qr"], { width: 390, height: 844 });
    assert.equal(await readQrCode(page, await page.$(".code")), card.publicUrl);
    assert.equal(
      await page.$eval(".code p", ({ textContent }) => textContent),
      card.publicUrl.split("/").at(-1),
    );
    for (const width of [1280, 390, 320]) {
      await page.setViewport({ width, height: 844 });
      const share = await page.evaluate(() => {
        const toWidth = (selector) =>
          document.querySelector(selector).getBoundingClientRect().width;
        return toWidth(".qr path + path") / toWidth(".card");
      });
      assert.match(
        await page.$eval(".next", ({ innerText }) => innerText.replace(/\s+/g, " ")),
        /^10 980 more to Anna! 1,000$/, // what the ends of the bar stand for
      );
      assert.ok(share >= 0.7, `the code without its margin is ${share} of the card at ${width} px`);
    }
  });

  it("shows a purchase without a reload, in more tabs than the browser has connections", async (test) => {
    const shop = await openStandaloneShop(test);
    const { publicUrl, id } = await shop.issue({ name: "Anna" });
    const tabs = [];
    for (let number = 0; number < 7; number += 1)
      tabs.push(await opensAt(shop, [publicUrl, ".qr"]));
    await shop.control("POST", `cards/${id}/purchase`, { points: 1250 });
    for (const { page, seen } of tabs) {
      await page.bringToFront();
      await page.locator(".balance strong::-p-text(1,250)").wait();
      assert.equal(
        await page.$eval(".balance", (balance) => balance.getAttribute("aria-live")),
        "polite",
      );
      assert.deepEqual([seen.complaints, seen.foreign], [[], []]);
      if (page !== tabs.at(-1).page) await page.close();
    }
    const { page } = tabs.at(-1);
    await shop.control("PUT", `cards/${id}/wallets/apple`);
    await page.locator(".wallets ::-p-text(In Apple Wallet)").wait();
    await page.close();
  });

  it("needs no JavaScript", async (test) => {
    const shop = await openStandaloneShop(test);
    const { publicUrl, id } = await shop.issue({ name: "Anna" });
    const { page } = await openPage(browser, shop.baseUrl);
    await page.setJavaScriptEnabled(false);
    await page.goto(publicUrl);
    await shop.control("POST", `cards/${id}/purchase`, { points: 7 });
    await page.reload();
    assert.equal(await page.$eval(".balance strong", ({ textContent }) => textContent), "7");
    await page.close();
  });

  it("keeps the card in its place on the pages of both wallets, which look different; on a phone the button is above it", async (test) => {
    const shop = await openStandaloneShop(test);
    const { publicUrl } = await shop.issue({ name: "Anna" });
    const readPage = async (address, options) => {
      const { page } = await opensAt(shop, [address, ".card"], options);
      const { card, top, note, panel, actions } = await page.evaluate(() => {
        const box = (selector) => document.querySelector(selector).getBoundingClientRect();
        const { x, y, width, height } = box(".card");
        const { backgroundColor } = getComputedStyle(document.querySelector(".note"));
        const actions = Array.from(document.querySelectorAll(".back, .actions button"), (one) => {
          const { fontSize, borderRadius, textDecorationLine } = getComputedStyle(one);
          return [one.getBoundingClientRect().height, fontSize, borderRadius, textDecorationLine];
        });
        return {
          card: [x, width, height],
          top: y,
          note: [box(".note").top, box(".note").width],
          panel: backgroundColor,
          actions,
        };
      });
      const code = await readQrCode(page, await page.$(".code"));
      await page.close();
      return { card, top, note, panel, actions, code };
    };
    for (const options of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const { card, top, note } = await readPage(publicUrl, options);
      const first = await readPage(`${publicUrl}/pass.pkpass`, options);
      const second = await readPage(`${publicUrl}/google`, options);
      assert.deepEqual([first.card, second.card], [card, card]);
      assert.deepEqual([first.code, second.code], [publicUrl, publicUrl]);
      assert.notEqual(first.panel, second.panel);
      for (const { actions, ...wallet } of [first, second]) {
        assert.equal(actions.length, 2);
        assert.deepEqual(actions[0], actions[1]); // Cancel and Add have the same shape
        if (options.width === 390) assert.ok(wallet.note[0] < wallet.top);
        else assert.deepEqual([wallet.top, wallet.note], [top, [top, 400]]);
      }
      if (options.width === 1440) assert.deepEqual(note, [top, 400]);
    }
  });

  it("adds the card to both wallets and records that in the service", async (test) => {
    const shop = await openStandaloneShop(test);
    const { publicUrl, id } = await shop.issue({ name: "Anna" });
    const { page, seen } = await opensAt(shop, [`${publicUrl}/google`, ".wallet .back"]);
    await page.locator(".back").click(); // opened without a link
    await page.locator("h2::-p-text(Keep this card on your phone)").wait();
    for (const title of ["Apple Wallet", "Google Wallet"]) {
      const button = await page.locator(`img[alt="Add to ${title}"]`).waitHandle();
      assert.ok((await button.boundingBox()).width >= 240); // as in a shop
      await button.click();
      await page.locator(`button[aria-label="Add to ${title}"]`).click();
      await page.locator(`::-p-text(In ${title})`).wait();
      assert.equal(page.url(), publicUrl);
    }
    await page.locator("h2::-p-text(This card is on your phone)").wait();
    assert.deepEqual((await shop.control("GET", `cards/${id}`)).wallets, ["apple", "google"]);
    await shop.control("DELETE", `cards/${id}/wallets/google`);
    await page.locator("h2::-p-text(Keep this card on your phone)").wait(); // without a reload
    assert.deepEqual([seen.complaints, seen.foreign], [[], []]);
  });
});
