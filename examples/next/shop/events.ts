/** Applies the service's events to the shop's database. */
import { isNewest, type SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { changed } from "./changes";
import { inbox } from "./database";
import { oncePerProcess } from "./loyalty";

export function workOnEvents(): void {
  oncePerProcess("events", () =>
    inbox().work(
      onEvents({
        "balance.changed": (event, delivery) =>
          delivery.write((database) =>
            set(database, event, event.data.passId, "balance", event.data.balance),
          ),
        "tier.changed": (event, delivery) =>
          delivery.write((database) => {
            const { passId, tier } = event.data; // the specification does not define the type of a level
            if (tier !== null && typeof tier !== "string")
              throw new TypeError(
                `The level in the event ${event.id} is not text.`,
              ); // kept as a dead letter
            set(database, event, passId, "tier", tier);
          }),
        "consent.changed": (event, delivery) =>
          delivery.write((database) => {
            const wantsNews = event.data.marketingConsent === true ? 1 : 0;
            for (const cardId of event.data.passIds)
              set(database, event, cardId, "wants_news", wantsNews);
          }),
        otherTypes: () => {},
      }),
    ),
  );
}

/** Runs in the transaction that completes the event. The shop may not know the card yet. */
function set(
  database: SqliteDatabase,
  event: WebhookEvent,
  cardId: string,
  column: "balance" | "tier" | "wants_news",
  value: string | number | null,
): void {
  if (!isNewest(database, `${column} of ${cardId}`, event)) return; // events arrive in any order
  database
    .prepare(
      `INSERT INTO cards (id, ${column}) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET ${column} = excluded.${column}`,
    )
    .run(cardId, value);
  const [member] = database
    .prepare("SELECT id FROM members WHERE card_id = ?")
    .all(cardId) as {
    id: string;
  }[];
  if (member !== undefined) setImmediate(() => changed(member.id)); // after the commit
}
