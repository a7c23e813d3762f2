/**
 * `node --conditions=@loyalty-cards/source --import tsx tools/docs/pictures.mjs`: takes the
 * pictures of the console and of the shop, light and dark. Install compat first:
 * `npm ci --prefix compat`.
 */
import { fileURLToPath } from "node:url";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { openBrowser, openPage } from "../../compat/browser.mjs";
import { runDemo } from "../../examples/demo/demo.ts";

/**
 * Takes a picture in both colour schemes.
 * @param prepare prepares the open page; it may return the height of the picture.
 */
async function take(name, url, size, prepare) {
  for (const scheme of ["light", "dark"]) {
    const { page } = await openPage(browser, new URL(url).origin, { ...size, scheme });
    await page.setViewport({ ...size, deviceScaleFactor: 2 });
    await page.goto(url, { waitUntil: "load" });
    const height = await prepare(page);
    const file = new URL(`../../docs/diagrams/${name}-${scheme}.webp`, import.meta.url);
    await page.screenshot({
      path: fileURLToPath(file),
      quality: 85,
      clip: { x: 0, y: 0, width: size.width, height: height ?? size.height },
    });
    await page.close();
  }
}

/**
 * Runs the demo until its shop is open.
 * @returns the addresses that it prints, and what ends it.
 */
async function startDemo() {
  let stop;
  const stopped = new Promise((resolve) => {
    stop = resolve;
  });
  const addresses = {};
  await new Promise((opened) => {
    void runDemo((line) => {
      const [, name, address] = /^ +(\S.*?) {2,}(http\S+)/.exec(line) ?? [];
      addresses[name] = address;
      if (name === "console") opened();
    }, stopped);
  });
  return { addresses, stop };
}

const names = [
  "Anna Nowak",
  "Ben Carter",
  "Carla Rossi",
  "David Meyer",
  "Ewa Zielińska",
  "Farid Haddad",
];

/**
 * Starts a mock service with some members, mistakes of a website, and deliveries of which one
 * fails.
 */
async function startShop() {
  const fields = [{ key: "name", label: "Name", type: "name", required: true }];
  const mock = await startMockServer({
    port: 4010,
    templates: [{ id: "tpl_coffee", name: "Corner Coffee Club", fields }],
    endpoints: [
      { url: "http://127.0.0.1:3000/webhooks/loyalty", events: ["balance.changed", "card.added"] },
    ],
    deliver: async (request) =>
      (await request.text()).includes('"balance":140')
        ? Response.json(
            { error: "TypeError: customer is undefined at balances.ts:12" },
            { status: 500 },
          )
        : new Response(null, { status: 204 }),
    log: () => {},
  });
  const issue = (name, index, apiKey = mock.service.apiKeys.website) => {
    const email = `${name.split(" ")[0].toLowerCase()}@example.com`;
    const phone = index === 3 ? "12" : `60010020${index}`;
    const customer = { email, phone, consents: { privacy: { version: "2026-01" } } };
    return createIssuingClient({ baseUrl: mock.url, apiKey })
      .issueCard(
        "tpl_coffee",
        { fieldValues: { name }, customer },
        { idempotencyKey: `user-${index}` },
      )
      .catch(() => undefined);
  };
  const cards = [];
  await issue(names[0], 0, "mock_webiste_key");
  for (const [index, name] of names.entries()) cards.push((await issue(name, index))?.id);
  await issue(names[0], 0); // a form that is sent twice
  mock.service.faults.add({ kind: "status", phase: "before", status: 503, times: 1 });
  await issue("Greta Olsen", names.length); // the client tries again
  for (const [index, id] of cards.slice(0, 3).entries()) {
    mock.service.cards.purchase(id, { points: 120 + 10 * index });
    await mock.service.idle();
  }
  return mock;
}

const browser = await openBrowser();

const mock = await startShop();
const monitor = { width: 1440, height: 900 };
await take("console", `${mock.url}/console`, monitor, async (page) => {
  await page.locator(".status.bad::-p-text(500)").click();
  await page.locator(".detail .pre").wait();
  await page.evaluate(() => document.activeElement.blur());
  // The picture ends below the last row.
  return page.$eval(".rows", (rows) => Math.ceil(rows.getBoundingClientRect().bottom) + 28);
});
const phone = { width: 390, height: 920 };
await take("console-phone", `${mock.url}/console`, { ...phone, height: 780 }, async (page) => {
  await page.locator(".rows .row").wait();
});
await mock.close();

const { addresses, stop } = await startDemo();
await take("shop-sign-up", addresses["join the club"], phone, async (page) => {
  await page.locator("[name=name]").fill("Clara Rossi");
  await page.locator("[name=phone]").fill("600 100 203");
  await page.evaluate(() => document.activeElement.blur());
});
await take("shop-member", addresses["Anna's page"], phone, async (page) => {
  await page.locator("#code img").wait();
  await page.waitForNetworkIdle({ idleTime: 200 });
});
stop();
await browser.close();
