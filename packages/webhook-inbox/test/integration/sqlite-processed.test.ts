/** Exactly-once, in-order effects in a SQLite database of the application. */
import { readFileSync } from "node:fs";
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { ensureTables, isNewest, markProcessed } from "../../src/sqlite/processed.ts";
import { balanceChanged } from "../events.ts";
import { engines, scratchFile } from "../sqlite-files.ts";

// G3
it.each(engines)("marks an event once, and not when the transaction fails, with %s", (_name, open) => {
  const database = open(scratchFile());
  onTestFinished(() => void database.close());
  ensureTables(database);
  ensureTables(database);
  const event = balanceChanged("evt '1'");
  database.exec("BEGIN");
  expect(markProcessed(database, event)).toBe(true);
  database.exec("ROLLBACK");
  expect([markProcessed(database, event), markProcessed(database, event)]).toEqual([true, false]);
});

it.each(engines)(
  "ends with the newest event after any permutation, with duplicates, with %s",
  (_name, open) => {
    const database = open(scratchFile());
    onTestFinished(() => void database.close());
    ensureTables(database);
    database.exec("BEGIN"); // one fsync for all of them
    let key = 0;
    fc.assert(
      fc.property(
        fc
          .array(fc.record({ ms: fc.nat(4), id: fc.nat(4) }), { minLength: 1, maxLength: 12 })
          .map((moments) =>
            moments.map(({ ms, id }) => ({ id: `evt_${id}`, createdAt: new Date(ms).toISOString() })),
          ),
        (events) => {
          key += 1;
          const kept = events.filter((event) => isNewest(database, `card_${key}`, event)).at(-1);
          const [newest] = [...events].sort((one, other) =>
            one.createdAt === other.createdAt
              ? one.id < other.id
                ? 1
                : -1
              : one.createdAt < other.createdAt
                ? 1
                : -1,
          );
          expect(kept).toEqual(newest);
        },
      ),
      { numRuns: 100 },
    );
  },
);

it("publishes the same tables as a file for migration tools", () => {
  const [[, open] = []] = engines;
  const tablesAfter = (create: (database: SqliteDatabase) => void) => {
    const database = open?.(scratchFile());
    if (database === undefined) throw new Error("No SQLite engine is available.");
    onTestFinished(() => void database.close());
    create(database);
    return database.prepare("SELECT type, name, sql FROM sqlite_master ORDER BY name").all();
  };
  const file = readFileSync(
    new URL("../../migrations/sqlite/0001-webhook-inbox.sql", import.meta.url),
    "utf8",
  );
  expect(tablesAfter((database) => database.exec(file))).toEqual(tablesAfter(ensureTables));
  expect(tablesAfter(ensureTables)).toHaveLength(4); // two tables and the indexes of their keys
});
