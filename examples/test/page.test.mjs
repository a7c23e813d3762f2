/** The page of the demo's shop in a browser: the sign-up, what to correct, the card and its changes, an outage. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  findViolations,
  modes,
  openBrowser,
  openPage,
  readQrCode,
  setMode,
} from "../../compat/browser.mjs";

const demo = fileURLToPath(new URL("../demo/demo.ts", import.meta.url));
const flags = ["--conditions=@loyalty-cards/source", "--import", "tsx"];
const phone = { width: 390, height: 844 };

let child;
let shop;
let join;
let mock;
let anna;
let browser;
beforeAll(async () => {
  const stdio = ["ignore", "pipe", "inherit"];
  child = spawn(process.execPath, [...flags, demo, "--keep"], { stdio });
  let text = "";
  while (!/console .*\n/.test(text)) text += await once(child.stdout, "data");
  const readAddress = (name) => text.match(new RegExp(`${name} +(http\\S+)`))[1];
  join = readAddress("club");
  shop = new URL(join).origin;
  anna = readAddress("Anna's page");
  mock = new URL(readAddress("console")).origin;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  child?.kill("SIGTERM");
});

const open = async (url) => {
  // Remembers no member of another test.
  const context = await browser.createBrowserContext();
  const { page, seen } = await openPage(context, shop, phone);
  await page.goto(url);
  await page.bringToFront(); // only the front page receives key presses
  return { page, seen };
};
/** Reads again while a page loads: `waitForFunction` of Puppeteer may wait for one that has gone. */
const waitForText = (page, text) =>
  expect
    .poll(() => page.evaluate(() => document.body.innerText), { timeout: 15_000 })
    .toContain(text);
