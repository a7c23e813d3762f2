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
let mock;
let anna;
let browser;
beforeAll(async () => {
  const stdio = ["ignore", "pipe", "inherit"];
  child = spawn(process.execPath, [...flags, demo, "--keep"], { stdio });
  let text = "";
  while (!text.includes("join the club")) text += await once(child.stdout, "data");
  [mock, , anna, shop] = text.match(/http:\/\/[^\s]+/g);
  mock = new URL(mock).origin;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  child?.kill("SIGTERM");
});

const open = async (url) => {
  const { page, seen } = await openPage(browser, shop, phone);
  await page.goto(url);
  await page.bringToFront(); // only the front page receives key presses
  return { page, seen };
};
const waitForText = (page, text) =>
  page.waitForFunction(
    (wanted) => document.body.innerText.includes(wanted),
    {},
    text,
  );
const control = async (path, body) => {
  const init = { method: "POST", body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${mock}/_mock/${path}`, { ...init, headers });
  if (!response.ok) throw new Error(await response.text());
};
const find = async (name) =>
  (await (await fetch(`${mock}/_mock/cards?query=${name}`)).json()).items[0];

it("shows what to correct beside the input, then the card, which follows a purchase", async () => {
  const { page, seen } = await open(shop);
  await page.type("[name=email]", "clara@example.com");
  await page.click("[type=submit]");
  await waitForText(page, 'Please fill in "Name".');
  const focused = await page.evaluate(() =>
    document.activeElement.getAttribute("name"),
  );
  expect(focused).toBe("name");
  await page.type("[name=name]", "Clara Maj");
  await page.keyboard.press("Enter");
  await waitForText(page, "Show this card at the counter.");
  expect(await page.$eval("#balance", ({ textContent }) => textContent)).toBe(
    "0 points",
  );

  const card = await find("Clara");
  expect(await readQrCode(page, await page.$("#code img"))).toBe(card.publicUrl);
  const [code, width] = await page.evaluate(() => {
    const rectangle = (selector) =>
      document.querySelector(selector).getBoundingClientRect();
    const share = rectangle("#code img").width / rectangle("#member .card").width;
    return [document.querySelector("#code").innerText.trim(), share];
  });
  expect(card.publicUrl).toMatch(new RegExp(`/${code}$`));
  expect(width).toBeGreaterThan(0.7);

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
  const progress = await page.$eval("#progress", ({ value, max }) => [value, max]);
  expect(progress).toEqual([20, 400]); // from Silver to Gold, as on the card page
  expect(seen.complaints.filter((text) => !text.includes("422"))).toEqual([]);
  await page.click("#sign-out");
  await waitForText(page, "Become a member");
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
  await control(`cards/${card.id}/purchase`, { points: 5 }); // the page reads the shop again
  await waitForText(page, "125 points");
  await waitForSwitch(true);
  await control("faults", { phase: "before", kind: "status", status: 503 });
  await page.locator("[name=news]").click();
  await waitForText(page, "The loyalty service is not available right now.");
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

it("shows during an outage that the card follows, and shows the card after it", async () => {
  await control("faults", { phase: "before", kind: "status", status: 503 });
  const { page } = await open(shop);
  await page.type("[name=name]", "Dora");
  await page.type("[name=email]", "dora@example.com");
  await page.click("[type=submit]");
  await waitForText(page, "Your card follows.");
  expect(await page.$eval("#news", (news) => news.checkVisibility())).toBe(false);
  await fetch(`${mock}/_mock/faults`, { method: "DELETE" });
  await page.waitForFunction(() => !document.querySelector("#code").hidden, {
    timeout: 60_000,
  });
  await page.close();
});

it("has no violations of accessibility, and fits each width, light and dark", async () => {
  for (const url of [shop, anna]) {
    const { page } = await open(url);
    await page.waitForFunction(() => document.querySelector("#join, #member"));
    for (const mode of modes) {
      await setMode(page, mode);
      expect([url, mode, await findViolations(page)]).toEqual([url, mode, []]);
      const isWide = () => document.documentElement.scrollWidth > window.innerWidth;
      expect(await page.evaluate(isWide)).toBe(false);
    }
    await page.close();
  }
});
