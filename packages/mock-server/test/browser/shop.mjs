/** The standalone mock server as users start it, a receiver for its webhooks, calls to its API, and a page with the console open. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { openBrowser, openPage } from "../../../../compat/browser.mjs";

const bin = fileURLToPath(new URL("../../dist/bin.js", import.meta.url));

export async function openShop(test, ...args) {
  const child = spawn(process.execPath, [bin, "--port", "0", "--json", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  test.onTestFinished(async () => {
    child.kill("SIGTERM");
    await once(child, "close");
  });
  const [line] = await once(child.stdout, "data");
  const { baseUrl, apiKeys, templateId } = JSON.parse(line);

  async function call(method, path, body, key, idempotencyKey) {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...(key && { authorization: `Bearer ${key}` }),
        ...(idempotencyKey && { "idempotency-key": idempotencyKey }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  return {
    baseUrl,
    apiKeys,
    templateId,
    control: (method, path, body) => call(method, `/_mock/${path}`, body),
    issue: (customer = {}, fieldValues = {}, template = templateId, idempotencyKey = undefined) =>
      call(
        "POST",
        `/api/v1/templates/${template}/passes`,
        { fieldValues, customer: { consents: { privacy: { version: "1" } }, ...customer } },
        apiKeys.website,
        idempotencyKey,
      ),
  };
}

/** Responds 204, or the status that `respond` returns for the event's type. */
export async function openReceiver(test, respond = () => 204) {
  const server = createServer(async (request, response) => {
    request.resume();
    response.statusCode = await respond(request.headers["service-event"]);
    response.end();
  }).listen(0, "127.0.0.1");
  test.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${server.address().port}/webhooks`;
}

const consolePages = [
  "",
  "cards",
  "templates",
  "webhooks",
  "deliveries",
  "requests",
  "warnings",
  "clock",
  "faults",
  "keys",
];

/** A service with content on every page. @returns each page's address, and a selector that matches when it is complete. */
export async function openFilledShop(test, words = "Anna") {
  const shop = await openShop(test);
  const url = await openReceiver(test, (type) => (type === "card.added" ? 500 : 204));
  const template = await shop.control("POST", "templates", {
    name: words,
    fields: [
      { key: words, type: "text", label: words },
      { key: "name", type: "name", required: true },
    ],
    tiers: [
      { name: words, from: 10 },
      { name: `${words}!`, from: 1000 },
    ],
  });
  const customer = { name: words, phone: "+48600100200", email: "anna@shop.test" };
  const fieldValues = { [words]: words, name: words };
  const card = await shop.issue(customer, fieldValues, template.id, "user-7");
  await shop.issue({ ...customer, name: "Somebody else" }, fieldValues, template.id, "user-7"); // a warning
  const endpoint = await shop.control("POST", "webhooks/endpoints", {
    url: `${url}?${words}`,
    events: ["card.added", "balance.changed", "tier.changed"],
  });
  await shop.control("POST", `cards/${card.id}/purchase`, { points: 20 });
  await shop.control("PUT", `cards/${card.id}/wallets/apple`);
  await shop.control("POST", `webhooks/endpoints/${endpoint.id}/test`);
  await shop.control("POST", "api-keys", { kind: "full", name: words });
  await shop.control("POST", "faults", {
    kind: "status",
    phase: "before",
    status: 503,
    times: 9,
    match: { path: `/nowhere/${words}`, idempotencyKey: words },
  });
  const { items: deliveries } = await shop.control("POST", "wait", { delivery: { type: "card.added" } });
  return {
    shop,
    card,
    pages: [
      ...consolePages.map((page) => [`${shop.baseUrl}/console#/${page}`, "main h1"]),
      [`${shop.baseUrl}/console#/card/${card.id}`, "main .card"],
      [`${shop.baseUrl}/console#/delivery/${deliveries[0].id}`, ".marks"],
      [`${shop.baseUrl}/console#/card/nobody`, "main h1"],
      [card.publicUrl, ".qr"],
      [`${card.publicUrl}/pass.pkpass`, ".added"],
      [`${card.publicUrl}/google`, "button"],
      [`${shop.baseUrl}/`, ".start"],
      [`${shop.baseUrl}/cards/nobody`, ".lost"],
      [`${shop.baseUrl}/api/docs`, "[data-ready] .opblock"],
    ],
  };
}