const outage = { phase: "before", kind: "status", status: 503 };
const control = async (path, body) => {
  const init = { method: "POST", body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${mock}/_mock/${path}`, { ...init, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text && JSON.parse(text);
};
const find = async (name) =>
  (await (await fetch(`${mock}/_mock/cards?query=${name}`)).json()).items[0];

const readText = (page, selector) =>
  page.$eval(selector, ({ textContent }) => textContent.trim());
const endsOnFirstScreen = (element) =>
  element.getBoundingClientRect().bottom + scrollY <= innerHeight;
const readFocus = (page) => page.evaluate(() => document.activeElement.name);

it("asks for a name, and for a phone number or an email address, before the form is sent", async () => {
  const { page, seen } = await open(shop);
  await waitForText(page, "Enter a phone number or an email address.");
  const seesCard = await page.$eval(".sample", (card) => card.checkVisibility());
  expect(seesCard).toBe(true); // on a phone, too
  expect(await page.$eval("[type=submit]", endsOnFirstScreen)).toBe(true);
  await page.click("[type=submit]");
  await waitForText(page, "Please enter your name.");
  await page
    .locator("legend .error::-p-text(Enter a phone number or an email)")
    .wait();
  const showsExample = await page.$eval("#phone-example", (text) =>
    text.checkVisibility(),
  );
  expect(showsExample).toBe(false);
  expect(await readFocus(page)).toBe("name");
  await page.type("[name=name]", "Eva Lis");
  const holder = await page.$eval(".sample .holder", (name) => name.textContent);
  expect(holder).toBe("Eva Lis");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.name === "phone");
  const readInvalid = () =>
    page.$$eval("[aria-invalid=true]", (all) => all.map(({ name }) => name));
  expect(await readInvalid()).toEqual(["phone", "email"]);
  expect(seen.urls.filter((url) => url.includes("sign-up"))).toEqual([]);
  await page.type("[name=phone]", "600100209");
  await page.setOfflineMode(true);
  await page.keyboard.press("Enter");
  await waitForText(page, "We cannot reach the shop. Your entries are kept.");
  expect(await page.$$("legend .error")).toEqual([]);
  expect(await readInvalid()).toEqual([]);
  expect(await page.$eval("[name=phone]", ({ value }) => value)).toBe("600100209");
  await page.close();
});

it("shows what to correct beside the input, then the card, which follows a purchase", async () => {
  const { page, seen } = await open(shop);
  await page.type("[name=name]", "Clara Maj");
  await page.type("[name=phone]", "12");
  await page.click("[type=submit]");
  await waitForText(page, "The phone number is not valid.");
  await waitForText(page, "For example 600 100 200, or +48");
  expect(await readFocus(page)).toBe("phone");
  await page.locator("[name=phone]").fill("600100203");
  await page.type("[name=email]", "anna@example.com");
  await page.keyboard.press("Enter");
  await waitForText(page, "You are a member already.");
  expect(await readFocus(page)).toBe("email");
  await page.locator("[name=email]").fill("clara@example.com");
  await page.keyboard.press("Enter");
  await waitForText(page, "Show this card at the counter.");
  expect(await readText(page, "#balance")).toBe("0 points");

  const card = await find("Clara");
  expect(await readQrCode(page, await page.$("#code img"))).toBe(card.publicUrl);
  const [code, width] = await page.evaluate(() => {
    const rectangle = (selector) =>
      document.querySelector(selector).getBoundingClientRect();
    const share = rectangle("#code img").width / rectangle("#member .card").width;
    return [document.querySelector("#code").innerText.trim(), share];
  });
  expect(card.publicUrl).toMatch(new RegExp(`/${code}$`));
  expect(await page.$$eval("#code i", ({ length }) => length)).toBe(
    code.length / 4,
  );
  expect(width).toBeGreaterThan(0.7);

  const readLevels = () =>
    page.$$eval("#levels li", (items) => items.map(({ className }) => className));
  expect(await readLevels()).toEqual(["reached current", "", ""]);
  await control(`cards/${card.id}/purchase`, { points: 120 });
  await waitForText(page, "120 points");
  await waitForText(page, "Silver");
  const wallets = await page.$$eval("#wallets a", (links) =>
    links.map(({ href }) => href),
  );
  for (const href of wallets)
    expect([href, (await fetch(href)).ok]).toEqual([href, true]);
  expect(wallets).toHaveLength(2);
  await waitForText(page, "380 points to Gold");
  await expect
    .poll(() =>
      page.$$eval("#history strong", (all) => all.map((one) => one.innerText)),
    )
    .toEqual(["Your level: Silver", "+120 points"]);
  const [button] = await page.$$("#wallets img");
  expect((await button.boundingBox()).height).toBeGreaterThan(54); // not scaled down
  const progress = await page.$eval("#progress", ({ value, max }) => [value, max]);
  expect(progress).toEqual([20, 400]); // from Silver to Gold, as on the card page
  expect(await readText(page, "#ends")).toBe("100 500");
  expect(await readLevels()).toEqual(["reached", "reached current", ""]);
  await control(`cards/${card.id}/redeem`, { points: 20 });
  await waitForText(page, "−20 points");
  expect(await page.$$eval("#history .quiet", (all) => all[0].innerText)).toMatch(
    /^\d+:\d\d\s[AP]M$/, // today
  );
  const expected = /422|409/;
  expect(seen.complaints.filter((text) => !expected.test(text))).toEqual([]);
  await page.close();
});

it("says which wallets have the card", async () => {
  const { page } = await open(anna);
  const { id } = await find("Anna");
  const readWallets = () =>
    page.$$eval("#wallets > *", (all) =>
      all.map(({ innerText, firstChild }) => innerText || firstChild.alt),
    );
  const [apple, google] = ["Add to Apple Wallet", "Add to Google Wallet"];
  await expect.poll(readWallets).toEqual([apple, google]);
  const send = (method) =>
    fetch(`${mock}/_mock/cards/${id}/wallets/apple`, { method });
  await send("PUT");
  await expect.poll(readWallets).toEqual(["✓ In Apple Wallet", google]);
  expect(await findViolations(page)).toEqual([]);
  await send("DELETE");
  await expect.poll(readWallets).toEqual([apple, google]);
  await page.close();
});

it("has the same card as the card's page", async () => {
  const { page } = await open(anna);
  await waitForText(page, "Silver");
  const readLook = (card) =>
    page.$eval(card, (element) => {
      const { backgroundImage } = getComputedStyle(element);
      const [title, level] = element.querySelector(".row, header").children;
      return [backgroundImage, title.textContent, level.textContent];
    });
  const look = await readLook("#member .card");
  await page.goto((await find("Anna")).publicUrl);
  expect(await readLook(".card")).toEqual(look);
  await page.close();
});

it.each([
  ["iPhone", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)", "Apple"],
  ["Android", "Mozilla/5.0 (Linux; Android 15; Pixel 9)", "Google"],
])("shows the wallet of the phone: %s", async (_phone, userAgent, wallet) => {
  const { page } = await openPage(browser, shop, phone);
  await page.setUserAgent(userAgent);
  await page.goto(anna);
  await page.locator("#wallets img").wait();
  const titles = await page.$$eval("#wallets img", (all) =>
    all.map(({ alt }) => alt),
  );
  expect(titles).toEqual([`Add to ${wallet} Wallet`]);
  expect(await page.$eval("#wallets", endsOnFirstScreen)).toBe(true);
  await page.click("#wallets a");
  await page.locator(".back").click(); // to this page, not to the card's page of the service
  await waitForText(page, "Hello, Anna");
  await page.close();
});

it("opens the card of a member, from this browser or by the address of the page", async () => {
  const { page } = await open(anna);
  await waitForText(page, "Hello, Anna");
  await Promise.all([page.waitForNavigation(), page.click(".brand")]);
  await waitForText(page, "Hello, Anna"); // this browser knows Anna
  expect(page.url()).toBe(anna);
  await page.goto(`${shop}/#wrong`);
  await waitForText(page, "This link opens no card.");
  await page.click(".open-card");
  await waitForText(page, "Hello, Anna");
  await page.goto(join);
  await waitForText(page, "Become a member");
  await page.click(".open-card");
  await waitForText(page, "Hello, Anna");
  await page.click("#sign-out");
  await waitForText(page, "Become a member");
  await page.locator("[name=name]").fill("Anna");
  await page.type("[name=email]", "anna@example.com");
  await page.keyboard.press("Enter");
  await waitForText(page, "You are a member already.");
  await page.click("#known button");
  await page.locator("#open ::-p-text(Cancel)").click();
  expect(await page.$eval("#open", (dialog) => dialog.open)).toBe(false);
  await page.click("#known button");
  await page.type("[name=link]", anna);
  await page.keyboard.press("Enter");
  await waitForText(page, "Hello, Anna");
  await page.close();
});

