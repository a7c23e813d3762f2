/** Correct receivers for the doctor, in a process that it kills: `node doctor-receivers.mjs KIND PORT FILE`. Prints its port. */
import type { AddressInfo } from "node:net";
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import express from "express";
import { expressReceiver } from "../../webhook-verify/src/adapters/express.ts";
import { type BalanceChanged, onEvents, type ReceiverOptions } from "../../webhook-verify/src/index.ts";
import { sqliteInbox } from "../src/index.ts";
import { isNewest, markProcessed } from "../src/sqlite/processed.ts";

const [kind = "", port = "0", file = ""] = process.argv.slice(2);
const secret = "whsec_mock_4fZr0nXqT1";
const inbox = sqliteInbox({ file, log: () => {} });
await inbox.write((database) => {
  database.exec("CREATE TABLE IF NOT EXISTS balances (card TEXT PRIMARY KEY, balance REAL NOT NULL)");
  database.exec("CREATE TABLE IF NOT EXISTS history (card TEXT NOT NULL, event TEXT NOT NULL)");
});

function apply(database: SqliteDatabase, event: BalanceChanged): void {
  const { passId, balance } = event.data;
  database.prepare("INSERT INTO history VALUES (?, ?)").run(passId, event.id);
  if (!isNewest(database, `balance of ${passId}`, event)) return;
  database.prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)").run(passId, balance);
}

const kinds: Record<string, () => Pick<ReceiverOptions, "inbox" | "handler">> = {
  inbox() {
    inbox.work(
      onEvents({
        "balance.changed": async (event, delivery) => {
          await new Promise((resolve) => setTimeout(resolve, 30)); // a slow handler, so that a kill meets it
          delivery.write((database) => apply(database, event));
        },
        otherTypes: () => {},
      }),
      { leaseMs: 1_000, pollMs: 200 },
    );
    return { inbox };
  },
  isNewest: () => ({
    handler: onEvents({
      "balance.changed": (event) =>
        inbox.write((database) => {
          if (markProcessed(database, event)) apply(database, event);
        }),
      otherTypes: () => {},
    }),
  }),
};

const app = express();
app.post("/webhooks", expressReceiver({ secret, ...kinds[kind]?.() }));
app.get("/probe", async (request, response) => {
  const sql = `SELECT balance, (SELECT count(*) FROM history WHERE history.card = balances.card) AS effects
    FROM balances WHERE card = ?`;
  const card = await inbox.write((database) => database.prepare(sql).get(String(request.query["card"])));
  response.json(card ?? {});
});
const server = app.listen(Number(port), "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
