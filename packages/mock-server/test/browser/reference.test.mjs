/** The API reference: its forms, its search, and code that works as it is shown. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import express from "express";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  findViolations,
  modes,
  openBrowser,
  openPage,
  setMode,
} from "../../../../compat/browser.mjs";
import openapi from "../../../../openapi/generated/openapi.json" with { type: "json" };
import { createIssuingClient } from "../../../issuing-client/dist/index.js";
import { expressReceiver } from "../../../webhook-verify/dist/express.js";
import { onEvents, signWebhook } from "../../../webhook-verify/dist/index.js";
import { openStandaloneShop } from "./shop.mjs";

let browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Opens it under another name of this machine than the service knows itself by. */
async function openReference(test, hash = "") {
  const shop = await openStandaloneShop(test);
  const address = shop.baseUrl.replace("127.0.0.1", "localhost");
  const { page, seen } = await openPage(browser, address);
  test.onTestFinished(() => page.close());
  await page.goto(`${address}/api/docs${hash}`);
  await page.locator("#operations-Consent-setConsent .responses").wait();
  const readCode = (selector) =>
    page.$eval(`${selector} code-block`, (block) => block.getAttribute("text"));
  return { shop, address, page, seen, readCode };
}

const allImpacts = ["minor", "moderate", "serious", "critical"];

