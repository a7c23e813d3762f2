/**
 * A program that counts: each balance change must be booked exactly once, in the transaction that
 * ends the event.
 */
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { bookkeeperPort } from "../network.ts";

const inbox = sqliteInbox({ file: process.env.BOOKS_FILE ?? "" });
await inbox.write((database) =>
  database.exec("CREATE TABLE IF NOT EXISTS bookings (event TEXT, card TEXT, change REAL)"),
);
inbox.work(
  onEvents({
    async "balance.changed"(event, delivery) {
      const { passId, change } = event.data;
      // Another program, which sometimes fails.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
      if (Math.random() < 0.1) throw new Error("No account for anna@example.com."); // foreign errors can quote people
      delivery.write((database) => {
        database
          .prepare("INSERT INTO bookings VALUES (?, ?, ?)")
          .run(event.id, passId, Number(change));
      });
    },
    otherTypes: () => {},
  }),
  { handlerTimeoutMs: 1_000 }, // a process can be frozen for longer than this lease
);
const receive = fetchReceiver({ secret: () => process.env.SECRET ?? "", inbox });

simulation.listeners.set(bookkeeperPort, async ({ method, url, headers, body }) => {
  const response = await receive(new Request(url, { method, headers, body }));
  return { status: response.status, headers: {}, body: "" };
});
