/**
 * The Next example in a browser: with and without scripts, while the service works and while it
 * fails.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@loyalty-cards/testing/free-port";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startMockServer } from "../../packages/mock-server/dist/node.js";
import { findViolations, openBrowser, openPage, readQrCode } from "../browser.mjs";
import { installExample, startNext } from "./project.mjs";

const anna = { name: "Anna Kowalska", phone: "600 100 200", email: "anna@example.com" };

let project;
let browser;
beforeAll(async () => {
  project = installExample("next");
  project.run("npx", ["next", "build"]);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  project?.remove();
});

let shops = 0;
/** A shop with its own database file and mock service. */
async function openNextShop(test) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const seed = JSON.parse(readFileSync(join(project.folder, "mock.json"), "utf8"));
  const endpoints = seed.endpoints.map((endpoint) => ({
    ...endpoint,
    url: `${url}/webhooks/loyalty`,
  }));
  const mock = await startMockServer({ ...seed, endpoints });
  const { service } = mock;
  shops += 1;
  const settings = {
    SHOP_FILE: join(project.folder, `shop-${process.pid}-${shops}.db`),
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: service.templateId,
    LOYALTY_SIGNING_SECRET: service.endpoints[0].secret,
  };
  const start = () => startNext(project.folder, port, settings);
  let server = await start();
  test.onTestFinished(async () => {
    await server.stop("SIGKILL");
    await mock.close();
  });
  return {
    url,
    service,
    async cards() {
      return (await (await fetch(`${mock.url}/_mock/cards`)).json()).items;
    },
    /** Kills the process and starts another one. */
    async crash() {
      await server.stop("SIGKILL");
      server = await start();
    },
  };
}

/** A visitor of the shop, with separate cookies. */
async function visitor(test, shop, { scripts = true, ...options } = {}) {
  const jar = await browser.createBrowserContext();
  test.onTestFinished(() => jar.close());
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
          (input, typed) => void Object.assign(input, { value: typed }),
          value,
        );
      }
      for (const name of ["privacy", ...(news ? ["news"] : [])]) {
        if (!(await page.$eval(`[name="${name}"]`, ({ checked }) => checked)))
          await page.click(`[name="${name}"]`);
      }
      await page.click(".sign-up .primary");
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

