/** Several brands in one shop: each has its own service, key, template and signing secret. */
// #region brands
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";

export interface Brand {
  name: string;
  baseUrl: string;
  apiKey: string;
  signingSecret: string;
}

/** The table `balances` has a row for each brand and card. */
export function createApp(brands: readonly Brand[], file: string) {
  const app = express();
  const clients = new Map(
    brands.map(({ name, baseUrl, apiKey }) => [
      name,
      createIssuingClient({ baseUrl, apiKey, idempotencyNamespace: name }),
    ]),
  );
  const inboxes = brands.map(({ name, signingSecret }) => {
    const inbox = sqliteInbox({ file, source: name });
    inbox.work(
      onEvents({
        "balance.changed": (event, { write }) => {
          const { passId, balance } = event.data;
          write((database) => {
            if (!isNewest(database, `${name}: balance of ${passId}`, event)) return;
            database
              .prepare("INSERT OR REPLACE INTO balances VALUES (?, ?, ?)")
              .run(name, passId, balance);
          });
        },
        otherTypes: () => {},
      }),
    );
    app.post(
      `/webhooks/${name}`,
      expressReceiver({ secret: signingSecret, inbox }),
    );
    return inbox;
  });
  return { app, clients, inboxes };
}
// #endregion
