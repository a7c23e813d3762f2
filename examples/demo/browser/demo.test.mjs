/** The demo's shop in a browser: sign-up, an error beside its field, a card that comes later, and live balances. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, it } from "vitest";
import {
  axe,
  findViolations,
  modes,
  openBrowser,
  openPage,
  setMode,
} from "../../../compat/browser.mjs";

const program = fileURLToPath(new URL("../main.ts", import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

let opened;
let child;
let shop;
let annasPage;
let mock;
beforeAll(async () => {
  opened = await openBrowser();
  const flags = ["--conditions=@loyalty-cards/source", "--import", tsx];
  child = spawn(process.execPath, [...flags, program, "--keep"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let text = "";
  for await (const part of child.stdout) {
    text += part;
    if (text.includes("(record a purchase)")) break;
  }
  [, shop] = /shop +(\S+)\/ +\(sign up/.exec(text);
  [, annasPage] = /Anna's page +(\S+)/.exec(text);
  [, mock] = /console +(\S+)\/console/.exec(text);
});
afterAll(async () => {
  child.kill("SIGTERM");
  await once(child, "exit");
  await opened.close();
});

async function control(method, path, body) {
  const response = await fetch(`${mock}/_mock/${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.status === 204 ? undefined : response.json();
}

async function open(test, address = `${shop}/`, options = {}) {
  const { page } = await openPage(opened.browser, shop, options);
  test.onTestFinished(() => page.close());
  await page.goto(address);
  await page.bringToFront();
  return page;
}

it("shows an error beside its field, and the card of the corrected form after a reload too", async (test) => {
  const page = await open(test, undefined, { width: 390, height: 844 });
  await page.locator("[required]").click();
  await page.locator("form button").click();
  // The service's message, once the form reaches it.
  await page.locator('#name-error::-p-text(Please fill in "Name".)').wait();
  assert.equal(
    await page.$eval("#name", (input) => document.activeElement === input),
    true,
  );
  await page.locator("#name").fill("Cleo <b>Corrected</b>");
  await page.locator("form button").click();
  await page.locator("h2::-p-text(Cleo <b>Corrected</b>)").wait();
  await page.reload();
  await page.locator("h2::-p-text(Cleo <b>Corrected</b>)").wait();
  await page.waitForFunction(() =>
    [...document.images].every(({ naturalWidth }) => naturalWidth > 0),
  );
});

it("shows a purchase without a reload, on the page of that member only", async (test) => {
  const page = await open(test, annasPage);
  const { items } = await control("GET", "cards?query=Anna");
  await control("POST", `cards/${items[0].id}/purchase`, { points: 1130 });
  await page.locator("strong::-p-text(1,250)").wait();
  const other = await open(test);
  assert.doesNotMatch(await other.content(), /Anna|1,250/);
});

it("says that the card comes later, and shows it when the service issues it", async (test) => {
  const page = await open(test);
  const fault = { kind: "status", phase: "before", status: 503, times: 1000 };
  await control("POST", "faults", fault);
  await page.locator("#name").fill("Dora Later");
  await page.locator("[required]").click();
  await page.locator("form button").click();
  await page.locator("form button::-p-text(One moment…)").wait();
  await page.locator(".state::-p-text(Your card is on its way)").wait();
  await control("DELETE", "faults");
  await page.locator(".wallets:not([hidden])").setTimeout(60_000).wait();
});

it("has no finding of axe and fits the screen, in both colour schemes", async (test) => {
  for (const address of [`${shop}/`, annasPage]) {
    const page = await open(test, address);
    await page.evaluate(axe);
    for (const mode of modes) {
      await setMode(page, mode);
      assert.deepEqual(
        [address, mode, await findViolations(page)],
        [address, mode, []],
      );
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= mode[1], `${address} is ${width} px wide`);
    }
  }
});
