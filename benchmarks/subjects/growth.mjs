/**
 * What an outbox and an inbox cost when many rows are stored: each panel fills new databases. Needs
 * a PostgreSQL, at DATABASE_URL or on the standard local port.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const sizes = [1_000, 10_000, 100_000, 1_000_000];
/** Fewer in all rounds than the smallest panel has. */
const cardsPerRound = 100;
const databaseUrl =
  process.env.DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";

export default {
  title: "Growth: rows that are stored",
  notes: [
    "µs for each call, by wall clock.",
    "Constant: leases, settling and sign-ups read the first entry of one index, by template and rank; most of their time is that of the disk.",
    "Logarithmic: `get`, `list` and `put` find a row by its id in an index.",
    "Linear: `count()` and `health()` read one index from end to end. Call them each minute, not for each request.",
  ].join(" "),
  figures: { time: { label: "µs", compare: "none" } },
  own: [],
  starts: 1,
  rounds: 5,
  panels: sizes.map((rows) => ({ name: rows.toLocaleString("en"), rows })),
  packages: ["pg"],
  async open({ rows }) {
    const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-growth-"));
    const sqlite = await openSqliteOutbox(join(folder, "outbox.db"), rows);
    const postgres = await openPostgresOutbox(rows);
    const inbox = await openInbox(join(folder, "inbox.db"), rows);
    return {
      variants: {
        ...measureOutbox("SQLite", sqlite, rows),
        ...measureOutbox("PostgreSQL", postgres, rows),
        ...inbox.variants,
      },
      async close() {
        await Promise.all([sqlite.close(), postgres.close(), inbox.close()]);
        rmSync(folder, { recursive: true });
      },
    };
  },
};

/** A client whose service responds at once. */
async function createClient() {
  const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
  const respond = async () => {
    const id = `card_${randomUUID()}`;
    return Response.json({ id, publicUrl: `http://127.0.0.1/c/${id}` }, { status: 201 });
  };
  return createIssuingClient({ baseUrl: "http://127.0.0.1", apiKey: "k", fetch: respond });
}

const consents = { privacy: { version: "1" } };
const toEntry = (userId) => ({
  userId,
  template: "t",
  request: { fieldValues: { name: "Anna" }, customer: { phone: "+48600100200", consents } },
});

function* toEntries(rows) {
  for (let index = 0; index < rows; index++) yield toEntry(`user_${index}`);
}

/** Calls `onIssued` after each card, until it is replaced. */
function createCounter() {
  const counter = { onIssued: () => {} };
  const onOutcome = ({ outcome }) => outcome === "issued" && counter.onIssued();
  return { counter, onOutcome };
}

async function openSqliteOutbox(file, rows) {
  const { sqliteOutbox } = await import("@loyalty-cards/issuing-outbox");
  const { counter, onOutcome } = createCounter();
  const outbox = sqliteOutbox({ client: await createClient(), file, onOutcome });
  await outbox.addAll(toEntries(rows));
  return { outbox, counter, close: () => outbox.close() };
}

async function openPostgresOutbox(rows) {
  const { default: pg } = await import("pg");
  const { ensureOutboxTables, postgresOutbox } = await import(
    "@loyalty-cards/issuing-outbox/postgres"
  );
  const schema = `growth_${randomUUID().replaceAll("-", "")}`;
  const options = `-c search_path=${schema}`;
  const pool = new pg.Pool({ connectionString: databaseUrl, options, max: 4 });
  await pool.query(`CREATE SCHEMA ${schema}`);
  await ensureOutboxTables(pool);
  const { counter, onOutcome } = createCounter();
  const outbox = postgresOutbox({ client: await createClient(), pool, onOutcome });
  await outbox.addAll(toEntries(rows));
  await pool.query("ANALYZE"); // as autovacuum does it
  return {
    outbox,
    counter,
    async close() {
      await outbox.close();
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
}

function measureOutbox(name, { outbox, counter }, rows) {
  const middle = `user_${rows / 2}`;
  return {
    [`${name}: lease, send, settle`]: async () => ({ time: await timeWorker(outbox, counter) }),
    [`${name}: write, add, issue`]: async () => ({
      time: await timeEach(cardsPerRound, () => signUp(outbox)),
    }),
    [`${name}: get`]: async () => ({ time: await timeEach(100, () => outbox.get(middle)) }),
    [`${name}: list, 100 from the middle`]: async () => ({
      time: await timeEach(20, async () => {
        for await (const { userId } of outbox.list({ limit: 100, after: { userId: middle } }))
          if (userId === undefined) throw new Error("An entry has no user.");
      }),
    }),
    [`${name}: count`]: async () => ({ time: await timeEach(5, () => outbox.count()) }),
  };
}

/** Of a worker that sends one after another. */
async function timeWorker(outbox, counter) {
  let left = cardsPerRound;
  let startedMs = 0;
  const worker = outbox.work({ concurrency: 1 });
  const elapsedMs = await new Promise((resolve) => {
    counter.onIssued = () => {
      if (left === cardsPerRound) startedMs = performance.now();
      if (left-- === 0) resolve(performance.now() - startedMs);
    };
  });
  counter.onIssued = () => {};
  await worker.stop();
  return (elapsedMs / cardsPerRound) * 1000;
}

async function signUp(outbox) {
  const userId = randomUUID();
  await outbox.write((transaction) => outbox.add(transaction, toEntry(userId)));
  const { state } = await outbox.issue(userId);
  if (state !== "issued") throw new Error(`The card is ${state}.`);
}

/** An inbox with processed events: copies of one. */
async function openInbox(file, rows) {
  const { sqliteInbox } = await import("@loyalty-cards/webhook-inbox");
  const inbox = sqliteInbox({ file });
  const { signal } = new AbortController();
  const put = () => {
    const event = { id: randomUUID(), type: "ping", createdAt: "2026-01-01T00:00:00Z", data: {} };
    const body = Buffer.from(JSON.stringify(event));
    return inbox.put(event, { body, receivedAt: new Date() }, { signal });
  };
  await put();
  await inbox.drain(() => {});
  await inbox.write((database) => copyEvents(database, rows));
  return {
    variants: {
      "SQLite inbox: put": async () => ({ time: await timeEach(cardsPerRound, put) }),
      "SQLite inbox: health": async () => ({ time: await timeEach(5, () => inbox.health()) }),
    },
    close: () => inbox.close(),
  };
}

function copyEvents(database, rows) {
  const table = "webhook_inbox_events";
  const columns = database
    .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE name NOT IN ('id', 'name')`)
    .all()
    .map(({ name }) => name)
    .join(", ");
  database.exec(
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
     INSERT INTO ${table} (name, ${columns})
     SELECT 'copy_' || n, ${columns} FROM ${table} CROSS JOIN numbers WHERE id = 1`,
  );
}

/** @returns microseconds for each call, one after another. */
async function timeEach(calls, call) {
  const startedMs = performance.now();
  for (let left = calls; left > 0; left--) await call();
  return ((performance.now() - startedMs) / calls) * 1000;
}
