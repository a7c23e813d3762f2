/** The Next example as its members meet it: in a browser, with scripts and without, while the service works and while not. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import jsQR from "jsqr";
import { startMockServer } from "../../packages/mock-server/dist/node.js";
import { freePort, startShop } from "../next/workshop.mjs";
import { openWorkshop } from "../shop/workshop.mjs";
import { openBrowser, openPage } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const anna = { name: "Anna Kowalska", phone: "600 100 200", email: "anna@example.com" };
/** Set it to a folder to look at the pages. */
const screenshots = process.env.SCREENSHOTS;

let workshop;
let opened;
before(async () => {
  workshop = openWorkshop();
  workshop.build();
  opened = await openBrowser();
});
after(async () => {
  await opened?.close();
  workshop?.close();
});

let shops = 0;
/** A shop with a file of its own, and a service of its own. */
async function openShop(test) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const seed = JSON.parse(readFileSync(join(workshop.folder, "mock.json"), "utf8"));
  const endpoints = seed.endpoints.map((endpoint) => ({ ...endpoint, url: `${url}/webhooks/loyalty` }));
  const mock = await startMockServer({ ...seed, endpoints });
  const { service } = mock;
  shops += 1;
  const settings = {
    SHOP_FILE: join(workshop.folder, `shop-${process.pid}-${shops}.db`),
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: service.templateId,
    LOYALTY_SIGNING_SECRET: service.endpoints[0].secret,
  };
  const start = () => startShop(workshop.folder, ".next", port, settings);
  let server = await start();
  test.after(async () => {
    server.kill();
    await mock.close();
  });
  return {
    url,
    service,
    async cards() {
      return (await (await fetch(`${mock.url}/_mock/cards`)).json()).items;
    },
    end: () => server.end(),
    /** The process dies where it stands, and another takes its place. */
    async crash() {
      server.kill();
      await server.ended;
      server = await start();
    },
  };
}

