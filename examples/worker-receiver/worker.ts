/** A Worker that receives the webhooks: each event goes to the object of its card, and is answered when it is kept there. */
import type { DurableObjectNamespace } from "@cloudflare/workers-types";
import { isKnownEvent, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { Hono } from "hono";

export { LoyaltyCard } from "./loyalty-card.ts";

interface Env {
  CARDS: DurableObjectNamespace;
  LOYALTY_SIGNING_SECRET: string;
}

const app = new Hono<{ Bindings: Env }>();

app.post("/webhooks/loyalty", ({ env, req }) =>
  fetchReceiver({ secret: env.LOYALTY_SIGNING_SECRET, inbox: { put: (event) => put(env, event) } })(req.raw),
);

/** One object per card: the id of an event alone would put all events of a shop in a queue. */
async function put({ CARDS }: Env, event: WebhookEvent): Promise<"stored" | "duplicate"> {
  const init = { method: "POST", body: JSON.stringify(event) };
  const kept = await Promise.all(
    cardsOf(event).map(async (cardId) => {
      const answer = await CARDS.get(CARDS.idFromName(cardId)).fetch("https://card/events", init);
      if (!answer.ok) throw new Error(`The object of a card answered ${answer.status}.`); // 503, and it comes again
      return answer.text();
    }),
  );
  return kept.length > 0 && kept.every((what) => what === "duplicate") ? "duplicate" : "stored";
}

/** A consent belongs to all cards of a customer; a ping to none. What has other data than expected is in the log. */
function cardsOf(event: WebhookEvent): string[] {
  if (!isKnownEvent(event)) return [];
  if (event.type === "balance.changed" || event.type === "tier.changed") return [event.data.passId];
  return event.type === "consent.changed" ? event.data.passIds : [];
}

/** For your own pages. A real shop asks first who wants to know. */
app.get("/cards/:id", async ({ env, req, json }) => {
  const card = env.CARDS.get(env.CARDS.idFromName(req.param("id")));
  return json(await (await card.fetch("https://card/")).json());
});

export default app;
