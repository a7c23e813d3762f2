/** A shop on one machine: a SQLite file stores each event before the 204, and its effect once. */
// #region one-machine
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";

export async function createApp(secret: string, file: string) {
  const inbox = sqliteInbox({ file });
  // rejects when the file cannot be used
  await inbox.write((database) =>
    database.exec(
      `CREATE TABLE IF NOT EXISTS balances
        (card TEXT PRIMARY KEY, balance REAL NOT NULL)`,
    ),
  );
  inbox.work(
    onEvents({
      "balance.changed": (event, delivery) => {
        const { passId, balance } = event.data;
        // in the transaction that marks the event as done
        delivery.write((database) => {
          // events arrive in any order
          if (!isNewest(database, `balance of ${passId}`, event)) return;
          database
            .prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)")
            .run(passId, balance);
        });
      },
      otherTypes: () => {},
    }),
  );
  const app = express();
  app.post("/webhooks/loyalty", expressReceiver({ secret, inbox }));
  return { app, inbox }; // and on SIGTERM: await inbox.close()
}
// #endregion
