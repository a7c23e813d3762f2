/** A probe for the doctor, beside the receiver of `snippets/inbox/one-machine.ts`. */
// #region probe
import type { SqliteInbox } from "@loyalty-cards/webhook-inbox";
import type { Express } from "express";

/** In development and tests only: the probe has no authentication. */
export function addProbe(app: Express, inbox: SqliteInbox) {
  app.get("/webhooks/probe", async (request, response) => {
    const sql = "SELECT balance FROM balances WHERE card = ?";
    const card = await inbox.write((database) =>
      database.prepare(sql).get(String(request.query.card)),
    );
    response.json(card ?? {});
  });
}
// #endregion
