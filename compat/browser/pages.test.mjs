/** Every page as people with other eyes, other screens and other intentions meet it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, it } from "node:test";
import jsQR from "jsqr";
import { openBrowser, openPage } from "./browser.mjs";
import { openFilledShop, openShop } from "./shop.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let opened;
before(async () => {
  opened = await openBrowser();
});
after(() => opened.close());

async function opensAt(shop, [address, sign], options) {
  const { page, seen } = await openPage(opened.browser, shop.baseUrl, options);
  await page.goto(address);
  await page.locator(sign).wait();
  return { page, seen };
}

describe("every page", { concurrency: false }, () => {
  for (const [scheme, width, height] of [
    ["light", 1280, 900],
    ["dark", 390, 844],
  ]) {
    it(`has no serious finding of axe, asks nobody else and complains of nothing: ${scheme}, ${width} px`, async (test) => {
      const { shop, pages } = await openFilledShop(test);
      for (const place of pages) {
        const { page, seen } = await opensAt(shop, place, { scheme, width, height });
        // Everything that can be opened is looked at, too.
        await page.$$eval(
          'main details:not([open]) > summary, [data-action][aria-expanded="false"], .opblock-post .opblock-summary-control, .opblock-put .opblock-summary-control',
          (all) => {
            for (const element of all) element.click();
          },
        );
        await page.waitForFunction(() => !document.querySelector('[data-action][aria-expanded="false"]'));
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() =>
          globalThis.axe.run(document, { resultTypes: ["violations"] }),
        );
        const serious = violations
          .filter(({ impact }) => impact === "serious" || impact === "critical")
          .map(
            ({ id, nodes }) =>
              `${id}: ${nodes
                .slice(0, 3)
                .map(({ html, failureSummary }) => `${html} ${failureSummary}`)
                .join(" | ")}`,
          );
        assert.deepEqual([place[0], serious], [place[0], []]);
        assert.deepEqual([place[0], seen.foreign], [place[0], []]);
        // Chromium itself complains when there is nothing at an address.
        const isNobody = place[0].endsWith("nobody");
        const complaints = seen.complaints.filter((text) => !(isNobody && text.includes("404 (Not Found)")));
        assert.deepEqual([place[0], complaints], [place[0], []]);
        await page.close();
      }
    });
  }

  it("fits a phone of 360 px", async (test) => {
    const { shop, pages } = await openFilledShop(test);
    for (const place of pages.slice(0, -1)) {
      const { page } = await opensAt(shop, place, { width: 360, height: 640 });
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `${place[0]} is ${width} px wide`);
      await page.close();
    }
  });

  it("shows what people write, and never runs it", async (test) => {
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

  it("shows on a search what was searched for, and no more", async (test) => {
    const shop = await openShop(test);
    await shop.issue({ name: "Anna" });
    const { page } = await opensAt(shop, [`${shop.baseUrl}/console#/cards`, "table"]);
    await page.locator('[name="query"]').fill("<img src=x onerror=window.hacked=1>");
    await page.locator("::-p-text(No card matches “<img src=x onerror=window.hacked=1>”)").wait();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  });
});

describe("the card's page", () => {
  it("has a QR code that a reader reads, and it leads to the page", async (test) => {
    const { shop, card } = await openFilledShop(test);
    const { page } = await opensAt(shop, [card.publicUrl, ".qr"], { width: 390, height: 844 });
    const picture = await page.$(".code");
    const base64 = await picture.screenshot({ encoding: "base64" });
    const { data, width, height } = await page.evaluate(async (png) => {
      const image = new Image();
      image.src = `data:image/png;base64,${png}`;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
      canvas.drawImage(image, 0, 0);
      const pixels = canvas.getImageData(0, 0, image.width, image.height);
      return { data: [...pixels.data], width: image.width, height: image.height };
    }, base64);
    assert.equal(jsQR(Uint8ClampedArray.from(data), width, height)?.data, card.publicUrl);
  });

  it("leads to the second wallet, which takes the card, and the shop hears of it", async (test) => {
    const shop = await openShop(test);
    const { publicUrl, id } = await shop.issue({ name: "Anna" });
    const { page, seen } = await opensAt(shop, [publicUrl, ".qr"]);
    await page.locator('img[alt="Add to Google Wallet"]').click();
    await page.locator("button::-p-text(Add to Google Wallet)").click();
    await page.locator("::-p-text(In Google Wallet)").wait();
    assert.equal(page.url(), publicUrl);
    assert.deepEqual((await shop.control("GET", `cards/${id}`)).wallets, ["google"]);
    assert.deepEqual([seen.complaints, seen.foreign], [[], []]);
  });
});

describe("the reference", () => {
  it("issues a card with the key and the template that are filled in", async (test) => {
    const shop = await openShop(test);
    // Under another name of this machine than the service knows itself by.
    const address = shop.baseUrl.replace("127.0.0.1", "localhost");
    const { page, seen } = await openPage(opened.browser, address);
    await page.goto(`${address}/api/docs`);
    await page.locator("#operations-Cards-issueCard .opblock-summary-control").click();
    await page.locator("#operations-Cards-issueCard .execute").click();
    await page.locator(".live-responses-table .response-col_status::-p-text(201)").wait();
    assert.equal((await shop.control("GET", "cards")).total, 1);
    assert.deepEqual([seen.complaints, seen.foreign], [[], []]);
  });
});
