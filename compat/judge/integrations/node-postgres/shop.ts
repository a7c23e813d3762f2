/** A shop on node:http and PostgreSQL, with pg-boss: written from the READMEs and guides of the packages. */
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { createIssuingClient, type IssueCardRequest } from "@loyalty-cards/issuing-client";
import { ensureTables as ensureOutbox, postgresOutbox } from "@loyalty-cards/issuing-outbox/postgres";
import { inboxHandler, pgBossInbox } from "@loyalty-cards/webhook-inbox";
import {
  ensureTables as ensureInbox,
  isNewest,
  markProcessed,
  withPgTransaction,
} from "@loyalty-cards/webhook-inbox/postgres";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import pg from "pg";
import PgBoss from "pg-boss";

const { DATABASE_URL = "", LOYALTY_TEMPLATE_ID = "", LOYALTY_SIGNING_SECRET = "", PORT } = process.env;

const pool = new pg.Pool({ connectionString: DATABASE_URL });
pool.on("error", ({ name }) => console.error(name));
await ensureOutbox(pool);
await ensureInbox(pool);
await pool.query(`
  CREATE TABLE IF NOT EXISTS customers (id text PRIMARY KEY, email text UNIQUE NOT NULL, pass text);
  CREATE TABLE IF NOT EXISTS passes (id text PRIMARY KEY, balance float NOT NULL, visits int NOT NULL)`);

const outbox = postgresOutbox({
  client: createIssuingClient(),
  pool,
  onIssued: ({ userId, cardId }, transaction) =>
    transaction.query("UPDATE customers SET pass = $1 WHERE id = $2", [cardId, userId]),
});
outbox.work();

// A job of a killed process starts again at the first maintenance after its lease.
const boss = new PgBoss({ connectionString: DATABASE_URL, maintenanceIntervalSeconds: 10 });
boss.on("error", ({ name }) => console.error(name));
await boss.start();
await boss.createQueue("loyalty", { name: "loyalty", expireInSeconds: 30 });
const inbox = await pgBossInbox(boss, { queue: "loyalty" });
await boss.work(
  "loyalty",
  { batchSize: 50, pollingIntervalSeconds: 0.5 },
  inboxHandler(
    onEvents({
      "balance.changed": (event) =>
        withPgTransaction(pool, async (transaction) => {
          if (!(await markProcessed(transaction, event))) return;
          const { passId, balance } = event.data;
          const count = `INSERT INTO passes VALUES ($1, 0, 1)
            ON CONFLICT (id) DO UPDATE SET visits = passes.visits + 1`;
          await transaction.query(count, [passId]);
          if (!(await isNewest(transaction, `balance of ${passId}`, event))) return;
          await transaction.query("UPDATE passes SET balance = $2 WHERE id = $1", [passId, balance]);
        }),
      otherTypes: () => {},
    }),
  ),
);
const receive = nodeReceiver({ secret: LOYALTY_SIGNING_SECRET, inbox });

interface Form {
  fullName: string;
  mail: string;
  mobile: string;
}

async function signUp({ fullName: name, mail: email, mobile: phone }: Form) {
  const consents = { privacy: { version: "2026-01" } };
  const request: IssueCardRequest = {
    fieldValues: { name },
    customer: { name, email, phone, consents },
  };
  const userId = await outbox.write(async (transaction) => {
    const insert = `INSERT INTO customers (id, email) VALUES ($1, lower($2))
      ON CONFLICT (email) DO UPDATE SET email = excluded.email RETURNING id`;
    const { rows } = await transaction.query(insert, [crypto.randomUUID(), email]);
    const [{ id }] = rows as [{ id: string }];
    const state = await outbox.add(transaction, { userId: id, template: LOYALTY_TEMPLATE_ID, request });
    if (state === "rejected") await outbox.correct(transaction, id, request);
    return id;
  });
  const { state, cardId, error } = await outbox.issue(userId, { deadlineMs: 5_000 });
  if (state === "rejected") return { status: 422, body: { error: error?.userMessage } };
  return { status: cardId === undefined ? 202 : 201, body: { cardId } };
}

const listCustomers = async () => {
  const list = `SELECT email, pass, balance, COALESCE(visits, 0) AS visits
    FROM customers LEFT JOIN passes ON passes.id = pass`;
  return { status: 200, body: { data: { customers: (await pool.query(list)).rows } } };
};

const server = createServer(async (request, response) => {
  if (request.url === "/webhooks") return void receive(request, response);
  try {
    const { status, body } =
      request.method === "POST" && request.url === "/customers"
        ? await signUp((await json(request)) as Form)
        : request.url === "/customers"
          ? await listCustomers()
          : { status: 404, body: {} };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  } catch (error) {
    console.error((error as Error).name);
    response.writeHead(500).end();
  }
});
server.listen(Number(PORT));