it("shows the card of the last visit, or the form, before the shop responds", async () => {
  const { page } = await open(anna);
  await waitForText(page, "Hello, Anna");
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    if (!request.url().includes("/users/")) void request.continue();
  });
  await page.goto(shop);
  await waitForText(page, "Show this card at the counter.");
  await page.goto(`${shop}/#from-another-browser`);
  await waitForText(page, "Your card is being opened…");
  await page.goto(anna);
  await page.locator("#sign-out").click();
  await waitForText(page, "Become a member");
  await page.close();
});

it("says that a link opens no card, and shows the form", async () => {
  const { page } = await open(`${shop}/#nobody`);
  await waitForText(page, "This link opens no card.");
  await waitForText(page, "Become a member");
  expect(await findViolations(page)).toEqual([]);
  await page.close();
});

it("opens the rules and the privacy notice with the keyboard", async () => {
  const { page } = await open(shop);
  await waitForText(page, "Become a member");
  for (const [name, text] of [
    ["rules", "one point for each euro"],
    ["privacy", "Version 2026-01."],
  ]) {
    await page.focus(`[data-opens=${name}]`);
    await page.keyboard.press("Enter");
    await waitForText(page, text);
    for (const mode of modes.slice(2)) {
      await setMode(page, mode);
      expect([name, mode, await findViolations(page)]).toEqual([name, mode, []]);
    }
    await page.keyboard.press("Escape");
    const focused = () => document.activeElement.dataset.opens;
    expect(await page.evaluate(focused)).toBe(name);
  }
  await page.close();
});

it("gives and withdraws the consent with a switch, which shows what the service has", async () => {
  const { page } = await open(anna);
  const waitForSwitch = (isOn) =>
    page.waitForFunction(
      (on) => document.querySelector("#news:not([hidden]) input")?.checked === on,
      {},
      isOn,
    );
  const card = await find("Anna");
  const readConsent = async () => (await find("Anna")).customer.marketingConsent;
  await page.locator("#news").click();
  await expect.poll(readConsent).toBe(true);
  const readHeight = () => page.$eval("#news", ({ offsetHeight }) => offsetHeight);
  await waitForText(page, "Saved.");
  const height = await readHeight();
  await page.waitForFunction(() => !document.body.innerText.includes("Saved."));
  expect(await readHeight()).toBe(height);
  const slow = { phase: "before", kind: "latency", delayMs: 1_000, times: 2 };
  await control("faults", { ...slow, match: { operation: "setConsent" } });
  await page.focus("[name=news]");
  for (const wish of [false, true]) {
    await page.keyboard.press("Space");
    await page.keyboard.press("Space"); // while the first change is sent
    await waitForText(page, "Saved.");
    expect(await readConsent()).toBe(wish);
    await page.waitForFunction(() => document.activeElement.name === "news");
  }
  await control(`cards/${card.id}/purchase`, { points: 5 }); // the page reads the shop again
  await waitForText(page, "125 points");
  await waitForSwitch(true);
  await control("faults", outage);
  await page.locator("[name=news]").click();
  const failure = "not available right now. Please try again.";
  await waitForText(page, failure); // it may be changed: the response can be lost
  expect(await readText(page, "#news")).not.toContain("Not changed");
  await waitForSwitch(true);
  await fetch(`${mock}/_mock/faults`, { method: "DELETE" });
  await page.focus("[name=news]");
  await page.keyboard.press("Space");
  await expect.poll(readConsent).toBe(false);
  await page.waitForFunction(
    () => !document.body.innerText.includes("not available"),
  );
  await page.reload();
  await waitForSwitch(false);
  await page.close();
});

