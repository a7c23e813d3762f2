/** What must hold in a shop that runs: each check is a sentence and a function that throws. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { balanceChanged, deliver, post } from "./deliver.mjs";
import { doors, wrongDoors } from "./doors.mjs";
import { visitUntilBroken } from "./visit.mjs";

/** `lastDoor` has a task left when the shop is told to end; a shop can be told once only. */
export function checksOf({ service, shop, backOffice, endpoints, withProxy, lastDoor }) {
  const checks = [];
  const check = (sentence, run) => checks.push([sentence, run]);
  const lastDelivery = (door) => {
    const { id, state, attempts } = service.webhooks.deliveries({ endpointId: endpoints[door].id }).at(-1);
    return { id, state, statuses: attempts.map(({ status }) => status) };
  };
  let cardId;

  check("a server component issues a card, one per user", async () => {
    const issued = [];
    for (const _time of [1, 2]) {
      const page = await (await fetch(`${shop.url}/join/user-1`)).text();
      issued.push(/<output>([^<]+)<\/output>/.exec(page)?.[1]);
    }
    cardId = issued[0];
    assert.equal(service.cards.get(cardId).fieldValues.name, "Anna");
    assert.equal(issued[1], cardId);
  });

  check("a server action issues a card", async () => {
    const page = await (await fetch(`${shop.url}/join`)).text();
    const body = new FormData();
    body.set(/name="(\$ACTION_ID_[^"]+)"/.exec(page)[1], "");
    body.set("user", "user-2");
    const headers = { origin: shop.url };
    const answer = await fetch(`${shop.url}/join`, { method: "POST", headers, body, redirect: "manual" });
    const card = new URL(answer.headers.get("location"), shop.url).searchParams.get("card");
    assert.equal(service.cards.get(card).fieldValues.name, "Berta");
  });

  check("a route of the edge runtime issues a card", async () => {
    const body = JSON.stringify({ user: "user-3" });
    const answer = await fetch(`${shop.url}/api/join`, { method: "POST", body });
    assert.equal(answer.headers.get("passed-proxy"), withProxy ? "yes" : null);
    const issued = await answer.json();
    assert.equal(service.cards.get(issued.cardId).fieldValues.name, "Cecilia");
  });

  check("a client component that imports the client breaks its page, and the console says why", async () => {
    const { text, errors } = await visitUntilBroken(shop.folder, `${shop.url}/mistake`);
    assert.match(errors.join("\n"), /must not run in a browser\. Call it on your server/);
    assert.match(text, /This page couldn.t load/);
  });

  check("no script of a page holds the client", () => {
    const folder = join(shop.folder, shop.name, "static");
    const scripts = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".js"));
    const holding = (pattern) =>
      scripts.filter((file) => pattern.test(readFileSync(join(folder, file), "utf8")));
    assert.equal(holding(/must not run in a browser/).length, 1);
    assert.deepEqual(holding(/idempotency-key/i), []);
  });

  check("a purchase is delivered to every door, and accepted typed", async () => {
    service.cards.purchase(cardId, { points: 120 });
    await service.idle();
    for (const door of Object.keys(doors)) {
      const { state, statuses } = lastDelivery(door);
      assert.deepEqual([state, ...statuses], ["delivered", 204], door);
    }
    assert.equal(backOffice.times({ what: "saved", cardId, balance: 120 }), Object.keys(doors).length);
    await backOffice.hears({ what: "thanked", cardId }, { atLeast: Object.keys(doors).length });
  });

  check("a body that somebody read before is a 500, and the log names the fix", async () => {
    for (const [path, fix] of Object.entries(wrongDoors)) {
      const { state, statuses } = lastDelivery(path);
      assert.deepEqual([state, ...statuses], ["pending", 500], path);
      await shop.says(fix);
    }
  });

  check("a duplicate is 204, and accepted once", async () => {
    for (const door of Object.keys(doors)) {
      service.webhooks.resend(lastDelivery(door).id);
      await service.idle();
      assert.equal(lastDelivery(door).statuses.at(-1), 204, door);
    }
    assert.equal(backOffice.times({ what: "saved", cardId }), Object.keys(doors).length);
  });

  for (const [door, { path, allow, waitsForBody }] of Object.entries(doors)) {
    const url = `${shop.url}${path}`;
    const { secret } = endpoints[door];
    const cardOf = (name) => `card_${door}_${name}`;
    const text = (name, data) => JSON.stringify(balanceChanged(cardOf(name), data));
    const send = async (...how) => (await deliver(url, secret, ...how)).status;
    const timesSaved = (name) => backOffice.times({ what: "saved", cardId: cardOf(name) });

    check(`${door}: a changed byte is 401`, async () => {
      const body = text("changed");
      assert.equal(await send(body, { sent: body.replace('"balance":12', '"balance":92') }), 401);
      assert.equal(timesSaved("changed"), 0);
    });

    check(`${door}: the bytes are verified as they came`, async () => {
      const odd = text("odd").replace('"balance":12', '"note":"\\u00e9 é 🎉 \\/","balance":1.20e1');
      assert.equal(await send(` ${odd}\r\n`), 204);
      assert.equal(timesSaved("odd"), 1);
    });

    check(`${door}: half a megabyte arrives whole`, async () => {
      const note = "é".repeat(256 * 1024);
      assert.equal(await send(text("large", { note })), 204);
      assert.equal(await send(text("chunked", { note }), { chunked: true }), 204);
      assert.deepEqual([timesSaved("large"), timesSaved("chunked")], [1, 1]);
    });

    check(`${door}: a body over the limit is 413, announced or not`, async () => {
      const body = text("oversized", { note: "x".repeat(1024 * 1024) });
      // Where Next does not wait for the whole body, the answer comes at once and the connection ends.
      const announced = withProxy || waitsForBody ? {} : { sent: "{", announcedBytes: body.length };
      assert.equal(await send(body, announced), 413);
      assert.equal(await send(body, { chunked: true }), 413);
      assert.equal(timesSaved("oversized"), 0);
    });

    check(`${door}: other methods are 405`, async () => {
      for (const method of ["GET", "PUT", "DELETE"]) {
        const { status, headers } = await post(url, method, {});
        assert.deepEqual([status, headers.allow], [405, allow], method);
      }
    });

    check(`${door}: the answer does not wait for what is processed after it`, async () => {
      const release = backOffice.keepWaiting();
      const thanking = { what: "thanking", cardId: cardOf("patient") };
      const thanked = { what: "thanked", cardId: cardOf("patient") };
      assert.equal(await send(text("patient")), 204);
      await backOffice.hears(thanking);
      assert.equal(backOffice.times(thanked), 0);
      release();
      await backOffice.hears(thanked);
    });
  }

  check("nothing of this was an uncaught exception", () => {
    assert.doesNotMatch(shop.log(), /uncaught|unhandled|invalid state/i);
  });

  check(`a shop that is told to end first finishes what ${lastDoor} gave to \`after\``, async () => {
    const release = backOffice.keepWaiting();
    const cardId = "card_last";
    const body = JSON.stringify(balanceChanged(cardId));
    const { status } = await deliver(`${shop.url}${doors[lastDoor].path}`, endpoints[lastDoor].secret, body);
    assert.equal(status, 204);
    await backOffice.hears({ what: "thanking", cardId });

    const idle = connect(new URL(shop.url).port, "127.0.0.1").resume();
    idle.write("GET /join HTTP/1.1\r\nhost: shop.test\r\n\r\n");
    await once(idle, "data");
    const closed = once(idle, "close");
    const ended = shop.end();
    await closed; // it takes no more requests
    const soon = pause(1_000, "still there"); // one that waits for nothing is gone within this time
    assert.equal(await Promise.race([ended, soon]), "still there");
    release();
    await ended;
    assert.equal(backOffice.times({ what: "thanked", cardId }), 1);
  });

  return checks;
}
