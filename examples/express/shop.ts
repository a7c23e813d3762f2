/**
 * A shop's server: a sign-up that never fails because loyalty does, webhooks that are never lost,
 * and what a user's page shows.
 */
import { fileURLToPath } from "node:url";
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import { qrCodeSvg } from "@loyalty-cards/issuing-client/links";
import type { OutboxEntry } from "@loyalty-cards/issuing-outbox";
import { type SqliteDelivery, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import {
  type CardAdded,
  type CardRemoved,
  onEvents,
} from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express, { type ErrorRequestHandler } from "express";
import { createSignUp, openOutbox } from "./sign-up.ts";

export interface ShopSettings
  extends Record<"template" | "secret" | "file", string> {
  client: IssuingClient;
  /** Receives the lines of the outbox and of the receiver. Default: `console.error`. */
  log?: (line: string) => void;
}

/** They belong to the card: an event can arrive before the card's id is stored with the user. */
const tables = `
  CREATE TABLE IF NOT EXISTS balances (card TEXT PRIMARY KEY, balance REAL);
  CREATE TABLE IF NOT EXISTS levels (card TEXT PRIMARY KEY, level TEXT);
  CREATE TABLE IF NOT EXISTS consents (card TEXT PRIMARY KEY, marketing INTEGER);
  CREATE TABLE IF NOT EXISTS wallets
    (card TEXT, wallet TEXT, PRIMARY KEY (card, wallet));
  CREATE TABLE IF NOT EXISTS history (card TEXT, at TEXT, change REAL, level TEXT)`;

/** A user with no event yet has no balance, and the consent of the sign-up. */
const selectUser = `
  SELECT name, COALESCE(balance, 0) AS balance, level,
    COALESCE(consents.marketing, users.marketing) AS marketing
  FROM users LEFT JOIN balances USING (card) LEFT JOIN levels USING (card)
    LEFT JOIN consents USING (card)
  WHERE id = ?`;

const selectWallets =
  "SELECT wallet FROM wallets JOIN users USING (card) WHERE id = ?";

/** The newest changes of points and levels. */
const selectHistory = `
  SELECT at, change, history.level
  FROM history JOIN users USING (card)
  WHERE id = ?
  ORDER BY at DESC, change IS NOT NULL, history.rowid DESC
  LIMIT 5`;

/** The effect of an event is written once, so the history has each change once. */
const insertHistory = "INSERT INTO history VALUES (?, ?, ?, ?)";

/** Of the text beside the check box and the switch. */
const newsVersion = "2026-01-news";

export async function openShop(settings: ShopSettings) {
  const { client, template, file, ...receiver } = settings;
  // The shop's own tables, the outbox and the inbox are in one file.
  const outbox = await openOutbox(client, file, settings.log);
  const inbox = sqliteInbox({ file });
  await inbox.write((database) => database.exec(tables));
  inbox.work(
    onEvents({
      "balance.changed": (event, { write }) =>
        write((database) => {
          const { passId, balance, change } = event.data;
          const points = typeof change === "number" ? change : null;
          database
            .prepare(insertHistory)
            .run(passId, event.createdAt, points, null);
          // Events arrive in any order.
          if (!isNewest(database, `balance of ${passId}`, event)) return;
          const store = "INSERT OR REPLACE INTO balances VALUES (?, ?)";
          database.prepare(store).run(passId, balance);
        }),
      "tier.changed": (event, { write }) =>
        write((database) => {
          const { passId, tier } = event.data;
          const level = typeof tier === "string" ? tier : null;
          database.prepare(insertHistory).run(passId, event.createdAt, null, level);
          if (!isNewest(database, `level of ${passId}`, event)) return;
          const store = "INSERT OR REPLACE INTO levels VALUES (?, ?)";
          database.prepare(store).run(passId, level);
        }),
      "consent.changed": (event, { write }) =>
        write((database) => {
          const { passIds, marketingConsent } = event.data;
          const isGiven = marketingConsent === true; // it can be of any type
          const store = "INSERT OR REPLACE INTO consents VALUES (?, ?)";
          for (const card of passIds) {
            if (isNewest(database, `consent of ${card}`, event))
              database.prepare(store).run(card, Number(isGiven));
          }
        }),
      "card.added": storeWallet,
      "card.removed": storeWallet,
      otherTypes: () => {},
    }),
  );

  /** Of cards that a person found for an unknown entry: they come without their address. */
  const addresses = new Map<string, string>();
  async function readAddress({ cardId = "", publicUrl }: OutboxEntry) {
    const known = publicUrl ?? addresses.get(cardId);
    if (known !== undefined || cardId === "") return known;
    const read = client.getCard(cardId, { deadlineMs: 1_000 });
    const card = await read.catch(() => undefined); // the page asks again
    if (card !== undefined) addresses.set(cardId, card.publicUrl);
    return card?.publicUrl;
  }

  const app = express();
  // Above every parser.
  app.post("/webhooks/loyalty", expressReceiver({ ...receiver, inbox }));
  app.use(express.json(), notJson, createSignUp(client, outbox, template));
  const page = fileURLToPath(new URL("page.html", import.meta.url));
  app.get("/", (_request, response) => response.sendFile(page));
  // From the shop's own tables, so it also works while the service is down. In a real
  // shop the id comes from the session of the user.
  app.get("/users/:id", async ({ params: { id } }, response) => {
    const { user, ...lists } = await outbox.write((database) => ({
      user: database.prepare(selectUser).all(id)[0],
      wallets: database.prepare(selectWallets).all(id),
      history: database.prepare(selectHistory).all(id),
    }));
    if (user === undefined) return void response.sendStatus(404);
    const entry = await outbox.get(id);
    const publicUrl = entry && (await readAddress(entry));
    const card = publicUrl && showCard(client, publicUrl);
    response.json({ ...user, state: entry?.state, ...lists, ...card });
  });
  app.put("/users/:id/consent", async ({ body, params: { id } }, response) => {
    if (typeof body?.marketing !== "boolean") return void response.sendStatus(400);
    const { cardId } = (await outbox.get(id)) ?? {};
    if (cardId === undefined) return void response.sendStatus(404);
    const change = { marketing: body.marketing, version: newsVersion };
    try {
      await client.setConsent(cardId, change, { deadlineMs: 4_000 });
      response.sendStatus(204); // the event consent.changed follows
    } catch (error) {
      if (!isIssuingError(error)) throw error;
      response.status(503).json({ message: error.userMessage });
    }
  });
  return {
    app,
    outbox,
    async close() {
      await outbox.close();
      await inbox.close();
    },
  };
}

const storeWallet = (event: CardAdded | CardRemoved, { write }: SqliteDelivery) =>
  write((database) => {
    const { passId, wallet } = event.data;
    if (typeof wallet !== "string") return; // the service may leave it out
    if (!isNewest(database, `${wallet} of ${passId}`, event)) return;
    const store =
      event.type === "card.added"
        ? "INSERT OR IGNORE INTO wallets VALUES (?, ?)"
        : "DELETE FROM wallets WHERE card = ? AND wallet = ?";
    database.prepare(store).run(passId, wallet);
  });

const showCard = (client: IssuingClient, publicUrl: string) => ({
  links: client.cardLinks(publicUrl),
  qrCode: qrCodeSvg(publicUrl),
  code: publicUrl.slice(publicUrl.lastIndexOf("/") + 1),
});

/** Express itself would log a body that is not JSON, and so a part of a form. */
const notJson: ErrorRequestHandler = (error, _request, response, next) =>
  error.type === "entity.parse.failed"
    ? response.status(400).json({ message: "The form is not JSON." })
    : next(error);
