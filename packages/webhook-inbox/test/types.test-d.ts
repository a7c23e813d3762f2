/** The public types: the typed handlers accept the delivery of a worker. */
import type { BetterSqlite } from "@loyalty-cards/testing/sqlite-files";
import { type Inbox, onEvents, type ReceiverOptions } from "@loyalty-cards/webhook-verify";
import type { Processor as Processor6, Queue as Queue6 } from "bullmq";
import type { Processor as Processor5, Queue as Queue5 } from "bullmq-5";
import { expectTypeOf, test } from "vitest";
import type { bullmqInbox, inboxHandler, SqliteInbox, sqliteInbox } from "../src/index.ts";
import type {
  ensureInboxTables,
  isNewest,
  markProcessed,
  SqliteDatabase,
} from "../src/sqlite/processed.ts";

declare const inbox: SqliteInbox;

test("a receiver accepts an inbox", () => {
  expectTypeOf(inbox).toExtend<Inbox>();
  expectTypeOf({ secret: "s", inbox }).toExtend<ReceiverOptions>();
});

test("every function that takes a SQLite database takes one of better-sqlite3", () => {
  expectTypeOf<{ file: string; open: () => BetterSqlite }>().toExtend<
    Parameters<typeof sqliteInbox>[0]
  >();
  expectTypeOf<BetterSqlite>().toExtend<Parameters<typeof ensureInboxTables>[0]>();
  expectTypeOf<BetterSqlite>().toExtend<Parameters<typeof markProcessed>[0]>();
  expectTypeOf<BetterSqlite>().toExtend<Parameters<typeof isNewest>[0]>();
});

test("handlers of onEvents get the delivery of the worker", () => {
  inbox.work(
    onEvents({
      "balance.changed": (event, delivery) => {
        expectTypeOf(event.data.balance).toEqualTypeOf<number>();
        expectTypeOf(delivery.attempt).toEqualTypeOf<number>();
        delivery.write((database) => expectTypeOf(database).toEqualTypeOf<SqliteDatabase>());
      },
      otherTypes: () => {},
    }),
  );
});

test("bullmqInbox accepts a Queue of BullMQ 6 and 5, and their workers accept inboxHandler", () => {
  expectTypeOf<Queue6>().toExtend<Parameters<typeof bullmqInbox>[0]>();
  expectTypeOf<Queue5>().toExtend<Parameters<typeof bullmqInbox>[0]>();
  expectTypeOf<ReturnType<typeof inboxHandler>>().toExtend<Processor6>();
  expectTypeOf<ReturnType<typeof inboxHandler>>().toExtend<Processor5>();
});