it("issues a card with the prefilled key and template, and then reads that card", async (test) => {
  const { shop, address, page, seen, readCode } = await openReference(test);
  const { customer } = openapi.components.examples.IssueCardRequest.value;
  await shop.issue(customer);
  const buttons = await page.$$eval("#operations-Cards-issueCard .btn", (all) =>
    all.filter((button) => button.checkVisibility()).map(({ innerText }) => innerText),
  );
  assert.deepEqual(buttons, ["Execute"]);
  await page.$eval("#operations-Cards-issueCard .execute", (button) =>
    button.scrollIntoView({ block: "end" }),
  );
  await page.locator("#operations-Cards-issueCard .execute").click();
  await page.locator("#operations-Cards-issueCard .live ::-p-text(201)").wait();
  const isHalfShown = await page.$eval("#operations-Cards-issueCard .live", (live) => {
    const { top, bottom, height } = live.getBoundingClientRect();
    return top >= 0 && Math.min(bottom, innerHeight) - top >= height / 2;
  });
  assert.ok(isHalfShown);
  const entry = await page.$eval(".live a[href*=console]", ({ href }) => href);
  const { items: requests } = await shop.control("GET", "traffic?kind=request&limit=1");
  assert.equal(entry, `${address}/console#/?open=${requests[0].id}`);
  const live = await page.$eval("#operations-Cards-issueCard .live", (each) => each.innerText);
  assert.match(live, /^201 in \d+ ms\n/);
  const received = JSON.parse(await readCode("#operations-Cards-issueCard .live"));
  const documented = openapi.components.examples.Card.value;
  for (const read of [(card) => card, ({ fieldValues }) => fieldValues])
    assert.deepEqual(Object.keys(read(received)), Object.keys(read(documented)));
  const { items: issued } = await shop.control("GET", "cards?limit=1");
  const cardPage = await page.$eval(".live a[href*='/cards/']", ({ pathname }) => pathname);
  assert.equal(cardPage, new URL(issued[0].publicUrl).pathname);
  await page.locator("#operations-Cards-getCard .execute").click();
  await page.locator("#operations-Cards-getCard .live ::-p-text(200)").wait();
  for (const mode of modes) {
    await setMode(page, mode);
    assert.deepEqual(await findViolations(page, allImpacts), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }
  await setMode(page, modes[0]);
  const { items } = await shop.control("GET", "cards");
  assert.equal(new Set(items.map(({ customerId }) => customerId)).size, 2);
  await page.locator('#operations-Cards-getCard [data-param-name="id"] input').fill("x");
  await page.keyboard.press("Backspace");
  await expect.poll(() => readCode("#operations-Cards-getCard .examples")).toMatch(/getCard\(""\)/);
  await page.locator("#operations-Cards-getCard .execute").click();
  await page.locator("#operations-Cards-getCard .validation-errors").wait();
  assert.equal(await page.$("#operations-Cards-getCard .live"), null);
  await page.locator("a::-p-text(Back to the console)").click();
  await page.locator(".traffic ::-p-text(issueCard)").wait();
  assert.deepEqual([seen.complaints, seen.foreign], [[], []]);
});

it("says that it waits for a response, and cannot be pressed meanwhile", async (test) => {
  const { shop, page } = await openReference(test);
  const operation = "#operations-Consent-getConsent";
  const { id } = await shop.issue({ phone: "600100200" });
  await page.locator(`${operation} input`).fill(id);
  const isHeld = (request) => request.url().endsWith("/consent");
  await page.setRequestInterception(true);
  page.on("request", (request) => isHeld(request) || request.continue());
  const sent = page.waitForRequest(isHeld);
  await page.bringToFront(); // only the front page receives key presses
  await page.focus(`${operation} .execute`);
  await page.keyboard.press("Enter");
  const request = await sent;
  await page.locator(`${operation} [role=status]::-p-text(Waiting for the response)`).wait();
  assert.ok(await page.$eval(`${operation} .execute`, (button) => button.disabled));
  await request.continue();
  await page.locator(`${operation} .live ::-p-text(200)`).wait();
  assert.ok(await page.$eval(`${operation} .execute`, (button) => !button.disabled));
  assert.equal(await page.$eval(`${operation} [role=status]`, ({ innerText }) => innerText), "");
  await page.keyboard.press("Tab"); // from where the button is
  const next = await page.evaluate(() => document.activeElement.closest(".live")?.className);
  assert.equal(next, "live");
  // Without a limit, because the browser repeats the request.
  await shop.control("POST", "faults", { kind: "reset", phase: "before" });
  await page.setRequestInterception(false);
  await page.locator(`${operation} .execute`).click();
  await page.locator(`${operation} .live ::-p-text(No response)`).wait();
  await page.locator(`${operation} .live ::-p-text(an injected fault cut it)`).wait();
});

it("shows a form only when Execute works, the attributes of its body, and beside it the call", async (test) => {
  const shop = await openStandaloneShop(test);
  const { page } = await openPage(browser, shop.baseUrl, { width: 1440, height: 900 });
  test.onTestFinished(() => page.close());
  await page.evaluateOnNewDocument(() => {
    const observer = new MutationObserver(() => {
      const forms = [...document.querySelectorAll("#reference .opblock")];
      globalThis.hasDeadForm ||= forms.some(
        (form) =>
          form.querySelector(".responses") === null &&
          form.querySelector(".execute")?.checkVisibility(),
      );
    });
    observer.observe(document, { childList: true, subtree: true });
  });
  await page.goto(`${shop.baseUrl}/api/docs`);
  await page.locator("#operations-Consent-setConsent .responses").wait();
  assert.equal(await page.evaluate(() => globalThis.hasDeadForm), false);
  const attributes = await page.$$eval(
    "#operations-Cards-issueCard [aria-label='Attributes of the request body'] th",
    (all) => all.filter((name) => name.checkVisibility()).map(({ innerText }) => innerText),
  );
  assert.deepEqual(attributes, [
    "fieldValues object of string | number, optional",
    "customer object",
    "customer.phone string, optional",
    "customer.email string, optional",
    "customer.name string, optional",
    "customer.consents object",
    "customer.consents.privacy object",
    "customer.consents.privacy.version string",
    "customer.consents.marketing object, optional",
    "customer.consents.marketing.version string, optional",
  ]);
  const [execute, form] = await page.$eval("#operations-Cards-issueCard .execute", (button) => {
    const form = button.closest(".opblock").getBoundingClientRect();
    return [button.getBoundingClientRect().bottom - form.top, innerHeight];
  });
  assert.ok(execute < form, `Execute is ${execute} px below the heading.`);
  const top = await page.$eval("#operations-Cards-issueCard .execute", (button) => {
    button.scrollIntoView({ block: "center", behavior: "instant" });
    return document.querySelector("#operations-Cards-issueCard pre").getBoundingClientRect().top;
  });
  assert.ok(top > 0 && top < 200, `The call is at ${top} px.`);
});

it("shows an operation on two screens at most, with its whole path and this service's address", async (test) => {
  const { address, page } = await openReference(test);
  for (const mode of modes.slice(1, 3)) {
    await setMode(page, mode);
    await page.reload();
    await page.locator("[data-ready] .responses").wait();
    const operations = await page.$$eval(".opblock", (all) =>
      all.map((element) => [element.querySelector("header").id, element.clientHeight]),
    );
    assert.equal(operations.length, 11);
    const { height: screen } = page.viewport();
    for (const [id, height] of operations) assert.ok(height < 2 * screen, `${id} has ${height} px`);
  }
  const paths = await page.$$eval("#reference header p code", (all) =>
    all.map(({ innerText }) => innerText),
  );
  assert.ok(
    paths.every((path) => path.startsWith("/api/v1/")),
    paths.join(),
  );
  const html = await page.content();
  assert.ok(html.includes(`${address}/cards/`));
  assert.ok(!html.includes(":4010"));
});

it("shows a call in TypeScript and as curl, which send what is in the form", async (test) => {
  const { shop, page, readCode } = await openReference(test);
  await page.locator('[data-param-name="Idempotency-Key"] input').fill("Eva's");
  await page.locator("#operations-Cards-issueCard .execute").click();
  await page.locator("#operations-Cards-issueCard .live").wait();
  // The form waits for the end of the input.
  await page.locator('[data-param-name="limit"] input').fill("seven");
  await expect
    .poll(() => readCode("#operations-Cards-listOperations .examples"))
    .toMatch(/\{ limit: "seven" \}/);
  await page.locator('[data-param-name="limit"] input').fill("7");
  await expect
    .poll(() => readCode("#operations-Cards-listOperations .examples"))
    .toMatch(/\{ limit: 7 \}/);
  const loyalty = createIssuingClient({ baseUrl: shop.baseUrl, apiKey: shop.apiKeys.website });
  await page.type("#operations-Cards-issueCard textarea", "x");
  await expect
    .poll(() => readCode("#operations-Cards-issueCard .examples"))
    .toBe("// The request body is not valid JSON.");
  await page.keyboard.press("Backspace");
  await expect.poll(() => readCode("#operations-Cards-issueCard .examples")).toMatch(/^const card/);
  const operations = ["Cards-issueCard", "Cards-getCard", "Cards-listOperations"];
  for (const operation of [...operations, "Consent-getConsent", "Consent-setConsent"]) {
    const code = await readCode(`#operations-${operation} .examples`);
    const [, name] = /^const (\w+) = await/.exec(code);
    const run = new Function("loyalty", `return (async () => { ${code}\nreturn ${name}; })()`);
    assert.ok(await run(loyalty), code);
    await page.locator(`#operations-${operation} .examples [role=tab]::-p-text(curl)`).click();
    const { stdout } = await promisify(execFile)("bash", [
      "-c",
      (await readCode(`#operations-${operation} .examples`)).replace(
        "curl",
        "curl --silent --fail",
      ),
    ]);
    assert.ok(JSON.parse(stdout), operation);
  }
  assert.equal((await shop.control("GET", "cards")).total, 1);
  const { items } = await shop.control("GET", "traffic?kind=request");
  const sent = items.map(({ operation, status }) => `${operation} ${status}`);
  expect(sent).toEqual(
    expect.arrayContaining(["issueCard 201", "getCard 200", "listOperations 200"]),
  );
});

it("shows the problem details of each error, and one response at a time", async (test) => {
  const { page } = await openReference(test);
  await page.locator("#operations-Cards-issueCard summary strong::-p-text(422)").click();
  const open = await page.$$eval("#operations-Cards-issueCard .documented details[open]", (all) =>
    all.map(({ innerText }) => innerText.slice(0, 3)),
  );
  assert.deepEqual(open, ["422"]);
  const errors = await page.$$eval("#operations-Cards-issueCard details details", (all) =>
    all
      .slice(1)
      .map((details) => [
        details.querySelector("strong").innerText,
        [...details.querySelectorAll("code-block")].map((block) => block.getAttribute("text")),
      ]),
  );
  assert.equal(errors.length, 8);
  for (const [status, texts] of errors)
    for (const text of texts) {
      const [head, body] = text.split("\n\n");
      assert.match(head, /^HTTP \d{3}\ncontent-type: application\/problem\+json/);
      const problem = JSON.parse(body);
      assert.ok(problem.title && problem.detail && String(problem.status)[0] === status[0], text);
    }
  assert.match(String(errors.find(([status]) => status === "429")), /retry-after: 2/);
});

it("shows a webhook as a receiver gets it, with a receiver that accepts it", async (test) => {
  const { page, readCode } = await openReference(test);
  const section = 'section[aria-labelledby="Webhooks"]';
  assert.equal(await page.$(`${section} :is(input, textarea, select, .btn)`), null);
  const code = (await readCode(section)).replaceAll(/^import .*/gm, "");
  const secret = "whsec_mock";
  const given = {
    onEvents,
    expressReceiver,
    express,
    process: { env: { LOYALTY_SIGNING_SECRET: secret } },
  };
  const program = code.replace("express()", "return express()").replace("3000", "0");
  const server = new Function(...Object.keys(given), program)(...Object.values(given));
  test.onTestFinished(() => void server.close());
  await once(server, "listening");
  const deliveries = await page.$$eval(`${section} article code-block`, (all) =>
    all.map((block) => block.getAttribute("text")),
  );
  assert.equal(deliveries.length, 6);
  for (const delivery of deliveries) {
    const [head, body] = delivery.split("\n\n");
    const event = JSON.parse(body);
    assert.match(head, new RegExp(`Service-Event: ${event.type}\nService-Delivery: .+\nService-S`));
    const { status } = await fetch(`http://127.0.0.1:${server.address().port}/webhooks/loyalty`, {
      method: "POST",
      headers: { "service-signature": await signWebhook({ rawBody: body, secret }) },
      body,
    });
    assert.equal(status, 204, event.type);
  }
  const names = await page.$$eval('[aria-label="Data of balance.changed"] th', (all) =>
    all.map(({ innerText }) => innerText),
  );
  const operation = names.filter((name) => name.startsWith("data.operation."));
  assert.deepEqual(operation, ["data.operation.id string", "data.operation.type string"]);
});

it("scrolls to the operation or the webhook in its address, and marks it", async (test) => {
  for (const hash of ["#setConsent", "#balance.changed"]) {
    const { page } = await openReference(test, hash);
    for (const load of [() => {}, () => page.reload()]) {
      await load();
      await page.locator("[data-ready] .responses").wait();
      await page.locator(`nav a[href="${hash}"][aria-current]`).wait();
      const top = await page.$eval(
        `[id="${hash.slice(1)}"]`,
        (header) => header.getBoundingClientRect().top,
      );
      assert.ok(top >= 0 && top < 40, `${hash} is at ${top} px`);
    }
  }
});

it("finds operations and webhooks by what is written in them, and marks what is on the screen", async (test) => {
  const { page } = await openReference(test);
  const list = (selector) =>
    page.$$eval(selector, (all) =>
      all.filter((link) => link.checkVisibility()).map(({ hash }) => hash),
    );
  assert.equal((await list("nav li a")).length, 11);
  await page.bringToFront(); // only the front page receives key presses
  await page.keyboard.press("/");
  assert.ok(await page.$eval("[type=search]", (search) => search.matches(":focus")));
  await page.locator("[type=search]").fill("previous tier");
  assert.deepEqual(await list("nav li a"), ["#tier.changed"]);
  const shown = await page.$$eval("h2", (all) =>
    all.filter((heading) => heading.checkVisibility()).map(({ id }) => id),
  );
  assert.deepEqual(shown, ["Webhooks"]);
  const readMarked = () => list("nav [aria-current]");
  await page.locator('nav a[href="#Webhooks"]').click();
  await expect.poll(readMarked).toEqual(["#Webhooks"]);
  await page.locator('nav a[href="#tier.changed"]').click();
  await expect.poll(readMarked).toEqual(["#tier.changed"]);
  const readFound = () =>
    page.evaluate(() => {
      const [range] = [...CSS.highlights.get("found")];
      const { top, bottom } = range.startContainer.parentElement.getBoundingClientRect();
      return [range.startContainer.data, top > 0 && bottom < innerHeight];
    });
  await page.locator("[type=search]").fill("422");
  assert.deepEqual(await readFound(), ["422", true]);
  const countMarks = () => page.evaluate(() => CSS.highlights.get("found")?.size ?? 0);
  assert.ok((await countMarks()) > 1);
  await page.locator("[type=search]").fill("about:blank");
  assert.deepEqual(await readFound(), ['"about:blank"', true]); // in a folded response
  await page.locator("[type=search]").fill("nothing like this");
  await page.locator("nav ::-p-text(Nothing found.)").wait();
  await page.locator("[type=search]").fill(" ");
  assert.equal(await countMarks(), 0);
  // What is read is in the upper third of the screen.
  await page.$eval("#getCard", (header) => {
    scrollBy(0, header.getBoundingClientRect().top - innerHeight * 0.3);
  });
  await expect.poll(readMarked).toEqual(["#getCard"]);
  await page.locator('nav a[href="#getConsent"]').click();
  await page.locator('nav a[href="#getConsent"][aria-current]').wait();
  // The last webhook cannot reach the top of the screen. The click jumps there at once.
  await page.locator('nav a[href="#ping"]').click();
  assert.equal(await page.evaluate(() => location.hash), "#ping");
  await page.locator('nav a[href="#ping"][aria-current]').wait();
  // On a phone a bar has the contents.
  await setMode(page, modes[2]);
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await page.locator("nav button::-p-text(ping)").click();
  assert.deepEqual(await findViolations(page, allImpacts), []);
  await page.locator('nav a[href="#getCard"]').click();
  await page.locator("nav button::-p-text(getCard)").wait();
  assert.equal(await page.$eval("#contents", (contents) => contents.checkVisibility()), false);
});
