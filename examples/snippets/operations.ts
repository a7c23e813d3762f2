/**
 * Operates an outbox and an inbox: alarms, a schedule for serverless functions, users of a shop
 * that issued cards without an outbox, an outbox beside a database with which it cannot share a
 * transaction, and the dead letters.
 */
// #region alarms
import type { IssuingErrorCode } from "@loyalty-cards/issuing-client";
import type { OutboxCounts } from "@loyalty-cards/issuing-outbox";

const hourMs = 3_600_000;
/** Whether a pause with this reason lasts until somebody acts. */
const isEndless: Readonly<Record<string, boolean>> = {
  validation: false,
  "not-found": true,
  unauthorized: true,
  forbidden: true,
  conflict: false,
  "rate-limited": false,
  rejected: true, // for several entries: a form of one alone pauses nothing
  server: false,
  network: false,
  timeout: false,
  deadline: false,
  "invalid-response": false,
  "idempotency-expired": false,
  configuration: false, // an apiKey function that fails may work again
} satisfies Record<IssuingErrorCode, boolean>;

/** @returns what to alert on. */
export function findAlarms(counts: OutboxCounts, nowMs = Date.now()): string[] {
  const {
    oldestWaitingMs = 0,
    nextExpiryAt,
    undelivered,
    unknown,
    paused,
  } = counts;
  const alarms = paused.map(({ reason, template }) =>
    isEndless[reason]
      ? `Cards of ${template} wait until somebody acts: ${reason}`
      : `Cards of ${template} wait: ${reason}`,
  );
  if (oldestWaitingMs > hourMs)
    alarms.push('A card waits for more than an hour: list({ state: "waiting" }).');
  if (nextExpiryAt !== undefined && nextExpiryAt.getTime() - nowMs < 6 * hourMs)
    alarms.push("Within six hours an entry becomes unknown.");
  if (undelivered > 0) alarms.push("onIssued or onRejected fails: see the log.");
  if (unknown > 0)
    alarms.push("Whether a card exists is unknown: look for it, and call resolve.");
  return alarms;
}

// #endregion

// #region list
export async function printWaiting(outbox: Outbox): Promise<void> {
  for await (const { userId, error } of outbox.list({ state: "waiting" }))
    console.log(userId, error?.message);
}

// #endregion

// #region serverless
import type { Outbox } from "@loyalty-cards/issuing-outbox"; // a postgresOutbox

/** Only the schedule knows the secret. */
export async function drain(outbox: Outbox, request: Request): Promise<Response> {
  const secret = process.env.CRON_SECRET;
  if (!secret || request.headers.get("authorization") !== `Bearer ${secret}`)
    return new Response(null, { status: 401 });
  return Response.json(await outbox.drain({ maxMs: 50_000 }));
}

// #endregion

// #region existing-users
import type { OwedCard } from "@loyalty-cards/issuing-outbox";

interface ExistingUser {
  id: string;
  name: string;
  phone: string;
  /** Of a card that was requested before: the last suffix, and its first request. */
  keySuffix?: string;
  firstAttemptAt?: Date;
}

export function* toEntries(
  users: Iterable<ExistingUser>,
  template: string,
): Generator<OwedCard> {
  for (const { id: userId, name, phone, ...tried } of users) {
    const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
    const request = { fieldValues: { name }, customer };
    yield { userId, template, request, ...tried };
  }
}

// #endregion

// #region inbox
import type { SqliteInbox } from "@loyalty-cards/webhook-inbox";
import type { Express, RequestHandler } from "express";

export function operateInbox(
  app: Express,
  inbox: SqliteInbox,
  requireAdmin: RequestHandler,
): void {
  app.get("/admin/inbox", requireAdmin, async (_request, response) => {
    const [health, dead] = await Promise.all([
      inbox.health(),
      inbox.list({ state: "dead" }),
    ]);
    response.json({ health, dead });
  });
  app.post("/admin/inbox/:id/replay", requireAdmin, async (request, response) => {
    const isReplayed = await inbox.replay(String(request.params.id));
    response.sendStatus(isReplayed ? 204 : 404);
  });
}

// #endregion

export interface User {
  id: string;
  name: string;
  phone: string;
}

const template = "tpl_coffee";

export function toOwedCard({ id, name, phone }: User): OwedCard {
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  return { userId: id, template, request: { fieldValues: { name }, customer } };
}

// #region beside
import type { SqliteOutbox } from "@loyalty-cards/issuing-outbox";

/** Your own database. */
export interface Users {
  save(user: User): Promise<void>;
  saveCard(userId: string, cardId: string): Promise<void>;
  withoutCard(): AsyncIterable<User>;
}

export async function signUp(users: Users, outbox: SqliteOutbox, user: User) {
  await users.save(user);
  // If the process is killed here, the user has no entry: sweep adds it.
  await outbox.write((database) => outbox.add(database, toOwedCard(user)));
  const entry = await outbox.issue(user.id, { deadlineMs: 5_000 });
  if (entry.cardId !== undefined) await users.saveCard(user.id, entry.cardId);
  return entry;
}

/** Adds users that have no entry, and saves cards that were issued later. */
export async function sweep(users: Users, outbox: SqliteOutbox): Promise<void> {
  for await (const user of users.withoutCard()) {
    await outbox.addAll([toOwedCard(user)]);
    const cardId = (await outbox.get(user.id))?.cardId;
    if (cardId !== undefined) await users.saveCard(user.id, cardId);
  }
}
// #endregion
