/** The inbox of a golden folder: waiting, done and dead events, and the marks of a handler, written while a handler is running. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type InboxEntry, type SqliteInbox, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest, markProcessed } from "@loyalty-cards/webhook-inbox/sqlite";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { balanceChanged, toBody } from "../../packages/webhook-inbox/test/events.ts";
import { recordOutcomes } from "../../packages/webhook-inbox/test/outcomes.ts";
import { copyDatabase } from "./sqlite.ts";

export const inboxFile = "inbox.db";
export const newestKey = "balance of card_1";

/** What a user of the version that wrote the file saw. */
export interface ShownInbox {
  at: string;
  entries: Record<keyof InboxEntry, unknown>[];
}

export const toEvent = (id: string) => balanceChanged(id);

export const put = (inbox: SqliteInbox, event: WebhookEvent, receivedAtMs: number) =>
  inbox.put(
    event,
    { body: toBody(event), receivedAt: new Date(receivedAtMs) },
    { signal: new AbortController().signal },
  );

export async function writeInbox(folder: string): Promise<ShownInbox> {
  const scratch = mkdtempSync(join(tmpdir(), "golden-inbox-"));
  const file = join(scratch, inboxFile);
  let nowMs = Date.parse("2026-03-01T12:00:00.000Z");
  const { onOutcome, until } = recordOutcomes();
  const inbox = sqliteInbox({
    file,
    onOutcome,
    log: () => {},
    testing: { clock: { now: () => nowMs }, random: () => 0.5 },
  });
  const store = (id: string) => put(inbox, toEvent(id), ++nowMs);

  await store("evt_done");
  await store("evt_dead");
  const first = inbox.work(
    (event, delivery) => {
      if (event.id === "evt_dead") throw new Error("The handler fails.");
      delivery.write((database) => {
        markProcessed(database, event);
        isNewest(database, newestKey, event);
      });
    },
    { maxAttempts: 1 },
  );
  await Promise.all([until("done"), until("dead")]);
  await first.stop();

  await store("evt_failed");
  let start = () => {};
  const isRunning = new Promise<void>((resolve) => {
    start = resolve;
  });
  inbox.work(
    ({ id }) => {
      if (id === "evt_failed") throw new Error("The handler fails.");
      start();
      return new Promise(() => {});
    },
    { concurrency: 1 },
  );
  await until("failed");
  await store("evt_running");
  await isRunning;
  await store("evt_waiting");

  const entries = (await inbox.list()) as unknown as ShownInbox["entries"];
  copyDatabase(file, join(folder, inboxFile));
  await inbox.close({ graceMs: 0 });
  rmSync(scratch, { recursive: true });
  return { at: new Date(nowMs).toISOString(), entries };
}
