/** The main paths of an outbox in a SQLite file. */
import { Worker } from "node:worker_threads";
import { getProcessId } from "@loyalty-cards/internal/node-lock";
import { type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { expect, it, onTestFinished } from "vitest";
import { createNetwork, nextPhone, openShop, scratchFile, template, toRequest } from "./shop.ts";

it("issues the card of a sign-up and stores it with the user in one transaction", async () => {
  const { outbox, signUp, getCardOf, requests } = openShop();
  expect(await signUp("1")).toBe("added");
  expect(await outbox.get(1)).toMatchObject({ userId: "1", template, state: "waiting", attempts: 0 });
  const entry = await outbox.issue(1);
  expect(entry).toMatchObject({ state: "issued", attempts: 1, isDelivered: true });
  expect(entry.card?.id).toBe(entry.cardId);
  expect(getCardOf("1")).toBe(entry.cardId);
  expect(requests).toHaveLength(1);
  expect(await outbox.count()).toMatchObject({ waiting: 0, issued: 1, undelivered: 0, paused: [] });
});

// G2
it("adds neither the user nor the entry when the transaction is rolled back", async () => {
  const { outbox, database } = openShop();
  const failed = outbox.write((own) => {
    own.prepare("INSERT INTO users (id) VALUES ('1')").run();
    outbox.add(own, { userId: 1, template, request: toRequest({ phone: nextPhone() }) });
    throw new Error("The name is taken.");
  });
  await expect(failed).rejects.toThrow("The name is taken.");
  expect(await outbox.get(1)).toBeUndefined();
  expect(database.prepare("SELECT count(*) AS users FROM users").get()).toMatchObject({ users: 0 });
});

it("issues the cards of a list with drain, each once", async () => {
  const { outbox, requests } = openShop();
  const list = Array.from({ length: 1_000 }, (_, userId) => ({
    userId,
    template,
    request: toRequest({ phone: nextPhone() }),
  }));
  expect(await outbox.addAll(list)).toEqual({ added: 1_000, known: 0 });
  expect(await outbox.addAll(list.slice(0, 10))).toEqual({ added: 0, known: 10 });
  expect(await outbox.drain()).toMatchObject({ waiting: 0, issued: 1_000 });
  expect(new Set(requests.map(({ key }) => key)).size).toBe(1_000);
  expect(requests).toHaveLength(1_000);
});

it("sends the same bytes again after a lost response, and issues one card", async () => {
  const { outbox, signUp, weather, requests, getCardOf } = openShop();
  await signUp("1");
  weather.push("lost");
  expect(await outbox.issue(1)).toMatchObject({ state: "issued", attempts: 2 });
  expect(requests).toHaveLength(2);
  expect(requests[0]).toEqual(requests[1]);
  expect(getCardOf("1")).not.toBeNull();
});

it.each([
  ["at once when the process that sent it has ended", 2 ** 22 + 1, 2],
  ["after the lease while the process that sent it is running", process.pid, 0],
])("sends an entry, and the next one of its contact, %s", async (_, pid, issued) => {
  const shop = openShop();
  const request = toRequest({ phone: nextPhone() });
  await shop.signUp("1", request);
  await shop.signUp("2", request);
  const lease = `${getProcessId().replace(/^\d+/, String(pid))}_1`;
  const leaseEndsAt = Date.now() + 60_000;
  // What a process has recorded that sends the first one.
  shop.database.prepare("UPDATE issuing_outbox_entries SET due_at = ?").run(leaseEndsAt);
  shop.database
    .prepare(
      "UPDATE issuing_outbox_entries SET work = 1, lease = ?, first_attempt_at = ? WHERE user_id = '1'",
    )
    .run(lease, Date.now());
  shop.database.exec(
    "UPDATE issuing_outbox_entries SET blocked_by = (SELECT max(phone) FROM issuing_outbox_requests) WHERE user_id = '2'",
  );
  shop.database
    .prepare("INSERT INTO issuing_outbox_contact_locks SELECT max(phone), ?, ? FROM issuing_outbox_requests")
    .run(lease, leaseEndsAt);
  const { outbox } = openShop(shop, { file: shop.file });
  expect(await outbox.drain()).toMatchObject({ issued });
});

it("sends entries of one contact one after another", async () => {
  const network = createNetwork();
  let running = 0;
  let maxRunning = 0;
  const { outbox } = openShop(network);
  const phone = nextPhone();
  await outbox.addAll(
    Array.from({ length: 20 }, (_, userId) => ({ userId, template, request: toRequest({ phone }) })),
  );
  for (let index = 0; index < 20; index++) {
    network.weather.push(async () => {
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      await new Promise(setImmediate);
      running -= 1;
      return "ok";
    });
  }
  expect(await outbox.drain()).toMatchObject({ issued: 20 });
  expect(maxRunning).toBe(1);
});

it("opens while another process writes at any moment of the opening", { timeout: 120_000 }, () => {
  const file = scratchFile();
  openShop(createNetwork(), { file });
  const lock = lockFromOtherThread(file, 200);
  let begun = 0;
  const open: OpenSqlite = (name) => {
    const database = openSqlite(name);
    const { exec } = database;
    database.exec = (sql) => {
      if (sql === "BEGIN IMMEDIATE") {
        begun += 1;
        lock();
      }
      return exec.call(database, sql);
    };
    return database;
  };
  openShop(createNetwork(), { file, open });
  expect(begun).toBeGreaterThanOrEqual(2); // the tables, and the settings
});

/** @returns a function that returns when the other thread has locked the file, which it unlocks after some time. */
function lockFromOtherThread(file: string, lockedMs: number): () => void {
  const state = new Int32Array(new SharedArrayBuffer(4));
  const program = `
    const { state, binding, file, lockedMs } = require("node:worker_threads").workerData;
    const database = new (binding === "libsql" ? require("libsql") : require("node:sqlite").DatabaseSync)(file);
    for (;;) {
      Atomics.wait(state, 0, 0);
      database.exec("BEGIN IMMEDIATE");
      Atomics.store(state, 0, 0);
      Atomics.notify(state, 0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockedMs);
      database.exec("COMMIT");
    }`;
  const binding = process.getBuiltinModule?.("node:sqlite") ? "node:sqlite" : "libsql";
  const worker = new Worker(program, { eval: true, workerData: { state, binding, file, lockedMs } });
  onTestFinished(async () => void (await worker.terminate()));
  return () => {
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
    Atomics.wait(state, 0, 1);
  };
}