/** One browser for the tests of a file. @returns functions that open a page in it. */
export function useBrowser() {
  let opened;
  beforeAll(async () => {
    opened = await openBrowser();
  });
  afterAll(() => opened.close());

  /** @param address what follows the base URL, such as `/console#/cards`. */
  async function openAt(test, shop, address, options) {
    const { page, seen } = await openPage(opened.browser, shop.baseUrl, options);
    test.onTestFinished(() => page.isClosed() || page.close());
    await page.evaluateOnNewDocument(recordActions);
    await page.goto(`${shop.baseUrl}${address}`);
    await page.bringToFront(); // only the front page receives key presses
    return { page, seen };
  }

  /** @param options `address` is what follows `/console`; `shop` is a shop that runs, by default a new one. */
  async function openConsole(test, { shop: given, address = "", ...options } = {}) {
    const shop = given ?? (await openShop(test));
    const { page, seen } = await openAt(test, shop, `/console${address}`, options);
    const setClipboard = (permissions) =>
      opened.browser.defaultBrowserContext().overridePermissions(shop.baseUrl, permissions);
    const press = (name) => page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
    return {
      shop,
      page,
      seen,
      press,
      text: (words) => page.locator(`::-p-text(${words})`).wait(),
      read: (selector) =>
        page
          .locator(selector)
          .map((element) => element.value ?? element.textContent)
          .wait(),
      field: (name, value) => page.locator(`[name="${name}"]`).fill(value),
      show: (hash) => page.goto(`${shop.baseUrl}/console#/${hash}`),
      hash: () => new URL(page.url()).hash,
      /** Clicks the link in the navigation and waits for its page. */
      async visit(name) {
        await page.locator(`#pages a::-p-text(${name})`).click();
        await page.locator(`main h1::-p-text(${name})`).wait();
      },
      count: (...expected) =>
        page.waitForFunction(
          (selector, number) => document.querySelectorAll(selector).length === number,
          {},
          ...expected,
        ),
      gone: (words) => page.waitForFunction((hidden) => !document.body.innerText.includes(hidden), {}, words),
      /** The text that a button copies. */
      async copied(name) {
        await setClipboard(["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
        await page.evaluate(() => navigator.clipboard.writeText(""));
        await press(name);
        await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
        return page.evaluate(() => navigator.clipboard.readText());
      },
      forbidClipboard: () => setClipboard([]),
      waitForTab: (path) => opened.browser.waitForTarget((target) => target.url().includes(path)),
      cleanly: () => assert.deepEqual([seen.complaints, seen.foreign], [[], []]),
    };
  }
  return { openAt, openConsole };
}

/** Records in the page which buttons and forms were shown and which were used. */
function recordActions() {
  const [offered, pressed] = [new Set(), new Set()];
  Object.assign(window, { offered, pressed });
  const getName = (element) => {
    const name = element.dataset.action ?? `form ${element.dataset.submit}`;
    const isOfThePage = name !== "copy" && element.closest("main") !== null;
    return isOfThePage ? `${document.title.split(" – ")[0]}: ${name}` : name;
  };
  const look = () => {
    for (const element of document.querySelectorAll("[data-action], [data-submit]"))
      offered.add(getName(element));
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  for (const type of ["click", "submit"]) {
    const use = (event) => {
      const element = event.target.closest(type === "click" ? "[data-action]" : "[data-submit]");
      if (element !== null && event.isTrusted) pressed.add(getName(element));
    };
    document.addEventListener(type, use, true);
  }
}
