/** The outbox in the transactions of each supported client, and of none. */
import { once } from "node:events";
import { hasCode } from "@loyalty-cards/internal/postgres/client";
import {
  overEveryClient,
  overPgBouncer,
  type Transacting,
} from "@loyalty-cards/testing/postgres-clients";
import { hasPostgres } from "@loyalty-cards/testing/servers";
import { sql as drizzleSql, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import {
  CamelCasePlugin,
  CompiledQuery,
  Kysely,
  type Transaction as KyselyTransaction,
  ParseJSONResultsPlugin,
  PostgresDialect,
} from "kysely";
import postgres from "postgres";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  fromDrizzle,
  fromKysely,
  type PostgresOutboxOptions,
  type PostgresTransaction,
  postgresOutbox,
} from "../../src/postgres.ts";
import { createNetwork, templateId, toEntry, toRequest } from "../shop.ts";
import { beforeQueries, openPostgres } from "./postgres-shop.ts";

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", async () => {
  const { openPostgresShop, pool, readUsers, schema, sql, url } = openPostgres();

  const clients = { ...overEveryClient(pool, sql), ...(await overPgBouncer(schema)) };
  const tables = ["entries", "entries_bodies", "settings"].map((name) => `issuing_outbox_${name}`);
  const countRows = async () => {
    const rows = tables.map((table) => `SELECT FROM ${table}`).join(" UNION ALL ");
    return (await pool.query(rows)).rowCount;
  };

  describe.each(Object.entries(clients))("with %s", (_name, { transaction, outside }) => {
    it("adds and corrects with the user, or not at all", async () => {
      const { outbox, requests } = openPostgresShop();
      const entry = {
        userId: 1,
        template: templateId,
        request: toRequest({ email: "old@example.com" }),
      };
      expect(await transaction((own) => outbox.add(own, entry))).toBe("added");
      expect(await transaction((own) => outbox.add(own, entry))).toBe("waiting");
      const rolledBack = transaction(async (own) => {
        await outbox.add(own, { ...entry, userId: 2 });
        throw new Error("The name is taken.");
      });
      await expect(rolledBack).rejects.toThrow("The name is taken.");
      const corrected = toRequest({ email: "new@example.com" });
      expect(await transaction((own) => outbox.correct(own, 1, corrected))).toBe("accepted");
      expect(await outbox.drain()).toMatchObject({ issued: 1, waiting: 0 });
      expect(requests.map(({ body }) => JSON.parse(body).customer.email)).toEqual([
        "new@example.com",
      ]);
    });

    /** Opens a shop with the option `transaction`; `fail` ignores an error in a transaction. */
    function openFailing(more: object = {}) {
      const runs = new WeakMap<object, (text: string) => Promise<unknown>>();
      const { outbox } = openPostgresShop(undefined, {
        pool: undefined,
        transaction: (work: (own: object) => Promise<unknown>) =>
          transaction((own, run) => work(runs.set(own, run) && own)),
        ...more,
      } as never);
      const fail = async (own: object) => {
        await expect(runs.get(own)?.("SELECT 1 FROM nowhere")).rejects.toThrow();
      };
      return { outbox, fail };
    }

    it("rejects a write that ignores the failure of a statement, because nothing is stored", async () => {
      const { outbox, fail } = openFailing();
      const write = outbox.write(async (own) => {
        await outbox.add(own, toEntry(1));
        await fail(own);
      });
      const error = await write.catch((thrown: unknown) => thrown);
      // in_failed_sql_transaction, or undefined_table: postgres.js rejects with the ignored error.
      expect(hasCode(error, "25P02", "42P01")).toBe(true);
      expect(await countRows()).toBe(1); // the settings
    });

    it("records the card when the callback ignores the failure of a statement", async () => {
      const onIssued = (_entry: unknown, own: object) => shop.fail(own);
      const shop = openFailing({ onIssued });
      await shop.outbox.addAll([{ userId: 1, template: templateId, request: toRequest() }]);
      const entry = await shop.outbox.issue(1);
      expect(entry).toMatchObject({ state: "issued", isDelivered: false });
    });

    it("does not need the result of the option transaction, but its end", async () => {
      const withoutResult = async (work: (own: PostgresTransaction) => Promise<unknown>) => {
        await transaction(work);
      };
      const lines: string[] = [];
      const log = (line: string) => lines.push(line);
      const options = { pool: undefined, onIssued() {}, log };
      const { outbox } = openPostgresShop(undefined, {
        ...options,
        transaction: withoutResult,
      } as never);
      expect(await outbox.write((own) => outbox.add(own, toEntry(1)))).toBe("added");
      expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
      expect(lines).toEqual([]);
      let running: Promise<unknown> | undefined;
      const notAwaited = (work: (own: PostgresTransaction) => Promise<unknown>) => {
        running = transaction(work);
      };
      const other = openPostgresShop(undefined, { ...options, transaction: notAwaited } as never);
      await expect(other.outbox.count()).rejects.toThrow(
        "The option transaction ended before its work: return the promise",
      );
      await running;
    });

    it("refuses a client that is not in a transaction, and stores nothing", async () => {
      const { outbox } = openPostgresShop();
      const refusal =
        /^outbox.add and outbox.correct need the transaction that saves the user, not a pool, .* Pass the client after BEGIN/;
      await expect(outbox.add(outside, toEntry(1))).rejects.toThrow(refusal);
      await expect(outbox.correct(outside, 1, toRequest())).rejects.toThrow(refusal);
      expect(await countRows()).toBe(0);
      const old = toRequest({ email: "old@example.com" });
      await transaction((own) =>
        outbox.add(own, { userId: 1, template: templateId, request: old }),
      );
      await expect(outbox.add(outside, toEntry(1))).rejects.toThrow(refusal);
      await expect(outbox.correct(outside, 1, toRequest())).rejects.toThrow(refusal);
      const { rows } = await pool.query("SELECT body FROM issuing_outbox_entries_bodies");
      expect(rows).toEqual([{ body: expect.stringContaining("old@example.com") }]);
    });

    it("adds two entries at the same time, in a transaction only", async () => {
      const { outbox } = openPostgresShop();
      const addBoth = (own: PostgresTransaction) =>
        Promise.allSettled([outbox.add(own, toEntry(1)), outbox.add(own, toEntry(2))]);
      expect(await addBoth(outside)).toMatchObject([
        { reason: expect.any(TypeError) },
        { reason: expect.any(TypeError) },
      ]);
      expect(await countRows()).toBe(0);
      expect(await transaction(addBoth)).toMatchObject([{ value: "added" }, { value: "added" }]);
      const issued = await Promise.all([outbox.issue(1), outbox.issue(2)]);
      expect(issued).toMatchObject([{ state: "issued" }, { state: "issued" }]);
    });

    it("adds an entry in a savepoint, and not when it is rolled back", async () => {
      const { outbox } = openPostgresShop();
      await transaction(async (own, run) => {
        await run("SAVEPOINT a");
        expect(await outbox.add(own, toEntry(1))).toBe("added");
        await run("ROLLBACK TO SAVEPOINT a");
        expect(await outbox.add(own, toEntry(2))).toBe("added");
        await run("RELEASE SAVEPOINT a");
      });
      expect(await outbox.drain()).toMatchObject({ issued: 1 });
      expect(await outbox.get(1)).toBeUndefined();
    });
  });

  it("refuses a client without BEGIN, and one whose transaction has ended", async () => {
    const { outbox } = openPostgresShop();
    const client = await pool.connect();
    await expect(outbox.add(client, toEntry(1))).rejects.toThrow(TypeError);
    await client.query("BEGIN");
    const late = expect(outbox.add(client, toEntry(1))).rejects.toThrow(TypeError);
    await client.query("COMMIT"); // sent before the entry, because nothing awaited it
    await late;
    expect(await countRows()).toBe(0);

    await outbox.count(); // the settings are known
    await client.query("BEGIN");
    const torn = expect(outbox.add(client, toEntry(1))).rejects.toThrow(TypeError);
    await client.query("SELECT 1");
    await client.query("COMMIT"); // sent between the entry and its form
    await torn;
    client.release();
    expect(await outbox.write((own) => outbox.add(own, toEntry(1)))).toBe("waiting");
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
  });

  it("leaves the rejection of an add that nobody awaits to the process", async () => {
    const listeners = process.listeners("unhandledRejection"); // of the test runner
    process.removeAllListeners("unhandledRejection");
    onTestFinished(() => {
      for (const listener of listeners) process.on("unhandledRejection", listener);
    });
    const unhandled = once(process, "unhandledRejection");
    const { outbox } = openPostgresShop();
    const client = await pool.connect();
    await client.query("BEGIN");
    void outbox.add(client, toEntry(1));
    await client.query("COMMIT");
    expect((await unhandled)[0]).toMatchObject({
      message: expect.stringContaining("transaction that saves the user"),
    });
    client.release();
  });

  it("stores no form when the transaction ends before it", async () => {
    const { outbox } = openPostgresShop();
    const client = await pool.connect();
    await client.query("BEGIN");
    let isOpen = true;
    beforeQueries(async (statement) => {
      if (!isOpen || !statement.includes("INTO issuing_outbox_entries_bodies")) return;
      isOpen = false;
      await client.query("COMMIT");
    });
    await expect(outbox.add(client, toEntry(1))).rejects.toThrow(TypeError);
    client.release();
    expect((await pool.query("SELECT FROM issuing_outbox_entries_bodies")).rowCount).toBe(0);
  });

  it("takes the transactions of Drizzle and Kysely as they are, with the option adapt", async () => {
    const users = pgTable("users", { id: text().primaryKey(), card: text() });
    const overDrizzle = drizzle(pool);
    type DrizzleTransaction = Parameters<Parameters<typeof overDrizzle.transaction>[0]>[0];
    const network = createNetwork();
    const drizzleOutbox = postgresOutbox({
      client: network.createClient(),
      transaction: (work) => overDrizzle.transaction(work),
      adapt: (tx: DrizzleTransaction) => fromDrizzle(tx, drizzleSql),
      onIssued: ({ userId, cardId }, tx) =>
        tx.update(users).set({ card: cardId }).where(eq(users.id, userId)),
      log: () => {},
    });
    await drizzleOutbox.write(async (tx) => {
      await tx.insert(users).values({ id: "1" });
      expect(await drizzleOutbox.add(tx, toEntry(1))).toBe("added");
      expect(await drizzleOutbox.correct(tx, 1, toRequest())).toBe("accepted");
      expect(await tx.transaction((inner) => drizzleOutbox.add(inner, toEntry(1)))).toBe("waiting");
    });
    const first = await drizzleOutbox.issue(1);

    const overKysely = new Kysely<{ users: { id: string; card: string | null } }>({
      dialect: new PostgresDialect({ pool }),
    });
    const kyselyOutbox = postgresOutbox({
      client: network.createClient(),
      transaction: (work) => overKysely.transaction().execute(work),
      adapt: (tx: KyselyTransaction<{ users: { id: string; card: string | null } }>) =>
        fromKysely(tx, CompiledQuery),
      onIssued: ({ userId, cardId }, tx) =>
        tx.updateTable("users").set({ card: cardId }).where("id", "=", userId).execute(),
      log: () => {},
    });
    await kyselyOutbox.write(async (tx) => {
      await tx.insertInto("users").values({ id: "2", card: null }).execute();
      expect(await kyselyOutbox.add(tx, toEntry(2))).toBe("added");
    });
    const second = await kyselyOutbox.issue(2);
    expect(await readUsers()).toEqual([
      { id: "1", card: first.cardId },
      { id: "2", card: second.cardId },
    ]);
    expect([first, second]).toMatchObject([{ isDelivered: true }, { isDelivered: true }]);
  });

  it("works with postgres.js, and with a transaction of another client", async () => {
    const network = createNetwork();
    const overSql = postgresOutbox({
      client: network.createClient(),
      pool: sql as never,
      log: () => {},
    });
    await overSql.addAll([toEntry(1)]);
    expect(await overSql.drain()).toMatchObject({ issued: 1 });
    const { transaction } = clients["Kysely"] as Transacting;
    const overKyselys = postgresOutbox({
      client: network.createClient(),
      transaction: (work) => transaction((own) => work(own)),
      log: () => {},
    });
    await overKyselys.addAll([toEntry(2)]);
    expect(await overKyselys.drain()).toMatchObject({ issued: 2 });
  });

  it("works with a transaction that repeats its work after a serialization failure", async () => {
    const network = createNetwork();
    const { transaction } = clients["Kysely"] as Transacting;
    const outbox = postgresOutbox({
      client: network.createClient(),
      log: () => {},
      async transaction(work) {
        await transaction(async (own) => Promise.reject(await work(own))).catch(() => {});
        return transaction((own) => work(own));
      },
    });
    onTestFinished(() => outbox.close({ graceMs: 0 }));
    await outbox.addAll([toEntry(1)]);
    expect(await outbox.issue(1)).toMatchObject({ state: "issued", attempts: 1 });
    expect(network.requests).toHaveLength(1);
  });

  it("rejects a write that postgres.js took for a commit, and stores what it says it stored", async () => {
    const { outbox } = openPostgresShop(createNetwork(), { pool: sql } as never);
    const write = (id: string, before: string) =>
      outbox.write(async (own) => {
        const transaction = own as unknown as postgres.TransactionSql;
        await transaction.unsafe(before);
        await transaction`INSERT INTO users (id) VALUES (${id})`;
        return outbox.add(transaction as never, toEntry(id));
      });
    for (let index = 0; index < 20; index++) {
      // What another server connection of a pooler amounts to: the prepared statements are gone.
      const result = await write(
        String(index),
        index % 2 === 0 ? "SELECT 1" : "DEALLOCATE ALL",
      ).catch(() => "rejected");
      const { rowCount } = await pool.query("SELECT FROM users WHERE id = $1", [String(index)]);
      expect([result, rowCount]).toEqual(result === "added" ? ["added", 1] : ["rejected", 0]);
    }
    expect((await readUsers()).length).toBeGreaterThanOrEqual(10);
  });

  /** A client of postgres.js that changes the rows of results. */
  function openTransforming(transform: NonNullable<postgres.Options<never>["transform"]>) {
    const transforming = postgres(url, {
      connection: { search_path: schema },
      transform,
      fetch_types: false,
      onnotice() {},
    });
    onTestFinished(() => transforming.end());
    return transforming;
  }

  it.each([
    ["camel", postgres.camel],
    ["pascal", postgres.pascal],
    ["kebab", postgres.kebab],
    ["toPascal", { column: { from: postgres.toPascal } }],
    ["upper case", { column: { from: (name: string) => name.toUpperCase() } }],
  ])("works with a client that renames columns: %s", async (_name, transform) => {
    const renaming = openTransforming(transform);
    const { outbox } = openPostgresShop(createNetwork(), {
      pool: renaming,
      onIssued: () => {},
    } as never);
    await outbox.addAll([toEntry(1)]);
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
    const other = openPostgresShop();
    expect(await renaming.begin((own) => other.outbox.add(own as never, toEntry(2)))).toBe("added");
    expect(await other.outbox.issue(2)).toMatchObject({ state: "issued" });
    await expect(other.outbox.add(renaming as never, toEntry(3))).rejects.toThrow(
      "need the transaction that saves the user, not a pool",
    );
  });

  it("refuses a transaction whose results have lost the id", async () => {
    const renaming = openTransforming({ column: { from: (name: string) => `my${name}` } });
    const { outbox } = openPostgresShop();
    await expect(renaming.begin((own) => outbox.add(own as never, toEntry(1)))).rejects.toThrow(
      'The column "id" of a result is "undefined", not the id of the transaction: a plugin or transform of your database library changed the result.',
    );
    expect(await countRows()).toBe(0);
  });

  const parsingSql = () =>
    openTransforming({
      value: {
        from: (value: unknown) =>
          typeof value === "string" && /^[[{]/.test(value) ? JSON.parse(value) : value,
      },
    });
  const parsingKysely = () =>
    new Kysely<Record<string, never>>({
      dialect: new PostgresDialect({ pool }),
      plugins: [new ParseJSONResultsPlugin(), new CamelCasePlugin()],
    });
  it.each<[string, () => Partial<PostgresOutboxOptions<never>>]>([
    ["postgres.js", () => ({ pool: parsingSql() as never })],
    [
      "Kysely",
      () => ({
        transaction: (work) =>
          parsingKysely()
            .transaction()
            .execute(work as never),
        adapt: (tx) => fromKysely(tx, CompiledQuery),
      }),
    ],
  ])("sends what was stored when a library parses JSON in results: %s", async (_name, open) => {
    const { weather, requests, createClient } = createNetwork();
    const outbox = postgresOutbox({
      client: createClient(),
      onIssued() {},
      log: () => {},
      ...open(),
    } as PostgresOutboxOptions<never>);
    onTestFinished(() => outbox.close({ graceMs: 0 }));
    const { customer } = toRequest({ email: "first.last@example.com" });
    const fieldValues = { first_name: '["A\u2028"]', 10: "1", 9: "1.0", born: "2000-01-01" };
    const entry = { userId: 1, template: templateId, request: { customer, fieldValues } };
    await outbox.write((own) => outbox.add(own, entry));
    const { rows } = await pool.query("SELECT body FROM issuing_outbox_entries_bodies");

    weather.push(422);
    expect(await outbox.issue(1)).toMatchObject({
      state: "rejected",
      error: { code: "validation" },
    });
    expect(await outbox.write((own) => outbox.correct(own, 1, entry.request))).toBe("accepted");
    const { cardId } = await outbox.issue(1);
    expect(cardId).toEqual(expect.any(String));
    expect(await outbox.get(1)).toMatchObject({ state: "issued", cardId });
    expect(requests.map(({ body }) => body)).toEqual([rows[0].body, rows[0].body]);
    expect(requests[0]?.key).not.toBe(requests[1]?.key);
  });

  it("says what to pass when the object is no transaction", async () => {
    const { outbox } = openPostgresShop();
    const connection = await pool.connect();
    const manager = {
      query: async (text: string, values: unknown[]) => (await connection.query(text, values)).rows,
    };
    const added = outbox.add(manager as never, {
      userId: 1,
      template: templateId,
      request: toRequest(),
    });
    await expect(added).rejects.toThrow(
      "does not resolve to { rows }, like that of TypeORM. Pass an object { query:",
    );
    await expect(outbox.add({} as never, toEntry(1))).rejects.toThrow(
      "with Drizzle fromDrizzle(tx, sql), with Kysely fromKysely(tx, CompiledQuery)",
    );
    for (const first of [toEntry(1), undefined])
      await expect(outbox.add(first as never, manager as never)).rejects.toThrow(
        "Pass the transaction, then the entry or event",
      );
    connection.release();
  });
});