describe("the shop on Next", () => {
  it("signs up, shows the card, and updates the page with every event", async (test) => {
    const shop = await openNextShop(test);
    const { page, seen, text, signUp } = await visitor(test, shop);
    await signUp();
    await text("Hello, Anna");
    await text("Nothing yet");
    const [card] = await shop.cards();
    assert.equal(await readQrCode(page, await page.$(".code svg")), card.publicUrl);
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
    assert.deepEqual(seen.complaints, []);
  });

  it("lets the member give and withdraw the consent to marketing", async (test) => {
    const shop = await openNextShop(test);
    const { page, signUp } = await visitor(test, shop);
    await signUp({}, { news: true });
    await page.waitForSelector('.switch[aria-checked="true"]');
    const [card] = await shop.cards();
    const consent = async () => {
      const headers = { authorization: `Bearer ${shop.service.apiKeys.website}` };
      const response = await fetch(`${shop.service.baseUrl}/api/v1/passes/${card.id}/consent`, {
        headers,
      });
      return (await response.json()).marketingConsent;
    };
    assert.equal(await consent(), true);
    await page.click(".switch");
    await page.waitForSelector('.switch[aria-checked="false"]');
    assert.equal(await consent(), false);

    const match = { operation: "setConsent" };
    shop.service.faults.add({ phase: "before", kind: "status", status: 400, match });
    await page.click(".switch");
    await shown(page, ".news .error", "Nothing was changed");
    await page.waitForSelector('.switch[aria-checked="false"]');
  });

  for (const scripts of [true, false]) {
    it(`shows a validation error beside its field and keeps the input, ${scripts ? "with" : "without"} scripts`, async (test) => {
      const shop = await openNextShop(test);
      const { page, text, signUp } = await visitor(test, shop, { scripts });
      await signUp({ phone: "12" }, { news: true });
      await text("The phone number is not valid.");
      const form = await page.$eval(".sign-up", (element) => ({
        error: document.getElementById(element.phone.getAttribute("aria-describedby")).textContent,
        focused: document.activeElement.name ?? null,
        values: ["name", "phone", "email"].map((name) => element.elements[name].value),
        checked: ["privacy", "news"].map((name) => element[name].checked),
      }));
      assert.deepEqual(form, {
        error: "The phone number is not valid.",
        focused: scripts ? "phone" : null,
        values: [anna.name, "12", anna.email],
        checked: [true, true],
      });
      await signUp({}, { news: true });
      await text("Hello, Anna");
      assert.equal((await shop.cards()).length, 1);
    });
  }

  it("signs up while the service fails, and issues one card later, even after a crash", async (test) => {
    const shop = await openNextShop(test);
    const { page, text, signUp } = await visitor(test, shop);
    // The worst failure: the card is issued, but the response is an error.
    const failure = shop.service.faults.add({ phase: "after-commit", kind: "status", status: 503 });
    await signUp();
    await text("Your card is on its way");
    await shop.crash();
    shop.service.faults.remove(failure.id);
    await page.waitForSelector(".code svg", { timeout: 30_000 });
    assert.equal((await shop.cards()).length, 1);
  });

  it("shows the member that the service rejected the input later", async (test) => {
    const shop = await openNextShop(test);
    const { text, signUp } = await visitor(test, shop);
    const failure = shop.service.faults.add({ phase: "before", kind: "status", status: 503 });
    await signUp({ phone: "12" });
    await text("Your card is on its way");
    shop.service.faults.remove(failure.id);
    await text("Please ask at the counter.");
    assert.deepEqual(await shop.cards(), []);
  });

  it("shows card and points from its own database while the service fails", async (test) => {
    const shop = await openNextShop(test);
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

  it("accepts a form that is submitted twice, as one member", async (test) => {
    const shop = await openNextShop(test);
    const { page } = await visitor(test, shop, { scripts: false });
    const hidden = await page.$eval(".sign-up", (form) => [...new FormData(form)]);
    const send = async (email) => {
      const body = new FormData();
      for (const [name, value] of hidden) body.set(name, value);
      for (const [name, value] of Object.entries({ ...anna, email, privacy: "2026-01" }))
        body.set(name, value);
      const headers = { origin: shop.url };
      const response = await fetch(shop.url, { method: "POST", headers, body, redirect: "manual" });
      return [response.headers.get("location"), response.headers.has("set-cookie")];
    };
    const responses = await Promise.all([send(anna.email), send(anna.email)]);
    assert.deepEqual(responses, [
      ["/member", true],
      ["/member", true],
    ]);
    assert.equal((await shop.cards()).length, 1);
    assert.deepEqual(await send("bob@example.com"), [null, false]); // the form was used by Anna
  });

  it("rejects a sign-up with the address of another member", async (test) => {
    const shop = await openNextShop(test);
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
      const shop = await openNextShop(test);
      const { page, text, signUp } = await visitor(test, shop, { scheme, width, height: 800 });
      const looksGood = async (name) => {
        assert.deepEqual([name, await findViolations(page)], [name, []]);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, name);
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
      await shown(page, ".code", card.publicUrl.split("/").at(-1));
      assert.equal(await readQrCode(page, await page.$(".code")), card.publicUrl);
      const share = await page.evaluate(() => {
        const toWidth = (selector) =>
          document.querySelector(selector).getBoundingClientRect().width;
        return toWidth(".code path + path") / toWidth(".card");
      });
      assert.ok(share >= 0.7, `the code without its margin is ${share} of the card`);
      await looksGood("member");
    });
  }
});
