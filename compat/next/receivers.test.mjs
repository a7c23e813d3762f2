/**
 * The packed packages in a small shop on the real Next: built by both bundlers, started, delivered
 * to.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "@loyalty-cards/testing/free-port";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startMockServer } from "../../packages/mock-server/dist/node.js";
import { readFromRoot, readRegion } from "../../tools/docs/snippets.ts";
import { openBrowser, openPage } from "../browser.mjs";
import { balanceChanged, deliver, openBackOffice, post } from "./deliveries.mjs";
import { installExample, startNext } from "./project.mjs";

/** The routes that receive deliveries, and how they differ. */
const receivers = {
  app: { path: "/webhooks/loyalty" },
  edge: { path: "/webhooks/edge", waitsForBody: true },
  pages: { path: "/api/webhooks/loyalty", allow: "POST" },
};
/** Routes with a mistake, and what the log must say about it. */
const wrongReceivers = {
  "/webhooks/read-before": /Nothing may read the Request before nextRoute does/,
  "/api/webhooks/parsed-before": /bodyParser: false/,
};
/** `stoppedDuring`: the route that has an unfinished task when the server is stopped. */
const builds = {
  turbopack: { withProxy: false, stoppedDuring: "app" },
  webpack: { withProxy: true, stoppedDuring: "edge" },
};
const count = Object.keys(receivers).length;
const secret = "whsec_shop";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
let project;
beforeAll(() => {
  project = installExample("next", here("shop"));
  const readme = "examples/snippets/receivers/next-route.ts";
  const route = readRegion(readFromRoot(readme), readme, "next");
  const folder = join(project.folder, "app/webhooks/readme");
  mkdirSync(folder);
  writeFileSync(join(folder, "route.ts"), route);
  writeFileSync(
    join(folder, "balances.ts"),
    'export { saveBalance } from "../../../back-office";\n',
  );
  for (const [bundler, { withProxy }] of Object.entries(builds)) {
    if (withProxy) cpSync(here("proxy.ts"), join(project.folder, "proxy.ts"));
    // Types are checked in the first build.
    const settings = {
      BUILD_FOLDER: bundler,
      TYPES_WERE_CHECKED: bundler === "turbopack" ? "no" : "yes",
    };
    project.run("npx", ["next", "build", `--${bundler}`], settings);
  }
  // A build that has bundled the package does not need it any more.
  rmSync(join(project.folder, "node_modules/@loyalty-cards/issuing-client"), { recursive: true });
});
afterAll(() => project?.remove());

