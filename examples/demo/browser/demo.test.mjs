/** The demo's shop in a browser: sign-up, errors beside their fields, a card that comes later, and live balances. */
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

async function open(test, options) {
  // The images of the wallet buttons come from the service.
  const { page, seen } = await openPage(opened.browser, shop, options);
  test.onTestFinished(() => page.close());
  await page.goto(`${shop}/`);
  await page.bringToFront();
  return { page, seen };
}

const findError = (page, name) =>
  page.$eval(`#${name}`, (input) => [
    input.getAttribute("aria-invalid"),
    document.getElementById(input.getAttribute("aria-describedby")).textContent,
    document.activeElement === input,
  ]);

it("shows an error beside its field, and signs up with the corrected form", async (test) => {
  const { page, seen } = await open(test, { width: 390, height: 844 });
  await page.locator("#email").fill("cleo@example.com");
  await page.locator("form button").click();
  await page.locator("#privacy-error:not(:empty)").wait();
  assert.deepEqual(await findError(page, "name"), [
    "true",
    "Please enter your name.",
    true,
  ]);
  assert.deepEqual(await findError(page, "privacy"), [
    "true",
    "Please read and accept the privacy notice.",
    false,
  ]);
  await page.locator("#privacy").click();
  await page.locator("form button").click();
  // The service's message, once the form reaches it.
  await page.locator('#name-error::-p-text(Please fill in "Name".)').wait();
  for (const name of ["email", "privacy"])
    assert.deepEqual(await findError(page, name), ["false", "", false]);
  await page.locator("#name").fill("Cleo <b>Corrected</b>");
  await page.locator("form button").click();
  await page.locator(".done::-p-text(Welcome, Cleo <b>Corrected</b>.)").wait();
  await page.locator("h3::-p-text(Cleo <b>Corrected</b>)").wait();
  assert.equal(await page.$eval("#name", ({ value }) => value), "");
  assert.equal(seen.complaints.length, 2);
  for (const complaint of seen.complaints) assert.match(complaint, /422/); // Chromium logs the responses
});

it("has a privacy notice, which names the version that the form sends", async (test) => {
  const { page } = await open(test);
  const version = await page.$eval("#privacy", ({ value }) => value);
  const opening = opened.browser.waitForTarget((target) =>
    target.url().endsWith("/privacy"),
  );
  await page.locator("form a::-p-text(privacy notice)").click();
  const notice = await (await opening).page();
  test.onTestFinished(() => notice.close());
  await notice.locator(`header p::-p-text(Version ${version})`).wait();
  await notice.setViewport({ width: 1280, height: 900 });
  const lefts = await notice.$$eval("h1, main p", (all) =>
    all.map((element) => element.getBoundingClientRect().left),
  );
  assert.deepEqual([lefts.length, new Set(lefts).size], [3, 1]); // one column
});

it("shows a purchase in every open tab without a reload", async (test) => {
  const tabs = [];
  for (let number = 0; number < 7; number += 1) tabs.push(await open(test));
  const { items } = await control("GET", "cards");
  const anna = items.find(
    ({ fieldValues }) => fieldValues.name === "Anna Kowalska",
  );
  await control("POST", `cards/${anna.id}/purchase`, { points: 1130 });
  for (const { page } of tabs) {
    await page.bringToFront();
    await page.locator(".balance strong::-p-text(1,250)").wait();
  }
});

it("says that the card comes later, and shows it when the service issues it", async (test) => {
  const { page } = await open(test);
  await control("POST", "faults", {
    kind: "status",
    phase: "before",
    status: 503,
    times: 1000,
  });
  await page.locator("#name").fill("Dora Later");
  await page.locator("#privacy").click();
  await page.locator("form button").click();
  await page.locator("form button::-p-text(One moment…)").wait();
  await page.locator(".done::-p-text(Your card follows)").wait();
  await page.locator(".later h3::-p-text(Dora Later)").wait();
  await control("DELETE", "faults");
  await page
    .locator("article:not(.later) h3::-p-text(Dora Later)")
    .setTimeout(60_000)
    .wait();
  await page.locator(".done::-p-text(Your card is ready.)").wait();
});

it("has no finding of axe and fits the screen, in both colour schemes", async (test) => {
  const { page } = await open(test);
  for (const path of ["/", "/privacy"]) {
    await page.goto(shop + path);
    await page.evaluate(axe);
    if (path === "/") {
      await page.locator("form button").click();
      await page.locator("#name-error:not(:empty)").wait();
    }
    for (const mode of modes) {
      await setMode(page, mode);
      assert.deepEqual([path, mode, await findViolations(page)], [path, mode, []]);
      const [, width] = mode;
      const scrollWidth = await page.evaluate(
        () => document.documentElement.scrollWidth,
      );
      assert.ok(scrollWidth <= width, `${path} is ${scrollWidth} px wide`);
    }
  }
});
