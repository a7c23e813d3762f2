/** The published types, library checks on: every entry but /msw, because msw's own types do not pass them. */
import { createIssuingClient, defineTemplate } from "@loyalty-cards/issuing-client";
import { cardLinks } from "@loyalty-cards/issuing-client/links";
import { type SqliteOutbox, sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { ensureTables, postgresOutbox } from "@loyalty-cards/issuing-outbox/postgres";
import { createMockService } from "@loyalty-cards/mock-server";
import { checkReceiver } from "@loyalty-cards/mock-server/doctor";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import {
  bullmqInbox,
  inboxHandler,
  pgBossInbox,
  type SqliteInbox,
  sqliteInbox,
} from "@loyalty-cards/webhook-inbox";
import { markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { isKnownEvent, onEvents, type verifyWebhook } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { koaReceiver } from "@loyalty-cards/webhook-verify/koa";
import { lambdaReceiver } from "@loyalty-cards/webhook-verify/lambda";
import { nestReceiver } from "@loyalty-cards/webhook-verify/nest";
import { nextPagesHandler, nextRoute, rawBodyConfig } from "@loyalty-cards/webhook-verify/next";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { fetch as undiciFetch } from "undici";

const club = defineTemplate<{ name: string }>("tpl_club");
const client = createIssuingClient({
  baseUrl: "https://cards.example.com",
  apiKey: "key",
  fetch: undiciFetch,
});
const request = { fieldValues: { name: "Anna" }, customer: { consents: { privacy: { version: "1" } } } };

export const name: Promise<string> = client
  .issueCard(club, request, { userId: 1 })
  .then((card) => card.fieldValues.name);
export const outbox: SqliteOutbox = sqliteOutbox({
  client,
  file: "outbox.db",
  onIssued: ({ cardId, userId }, database) =>
    database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId),
});
export const signUp = outbox.write((database) =>
  outbox.add(database, { userId: 1, template: club, request }),
);
export const button = (publicUrl: string): string => cardLinks(publicUrl).secondWalletButton;
export const page: Promise<string | undefined> = client.api
  .GET("/passes/{id}", { params: { path: { id: "card_1" } } })
  .then(({ data }) => data?.publicUrl);
// @ts-expect-error a path that the contract does not have
export const other = client.api.GET("/passes/{id}/history", { params: { path: { id: "card_1" } } });
// @ts-expect-error a path parameter of another kind
export const numbered = client.api.GET("/passes/{id}", { params: { path: { id: 1 } } });
export const balance = (event: Awaited<ReturnType<typeof verifyWebhook>>): number =>
  isKnownEvent(event) && event.type === "balance.changed" ? event.data.balance : 0;
export const handle = onEvents({ "balance.changed": ({ data }) => void data.balance, otherTypes: () => {} });
export const work = (inbox: SqliteInbox) =>
  inbox.work(
    onEvents({
      "balance.changed": (event, delivery) =>
        delivery.write((database) => void isNewest(database, event.data.passId, event)),
      otherTypes: () => {},
    }),
  );
export const receive = (inbox: SqliteInbox) => nodeReceiver({ secret: "s", inbox });
export const entries = [
  sqliteInbox,
  pgBossInbox,
  bullmqInbox,
  inboxHandler,
  markProcessed,
  ensureTables,
  postgresOutbox,
  createMockService,
  startMockServer,
  expressReceiver,
  fastifyReceiver,
  fetchReceiver,
  nextRoute,
  nextPagesHandler,
  rawBodyConfig,
  nodeReceiver,
  koaReceiver,
  nestReceiver,
  lambdaReceiver,
  checkReceiver,
];
