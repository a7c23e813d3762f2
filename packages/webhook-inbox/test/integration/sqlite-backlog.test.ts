/** A SQLite file with many events: no statement reads or sorts all of them. */
import type { OpenSqlite, SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import { describe, expect, it } from "vitest";
import { balanceChanged, engines, openInbox, put, recordOutcomes, scratchFile } from "../inboxes.ts";

/** Opens a database with `open`, and records it and the SQL of every prepared statement. */
function recordingStatements(open: OpenSqlite) {
  const prepared = new Set<string>();
  let database: SqliteDatabase | undefined;
  const opening: OpenSqlite = (file) => {
    const opened = open(file);
    const prepare = opened.prepare.bind(opened);
    database = { exec: opened.exec.bind(opened), prepare };
    opened.prepare = (sql) => {
      prepared.add(sql);
      return prepare(sql);
    };
    return opened;
  };
  /** SQLite's query plan of each statement on the events, by its SQL. */
  function plans(): [sql: string, plan: string[]][] {
    const statements = [...prepared].filter((sql) => /^(?!CREATE|BEGIN).*webhook_inbox_events/s.test(sql));
    return statements.map((sql) => {
      const values = Array.from(sql.matchAll(/\?/g), () => 0);
      const rows = database?.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
      return [sql, rows.map(({ detail }) => detail)];
    });
  }
  return { open: opening, plans };
}

describe.each(engines)("with %s", (_name, open) => {
  it.each([
    ["without statistics", ""],
    ["with the statistics of an empty file", "ANALYZE"],
  ])("finds the rows of every statement by an index, without sorting, %s", async (_case, sql) => {
    const file = scratchFile();
    const first = openInbox({ file, open });
    await first.write((database) => database.exec(sql));
    await first.close();
    const recording = recordingStatements(open);
    const inbox = openInbox({ file, open: recording.open });
    await put(inbox, balanceChanged("evt_1"));
    await inbox.drain(() => {});
    await inbox.list({ state: "dead" });
    await inbox.replay("evt_1");
    const plans = recording.plans();
    const texts = plans.map(([sql]) => sql).join("\n");
    for (const part of ["INSERT", "UPDATE", "count(*)", "AS delay", "ORDER BY id", "DELETE"])
      expect(texts).toContain(part);
    // A lease sorts the four ranks that can be due.
    const isSlow = /SCAN (webhook_inbox_events|j)\b|TEMP B-TREE(?! FOR ORDER BY\nSCAN place\b)/;
    expect(plans.filter(([, plan]) => isSlow.test(plan.join("\n")))).toEqual([]);
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
      const stored = Array.from({ length: 30 }, (_, index) => put(inbox, balanceChanged(`${id}_${index}`)));
      await Promise.all(stored);
      nowMs += 2_000; // the retry becomes due between the two events
    }
    inbox.work(({ id }) => void handled.push(id), { concurrency: 1 });
    await recorded.until("done", 61);
    expect(handled.indexOf("evt_retried")).toBe(30);
    expect(handled.slice(0, 3)).toEqual(["evt_early_0", "evt_early_1", "evt_early_2"]);
    expect(handled.slice(-2)).toEqual(["evt_late_28", "evt_late_29"]);
  });

  it("deletes processed events in small transactions, until none is older than the retention", async () => {
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
    later.work(() => {}, { pollMs: 5 });
    await expect.poll(() => later.list()).toEqual([]);
    expect(deleted).toEqual([1000, 1000, 500]);
  });
});
