/**
 * Exactly-once, in-order effects: `markProcessed` and `isNewest` in a real PostgreSQL, through each
 * supported client, and in SQLite.
 */
import { readFileSync } from "node:fs";
import { queryRows } from "@loyalty-cards/internal/postgres/client";
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import { overEveryClient, overPg, overPgBouncer } from "@loyalty-cards/testing/postgres-clients";
import { scratchFile } from "@loyalty-cards/testing/resources";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/pg-proxy";
import fc from "fast-check";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  ensureInboxTables,
  fromDrizzle,
  isNewest,
  markProcessed,
  type PostgresTransaction,
} from "../../src/postgres.ts";
import * as inSqlite from "../../src/sqlite/processed.ts";
import { balanceChanged, engines } from "../inboxes.ts";

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", async () => {
  const { pool: createPool, schema, url } = ownSchema();
  const pool = createPool();
  const sql = postgres(url, { connection: { search_path: schema }, max: 4, onnotice: () => {} });
  afterAll(() => sql.end());
  beforeAll(async () => {
    await ensureInboxTables(pool);
    await pool.query("CREATE TABLE effects (event_id text)");
  });
  const countEffects = async (id: string) =>
    (await pool.query("SELECT FROM effects WHERE event_id = $1", [id])).rows.length;

  const clients = { ...overEveryClient(pool, sql), ...(await overPgBouncer(schema)) };

  describe.each(Object.entries(clients))("through %s", (name, { transaction, outside }) => {
    it("marks an event once, with any characters in its id", async () => {
      const ids = [
        `evt '; DROP TABLE effects; --`,
        "evt \\' \\\\ $1 $2::text",
        "evt_é💳",
        `${name} evt_1`,
      ];
      for (const id of ids) {
        const event = balanceChanged(`${name} ${id}`);
        expect(await transaction((own) => markProcessed(own, event))).toBe(true);
        expect(await transaction((own) => markProcessed(own, event))).toBe(false);
      }
    });

    it("marks events of two sources with the same id separately", async () => {
      const event = balanceChanged(`${name} evt_of_two`);
      for (const source of [undefined, "coffee", "tea"]) {
        const mark = () =>
          transaction((own) => markProcessed(own, event, source ? { source } : {}));
        expect(await mark()).toBe(true);
        expect(await mark()).toBe(false);
      }
    });

    it("marks nothing when the transaction fails, so that the next delivery is processed", async () => {
      const event = balanceChanged(`${name} evt_2`);
      const failing = transaction(async (own) => {
        expect(await markProcessed(own, event)).toBe(true);
        throw new Error("the handler failed");
      });
      await expect(failing).rejects.toThrow("the handler failed");
      expect(await transaction((own) => markProcessed(own, event))).toBe(true);
    });

    // G3
    it("writes the effect once for 20 concurrent duplicates", async () => {
      const event = balanceChanged(`${name} evt_3`);
      const handle = () =>
        transaction(async (own, run) => {
          if (!(await markProcessed(own, event))) return false;
          await run(`INSERT INTO effects VALUES ('${event.id}')`);
          return true;
        });
      const won = await Promise.all(Array.from({ length: 20 }, handle));
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await countEffects(event.id)).toBe(1);
    });

    it("finds the newest event of a key in any order of arrival", async () => {
      const at = (id: string, createdAt: string) => balanceChanged(id, 1, createdAt);
      const recorded: boolean[] = [];
      for (const event of [
        at("evt_a", "2026-01-01T10:00:00.500Z"),
        at("evt_b", "2026-01-01T10:00:00.499Z"),
        at("evt_c", "2026-01-01T12:00:00.501+02:00"), // one millisecond later, in another time zone
        at("evt_B", "2026-01-01T10:00:00.501Z"), // "B" < "c"
        at("evt_d", "2026-01-01T10:00:00.501Z"),
      ]) {
        recorded.push(await transaction((own) => isNewest(own, `${name} card_1`, event)));
      }
      expect(recorded).toEqual([true, false, true, false, true]);
      expect(
        await transaction((own) =>
          isNewest(own, `${name} card_2`, at("evt_e", "2025-01-01T00:00:00Z")),
        ),
      ).toBe(true);
    });

    it("rejects a client that is not in a transaction, and marks nothing", async () => {
      const event = balanceChanged(`${name} evt_9`);
      const promise = markProcessed(outside, event);
      await expect(promise).rejects.toThrow(
        /^markProcessed and isNewest need the transaction that writes the effect of the event, not a pool, a database or a client without BEGIN/,
      );
      await expect(isNewest(outside, `${name} card_9`, event)).rejects.toThrow(TypeError);
      expect(await transaction((own) => markProcessed(own, event))).toBe(true);
      expect(await transaction((own) => isNewest(own, `${name} card_9`, event))).toBe(true);
    });

    it("marks events at the same time in one transaction", async () => {
      const mark = (own: PostgresTransaction) =>
        Promise.all(["1", "2"].map((id) => markProcessed(own, { id: `${name} evt_both_${id}` })));
      expect(await transaction(mark)).toEqual([true, true]);
      expect(await transaction(mark)).toEqual([false, false]);
      const event = balanceChanged(`${name} evt_both_3`);
      const refused = await Promise.allSettled([
        markProcessed(outside, event),
        markProcessed(outside, event),
      ]);
      expect(refused.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
      expect(await transaction((own) => markProcessed(own, event))).toBe(true);
    });

    it("marks an event in a savepoint, and not when it is rolled back", async () => {
      const event = balanceChanged(`${name} evt_savepoint`);
      const marked = await transaction(async (own, run) => {
        await run("SAVEPOINT a");
        const first = await markProcessed(own, event);
        await run("ROLLBACK TO SAVEPOINT a");
        const second = await markProcessed(own, event);
        await run("RELEASE SAVEPOINT a");
        return [first, second, await markProcessed(own, event)];
      });
      expect(marked).toEqual([true, true, false]);
    });

    it("sends eleven values, and null, to the database", async () => {
      const values = ["a", null, "c'$1::text", "d", "e", "f", "", "h", "i", "$11::text", "💳"];
      const places = values.map((_value, index) => `$${index + 1}::text`);
      const read = (own: PostgresTransaction) =>
        queryRows(
          own,
          `SELECT to_json(ARRAY[${places}]) AS sent, $2::text::integer IS NULL AS is_null`,
          values,
        );
      const rows = await transaction(read);
      expect(Array.from(rows)).toEqual([{ sent: values, is_null: true }]);
    });

    it("creates its tables, also when they exist", async () => {
      await transaction((own) => ensureInboxTables(own));
    });
  });

  it("rejects a client without BEGIN, and one whose transaction has ended", async () => {
    const client = await pool.connect();
    await expect(markProcessed(client, { id: "evt_9" })).rejects.toThrow(/without BEGIN/);
    await client.query("BEGIN");
    const late = expect(markProcessed(client, { id: "evt_10" })).rejects.toThrow(/without BEGIN/);
    await client.query("COMMIT"); // sent before the mark, because nothing awaited it
    await late;
    client.release();
    const marked = "SELECT FROM webhook_inbox_processed WHERE event IN ('evt_9', 'evt_10')";
    expect((await pool.query(marked)).rowCount).toBe(0);
  });

  it.each([
    ["postgres.camel", postgres.camel],
    ["postgres.pascal", postgres.pascal],
    ["postgres.kebab", postgres.kebab],
  ])("marks events with a client that renames columns: %s", async (name, transform) => {
    const renaming = postgres(url, {
      connection: { search_path: schema },
      transform,
      onnotice() {},
    });
    onTestFinished(() => renaming.end());
    const event = balanceChanged(`${name} evt_1`);
    const apply = (own: PostgresTransaction) =>
      Promise.all([markProcessed(own, event), isNewest(own, `${name} card_1`, event)]);
    expect(await renaming.begin(apply)).toEqual([true, true]);
    expect(await renaming.begin(apply)).toEqual([false, false]);
    await expect(apply(renaming)).rejects.toThrow("not a pool, a database or a client");
  });

  it("rejects a driver without transactions", async () => {
    const database = drizzle(async (text, values) => pool.query(text, values));
    const overHttp = fromDrizzle(database, drizzleSql);
    await expect(markProcessed(overHttp, { id: "evt_11" })).rejects.toThrow(/without BEGIN/);
  });

  it("rejects an unknown client, and an event without a date", async () => {
    await expect(markProcessed({} as PostgresTransaction, balanceChanged("evt_9"))).rejects.toThrow(
      /not a client or transaction of pg, postgres.js or Prisma\. Pass the transaction, then the entry or event: with Drizzle fromDrizzle\(tx, sql\), with Kysely fromKysely\(tx, CompiledQuery\)/,
    );
    await expect(markProcessed(pool, "evt_9" as never)).rejects.toThrow(
      "markProcessed takes the transaction, then the event, not its id",
    );
    await expect(isNewest(pool, balanceChanged("evt_9") as never, "k" as never)).rejects.toThrow(
      "isNewest takes the transaction, then a key, then the event",
    );
    const shared = isNewest(pool, `balance of ${undefined}`, balanceChanged("evt_9"));
    await expect(shared).rejects.toThrow(/contains "undefined", so that all cards would share it/);
    const undated = { id: "evt_9", createdAt: "yesterday" };
    const asking = overPg(pool).transaction((own) => isNewest(own, "k", undated));
    await expect(asking).rejects.toThrow("The createdAt of event evt_9 is not a date");
  });

  // G4
  it("ends with the newest balance after any permutation, with duplicates, concurrently", async () => {
    await pool.query("CREATE TABLE balances (card text PRIMARY KEY, balance int NOT NULL)");
    const { transaction } = overPg(pool);
    let card = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(5_000), { minLength: 1, maxLength: 6 }).chain((moments) => {
          const copies = moments.flatMap((ms) => [ms, ms]);
          return fc.shuffledSubarray(copies, {
            minLength: copies.length,
            maxLength: copies.length,
          });
        }),
        async (order) => {
          card += 1;
          const passId = `card_${card}`;
          const handle = (ms: number) =>
            transaction(async (own) => {
              const event = balanceChanged(
                `${passId} ${ms}`,
                ms,
                new Date(ms).toISOString(),
                passId,
              );
              if (!(await markProcessed(own, event)) || !(await isNewest(own, passId, event)))
                return;
              await pgQuery(
                own,
                "INSERT INTO balances VALUES ($1, $2) ON CONFLICT (card) DO UPDATE SET balance = $2",
                [passId, ms],
              );
            });
          await Promise.all(order.map(handle));
          const { rows } = await pool.query("SELECT balance FROM balances WHERE card = $1", [
            passId,
          ]);
          expect(rows).toEqual([{ balance: Math.max(...order) }]);
        },
      ),
      { numRuns: 25 },
    );
  });

  it("marks the longest id that a receiver accepts", async () => {
    // Random, because PostgreSQL compresses repetitive values before it checks their size.
    const letters = Array.from({ length: 512 }, (_, index) =>
      String.fromCharCode(0x4e00 + index * 37),
    );
    const { transaction } = overPg(pool);
    const mark = () => transaction((own) => markProcessed(own, { id: letters.join("") }));
    expect([await mark(), await mark()]).toEqual([true, false]);
  });

  it("creates its tables when many processes start at once", async () => {
    await pool.query(
      "DROP TABLE webhook_inbox_processed, webhook_inbox_newest, webhook_inbox_schema",
    );
    await Promise.all(Array.from({ length: 8 }, () => ensureInboxTables(pool)));
    const { rows } = await pool.query("SELECT version FROM webhook_inbox_schema");
    expect(rows).toEqual([{ version: 1 }]);
  });

  it("creates nothing where its tables exist, so that a role without the right to create can start", async () => {
    const role = `${schema}_role`;
    await pool.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${schema} TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    const { transaction } = overPg(pool);
    await transaction(async (own) => {
      await pgQuery(own, `SET LOCAL ROLE ${role}`, []);
      await ensureInboxTables(own);
      expect(await markProcessed(own, { id: "evt_of_role" })).toBe(true);
    });
    await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  it("works again after a test suite emptied its tables", async () => {
    await pool.query(
      "TRUNCATE webhook_inbox_processed, webhook_inbox_newest, webhook_inbox_schema",
    );
    await ensureInboxTables(pool);
    expect((await pool.query("SELECT version FROM webhook_inbox_schema")).rows).toEqual([
      { version: 1 },
    ]);
  });

  it.each(Object.entries(clients))(
    "names ensureInboxTables when a table is missing, through %s",
    async (name, own) => {
      await pool.query("ALTER TABLE webhook_inbox_processed RENAME TO elsewhere");
      const marking = own.transaction((transaction) =>
        markProcessed(transaction, { id: `${name} evt_missing` }),
      );
      await expect(marking)
        .rejects.toThrow("call ensureInboxTables first")
        .finally(() => pool.query("ALTER TABLE elsewhere RENAME TO webhook_inbox_processed"));
    },
  );

  // G24
  it("rejects tables of a newer version", async () => {
    await pool.query("UPDATE webhook_inbox_schema SET version = 2");
    await expect(ensureInboxTables(pool)).rejects.toThrow(
      /newer version: update @loyalty-cards\/webhook-inbox/,
    );
    await pool.query("UPDATE webhook_inbox_schema SET version = 1");
  });
});

