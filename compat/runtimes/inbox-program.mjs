/**
 * Stores, processes and deduplicates events with SQLite and with pg-boss 11 and 12, on the Node
 * that runs it. Prints what it used.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { inboxHandler, pgBossInbox, sqliteInbox } from "../../packages/webhook-inbox/dist/index.js";

const databaseUrl =
  process.env.DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
const used = []; // printed at the end
const createEvent = (id) => ({ id, type: "ping", createdAt: "2026-01-01T00:00:00.000Z", data: {} });
const put = (inbox, event) => {
  const body = new TextEncoder().encode(JSON.stringify(event));
  return inbox.put(
    event,
    { body, receivedAt: new Date() },
    { signal: new AbortController().signal },
  );
};

const folder = mkdtempSync(join(tmpdir(), "compat-inbox-"));
const inbox = sqliteInbox({ file: join(folder, "inbox.db") });
assert.equal(await put(inbox, createEvent("evt_1")), "stored");
assert.equal(await put(inbox, createEvent("evt_1")), "duplicate");
assert.equal(await put(inbox, createEvent("evt_2")), "stored");
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
const read = "SELECT group_concat(id) AS ids FROM (SELECT id FROM effects ORDER BY id)";
const { ids } = await inbox.write((database) => database.prepare(read).get());
assert.equal(ids, "evt_1,evt_2");
await inbox.close();
rmSync(folder, { recursive: true });
used.push(process.getBuiltinModule("node:sqlite") === undefined ? "libsql" : "node:sqlite");

const needsNode22 = { "pg-boss 11": "pg-boss-11", "pg-boss 12": "pg-boss" };
const isNode22 = Number(process.versions.node.split(".")[0]) >= 22;
for (const [name, module] of Object.entries(isNode22 ? needsNode22 : {})) {
  const imported = await import(module);
  const PgBoss = imported.PgBoss ?? imported.default; // named from 12 on
  const schema = `compat_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
  const boss = new PgBoss({
    connectionString: databaseUrl,
    schema,
    supervise: false,
    schedule: false,
  });
  await boss.start();
  await boss.createQueue("events");
  const inBoss = await pgBossInbox(boss, { queue: "events", log: () => {} });
  const results = await Promise.all(
    ["evt_1", "evt_1", "evt_2"].map((id) => put(inBoss, createEvent(id))),
  );
  assert.deepEqual(results.sort(), ["duplicate", "stored", "stored"]);
  const handled = [];
  await new Promise((resolve) => {
    const handler = inboxHandler(({ id }) => {
      if (handled.push(id) === 2) resolve();
    });
    void boss.work("events", { pollingIntervalSeconds: 0.5 }, handler);
  });
  await boss.offWork("events", { wait: true });
  assert.deepEqual(handled.sort(), ["evt_1", "evt_2"]);
  assert.equal(await put(inBoss, createEvent("evt_1")), "duplicate");
  await boss.stop({ graceful: false });
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
  used.push(name);
}
console.log(used.join(", "));
