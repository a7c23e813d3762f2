/** A shop's server: a sign-up that never fails because loyalty does, and webhooks that are never lost. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";
import { addSignUp, openOutbox } from "./sign-up.ts";

export interface ShopSettings
  extends Record<"url" | "key" | "template" | "secret" | "file", string> {
  /** Receives the lines of the receiver. Default: `console.error`. */
  log?: (line: string) => void;
}

export async function openShop({
  url,
  key,
  template,
  secret,
  file,
  ...options
}: ShopSettings) {
  const client = createIssuingClient({ baseUrl: url, apiKey: key });
  // The shop's own tables, the outbox and the inbox are in one file.
  const outbox = await openOutbox(client, file);
  const inbox = sqliteInbox({ file });
  await inbox.write((database) =>
    database.exec(
      `CREATE TABLE IF NOT EXISTS balances
        (card TEXT PRIMARY KEY, balance REAL NOT NULL)`,
    ),
  );
  inbox.work(
    onEvents({
      "balance.changed": (event, { write }) =>
        write((database) => {
          const { passId, balance } = event.data;
          // Events arrive in any order.
          if (!isNewest(database, passId, event)) return;
          database
            .prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)")
            .run(passId, balance);
        }),
      otherTypes: () => {},
    }),
  );

  const app = express();
  // Above every parser.
  app.post("/webhooks/loyalty", expressReceiver({ secret, inbox, ...options }));
  addSignUp(app, client, outbox, template);
  return {
    app,
    outbox,
    async close() {
      await outbox.close();
      await inbox.close();
    },
  };
}