/** A visitor of the shop, with a cookie jar of their own. */
async function visitor(test, shop, { scripts = true, ...options } = {}) {
  const jar = await opened.browser.createBrowserContext();
  test.after(() => jar.close());
  const { page, seen } = await openPage(jar, shop.url, options);
  await page.setJavaScriptEnabled(scripts);
  await page.goto(shop.url);
  await page.bringToFront();
  const text = (words) => page.locator(`::-p-text(${words})`).wait();
  return {
    page,
    seen,
    text,
    async signUp(changes = {}, { news = false } = {}) {
      for (const [name, value] of Object.entries({ ...anna, ...changes })) {
        await page.$eval(
          `[name="${name}"]`,
          (input, typed) => {
            input.value = typed;
          },
          value,
        );
      }
      for (const name of ["privacy", ...(news ? ["news"] : [])]) {
        if (!(await page.$eval(`[name="${name}"]`, ({ checked }) => checked)))
          await page.click(`[name="${name}"]`);
      }
      await page.click(".sign-up .primary");
    },
    async photograph(name) {
      if (screenshots === undefined) return;
      mkdirSync(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
    },
  };
}

const shown = (page, selector, words) =>
  page.waitForFunction(
    (where, wanted) => document.querySelector(where)?.textContent.includes(wanted),
    {},
    selector,
    words,
  );

describe("the shop on Next", { concurrency: false }, () => {
  it("signs up, shows the card, and changes live with every event", async (test) => {
    const shop = await openShop(test);
    const { page, seen, text, signUp, photograph } = await visitor(test, shop);
    await photograph("sign-up");
    await signUp();
    await text("Hello, Anna");
    await text("Nothing yet");
    const [card] = await shop.cards();
    assert.equal(await read(page, await page.$(".code svg")), card.publicUrl);
    const wallets = await page.$$eval(".wallets a", (links) =>
      links.map((link) => [link.href, link.querySelector("img").naturalWidth > 0]),
    );
    assert.deepEqual(wallets, [
      [`${card.publicUrl}/pass.pkpass`, true],
      [`${card.publicUrl}/google`, true],
    ]);

    await page.evaluate(() => {
      window.sameDocument = true;
    });
    shop.service.cards.purchase(card.id, { points: 120 });
    await shown(page, ".balance", "120");
    await shown(page, ".level", "Regular");
    await shown(page, ".history", "+120");
    await shop.service.idle();
    shop.service.cards.redeem(card.id, { points: 50 });
    await shown(page, ".balance", "70");
    await shown(page, ".history", "−50");
    assert.equal(await page.evaluate(() => window.sameDocument), true);
    await photograph("member");
    assert.deepEqual(seen.complaints, []);
  });

  it("lets the member say yes and no to news", async (test) => {
    const shop = await openShop(test);
    const { page, signUp } = await visitor(test, shop);
    await signUp({}, { news: true });
    await page.waitForSelector('.switch[aria-checked="true"]');
    const [card] = await shop.cards();
    const consent = async () => {
      const headers = { authorization: `Bearer ${shop.service.apiKeys.website}` };
      const answer = await fetch(`${shop.service.baseUrl}/api/v1/passes/${card.id}/consent`, { headers });
      return (await answer.json()).marketingConsent;
    };
    assert.equal(await consent(), true);
    await page.click(".switch");
    await page.waitForSelector('.switch[aria-checked="false"]');
    assert.equal(await consent(), false);

    shop.service.faults.add({
      phase: "before",
      kind: "status",
      status: 400,
      match: { operation: "setConsent" },
    });
    await page.click(".switch");
    await shown(page, ".news .fault", "Nothing was changed");
    await page.waitForSelector('.switch[aria-checked="false"]');
  });

  for (const scripts of [true, false]) {
    it(`shows a refusal at its field and keeps what was typed, ${scripts ? "with" : "without"} scripts`, async (test) => {
      const shop = await openShop(test);
      const { page, text, signUp, photograph } = await visitor(test, shop, { scripts });
      await signUp({ phone: "12" }, { news: true });
      await text("The phone number is not valid.");
      const form = await page.$eval(".sign-up", (element) => ({
        fault: document.getElementById(element.phone.getAttribute("aria-describedby")).textContent,
        focused: document.activeElement.name ?? null,
        values: ["name", "phone", "email"].map((name) => element.elements[name].value),
        checked: ["privacy", "news"].map((name) => element[name].checked),
      }));
      assert.deepEqual(form, {
        fault: "The phone number is not valid.",
        focused: scripts ? "phone" : null,
        values: [anna.name, "12", anna.email],
        checked: [true, true],
      });
      await photograph(`refused-${scripts ? "with" : "without"}-scripts`);
      await signUp({}, { news: true });
      await text("Hello, Anna");
      assert.equal((await shop.cards()).length, 1);
    });
  }

  it("signs up while the service is away; the card follows by itself, once, even after a crash", async (test) => {
    const shop = await openShop(test);
    const { page, text, signUp, photograph } = await visitor(test, shop);
    // The worst way of being away: the card is issued, and nobody learns of it.
    const away = shop.service.faults.add({ phase: "after-commit", kind: "status", status: 503 });
    await signUp();
    await text("Your card is on its way");
    await photograph("on-its-way");
    await shop.crash();
    shop.service.faults.remove(away.id);
    await page.waitForSelector(".code svg", { timeout: 30_000 });
    assert.equal((await shop.cards()).length, 1);
  });

  it("says so when the service, back again, refuses what was typed", async (test) => {
    const shop = await openShop(test);
    const { text, signUp, photograph } = await visitor(test, shop);
    const away = shop.service.faults.add({ phase: "before", kind: "status", status: 503 });
    await signUp({ phone: "12" });
    await text("Your card is on its way");
    shop.service.faults.remove(away.id);
    await text("Please ask at the counter.");
    await photograph("stuck");
    assert.deepEqual(await shop.cards(), []);
  });

  it("shows card and points from its own file while the service is away", async (test) => {
    const shop = await openShop(test);
    const { page, text, signUp } = await visitor(test, shop);
    await signUp();
    await text("Nothing yet");
    const [card] = await shop.cards();
    shop.service.cards.purchase(card.id, { points: 40 });
    await shown(page, ".balance", "40");
    shop.service.faults.add({ phase: "before", kind: "status", status: 404 });
    await page.reload();
    await shown(page, ".balance", "40");
    await text("Your history cannot be shown right now");
  });

  it("takes a form that is sent twice for one member, and lets both answers in", async (test) => {
    const shop = await openShop(test);
    const { page } = await visitor(test, shop, { scripts: false });
    const hidden = await page.$eval(".sign-up", (form) => [...new FormData(form)]);
    const send = async (email) => {
      const body = new FormData();
      for (const [name, value] of hidden) body.set(name, value);
      for (const [name, value] of Object.entries({ ...anna, email, privacy: "2026-01" }))
        body.set(name, value);
      const headers = { origin: shop.url };
      const answer = await fetch(shop.url, { method: "POST", headers, body, redirect: "manual" });
      return [answer.headers.get("location"), answer.headers.has("set-cookie")];
    };
    const answers = await Promise.all([send(anna.email), send(anna.email)]);
    assert.deepEqual(answers, [
      ["/member", true],
      ["/member", true],
    ]);
    assert.equal((await shop.cards()).length, 1);
    assert.deepEqual(await send("bob@example.com"), [null, false]); // the form is used up, and Anna's stays hers
  });

  it("ends when it is told to, though a page listens", { timeout: 20_000 }, async (test) => {
    const shop = await openShop(test);
    const { page, text, signUp } = await visitor(test, shop);
    const listening = page.waitForResponse((response) => response.url().includes("/member/changes"));
    await signUp();
    await text("Nothing yet");
    await listening;
    await shop.end();
  });

  it("gives nobody the account of somebody else", async (test) => {
    const shop = await openShop(test);
    const first = await visitor(test, shop);
    await first.signUp();
    await first.text("Hello, Anna");
    const second = await visitor(test, shop);
    await second.signUp({ email: "ANNA@example.com" });
    await second.text("There is an account with this address already.");
    await second.page.goto(`${shop.url}/member`);
    assert.equal(new URL(second.page.url()).pathname, "/");
    await first.page.click(".plain");
    await first.page.waitForSelector(".sign-up");
    assert.equal((await shop.cards()).length, 1);
  });

  for (const [scheme, width] of [
    ["light", 1280],
    ["dark", 360],
  ]) {
    it(`has no serious finding of axe and fits the screen: ${scheme}, ${width} px`, async (test) => {
      const shop = await openShop(test);
      const { page, text, signUp, photograph } = await visitor(test, shop, { scheme, width, height: 800 });
      const looksGood = async (name) => {
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document));
        const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        assert.deepEqual([name, serious.map(({ id, nodes }) => `${id}: ${nodes[0].html}`)], [name, []]);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, name);
        await photograph(`${name}-${scheme}-${width}`);
      };
      await looksGood("sign-up");
      await signUp({ phone: "12" });
      await text("The phone number is not valid.");
      await looksGood("refused");
      await signUp({}, { news: true });
      await text("Nothing yet");
      const [card] = await shop.cards();
      shop.service.cards.purchase(card.id, { points: 1250 });
      await shown(page, ".history", "+1,250");
      await shown(page, ".level", "Captain");
      await looksGood("member");
      await page.goto(`${shop.url}/privacy`);
      await looksGood("privacy");
    });
  }
});

/** What a reader reads in a picture of the element. */
async function read(page, element) {
  const base64 = await element.screenshot({ encoding: "base64" });
  const { data, width, height } = await page.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return {
      data: [...canvas.getImageData(0, 0, image.width, image.height).data],
      width: image.width,
      height: image.height,
    };
  }, base64);
  return jsQR(Uint8ClampedArray.from(data), width, height)?.data;
}
