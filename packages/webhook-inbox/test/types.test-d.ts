/** The types an integrator meets: what a worker hands over reaches the typed handlers. */
import { type Inbox, onEvents, type ReceiverOptions } from "@loyalty-cards/webhook-verify";
import { expectTypeOf, test } from "vitest";
import type { SqliteDatabase, SqliteInbox } from "../src/index.ts";

declare const inbox: SqliteInbox;

test("an inbox is what a receiver takes", () => {
  expectTypeOf(inbox).toExtend<Inbox>();
  expectTypeOf({ secret: "s", inbox }).toExtend<ReceiverOptions>();
});

test("handlers of onEvents see the worker's delivery", () => {
  inbox.work(
    onEvents({
      "balance.changed": (event, delivery) => {
        expectTypeOf(event.data.balance).toEqualTypeOf<number>();
        expectTypeOf(delivery.attempt).toEqualTypeOf<number>();
        delivery.write((database) => expectTypeOf(database).toEqualTypeOf<SqliteDatabase>());
      },
      other: () => {},
    }),
  );
});
