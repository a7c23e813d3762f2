/**
 * The outbox in a real PostgreSQL: through each supported client, in several processes' places, and
 * with connections that are cut.
 */

import { once } from "node:events";
import { overPgBouncer } from "@loyalty-cards/testing/own-pgbouncer";
import { overEveryClient, overPg, type Transacting } from "@loyalty-cards/testing/postgres-clients";
import { createGate } from "@loyalty-cards/testing/resources";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import { sql as drizzleSql, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import {
  CompiledQuery,
  Kysely,
  type Transaction as KyselyTransaction,
  PostgresDialect,
} from "kysely";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { OutboxOutcome } from "../../src/index.ts";
import {
  ensureOutboxTables,
  fromDrizzle,
  fromKysely,
  type PostgresOutboxOptions,
  type PostgresTransaction,
  postgresOutbox,
} from "../../src/postgres.ts";
import { createNetwork, template, toEntries, toEntry, toRequest } from "../shop.ts";

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", async () => {
  const { pool: createPool, schema, url } = ownSchema();
  const pool = createPool(16);
  const sql = postgres(url, {
    connection: { search_path: schema },
    max: 8,
    onnotice: () => {},
    fetch_types: false,
  });
  afterAll(() => sql.end());
  beforeAll(async () => {
    await Promise.all([
      ensureOutboxTables(pool),
      ensureOutboxTables(pool),
      ensureOutboxTables(sql as never),
    ]);
    await pool.query("CREATE TABLE users (id text PRIMARY KEY, card text)");
  });
  beforeEach(async () => {
    await pool.query(
      "TRUNCATE users, issuing_outbox_entries, issuing_outbox_entries_bodies, issuing_outbox_entries_breakers, issuing_outbox_entries_failures, issuing_outbox_settings",
    );
  });

  function openShop(
    network = createNetwork(),
    options: Partial<PostgresOutboxOptions<pg.PoolClient>> = {},
  ) {
    const outcomes: OutboxOutcome[] = [];
    const outbox = postgresOutbox<pg.PoolClient>({
      client: network.createClient(),
      pool,
      onIssued: ({ userId, cardId }, transaction) =>
        transaction.query("UPDATE users SET card = $1 WHERE id = $2", [cardId, userId]),
      onOutcome: (outcome) => outcomes.push(outcome),
      log: () => {},
      ...options,
    } as PostgresOutboxOptions<pg.PoolClient>);
    onTestFinished(() => outbox.close({ graceMs: 0 }));
    const signUp = (userId: string, request = toEntry(userId).request) =>
      outbox.write(async (transaction) => {
        await transaction.query("INSERT INTO users (id) VALUES ($1)", [userId]);
        return outbox.add(transaction, { userId, template, request });
      });
    return { ...network, outbox, outcomes, signUp };
  }
  /**
   * Calls `before` with the text of each statement of pg, until the end of the test. The statement
   * waits for it.
   */
  function beforeQueries(before: (text: string) => unknown) {
    const { query } = pg.Client.prototype;
    onTestFinished(() => void Object.assign(pg.Client.prototype, { query }));
    pg.Client.prototype.query = async function (this: pg.Client, ...values: unknown[]) {
      await before(String(values[0]));
      return Reflect.apply(query, this, values);
    } as typeof query;
  }
  const isWaiting =
    "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
  const untilOneWaits = () =>
    expect.poll(async () => (await pool.query(isWaiting, [schema])).rowCount).toBe(1);
  const readUsers = async () =>
    (
      await pool.query<{ id: string; card: string | null }>(
        "SELECT id, card FROM users ORDER BY id",
      )
    ).rows;

  it("issues the card of a sign-up and stores it with the user in one transaction", async () => {
    const { outbox, signUp } = openShop();
    expect(await signUp("1")).toBe("added");
    const entry = await outbox.issue(1);
    expect(entry).toMatchObject({
      state: "issued",
      isDelivered: true,
      card: { id: expect.any(String) },
    });
    expect(await readUsers()).toEqual([{ id: "1", card: entry.cardId }]);
    const { rows } = await pool.query("SELECT body FROM issuing_outbox_entries_bodies");
    expect(rows).toEqual([]);
  });

  it("rejects a write whose function ended the transaction", async () => {
    const { outbox } = openShop();
    for (const end of ["ROLLBACK", "COMMIT"])
      await expect(outbox.write((transaction) => transaction.query(end))).rejects.toThrow(
        "The transaction was ended inside of its function, with COMMIT or ROLLBACK.",
      );
    expect(await outbox.write((own) => outbox.add(own, toEntry(1)))).toBe("added");
  });

  it("rejects a write that does not await add, and stores nothing", async () => {
    const notAwaited = "Is outbox.add awaited? Write await outbox.add(transaction, entry).";
    const { outbox } = openShop();
    const inPg = outbox.write(async (transaction) => {
      await transaction.query("INSERT INTO users (id) VALUES ('1')");
      void outbox.add(transaction, toEntry("1"));
    });
    await expect(inPg).rejects.toThrow(notAwaited);
    const failing = outbox.write(async (transaction) => {
      void outbox.add(transaction, { ...toEntry("1"), template: "" });
    });
    await expect(failing).rejects.toThrow(notAwaited);
    const overSql = postgresOutbox({ client: createNetwork().createClient(), pool: sql });
    const inPostgresJs = overSql.write(async (transaction) => {
      await transaction`INSERT INTO users (id) VALUES ('1')`;
      void overSql.add(transaction, toEntry("1"));
      void overSql.correct(transaction, "1", toRequest());
    });
    await expect(inPostgresJs).rejects.toThrow(notAwaited);
    expect((await pool.query("SELECT FROM users")).rowCount).toBe(0);
    expect(await outbox.count()).toMatchObject({ waiting: 0 });
    await outbox.write((transaction) => outbox.add(transaction, toEntry("1")));
    expect(await outbox.count()).toMatchObject({ waiting: 1 });
  });

  it("repeats what PostgreSQL ended because of a deadlock, at most five times", async () => {
    let deadlocks = 2;
    const { transaction: transact } = overPg(pool);
    const transaction: Transacting["transaction"] = (work) =>
      transact(async (own, run) => {
        const result = await work(own, run);
        const { rowCount } = (await run("SELECT FROM issuing_outbox_entries")) as pg.QueryResult;
        if (rowCount && deadlocks-- > 0)
          throw Object.assign(new Error("deadlock detected"), { code: "40P01" });
        return result;
      });
    const { outbox } = openShop(undefined, { pool: undefined, transaction } as never);
    const entries = ["1", "2"].map((userId) => ({ userId, template, request: toRequest() }));
    expect(await outbox.addAll(entries)).toEqual({ added: 2, known: 0 });
    deadlocks = 100;
    await expect(outbox.addAll([{ userId: "3", template, request: toRequest() }])).rejects.toThrow(
      "deadlock",
    );
  });

  it("reports one pause when many requests fail at once", async () => {
    const { outbox, outcomes, weather } = openShop();
    await outbox.addAll(toEntries(30));
    weather.push(...Array.from({ length: 1_000 }, () => 503));
    await outbox.drain({ concurrency: 16, maxMs: 1_500 });
    expect(outcomes.filter(({ outcome }) => outcome === "failed").length).toBeGreaterThan(2);
    expect(outcomes.filter(({ outcome }) => outcome === "paused")).toHaveLength(1);
  });

  it("records the other cards when a callback ignores the failure of a query", async () => {
    const { outbox } = openShop(undefined, {
      onIssued: async ({ userId, cardId }, transaction) => {
        if (userId === "7")
          await transaction.query("INSERT INTO nowhere VALUES (1)").catch(() => {});
        await transaction
          .query("INSERT INTO users VALUES ($1, $2)", [userId, cardId])
          .catch(() => {});
      },
    });
    await outbox.addAll(toEntries(20));
    const worker = outbox.work({ concurrency: 20 });
    await expect.poll(() => outbox.count()).toMatchObject({ issued: 20, undelivered: 1 });
    await worker.stop();
    expect(await readUsers()).toHaveLength(19);
  });

  it("waits for another transaction that has the row of issue, without asking at once again", async () => {
    const { outbox, signUp } = openShop();
    await signUp("1");
    const other = await pool.connect();
    await other.query("BEGIN");
    await outbox.correct(other, 1, toEntry(1).request);
    let queries = 0;
    beforeQueries(() => void queries++);
    expect(await outbox.issue(1, { deadlineMs: 500 })).toMatchObject({
      state: "waiting",
      attempts: 0,
    });
    expect(queries).toBeLessThan(200);
    await other.query("COMMIT");
    other.release();
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
  });

  it("sends the form of the last correction, which waited for another one", async () => {
    const { outbox, signUp, requests } = openShop();
    const form = toRequest({ email: "first@example.com" });
    await signUp("1", form);
    const other = await pool.connect();
    await other.query("BEGIN");
    expect(await outbox.correct(other, 1, toRequest({ email: "other@example.com" }))).toBe(
      "accepted",
    );
    const last = outbox.write((own) => outbox.correct(own, 1, form));
    await untilOneWaits();
    await other.query("COMMIT");
    other.release();
    expect(await last).toBe("accepted");
    await outbox.issue(1);
    expect(requests.at(-1)?.body).toContain("first@example.com");
  });

  it("sends the form of a correction that is committed while the entry is leased", async () => {
    const { outbox, signUp, requests } = openShop();
    await signUp("1", toRequest({ email: "old@example.com" }));
    // The lease waits when it has seen the old form, and has not locked the entry. The other
    // connection does not wait for itself.
    await pool.query(
      `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;
       CREATE TRIGGER wait BEFORE UPDATE ON issuing_outbox_entries FOR EACH STATEMENT EXECUTE FUNCTION wait()`,
    );
    onTestFinished(async () => void (await pool.query("DROP FUNCTION wait CASCADE")));
    const other = await pool.connect();
    await other.query("SELECT pg_advisory_lock(7)");
    const issued = outbox.issue(1);
    await untilOneWaits();
    await other.query("BEGIN");
    expect(await outbox.correct(other, 1, toRequest({ email: "new@example.com" }))).toBe(
      "accepted",
    );
    await other.query("COMMIT");
    await other.query("SELECT pg_advisory_unlock(7)");
    other.release();
    expect(await issued).toMatchObject({ state: "issued" });
    expect(requests.map(({ body }) => JSON.parse(body).customer.email)).toEqual([
      "new@example.com",
    ]);
  });

  it("adds the entry of a user who is forgotten while it is added", async () => {
    const { outbox, signUp } = openShop();
    await signUp("1");
    let isFirst = true;
    beforeQueries(async (text) => {
      if (!isFirst || !/^SELECT \*\s+FROM issuing_outbox_entries/.test(text)) return;
      isFirst = false;
      expect(await outbox.forget(1)).toBe(true);
    });
    const entry = { userId: 1, template, request: toRequest() };
    expect(await outbox.write((own) => outbox.add(own, entry))).toBe("added");
    expect(isFirst).toBe(false);
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
  });

  it("ends issue when the outbox is closed while the entry is leased", async () => {
    const { outbox, signUp, weather } = openShop();
    await signUp("1");
    const { opened: response, open: respond } = createGate<"ok">();
    weather.push(() => response);
    let closed: Promise<void> | undefined;
    beforeQueries((text) => {
      if (text.includes("SET lease = $")) closed ??= outbox.close({ graceMs: 60_000 });
    });
    const entry = await outbox.issue(1, { deadlineMs: 3_600_000 });
    expect(entry).toMatchObject({ state: "waiting", attempts: 1 });
    expect(entry.error).toBeUndefined(); // it waited for no timeout of the request
    respond("ok");
    await closed;
  });

  it("ends close after its grace while a callback hangs, and records nothing of it", async () => {
    const [called, end] = [createGate(), createGate()];
    const { outbox, signUp } = openShop(undefined, {
      onIssued() {
        called.open();
        return end.opened;
      },
    });
    await signUp("1");
    await signUp("2");
    const worker = outbox.work({ concurrency: 1 });
    const issued = outbox.issue(1);
    await called.opened;
    await Promise.all([worker.stop({ graceMs: 10 }), outbox.close({ graceMs: 10 })]);
    expect(await issued).toMatchObject({ state: "waiting" });
    const { rows } = await pool.query("SELECT state FROM issuing_outbox_entries WHERE name = '1'");
    expect(rows).toEqual([{ state: "waiting" }]);
    end.open();
  });

  it("erases nothing too early, and drains, with a retention that is not a whole number of milliseconds", async () => {
    const { outbox, signUp, weather } = openShop(undefined, { retentionDays: 1.1 });
    await signUp("1");
    weather.push(422);
    expect(await outbox.drain()).toMatchObject({ rejected: 1 });
    expect((await pool.query("SELECT FROM issuing_outbox_entries_bodies")).rowCount).toBe(1);
  });

  it("keeps the form of a correction that is committed while old forms are erased", async () => {
    const { outbox, signUp, weather, requests } = openShop();
    await signUp("1");
    weather.push(422);
    expect(await outbox.issue(1)).toMatchObject({ state: "rejected" });
    await pool.query("UPDATE issuing_outbox_entries SET ended = 1, lost = NULL");
    const other = await pool.connect();
    await other.query("BEGIN");
    expect(await outbox.correct(other, 1, toRequest({ email: "new@example.com" }))).toBe(
      "accepted",
    );
    await outbox.drain({ maxMs: 500 });
    await other.query("COMMIT");
    other.release();
    expect(await outbox.drain()).toMatchObject({ issued: 1 });
    expect(requests.at(-1)?.body).toContain("new@example.com");
  });

  it("rejects drain without ending the process when the database cannot be reached", async () => {
    const unreachable = new pg.Pool({ host: "127.0.0.1", port: 1 });
    const { outbox } = openShop(undefined, { pool: unreachable } as never);
    await expect(outbox.drain({ maxMs: 100 })).rejects.toThrow("ECONNREFUSED");
  });

  const clients = { ...overEveryClient(pool, sql), ...(await overPgBouncer(schema)) };
  const tables = ["entries", "entries_bodies", "settings"].map((name) => `issuing_outbox_${name}`);
  const countRows = async () => {
    const rows = tables.map((table) => `SELECT FROM ${table}`).join(" UNION ALL ");
    return (await pool.query(rows)).rowCount;
  };

  describe.each(Object.entries(clients))("with %s", (_name, { transaction, outside }) => {
    it("adds and corrects with the user, or not at all", async () => {
      const { outbox, requests } = openShop();
      const entry = { userId: 1, template, request: toRequest({ email: "old@example.com" }) };
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

    it("records the card when the callback ignores the failure of a statement", async () => {
      const runs = new WeakMap<object, (text: string) => Promise<unknown>>();
      const { outbox } = openShop(undefined, {
        pool: undefined,
        transaction: (work: (own: object) => Promise<unknown>) =>
          transaction((own, run) => work(runs.set(own, run) && own)),
        onIssued: (_entry: unknown, own: object) =>
          runs
            .get(own)?.("SELECT 1 FROM nowhere")
            .catch(() => {}),
      } as never);
      await outbox.addAll([{ userId: 1, template, request: toRequest() }]);
      expect(await outbox.issue(1)).toMatchObject({ state: "issued", isDelivered: false });
    });

    it("does not need the result of the option transaction, but its end", async () => {
      const withoutResult = async (work: (own: PostgresTransaction) => Promise<unknown>) => {
        await transaction(work);
      };
      const lines: string[] = [];
      const log = (line: string) => lines.push(line);
      const options = { pool: undefined, onIssued() {}, log };
      const { outbox } = openShop(undefined, { ...options, transaction: withoutResult } as never);
      expect(await outbox.write((own) => outbox.add(own, toEntry(1)))).toBe("added");
      expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
      expect(lines).toEqual([]);
      let running: Promise<unknown> | undefined;
      const notAwaited = (work: (own: PostgresTransaction) => Promise<unknown>) => {
        running = transaction(work);
      };
      const other = openShop(undefined, { ...options, transaction: notAwaited } as never);
      await expect(other.outbox.count()).rejects.toThrow(
        "The option transaction ended before its work: return the promise",
      );
      await running;
    });

    it("refuses a client that is not in a transaction, and stores nothing", async () => {
      const { outbox } = openShop();
      const refusal =
        /^outbox.add and outbox.correct need the transaction that saves the user, not a pool, .* Pass the client after BEGIN/;
      await expect(outbox.add(outside, toEntry(1))).rejects.toThrow(refusal);
      await expect(outbox.correct(outside, 1, toRequest())).rejects.toThrow(refusal);
      expect(await countRows()).toBe(0);
      const old = toRequest({ email: "old@example.com" });
      await transaction((own) => outbox.add(own, { userId: 1, template, request: old }));
      await expect(outbox.add(outside, toEntry(1))).rejects.toThrow(refusal);
      await expect(outbox.correct(outside, 1, toRequest())).rejects.toThrow(refusal);
      const { rows } = await pool.query("SELECT body FROM issuing_outbox_entries_bodies");
      expect(rows).toEqual([{ body: expect.stringContaining("old@example.com") }]);
    });

    it("adds two entries at the same time, in a transaction only", async () => {
      const { outbox } = openShop();
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
      const { outbox } = openShop();
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
    const { outbox } = openShop();
    const client = await pool.connect();
    await expect(outbox.add(client, toEntry(1))).rejects.toThrow(TypeError);
    await client.query("BEGIN");
    const late = expect(outbox.add(client, toEntry(1))).rejects.toThrow(TypeError);
    await client.query("COMMIT"); // sent before the entry, because nothing awaited it
    await late;
    client.release();
    expect(await countRows()).toBe(0);
  });

  it("leaves the rejection of an add that nobody awaits to the process", async () => {
    const listeners = process.listeners("unhandledRejection"); // of the test runner
    process.removeAllListeners("unhandledRejection");
    onTestFinished(() => {
      for (const listener of listeners) process.on("unhandledRejection", listener);
    });
    const unhandled = once(process, "unhandledRejection");
    const { outbox } = openShop();
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
    const { outbox } = openShop();
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

  it("issues the card after a failover, and gives up each connection that is read-only now", async () => {
    const own = createPool(4);
    const { outbox, signUp } = openShop(createNetwork(), { pool: own });
    await signUp("1");
    const open = await Promise.all([1, 2, 3].map(() => own.connect()));
    for (const connection of open)
      await connection.query("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY");
    for (const connection of open) connection.release();
    // The function of the program is not called again: the program decides.
    await expect(signUp("2")).rejects.toMatchObject({ code: "25006" });
    expect(own.totalCount).toBe(2);
    expect(await outbox.issue(1)).toMatchObject({ state: "issued", isDelivered: true });
    expect(await signUp("2")).toBe("added");
  });

  it.each(["57P01", "57P03"])(
    "repeats its own statements after %s, and not a COMMIT that got it",
    async (code) => {
      const failures: string[] = [];
      beforeQueries((text) => {
        const isNext = failures[0] !== undefined && text.startsWith(failures[0]);
        if (isNext) failures.shift();
        if (isNext) throw Object.assign(new Error("terminating connection"), { code });
      });
      const own = createPool(2);
      const { outbox } = openShop(createNetwork(), { pool: own });
      failures.push("INSERT INTO issuing_outbox_settings", "BEGIN");
      expect(await outbox.addAll([toEntry(1)])).toEqual({ added: 1, known: 0 });
      expect(failures).toEqual([]);
      failures.push("COMMIT");
      await expect(outbox.addAll([toEntry(2)])).rejects.toMatchObject({ code: "08007" });
    },
  );

  it("writes the settings before the first transaction begins, also with one connection", async () => {
    const own = createPool(1);
    const { signUp } = openShop(createNetwork(), { pool: own });
    const statements: string[] = [];
    beforeQueries((text) => void statements.push(text.trim().split(/\s+/, 3).join(" ")));
    const added = await Promise.all(["1", "2", "3"].map((userId) => signUp(userId)));
    expect(added).toEqual(["added", "added", "added"]);
    const settings = "INSERT INTO issuing_outbox_settings";
    expect(statements.filter((text) => text === settings)).toHaveLength(1);
    expect(statements.indexOf(settings)).toBeLessThan(statements.indexOf("INSERT INTO users"));
  });

  it("issues every card although the default isolation is serializable", async () => {
    const serializable = new pg.Pool({
      connectionString: url,
      options: `-c search_path=${schema} -c default_transaction_isolation=serializable`,
      max: 12,
    });
    onTestFinished(() => serializable.end());
    const { outbox, signUp } = openShop(createNetwork(), { pool: serializable });
    const userIds = Array.from({ length: 30 }, (_, index) => String(index));
    const worker = outbox.work({ pollMs: 20 });
    const entries = await Promise.all(
      userIds.map(async (userId) => {
        for (;;) {
          // The transaction of the program: PostgreSQL asks the program to repeat it.
          const added = await signUp(userId).catch((error: { code?: string }) => error.code);
          if (added !== "40001") return outbox.issue(userId);
        }
      }),
    );
    expect(entries.filter(({ state }) => state !== "issued")).toEqual([]);
    // A callback whose transaction had too many conflicts is called again.
    await expect.poll(readUsers).not.toContainEqual(expect.objectContaining({ card: null }));
    await worker.stop();
  });

  it("rejects a write that postgres.js took for a commit, and stores what it says it stored", async () => {
    const { outbox } = openShop(createNetwork(), { pool: sql } as never);
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

  it("works with a client that renames columns", async () => {
    const camel = postgres(url, {
      connection: { search_path: schema },
      transform: postgres.camel,
      fetch_types: false,
      onnotice() {},
    });
    onTestFinished(() => camel.end());
    const { outbox } = openShop(createNetwork(), { pool: camel, onIssued: () => {} } as never);
    await outbox.addAll([toEntry(1)]);
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
  });

  it("says what to pass when the object is no transaction", async () => {
    const { outbox } = openShop();
    const connection = await pool.connect();
    const manager = {
      query: async (text: string, values: unknown[]) => (await connection.query(text, values)).rows,
    };
    const added = outbox.add(manager as never, { userId: 1, template, request: toRequest() });
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

  it("holds no connection while a request is sent, and needs only one", async () => {
    const single = createPool(1);
    const { outbox, signUp, weather } = openShop(createNetwork(), { pool: single });
    await signUp("1");
    let rows: unknown[] = [];
    weather.push(async () => {
      rows = (await single.query("SELECT 1 AS one")).rows;
      return "ok";
    });
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
    expect(rows).toEqual([{ one: 1 }]);
  });

  it("records the card without a callback whose query fails, and repeats it", async () => {
    let isFailing = true;
    const { outbox, signUp, outcomes, requests } = openShop(createNetwork(), {
      onIssued: async ({ userId, cardId }, transaction) => {
        if (isFailing) await transaction.query("UPDATE no_such_table SET card = $1", [cardId]);
        await transaction.query("UPDATE users SET card = $1 WHERE id = $2", [cardId, userId]);
      },
    });
    await signUp("1");
    expect(await outbox.issue(1)).toMatchObject({ state: "issued", isDelivered: false });
    isFailing = false;
    await outbox.retry(1);
    expect(await outbox.drain()).toMatchObject({ undelivered: 0 });
    expect((await readUsers())[0]?.card).not.toBeNull();
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      "issued",
      "not-delivered",
      "delivered",
    ]);
    expect(requests).toHaveLength(1);
  });

  // G1, G2
  it("distributes entries to several outboxes: each card once, none left, although connections are cut", async () => {
    const network = createNetwork();
    const list = toEntries(600);
    await pool.query("INSERT INTO users SELECT generate_series(0, 599)::text");
    const shops = [1, 2, 3].map(() => openShop(network, { pool: createPool(4) }));
    const [first] = shops;
    expect(await first?.outbox.addAll(list)).toEqual({ added: 600, known: 0 });
    const workers = shops.map(({ outbox }) => outbox.work({ concurrency: 8, pollMs: 50 }));
    for (let cut = 0; cut < 5; cut++) {
      await expect
        .poll(async () => (await pool.query("SELECT FROM users WHERE card IS NOT NULL")).rowCount)
        .toBeGreaterThan(cut * 60);
      await pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%issuing_outbox%'
         AND application_name = current_setting('application_name')`,
      );
    }
    await expect
      .poll(async () => (await pool.query("SELECT FROM users WHERE card IS NULL")).rowCount, {
        timeout: 50_000,
      })
      .toBe(0);
    for (const worker of workers) await worker.stop();
    const entries = await pool.query(
      "SELECT u.card, e.result FROM users u JOIN issuing_outbox_entries e ON e.name = u.id",
    );
    expect(entries.rows.filter(({ card, result }) => card !== JSON.parse(result).cardId)).toEqual(
      [],
    );
    expect(network.cards.length).toBeGreaterThanOrEqual(600);
    expect(new Set(network.requests.map(({ key }) => key)).size).toBe(600);
  }, 120_000);

  // G12
  it("shares a pause with other processes, and shows it", async () => {
    const network = createNetwork();
    const first = openShop(network);
    const second = openShop(network);
    for (const userId of ["1", "2", "3"]) {
      await first.signUp(userId);
      network.weather.push(new Response(null, { status: 503, headers: { "retry-after": "600" } }));
      expect(await first.outbox.issue(userId, { deadlineMs: 10_000 })).toMatchObject({
        state: "waiting",
      });
    }
    await first.signUp("4");
    expect((await second.outbox.count()).paused).toMatchObject([{ template, reason: "server" }]);
    expect(await second.outbox.issue(4)).toMatchObject({ state: "waiting", attempts: 0 });
    expect(network.requests).toHaveLength(3);
  });

  // G25
  it("refuses a process with another namespace", async () => {
    const network = createNetwork();
    await openShop(network).outbox.count();
    const client = network.createClient({ idempotencyNamespace: "staging" });
    await expect(openShop(network, { client }).outbox.count()).rejects.toThrow(
      'the idempotencyNamespace "", and the client of this process has "staging"',
    );
  });
});
