/** A Worker that receives webhooks: each event is stored in the Durable Object of its card before the response. */
import type {
  DurableObjectNamespace,
  DurableObjectState,
  SqlStorage,
} from "@cloudflare/workers-types";
import {
  isKnownEvent,
  type KnownEvent,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { Hono } from "hono";

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

/** The service delivers duplicates for nine hours, and staff may resend an event later. */
const rememberMs = 14 * 24 * 3_600_000;

/** The state of one card: a Durable Object with its own SQLite, where an event has its effect once and in order. */
export class LoyaltyCard {
  readonly #sql: SqlStorage;
  readonly #inTransaction: <Result>(work: () => Result) => Result;

  constructor({ storage }: DurableObjectState) {
    this.#sql = storage.sql;
    this.#inTransaction = (work) => storage.transactionSync(work);
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, kept_at INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT, created_at TEXT NOT NULL, event_id TEXT NOT NULL)`);
  }

  /** Responds after the writes are durable: the platform delays every response until then. */
  async fetch(request: Request): Promise<Response> {
    if (request.method === "POST")
      return new Response(this.#keep((await request.json()) as WebhookEvent));
    const facts = this.#sql
      .exec<{ name: string; value: string }>("SELECT name, value FROM facts")
      .toArray();
    return Response.json(
      Object.fromEntries(facts.map(({ name, value }) => [name, JSON.parse(value)])),
    );
  }

  #keep(event: WebhookEvent): "stored" | "duplicate" {
    return this.#inTransaction(() => {
      const nowMs = Date.now();
      const { rowsWritten } = this.#sql.exec(
        "INSERT OR IGNORE INTO events VALUES (?, ?)",
        event.id,
        nowMs,
      );
      if (rowsWritten === 0) return "duplicate";
      this.#sql.exec("DELETE FROM events WHERE kept_at < ?", nowMs - rememberMs);
      if (isKnownEvent(event)) this.#apply(event); // getCardIds has rejected unexpected data
      return "stored";
    });
  }

  #apply(event: KnownEvent): void {
    if (event.type === "balance.changed")
      this.#learn(event, "balance", event.data.balance);
    if (event.type === "tier.changed")
      this.#learn(event, "tier", event.data.tier ?? null);
    if (event.type === "consent.changed")
      this.#learn(event, "wantsNews", event.data.marketingConsent === true);
  }

  /** Events arrive in any order: only newer ones are applied. */
  #learn({ id, createdAt }: WebhookEvent, name: string, value: unknown): void {
    this.#sql.exec(
      `INSERT INTO facts VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE
       SET value = excluded.value, created_at = excluded.created_at, event_id = excluded.event_id
       WHERE (excluded.created_at, excluded.event_id) > (created_at, event_id)`,
      ...[name, JSON.stringify(value), createdAt, id],
    );
  }
}
