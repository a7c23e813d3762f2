/**
 * A shop with an outbox in a separate process, which crash.ts kills and starts again: Express with
 * SQLite, or Fastify with PostgreSQL.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { ensureOutboxTables, postgresOutbox } from "@loyalty-cards/issuing-outbox/postgres";

const { framework, port, file, databaseUrl, schema, baseUrl, apiKey, template } = JSON.parse(
  process.argv[2],
);
/** Short, because the entries of a killed process wait until its lease ends. */
const client = createIssuingClient({ baseUrl, apiKey, timeoutMs: 1_000, deadlineMs: 2_000 });
const log = () => {};

function inSqlite() {
  const onIssued = ({ userId, cardId }, database) => {
    database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId);
  };
  const outbox = sqliteOutbox({ client, file, log, onIssued });
  return {
    outbox,
    save: (form) =>
      outbox.write((database) => {
        database.prepare("INSERT INTO users (id) VALUES (?)").run(form.userId);
        outbox.add(database, { ...form, template });
      }),
    readUsers: () =>
      outbox.write((database) => database.prepare("SELECT id, card FROM users").all()),
    close: () => outbox.close(),
  };
}

async function inPostgres() {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    options: `-c search_path=${schema}`,
    max: 4,
  });
  pool.on("error", () => {}); // an idle connection was closed
  await ensureOutboxTables(pool);
  const onIssued = ({ userId, cardId }, transaction) =>
    transaction.query("UPDATE users SET card = $1 WHERE id = $2", [cardId, userId]);
  const outbox = postgresOutbox({ client, pool, log, onIssued });
  return {
    outbox,
    save: (form) =>
      outbox.write(async (transaction) => {
        await transaction.query("INSERT INTO users (id) VALUES ($1)", [form.userId]);
        await outbox.add(transaction, { ...form, template });
      }),
    readUsers: async () => (await pool.query("SELECT id, card FROM users")).rows,
    async close() {
      await outbox.close();
      await pool.end();
    },
  };
}

/** The same three addresses in each framework. */
const frameworks = {
  async express(addresses) {
    const { default: express } = await import("express");
    const app = express().use(express.json());
    app.post("/", async ({ body }, response) => response.json(await addresses.signUp(body)));
    app.get("/counts", async (_request, response) => response.json(await addresses.count()));
    app.get("/report", async (_request, response) => response.json(await addresses.report()));
    await once(createServer(app).listen(port, "127.0.0.1"), "listening");
  },
  async fastify(addresses) {
    const { default: fastify } = await import("fastify");
    const app = fastify();
    app.post("/", ({ body }) => addresses.signUp(body));
    app.get("/counts", () => addresses.count());
    app.get("/report", () => addresses.report());
    await app.listen({ port, host: "127.0.0.1" });
  },
};

const { outbox, save, readUsers, close } = await (file === undefined ? inPostgres() : inSqlite());
outbox.work({ pollMs: 200 });
process.once("SIGTERM", async () => {
  await close();
  process.exit();
});
await frameworks[framework]({
  /**
   * The user is saved with the card that is owed. The response shows the card when it is issued in
   * time.
   */
  async signUp(form) {
    await save(form);
    return outbox.issue(form.userId, { deadlineMs: 200 });
  },
  count: () => outbox.count(),
  async report() {
    const entries = [];
    for await (const { userId, state, cardId } of outbox.list())
      entries.push({ userId, state, cardId });
    return { users: await readUsers(), entries };
  },
});
console.log("listening");
