/**
 * The standalone mock server as users start it, a receiver for its webhooks, calls to its API, and
 * a page with the console open.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { openBrowser, openPage } from "../../../../compat/browser.mjs";

const bin = fileURLToPath(new URL("../../dist/bin.js", import.meta.url));

export async function openStandaloneShop(test, ...args) {
  const child = spawn(process.execPath, [bin, "--port", "0", "--json", "--quiet", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  test.onTestFinished(async () => {
    child.kill("SIGTERM");
    await closed;
  });
  const stopped = closed.then(() => assert.fail("The mock server stopped. Is it built?"));
  const [line] = await Promise.race([once(child.stdout, "data"), stopped]);
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

  const control = (method, path, body) => call(method, `/_mock/${path}`, body);
  const hourMs = 3_600_000;

  return {
    baseUrl,
    apiKeys,
    templateId,
    control,
    /** Advances the clock to this hour of tomorrow (UTC), so that no test depends on the hour. */
    async advanceTo(hour) {
      const { now } = await control("GET", "clock");
      const untilMidnightMs = 24 * hourMs - (Date.parse(now) % (24 * hourMs));
      await control("POST", "clock/advance", { duration: untilMidnightMs + hour * hourMs });
    },
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

/**
 * Responds 204, or the status that `respond` returns for the event's type.
 * @param failure the body of an error.
 */
export async function openReceiver(
  test,
  respond = () => 204,
  failure = JSON.stringify({ error: "signature mismatch" }),
) {
  const server = createServer(async (request, response) => {
    request.resume();
    response.statusCode = await respond(request.headers["service-event"]);
    response.end(response.statusCode < 400 ? undefined : failure);
  }).listen(0, "127.0.0.1");
  test.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${server.address().port}/webhooks`;
}

/**
 * A service with content on every page.
 * @returns each page's address, and a selector that matches when it is complete.
 */
export async function openFilledShop(test, words = "Anna") {
  const shop = await openStandaloneShop(test);
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
  await shop.control("POST", "faults", {
    kind: "status",
    phase: "before",
    status: 503,
    times: 9,
    match: { idempotencyKey: words },
  });
  const { items: deliveries } = await shop.control("POST", "wait", {
    delivery: { type: "card.added" },
  });
  const { items: requests } = await shop.control("GET", "traffic?kind=request");
  return {
    shop,
    card,
    pages: [
      [`${shop.baseUrl}/console`, ".traffic .row"],
      [`${shop.baseUrl}/console#/?open=${deliveries[0].id}`, ".detail .tabs button"],
      [`${shop.baseUrl}/console#/?kind=request&open=${requests[0].id}`, ".detail pre"],
      [`${shop.baseUrl}/console#/?query=version`, ".found mark"],
      [`${shop.baseUrl}/console#/cards`, ".cards .row"],
      [`${shop.baseUrl}/console#/cards/${card.id}`, ".history .row"],
      [`${shop.baseUrl}/console#/cards/nobody`, "main .note"],
      [`${shop.baseUrl}/console#/setup`, ".endpoint"],
      [card.publicUrl, ".qr"],
      [`${card.publicUrl}/pass.pkpass`, ".added"],
      [`${card.publicUrl}/google`, "button"],
      [`${shop.baseUrl}/`, ".traffic .row"],
      [`${shop.baseUrl}/cards/nobody`, ".lost"],
      [`${shop.baseUrl}/api/docs`, "[data-ready] .responses"],
    ],
  };
}

/** Reads the texts of the elements until the condition is met. */
async function waitFor(page, selector, isMet, wanted) {
  const endMs = Date.now() + 15_000;
  for (;;) {
    const texts = await page.evaluate(
      (selected) =>
        [...document.querySelectorAll(selected)].map(({ innerText }) =>
          innerText.replace(/\s+/g, " "),
        ),
      selector,
    );
    if (isMet(texts)) return texts;
    assert.ok(Date.now() < endMs, `${selector}: ${wanted}, but ${JSON.stringify(texts)}`);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
}

/**
 * One browser for the tests of a file.
 * @returns a function that opens the console in it.
 */
export function useBrowser() {
  let browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  /**
   * @param options `address` is what follows `/console`; `shop` is a shop that runs, by default a
   * new one.
   */
  return async function openConsole(test, { shop: given, address = "", ...options } = {}) {
    const shop = given ?? (await openStandaloneShop(test));
    const { page, seen } = await openPage(browser, shop.baseUrl, options);
    test.onTestFinished(() => page.close());
    await page.goto(`${shop.baseUrl}/console${address}`);
    await page.bringToFront(); // only the front page receives key presses, when it has the focus
    await page.waitForFunction(() => document.hasFocus());
    const setClipboard = (permissions) =>
      browser.defaultBrowserContext().overridePermissions(shop.baseUrl, permissions);
    const press = (name) => page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
    return {
      shop,
      page,
      seen,
      press,
      /** Presses a button that asks first, and then the button of the same name in its question. */
      async confirm(name) {
        await press(name);
        await page.locator("dialog[open]").wait();
        const focused = await page.evaluate(() => document.activeElement.innerText);
        assert.equal(focused, "Cancel"); // a second Enter destroys nothing
        await press(name);
        await page.waitForFunction(() => document.querySelector("dialog[open]") === null);
      },
      text: (words) => page.locator(`::-p-text(${words})`).wait(),
      field: (name, value) => page.locator(`[name="${name}"]`).fill(value),
      search: (words) => page.locator('[type="search"]').fill(words),
      view: (name) => page.locator(`nav a::-p-text(${name})`).click(),
      hash: () => new URL(page.url()).hash,
      /** The texts of the elements, as soon as there are `number` of them. */
      texts: (selector, number) =>
        waitFor(page, selector, (found) => found.length === number, `${number} of them`),
      /** Waits until the text of the first element matches. */
      first: (selector, pattern) =>
        waitFor(page, selector, ([found = ""]) => pattern.test(found), pattern),
      /** The text that a button copies. */
      async copied(name) {
        await setClipboard(["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
        await page.evaluate(() => navigator.clipboard.writeText(""));
        await press(name);
        await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
        return page.evaluate(() => navigator.clipboard.readText());
      },
      forbidClipboard: () => setClipboard([]),
      cleanly: () => assert.deepEqual([seen.complaints, seen.foreign], [[], []]),
    };
  };
}
