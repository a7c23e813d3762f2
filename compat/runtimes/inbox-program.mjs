/** Stores, processes and deduplicates events with SQLite and with pg-boss 11 and 12, on the Node that runs it. Prints what it used. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { inboxHandler, pgBossInbox, sqliteInbox } from "../../packages/webhook-inbox/dist/index.js";

const databaseUrl = process.env.DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
const used = []; // printed at the end
const createEvent = (id) => ({ id, type: "ping", createdAt: "2026-01-01T00:00:00.000Z", data: {} });
const put = (inbox, event) => {
  const body = new TextEncoder().encode(JSON.stringify(event));
  return inbox.put(event, { body, receivedAt: new Date() }, { signal: new AbortController().signal });
};

const folder = mkdtempSync(join(tmpdir(), "compat-inbox-"));
const inbox = sqliteInbox({ file: join(folder, "inbox.db") });
assert.deepEqual(
  [
    await put(inbox, createEvent("evt_1")),
    await put(inbox, createEvent("evt_1")),
    await put(inbox, createEvent("evt_2")),
  ],
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

const majors = Number(process.versions.node.split(".")[0]) >= 22 ? [11, 12] : [];
for (const major of majors) {
  const imported = await import(`pg-boss-${major}`);
  const PgBoss = imported.PgBoss ?? imported.default; // named from 12 on
  const schema = `compat_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
  const boss = new PgBoss({ connectionString: databaseUrl, schema, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue("events", { retryLimit: 0 });
  const inBoss = await pgBossInbox(boss, { queue: "events", maxAttempts: 1, log: () => {} });
  const results = await Promise.all(["evt_1", "evt_1", "evt_2"].map((id) => put(inBoss, createEvent(id))));
  assert.deepEqual(results.sort(), ["duplicate", "stored", "stored"]);
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
  const isOver = ({ dead, waiting }) => dead === 1 && waiting === 0; // in either order
  while (!isOver(await inBoss.health())) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await put(inBoss, createEvent("evt_1")), "duplicate");
  assert.deepEqual((await inBoss.list()).map(({ id, state }) => `${id} ${state}`).sort(), [
    "evt_1 done",
    "evt_2 dead",
  ]);
  assert.deepEqual([await inBoss.replay("evt_1"), await inBoss.replay("evt_2")], [false, true]);
  await all;
  await boss.offWork("events", { wait: true });

  // A dead letter outlives pg-boss's own retention of seven days. A replay and a new delivery each give it all attempts again.
  await put(inBoss, createEvent("evt_3"));
  const failNext = async () => {
    const [job] = await boss.fetch("events", { includeMetadata: true, ignoreStartAfter: true });
    await boss.fail("events", job.id);
    return job.retryCount;
  };
  const sql = boss.getDb();
  assert.equal(await failNext(), 0);
  await sql.executeSql(`UPDATE ${schema}.job SET completed_on = completed_on - interval '13 days'`);
  await boss.supervise("events");
  assert.equal((await inBoss.health()).dead, 1);
  assert.equal(await inBoss.replay("evt_3"), true);
  assert.equal(await failNext(), 0);
  const revived = await Promise.all([put(inBoss, createEvent("evt_3")), put(inBoss, createEvent("evt_3"))]);
  assert.deepEqual(revived.sort(), ["duplicate", "stored"]);
  assert.equal(await failNext(), 0);
  assert.deepEqual(
    (await inBoss.list({ state: "dead" })).map(({ id }) => id),
    ["evt_3"],
  );
  await boss.stop({ graceful: false, close: true });
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
  used.push(`pg-boss ${major}`);
}
console.log(used.join(", "));