it("shows during an outage that the card is on its way, and shows the card after it", async () => {
  await control("faults", outage);
  const { page } = await open(shop);
  await page.type("[name=name]", "Dora");
  await page.type("[name=email]", "dora@example.com");
  await page.click("[type=submit]");
  await waitForText(page, "This takes longer than usual.");
  expect(await page.$eval("[type=submit]", ({ disabled }) => disabled)).toBe(true);
  await waitForText(page, "Your card is on its way");
  expect(await page.$eval("#news", (news) => news.checkVisibility())).toBe(false);
  await fetch(`${mock}/_mock/faults`, { method: "DELETE" });
  await page.waitForFunction(() => !document.querySelector("#code").hidden, {
    timeout: 60_000,
  });
  await page.close();
});

it("shows the form again when it is rejected after an outage, and then the card of the corrected form", async () => {
  const { id } = await control("faults", { ...outage, status: 429 });
  const { page, seen } = await open(shop);
  await page.type("[name=name]", "Filip Lis");
  await page.type("[name=phone]", "12");
  await page.click("[type=submit]");
  await waitForText(page, "Your card is on its way");
  await fetch(`${mock}/_mock/faults/${id}`, { method: "DELETE" });
  await waitForText(page, "Your card could not be issued.");
  await page.reload();
  await waitForText(page, "Your card could not be issued.");
  expect(await page.$eval("[name=name]", ({ value }) => value)).toBe("Filip Lis");
  await page.type("[name=phone]", "600100206");
  await page.keyboard.press("Enter");
  await waitForText(page, "Show this card at the counter.");
  expect(await readText(page, "#name")).toBe("Filip Lis");
  expect(seen.complaints).toEqual([]);
  await page.close();
});

it("sends a member whose card needs a person to the counter, and shows a card without a code", async () => {
  const { page, seen } = await open(shop);
  await page.setRequestInterception(true);
  const image = "data:image/svg+xml,";
  const buttons = { firstWalletButton: image, secondWalletButton: image };
  const links = { page: "https://cards.test/", ...buttons };
  const user = { name: "Gosia", balance: 0, wallets: [] };
  const users = {
    unknown: { ...user, state: "unknown" },
    slash: { ...user, state: "issued", links, qrCode: "<svg/>", code: "" },
  };
  page.on("request", (request) => {
    const [, id] = request.url().match(/\/users\/(.*)/) ?? [];
    const body = JSON.stringify(users[id]);
    if (id) void request.respond({ contentType: "application/json", body });
    else void request.continue();
  });
  await page.goto(`${shop}/#unknown`);
  await waitForText(page, "Please ask at the counter.");
  expect(await page.$eval("#pending", (text) => text.checkVisibility())).toBe(
    false,
  );
  await page.goto(`${shop}/#slash`);
  await waitForText(page, "Show this card at the counter.");
  expect(seen.complaints).toEqual([]);
  await page.close();
});

it("has no violations of accessibility, and fits each width, light and dark", async () => {
  for (const [url, text] of [
    [shop, "Become a member"],
    [anna, "Hello, Anna"],
  ]) {
    const { page } = await open(url);
    await waitForText(page, text);
    for (const mode of modes) {
      await setMode(page, mode);
      expect([url, mode, await findViolations(page)]).toEqual([url, mode, []]);
      const isWide = () => document.documentElement.scrollWidth > window.innerWidth;
      expect(await page.evaluate(isWide)).toBe(false);
    }
    await page.close();
  }
});
