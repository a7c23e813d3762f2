/** The status page in a browser: a selection survives each refresh, the outbox is operated, and both pass axe. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import express from "express";
import { afterAll, beforeAll, expect, it } from "vitest";
import { axe, openBrowser, openPage } from "../../../../compat/browser.mjs";
import { sqliteInbox } from "../../dist/index.js";
import { expressStatusPage } from "../../dist/status.js";

let opened;
beforeAll(async () => {
  opened = await openBrowser();
});
afterAll(() => opened.close());

/** An inbox with dead letters of two failures, and an outbox with users in each state. */
async function openOperations(test) {
  const folder = mkdtempSync(join(tmpdir(), "status-page-"));
  const fields = [{ key: "name", type: "name", required: true }];
  const mock = await startMockServer({ templates: [{ id: "tpl_coffee", name: "Coffee club", fields }] });
  const inbox = sqliteInbox({ file: join(folder, "inbox.db"), log: () => {} });
  const client = createIssuingClient({ baseUrl: mock.url, apiKey: mock.service.apiKeys.website });
  const outbox = sqliteOutbox({ client, file: join(folder, "shop.db"), log: () => {} });
  const app = express();
  app.use("/inbox", expressStatusPage(inbox, { authorize: "external" }));
  app.use("/outbox", expressStatusPage(outbox, { authorize: "external" }));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  test.onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await inbox.close();
    await outbox.close();
    await mock.close();
    rmSync(folder, { recursive: true });
  });

  for (let number = 0; number < 7; number += 1) {
    const event = {
      id: `evt_${number}`,
      type: "balance.changed",
      createdAt: new Date().toISOString(),
      data: { passId: "card_1", balance: number },
    };
    const body = new TextEncoder().encode(JSON.stringify(event));
    await inbox.put(event, { body, receivedAt: new Date() }, { signal: new AbortController().signal });
  }
  const worker = inbox.work(
    ({ id }) => {
      if (Number(id.slice(-1)) % 3 === 0) throw new RangeError("out of range");
      throw new TypeError("not a function");
    },
    { maxAttempts: 1 },
  );
  await expect.poll(async () => (await inbox.health()).dead).toBe(7);
  await worker.stop();

  const consents = { privacy: { version: "1" } };
  const add = (userId, name, more = {}) =>
    outbox.write((database) =>
      outbox.add(database, {
        userId,
        template: "tpl_coffee",
        request: { fieldValues: { name }, customer: { name: name || "X", consents } },
        ...more,
      }),
    );
  const firstAttemptAt = Date.now() - 25 * 3_600_000;
  await add("user-waiting", "Wanda Waiting");
  await add("user-rejected", "");
  await add("user-unknown", "Una Unknown", { firstAttemptAt });
  await outbox.issue("user-rejected");
  await outbox.issue("user-unknown");
  return { url: `http://127.0.0.1:${server.address().port}`, inbox, outbox, service: mock.url };
}

async function open(test, url, path, options) {
  const { page, seen } = await openPage(opened.browser, url, options);
  test.onTestFinished(() => page.close());
  await page.goto(`${url}/${path}`);
  await page.bringToFront();
  return { page, seen };
}

const isRefreshed = (page) => {
  const id = `seen-${Math.random()}`;
  return page
    .evaluate((mark) => {
      document.getElementById("content").dataset.mark = mark;
    }, id)
    .then(() =>
      page.waitForFunction((mark) => document.getElementById("content").dataset.mark !== mark, {}, id),
    );
};

it("keeps the selection, the focus and what is typed when it refreshes, and replays what is selected", async (test) => {
  const { url, inbox } = await openOperations(test);
  const { page, seen } = await open(test, url, "inbox");
  await page.locator('[aria-label="Select evt_1"]').click();
  await page.locator('[aria-label="Select evt_3"]').click();
  await inbox.replay("evt_2");
  await isRefreshed(page);
  assert.equal(await page.$('[aria-label="Select evt_2"]'), null);
  const state = await page.evaluate(() => [
    [...document.querySelectorAll(":checked[name=id]")].map(({ value }) => value).sort(),
    document.activeElement.getAttribute("aria-label"),
  ]);
  assert.deepEqual(state, [["evt_1", "evt_3"], "Select evt_3"]);

  await page.locator("button::-p-text(Replay selected)").click();
  await page.locator(".notice").wait();
  assert.equal((await inbox.health()).dead, 4);
  assert.equal(new URL(page.url()).search, "");
  await page.locator('button[value^="RangeError"]').click();
  await page.waitForFunction(() => !document.querySelector('button[value^="RangeError"]'));
  assert.equal((await inbox.health()).dead, 2);
  await page.locator("button::-p-text(Replay all)").click();
  await page.locator("section::-p-text(None.)").wait();
  assert.equal((await inbox.health()).dead, 0);
  assert.deepEqual([seen.complaints, seen.foreign], [[], []]);
});

it("retries, and resolves users of the outbox, and shows no personal data", async (test) => {
  const { url, outbox, service } = await openOperations(test);
  const { page, seen } = await open(test, url, "outbox", { width: 390, height: 844 });
  const text = await page.evaluate(() => document.body.innerText);
  for (const user of ["user-waiting", "user-rejected", "user-unknown"]) assert.ok(text.includes(user), user);
  assert.ok(!/Wanda|Una U/.test(await page.content()));

  await page.locator("input[name=cardId]").fill("card_found");
  await isRefreshed(page);
  assert.equal(await page.$eval("input[name=cardId]", ({ value }) => value), "card_found");
  await page.locator("::-p-text(Record the card)").click();
  await page.locator(".notice").wait();
  assert.deepEqual(
    [(await outbox.get("user-unknown")).state, (await outbox.get("user-unknown")).cardId],
    ["issued", "card_found"],
  );
  await page.locator('[aria-label="Select user-rejected"]').click();
  await (await page.$("form:has([aria-label='Select user-rejected']) .bar button")).click();
  await page.locator(".notice::-p-text(due now)").wait();
  assert.equal((await outbox.get("user-rejected")).state, "waiting");
  await outbox.drain();
  const { items } = await (await fetch(`${service}/_mock/cards`)).json();
  assert.equal(items.length, 1);
  assert.deepEqual([seen.complaints, seen.foreign], [[], []]);
});

it("works without JavaScript", async (test) => {
  const { url, outbox } = await openOperations(test);
  const { page } = await openPage(opened.browser, url);
  test.onTestFinished(() => page.close());
  await page.setJavaScriptEnabled(false);
  await page.goto(`${url}/outbox`);
  await Promise.all([page.waitForNavigation(), page.click("#refresh a")]);
  await page.click("summary");
  await Promise.all([page.waitForNavigation(), page.click('button[value="none"]')]);
  assert.equal((await outbox.get("user-unknown")).state, "waiting");
});

for (const [scheme, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 390],
  ["dark", 390],
]) {
  it(`has no finding of axe and fits the screen: ${scheme}, ${width} px`, async (test) => {
    const { url } = await openOperations(test);
    for (const path of ["inbox", "outbox"]) {
      const { page } = await open(test, url, path, { scheme, width, height: 844 });
      await page.$$eval("summary", (all) => {
        for (const summary of all) summary.click();
      });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document));
      const found = violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0].html}`);
      assert.deepEqual([path, found], [path, []]);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, path);
    }
  });
}
