/** A Worker that receives webhooks: each event is stored in the Durable Object of its card before the response. */
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
  fetchReceiver({
    secret: env.LOYALTY_SIGNING_SECRET,
    inbox: { put: (event) => put(env, event) },
  })(req.raw),
);

/** One object per card, so that the events of different cards do not wait for each other. */
async function put(
  { CARDS }: Env,
  event: WebhookEvent,
): Promise<"stored" | "duplicate"> {
  const init = { method: "POST", body: JSON.stringify(event) };
  const kept = await Promise.all(
    getCardIds(event).map(async (cardId) => {
      const response = await CARDS.get(CARDS.idFromName(cardId)).fetch(
        "https://card/events",
        init,
      );
      if (!response.ok)
        throw new Error(`The object of a card responded ${response.status}.`); // 503: the service delivers again
      return response.text();
    }),
  );
  return kept.length > 0 && kept.every((what) => what === "duplicate")
    ? "duplicate"
    : "stored";
}

/**
 * A consent belongs to all cards of a customer, a ping and types that are not used to none.
 * @throws for unexpected data: the response is 503, and the service delivers again.
 */
function getCardIds(event: WebhookEvent): string[] {
  if (!isKnownEvent(event)) {
    if (
      !["balance.changed", "tier.changed", "consent.changed"].includes(event.type)
    )
      return [];
    throw new Error(`The event ${event.id} has unexpected data.`);
  }
  if (event.type === "balance.changed" || event.type === "tier.changed")
    return [event.data.passId];
  return event.type === "consent.changed" ? event.data.passIds : [];
}

/** For your own pages. A real shop authenticates the user first. */
app.get("/cards/:id", async ({ env, req, json }) => {
  const card = env.CARDS.get(env.CARDS.idFromName(req.param("id")));
  return json(await (await card.fetch("https://card/")).json());
});

export default app;
