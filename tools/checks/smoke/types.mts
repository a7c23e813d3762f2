/** Uses the published types, and exports what functions return: its declarations are emitted. */
import { createIssuingClient, defineTemplate } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { createMockService } from "@loyalty-cards/mock-server";
import { type SqliteInbox, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import {
  createReceiver,
  isKnownEvent,
  memoryDedupe,
  onEvents,
  verifyWebhook,
} from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { lambdaReceiver } from "@loyalty-cards/webhook-verify/lambda";
import { nextPagesHandler, nextRoute } from "@loyalty-cards/webhook-verify/next";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { fetch as undiciFetch } from "undici";

const club = defineTemplate<{ name: string }>("tpl_club");
const request = {
  fieldValues: { name: "Anna" },
  customer: { consents: { privacy: { version: "1" } } },
};
export const client = createIssuingClient({
  baseUrl: "https://cards.test",
  apiKey: "key",
  fetch: undiciFetch,
});
export const issued = client.issueCard(club, request, { userId: 1 });
export const name: Promise<string> = issued.then((card) => card.fieldValues.name);
// @ts-expect-error a card without a user or a key
export const unkeyed = client.issueCard(club, request, {});
export const misspelt = client.issueCard(
  club,
  // @ts-expect-error a field that the template does not have
  { ...request, fieldValues: { nmae: "Anna" } },
  { userId: 1 },
);
export const read = (id: string) => client.getCard(id);
export const page = client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
// @ts-expect-error a path that the contract does not have
export const other = client.api.GET("/passes/{id}/history", { params: { path: { id: "card_1" } } });

interface Paths {
  "/api/v1/reports": {
    get: { responses: { 200: { headers: object; content: { "application/json": string[] } } } };
  };
}
export const own = createIssuingClient<Paths>();
export const reports: Promise<string[] | undefined> = own.api
  .GET("/reports")
  .then(({ data }) => data);

export const outbox = sqliteOutbox({
  client: own,
  file: "outbox.db",
  onIssued: ({ cardId, userId }, database) =>
    database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId),
});
export const signUp = outbox.write((database) =>
  outbox.add(database, { userId: 1, template: club, request }),
);

export const verified = verifyWebhook({ rawBody: "", signature: "", secret: "s" });
export const balance = (event: Awaited<typeof verified>): number =>
  isKnownEvent(event) && event.type === "balance.changed" ? event.data.balance : 0;
// @ts-expect-error `data` of an event that was not checked
export const unchecked = (event: Awaited<typeof verified>) => event.data.balance;
export const handler = onEvents({
  "balance.changed": ({ data }) => void data.balance,
  otherTypes: () => {},
});
// @ts-expect-error a type of event that does not exist
export const unknownType = onEvents({ "balance.change": () => {}, otherTypes: () => {} });
const options = { secret: "s", handler };
export const receivers = [
  createReceiver(options),
  expressReceiver(options),
  fetchReceiver(options),
  lambdaReceiver(options),
  nextPagesHandler(options),
  nextRoute(options),
  nodeReceiver(options),
] as const;
export const dedupe = memoryDedupe();

export const inbox = sqliteInbox({ file: "inbox.db" });
export const work = (opened: SqliteInbox) =>
  opened.work(
    onEvents({
      "balance.changed": (event, delivery) =>
        delivery.write((database) => void isNewest(database, event.data.passId, event)),
      otherTypes: () => {},
    }),
  );
export const receive = nodeReceiver({ secret: "s", inbox });
export const service = createMockService();