describe.each(Object.entries(builds))(
  "a shop built by %s",
  (bundler, { withProxy, stoppedDuring }) => {
    let [service, closeService, shop, backOffice] = [];
    let cardId;
    beforeAll(async () => {
      backOffice = await openBackOffice();
      const port = await freePort();
      const paths = [
        ...Object.values(receivers).map(({ path }) => path),
        ...Object.keys(wrongReceivers),
      ];
      const mock = await startMockServer({
        endpoints: paths.map((path) => ({
          url: `http://127.0.0.1:${port}${path}`,
          events: ["balance.changed"],
          secret,
        })),
      });
      service = mock.service;
      closeService = mock.close;
      shop = await startNext(project.folder, port, {
        BUILD_FOLDER: bundler,
        LOYALTY_SIGNING_SECRET: secret,
        LOYALTY_URL: mock.url,
        LOYALTY_API_KEY: service.apiKeys.website,
        LOYALTY_TEMPLATE_ID: service.templateId,
        BACK_OFFICE_URL: backOffice.url,
      });
    });
    afterAll(async () => {
      await shop?.stop("SIGKILL");
      await closeService?.();
      backOffice?.close();
    });

    const reported = (members, times = 1) =>
      expect.poll(() => backOffice.count(members)).toBe(times);
    const getLastDelivery = (path) => {
      const endpointId = service.endpoints.find(({ url }) => new URL(url).pathname === path).id;
      const { id, state, attempts } = service.webhooks.deliveries({ endpointId }).at(-1);
      return { id, state, statuses: attempts.map(({ status }) => status) };
    };

    it("issues one card per user from a server component", async () => {
      const issued = [];
      for (const _time of [1, 2]) {
        const page = await (await fetch(`${shop.url}/join/user-1`)).text();
        issued.push(/<output>([^<]+)<\/output>/.exec(page)?.[1]);
      }
      cardId = issued[0];
      assert.equal(service.cards.get(cardId).fieldValues.name, "Anna");
      assert.equal(issued[1], cardId);
    });

    it("issues a card from a server action", async () => {
      const page = await (await fetch(`${shop.url}/join`)).text();
      const body = new FormData();
      body.set(/name="(\$ACTION_ID_[^"]+)"/.exec(page)[1], "");
      body.set("user", "user-2");
      const headers = { origin: shop.url };
      const response = await fetch(`${shop.url}/join`, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
      });
      const card = new URL(response.headers.get("location"), shop.url).searchParams.get("card");
      assert.equal(service.cards.get(card).fieldValues.name, "Berta");
    });

    it("issues a card from a route of the edge runtime", async () => {
      const body = JSON.stringify({ user: "user-3" });
      const response = await fetch(`${shop.url}/api/join`, { method: "POST", body });
      assert.equal(response.headers.get("passed-proxy"), withProxy ? "yes" : null);
      const issued = await response.json();
      assert.equal(service.cards.get(issued.cardId).fieldValues.name, "Cecilia");
    });

    it("breaks a page whose client component imports the client, and the browser's console says why", async () => {
      const browser = await openBrowser();
      try {
        const { page, seen } = await openPage(browser, shop.url);
        await page.goto(`${shop.url}/mistake`);
        await page.locator("::-p-text(This page couldn)").wait();
        assert.match(
          seen.complaints.join("\n"),
          /must not run in a browser\. Call it on your server/,
        );
      } finally {
        await browser.close();
      }
    });

    it("has no script for pages that contains the client", () => {
      const folder = join(project.folder, bundler, "static");
      const scripts = readdirSync(folder, { recursive: true }).filter((file) =>
        file.endsWith(".js"),
      );
      const containing = (pattern) =>
        scripts.filter((file) => pattern.test(readFileSync(join(folder, file), "utf8")));
      assert.equal(containing(/must not run in a browser/).length, 1);
      assert.deepEqual(containing(/idempotency-key/i), []);
    });

    it("accepts a purchase at every receiver", async () => {
      service.cards.purchase(cardId, { points: 120 });
      await service.idle();
      for (const { path } of Object.values(receivers)) {
        const { state, statuses } = getLastDelivery(path);
        assert.deepEqual([state, ...statuses], ["delivered", 204], path);
      }
      assert.equal(backOffice.count({ what: "saved", cardId, balance: 120 }), count);
      await reported({ what: "thanked", cardId }, count);
    });

    it("accepts a delivery at the route of the README", async () => {
      const body = JSON.stringify(balanceChanged("card_readme"));
      assert.equal((await deliver(`${shop.url}/webhooks/readme`, secret, body)).status, 204);
      assert.equal(backOffice.count({ what: "saved", cardId: "card_readme" }), 1);
    });

    it("responds 500 when other code has read the body, and the log names the fix", async () => {
      for (const [path, fix] of Object.entries(wrongReceivers)) {
        const { state, statuses } = getLastDelivery(path);
        assert.deepEqual([state, ...statuses], ["pending", 500], path);
        await expect.poll(shop.log).toMatch(fix);
      }
    });

    it("responds 204 to a duplicate and does not process it again", async () => {
      for (const { path } of Object.values(receivers)) {
        service.webhooks.resend(getLastDelivery(path).id);
        await service.idle();
        assert.equal(getLastDelivery(path).statuses.at(-1), 204, path);
      }
      assert.equal(backOffice.count({ what: "saved", cardId }), count);
    });

    describe.each(Object.entries(receivers))(
      "the receiver %s",
      (receiver, { path, allow, waitsForBody }) => {
        const toCardId = (name) => `card_${receiver}_${name}`;
        const toBody = (name, data) => JSON.stringify(balanceChanged(toCardId(name), data));
        const send = async (...args) => (await deliver(shop.url + path, secret, ...args)).status;
        const timesSaved = (name) => backOffice.count({ what: "saved", cardId: toCardId(name) });

        it("responds 401 when one byte of the body differs", async () => {
          const body = toBody("changed");
          assert.equal(
            await send(body, { sent: body.replace('"balance":12', '"balance":92') }),
            401,
          );
          assert.equal(timesSaved("changed"), 0);
        });

        it("verifies the bytes as they arrived", async () => {
          const unusual = toBody("unusual").replace(
            '"balance":12',
            '"note":"\\u00e9 é 🎉 \\/","balance":1.20e1',
          );
          assert.equal(await send(` ${unusual}\r\n`), 204);
          assert.equal(timesSaved("unusual"), 1);
        });

        it("receives half a megabyte completely", async () => {
          const note = "é".repeat(256 * 1024);
          assert.equal(await send(toBody("large", { note })), 204);
          assert.equal(await send(toBody("chunked", { note }), { chunked: true }), 204);
          assert.deepEqual([timesSaved("large"), timesSaved("chunked")], [1, 1]);
        });

        it("responds 413 to a body over the limit, with and without content-length", async () => {
          const body = toBody("oversized", { note: "x".repeat(1024 * 1024) });
          // Where Next does not wait for the whole body, the response comes at once and the
          // connection closes.
          const announced =
            withProxy || waitsForBody ? {} : { sent: "{", announcedBytes: body.length };
          assert.equal(await send(body, announced), 413);
          assert.equal(await send(body, { chunked: true }), 413);
          assert.equal(timesSaved("oversized"), 0);
        });

        it("responds 405 to other methods", async () => {
          for (const method of ["GET", "PUT", "DELETE"]) {
            const { status, headers } = await post(shop.url + path, method, {});
            assert.deepEqual([status, headers.allow], [405, allow], method);
          }
        });

        it("responds before `afterResponse` has ended", async () => {
          const release = backOffice.delayResponses();
          const thanked = { what: "thanked", cardId: toCardId("slow") };
          assert.equal(await send(toBody("slow")), 204);
          await reported({ what: "thanking", cardId: toCardId("slow") });
          assert.equal(backOffice.count(thanked), 0);
          release();
          await reported(thanked);
        });
      },
    );

    it("logged no uncaught exception", () => {
      assert.doesNotMatch(shop.log(), /uncaught|unhandled|invalid state/i);
    });

    it("finishes the task that it gave to `after` before it stops", async () => {
      const release = backOffice.delayResponses();
      const lastCardId = "card_last";
      const body = JSON.stringify(balanceChanged(lastCardId));
      const { path } = receivers[stoppedDuring];
      const { status } = await deliver(shop.url + path, secret, body);
      assert.equal(status, 204);
      await reported({ what: "thanking", cardId: lastCardId });

      const idle = connect(new URL(shop.url).port, "127.0.0.1").resume();
      idle.write("GET /join HTTP/1.1\r\nhost: shop.test\r\n\r\n");
      await once(idle, "data");
      const closed = once(idle, "close");
      const stopped = shop.stop();
      await closed; // it accepts no more requests
      // A server without a task would have stopped within this time.
      assert.equal(await Promise.race([stopped, pause(1_000, "still running")]), "still running");
      release();
      await stopped;
      assert.equal(backOffice.count({ what: "thanked", cardId: lastCardId }), 1);
    });
  },
);
