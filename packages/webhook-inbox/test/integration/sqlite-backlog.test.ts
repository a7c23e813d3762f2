/** A SQLite file with many events: no statement reads or sorts all of them. */
import { scratchFile } from "@loyalty-cards/testing/resources";
import { openWatched } from "@loyalty-cards/testing/sqlite-files";
import { describe, expect, it, onTestFinished } from "vitest";
import { balanceChanged, engines, openInbox, put, recordOutcomes } from "../inboxes.ts";

describe.each(engines)("with %s", (_name, open) => {
  it.each([
    ["without statistics", ""],
    ["with the statistics of an empty file", "ANALYZE"],
  ])("finds the rows of every statement by an index, without sorting, %s", async (_case, sql) => {
    const file = scratchFile();
    const first = openInbox({ file, open });
    await first.write((database) => database.exec(sql));
    await first.close();
    const statements = new Set<string>();
    const inbox = openInbox({ file, open: openWatched((sql) => statements.add(sql), open) });
    await put(inbox, balanceChanged("evt_1"));
    await inbox.drain(() => {});
    await inbox.list({ state: "dead" });
    await inbox.replay("evt_1");
    const onEvents = [...statements].filter((sql) =>
      /^(?!CREATE|BEGIN).*webhook_inbox_events/s.test(sql),
    );
    for (const part of ["INSERT", "UPDATE", "count(*)", "AS delay", "ORDER BY id", "DELETE"])
      expect(onEvents.join("\n")).toContain(part);
    const database = open(file);
    onTestFinished(() => void database.close());
    const explain = (sql: string) => {
      const values = Array.from(sql.matchAll(/\?/g), () => 0);
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as {
        detail: string;
      }[];
      return plan.map(({ detail }) => detail).join("\n");
    };
    // What finds the queue that is due sorts the four ranks.
    const isSlow = /SCAN (webhook_inbox_events|j)\b|(?<!SCAN ranks\b.*)TEMP B-TREE/s;
    expect(onEvents.filter((sql) => isSlow.test(explain(sql)))).toEqual([]);
  });

  it("processes the oldest event first, and a retry when it is due, with many waiting events", async () => {
    const recorded = recordOutcomes();
    let nowMs = Date.parse("2026-01-01T12:00:00.000Z");
    const inbox = openInbox({
      open,
      onOutcome: recorded.onOutcome,
      testing: { clock: { now: () => nowMs }, random: () => 1 },
    });
    const handled: string[] = [];
    await put(inbox, balanceChanged("evt_retried"));
    const failing = inbox.work(
      () => {
        throw new Error("not yet");
      },
      { backoff: { initialDelayMs: 1_000, maxDelayMs: 1_000 } },
    );
    await recorded.until("failed");
    await failing.stop();
    for (const id of ["evt_early", "evt_late"]) {
      const stored = Array.from({ length: 30 }, (_, index) =>
        put(inbox, balanceChanged(`${id}_${index}`)),
      );
      await Promise.all(stored);
      nowMs += 2_000; // the retry becomes due between the two events
    }
    inbox.work(({ id }) => void handled.push(id), { concurrency: 1 });
    await recorded.until("done", 61);
    expect(handled.indexOf("evt_retried")).toBe(30);
    expect(handled.slice(0, 3)).toEqual(["evt_early_0", "evt_early_1", "evt_early_2"]);
    expect(handled.slice(-2)).toEqual(["evt_late_28", "evt_late_29"]);
  });

  it.each(["work", "drain"] as const)(
    "deletes processed events with %s in small transactions, until none is older than the retention, and then none for ten minutes",
    async (method) => {
      const file = scratchFile();
      const first = openInbox({ file, open });
      await put(first, balanceChanged("evt_1"));
      await first.drain(() => {});
      await first.write((database) =>
        database.exec(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO webhook_inbox_events (topic, name, key, state, due, added, ended)
        SELECT topic, 'evt_' || i, key, state, due, added, ended FROM webhook_inbox_events, n`),
      );
      await first.close();
      const deleted: number[] = [];
      const later = openInbox({
        file,
        testing: { clock: { now: () => Date.now() + 15 * 86_400_000 } },
        open: (path) => {
          const database = open(path);
          const prepare = database.prepare.bind(database);
          database.prepare = (sql) => {
            const statement = prepare(sql);
            if (!sql.startsWith("DELETE")) return statement;
            const all: typeof statement.all = (...values) => {
              const rows = statement.all(...values);
              deleted.push(rows.length);
              return rows;
            };
            return { all, get: statement.get.bind(statement), run: statement.run.bind(statement) };
          };
          return database;
        },
      });
      const handler = () => {};
      if (method === "drain") await later.drain(handler);
      else later.work(handler, { pollMs: 5 });
      await expect.poll(() => later.list()).toEqual([]);
      await later.drain(handler);
      expect(deleted).toEqual([1000, 1000, 500]);
    },
  );
});
