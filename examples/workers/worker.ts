/**
 * A Worker for webhooks: each event is stored in the Durable Object of its card before the
 * response.
 */
import type {
  DurableObjectNamespace,
  DurableObjectState,
  DurableObjectStorage,
} from "@cloudflare/workers-types";
import { onEvents, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { Hono } from "hono";

interface Env {
  CARDS: DurableObjectNamespace;
  LOYALTY_SIGNING_SECRET: string;
}

const app = new Hono<{ Bindings: Env }>();

/** Unexpected data rejects in `onEvents`: the response is 503, and the service delivers again. */
const createReceiver = (env: Env) =>
  fetchReceiver({
    secret: env.LOYALTY_SIGNING_SECRET,
    handler: onEvents({
      "balance.changed": (event) =>
        store(env, event, event.data.passId, "balance", event.data.balance),
      "tier.changed": (event) =>
        store(env, event, event.data.passId, "tier", event.data.tier),
      async "consent.changed"(event) {
        const { passIds, marketingConsent } = event.data; // all cards of a customer
        const wantsNews = marketingConsent === true; // it can be of any type
        await Promise.all(
          passIds.map((id) => store(env, event, id, "wantsNews", wantsNews)),
        );
      },
      otherTypes: () => {},
    }),
  });

/** One for all requests, because each receiver limits its own log lines. */
let receive: ReturnType<typeof createReceiver> | undefined;

app.post("/webhooks/loyalty", ({ env, req }) => {
  receive ??= createReceiver(env);
  return receive(req.raw);
});

/** For your own pages. A real shop authenticates the user first. */
app.get("/cards/:id", async ({ env, req, json }) => {
  const response = await getCard(env, req.param("id")).fetch("https://card/");
  return json(await response.json());
});

export default app;

/** One object per card, so that the events of different cards do not wait for each other. */
const getCard = ({ CARDS }: Env, cardId: string) =>
  CARDS.get(CARDS.idFromName(cardId));

interface Fact {
  id: string;
  createdAtMs: number;
  name: string;
  value: unknown;
}

async function store(
  env: Env,
  { id, createdAt }: WebhookEvent,
  cardId: string,
  name: string,
  value: unknown,
): Promise<void> {
  const createdAtMs = Date.parse(createdAt); // as text, 10:00:00.250Z comes before 10:00:00Z
  if (Number.isNaN(createdAtMs))
    throw new Error(`createdAt of ${id} is not a date.`);
  const fact: Fact = { id, createdAtMs, name, value };
  const init = { method: "POST", body: JSON.stringify(fact) };
  const { ok, status } = await getCard(env, cardId).fetch("https://card/", init);
  if (!ok) throw new Error(`The object of a card responded ${status}.`); // 503: the service delivers again
}

/** The service delivers duplicates for nine hours, and staff may resend an event later. */
const rememberMs = 14 * 24 * 3_600_000;

/** The state of one card: a Durable Object whose SQLite applies each event once and in order. */
export class LoyaltyCard {
  readonly #storage: DurableObjectStorage;

  constructor({ storage }: DurableObjectState) {
    this.#storage = storage;
    storage.sql.exec(`
      CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, kept_at INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS facts (
        name TEXT PRIMARY KEY,
        value TEXT,
        created_at INTEGER NOT NULL,
        event_id TEXT NOT NULL
      )`);
  }

  /** Responds after the writes are durable: the platform delays every response until then. */
  async fetch(request: Request): Promise<Response> {
    const { sql } = this.#storage;
    if (request.method === "POST") {
      const fact = (await request.json()) as Fact;
      this.#storage.transactionSync(() => this.#store(fact));
      return new Response();
    }
    const select = "SELECT name, value FROM facts";
    const facts = sql.exec<{ name: string; value: string }>(select).toArray();
    return Response.json(
      Object.fromEntries(facts.map(({ name, value }) => [name, JSON.parse(value)])),
    );
  }

  #store({ id, createdAtMs, name, value }: Fact): void {
    const { sql } = this.#storage;
    const nowMs = Date.now();
    const insert = "INSERT OR IGNORE INTO events VALUES (?, ?)";
    if (sql.exec(insert, id, nowMs).rowsWritten === 0) return; // a duplicate
    sql.exec("DELETE FROM events WHERE kept_at < ?", nowMs - rememberMs);
    // Events arrive in any order: only newer ones are applied.
    sql.exec(
      `INSERT INTO facts VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE
       SET value = excluded.value, created_at = excluded.created_at, event_id = excluded.event_id
       WHERE (excluded.created_at, excluded.event_id) > (created_at, event_id)`,
      name,
      JSON.stringify(value ?? null),
      createdAtMs,
      id,
    );
  }
}
