/** Stores, handles and remembers an event, on SQLite and on pg-boss 12, in whatever Node this is. Prints what it used. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { inboxHandler, pgBossInbox, sqliteInbox } from "../packages/webhook-inbox/dist/index.js";

const databaseUrl = process.env.DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
const used = [];
const event = (id) => ({ id, type: "ping", createdAt: "2026-01-01T00:00:00.000Z", data: {} });
const put = (inbox, made) => {
  const body = new TextEncoder().encode(JSON.stringify(made));
  return inbox.put(made, { body, receivedAt: new Date() }, { signal: new AbortController().signal });
};

const folder = mkdtempSync(join(tmpdir(), "compat-inbox-"));
const inbox = sqliteInbox({ file: join(folder, "inbox.db") });
assert.deepEqual(
  [await put(inbox, event("evt_1")), await put(inbox, event("evt_1")), await put(inbox, event("evt_2"))],
  ["stored", "duplicate", "stored"],
);
await inbox.write((database) => database.exec("CREATE TABLE effects (id TEXT)"));
await new Promise((resolve) => {
  let count = 0;
  inbox.work(({ id }, { write }) => {
    write((database) => {
      database.prepare("INSERT INTO effects VALUES (?)").run(id);
      count += 1;
      if (count === 2) setImmediate(resolve);
    });
  });
});
const effects = await inbox.write((database) => database.prepare("SELECT id FROM effects ORDER BY id").all());
assert.deepEqual(
  effects.map(({ id }) => id),
  ["evt_1", "evt_2"],
);
await inbox.close();
rmSync(folder, { recursive: true });
used.push(process.getBuiltinModule("node:sqlite") === undefined ? "libsql" : "node:sqlite");

if (Number(process.versions.node.split(".")[0]) >= 22) {
  const { PgBoss } = await import("pg-boss-12");
  const schema = `compat_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
  const boss = new PgBoss({ connectionString: databaseUrl, schema, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue("events", { retryLimit: 0 });
  const inBoss = await pgBossInbox(boss, { queue: "events", retryLimit: 0, log: () => {} });
  const copies = await Promise.all(["evt_1", "evt_1", "evt_2"].map((id) => put(inBoss, event(id))));
  assert.deepEqual(copies.sort(), ["duplicate", "stored", "stored"]);
  assert.equal((await inBoss.health()).waiting, 2);
  const handled = [];
  const all = new Promise((resolve) => {
    const handler = inboxHandler(
      ({ id }, { attempt }) => {
        handled.push([id, attempt]);
        if (handled.length === 3) resolve();
        if (id === "evt_2" && handled.length < 3) throw new Error("once");
      },
      { log: () => {} },
    );
    void boss.work("events", { pollingIntervalSeconds: 0.5 }, handler);
  });
  while ((await inBoss.health()).dead === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await put(inBoss, event("evt_1")), "duplicate");
  assert.deepEqual((await inBoss.list()).map(({ id, state }) => `${id} ${state}`).sort(), [
    "evt_1 done",
    "evt_2 dead",
  ]);
  assert.deepEqual([await inBoss.replay("evt_1"), await inBoss.replay("evt_2")], [false, true]);
  await all;
  await boss.stop({ graceful: false, close: true });
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
  used.push("pg-boss 12");
}
console.log(used.join(", "));