describe.each(engines)("in SQLite, with %s", (_name, open) => {
  function openDatabase(): SqliteDatabase {
    const database = open(scratchFile());
    onTestFinished(() => void database.close());
    return database;
  }

  // G3
  it("marks an event once, and not when the transaction fails", () => {
    const database = openDatabase();
    const event = balanceChanged("evt '1'");
    const outside = "markProcessed and isNewest need the transaction that writes the effect";
    expect(() => inSqlite.markProcessed(database, event)).toThrow(outside);
    expect(() => inSqlite.isNewest(database, "card_1", event)).toThrow(outside);
    database.exec("BEGIN");
    expect(() => inSqlite.markProcessed(database, event)).toThrow("call ensureInboxTables first");
    inSqlite.ensureInboxTables(database);
    inSqlite.ensureInboxTables(database);
    database.exec("COMMIT; BEGIN");
    expect(inSqlite.markProcessed(database, event)).toBe(true);
    database.exec("ROLLBACK; BEGIN");
    const marks = [
      inSqlite.markProcessed(database, event),
      inSqlite.markProcessed(database, event),
    ];
    expect(marks).toEqual([true, false]);
  });

  it("says which arguments it takes", () => {
    const database = openDatabase();
    const event = balanceChanged("evt_1");
    const { markProcessed: mark, isNewest: isNew, ensureInboxTables: ensure } = inSqlite;
    const ofMark = "markProcessed takes the database of delivery.write or inbox.write";
    const ofNewest = "isNewest takes the database of delivery.write or inbox.write";
    expect(() => mark({ write() {} } as never, event)).toThrow(ofMark);
    expect(() => mark(database, "evt_1" as never)).toThrow("then the event, not its id");
    expect(() => isNew({ write() {} } as never, "k", event)).toThrow(ofNewest);
    expect(() => isNew(database, event as never, "k" as never)).toThrow("a key, then the event");
    for (const missing of [undefined, null, {}, Promise.resolve("card_1")])
      expect(() => isNew(database, `balance of ${missing}`, event)).toThrow(
        /The key of isNewest contains/,
      );
    const forPg = "For pg, import it from @loyalty-cards/webhook-inbox/postgres.";
    const pool = { query() {} } as never;
    expect(() => mark(pool, event)).toThrow(forPg);
    expect(() => isNew(pool, "k", event)).toThrow(forPg);
    expect(() => ensure(pool)).toThrow(forPg);
  });

  // G4
  it("ends with the newest event after any permutation, with duplicates", () => {
    const database = openDatabase();
    inSqlite.ensureInboxTables(database);
    database.exec("BEGIN"); // one fsync for all of them
    let key = 0;
    const anyEvent = fc
      .record({ ms: fc.nat(4), id: fc.nat(4) })
      .map(({ ms, id }) => ({ id: `evt_${id}`, createdAt: new Date(ms).toISOString() }));
    fc.assert(
      fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 12 }), (events) => {
        key += 1;
        const kept = events
          .filter((event) => inSqlite.isNewest(database, `card_${key}`, event))
          .at(-1);
        const toOrder = ({ createdAt, id }: (typeof events)[number]) => `${createdAt} ${id}`;
        const last = events.map(toOrder).sort().at(-1);
        expect(kept && toOrder(kept)).toBe(last);
      }),
      { numRuns: 100 },
    );
  });

  it("has the same tables as the file for migration tools", () => {
    const tablesAfter = (create: (database: SqliteDatabase) => void) => {
      const database = openDatabase();
      create(database);
      return database.prepare("SELECT type, name, sql FROM sqlite_master ORDER BY name").all();
    };
    const migration = readMigration("sqlite");
    expect(tablesAfter((database) => database.exec(migration))).toEqual(
      tablesAfter(inSqlite.ensureInboxTables),
    );
    expect(tablesAfter(inSqlite.ensureInboxTables)).toHaveLength(4); // two tables and the indexes of their keys
  });
});

it("publishes the tables of PostgreSQL as a file for migration tools", async () => {
  const sent: string[] = [];
  await ensureInboxTables({
    async query(text) {
      sent.push(text);
      return { rows: [] };
    },
  });
  expect(sent).toEqual([readMigration("postgres")]);
});

const readMigration = (folder: string) =>
  readFileSync(
    new URL(`../../migrations/${folder}/0001-webhook-inbox.sql`, import.meta.url),
    "utf8",
  );

const pgQuery = (own: PostgresTransaction, text: string, values: unknown[]) =>
  (own as { query(text: string, values: unknown[]): PromiseLike<unknown> }).query(text, values);
