/** The outbox in a real PostgreSQL: through each supported client, in several processes' places, and with connections that are cut. */
import { createGate } from "@loyalty-cards/internal/test/resources";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { hasPostgres, ownSchema } from "../../../webhook-inbox/test/servers.ts";
import { overEveryClient, overPg, type Transacting } from "../../../webhook-inbox/test/transactions.ts";
import type { OutboxOutcome } from "../../src/index.ts";
import { ensureOutboxTables, type PostgresOutboxOptions, postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, template, toEntries, toEntry, toRequest } from "../shop.ts";

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
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
    await Promise.all([ensureOutboxTables(pool), ensureOutboxTables(pool), ensureOutboxTables(sql as never)]);
    await pool.query("CREATE TABLE users (id text PRIMARY KEY, card text)");
  });
  beforeEach(async () => {
    await pool.query(
      "TRUNCATE users, issuing_outbox_entries, issuing_outbox_entries_bodies, issuing_outbox_entries_breakers, issuing_outbox_settings",
    );
  });

  function openShop(network = createNetwork(), options: Partial<PostgresOutboxOptions<pg.PoolClient>> = {}) {
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
  /** Calls `before` with the text of each statement of pg, until the end of the test. The statement waits for it. */
  function beforeQueries(before: (text: string) => unknown) {
    const { query } = pg.Client.prototype;
    onTestFinished(() => void Object.assign(pg.Client.prototype, { query }));
    pg.Client.prototype.query = async function (this: pg.Client, ...values: unknown[]) {
      await before(String(values[0]));
      return Reflect.apply(query, this, values);
    } as typeof query;
  }
  const isWaiting = "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
  const untilOneWaits = () =>
    expect.poll(async () => (await pool.query(isWaiting, [schema])).rowCount).toBe(1);
  const readUsers = async () =>
    (await pool.query<{ id: string; card: string | null }>("SELECT id, card FROM users ORDER BY id")).rows;

  it("issues the card of a sign-up and stores it with the user in one transaction", async () => {
    const { outbox, signUp } = openShop();
    expect(await signUp("1")).toBe("added");
    const entry = await outbox.issue(1);
    expect(entry).toMatchObject({ state: "issued", isDelivered: true, card: { id: expect.any(String) } });
    expect(await readUsers()).toEqual([{ id: "1", card: entry.cardId }]);
    const { rows } = await pool.query("SELECT body FROM issuing_outbox_entries_bodies");
    expect(rows).toEqual([]);
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
        if (userId === "7") await transaction.query("INSERT INTO nowhere VALUES (1)").catch(() => {});
        await transaction.query("INSERT INTO users VALUES ($1, $2)", [userId, cardId]).catch(() => {});
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
    expect(await outbox.issue(1, { deadlineMs: 500 })).toMatchObject({ state: "waiting", attempts: 0 });
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
    expect(await outbox.correct(other, 1, toRequest({ email: "other@example.com" }))).toBe("accepted");
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
    // The lease waits when it has seen the old form, and has not locked the entry. The other connection does not wait for itself.
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
    expect(await outbox.correct(other, 1, toRequest({ email: "new@example.com" }))).toBe("accepted");
    await other.query("COMMIT");
    await other.query("SELECT pg_advisory_unlock(7)");
    other.release();
    expect(await issued).toMatchObject({ state: "issued" });
    expect(requests.map(({ body }) => JSON.parse(body).customer.email)).toEqual(["new@example.com"]);
  });

  it("adds the entry of a user who is forgotten while it is added", async () => {
    const { outbox, signUp } = openShop();
    await signUp("1");
    let isFirst = true;
    beforeQueries(async (text) => {
      if (!isFirst || !text.startsWith("SELECT * FROM issuing_outbox_entries")) return;
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
      if (text.includes("lease = $1")) closed ??= outbox.close({ graceMs: 60_000 });
    });
    const entry = await outbox.issue(1, { deadlineMs: 3_600_000 });
    expect(entry).toMatchObject({ state: "waiting", attempts: 1 });
    expect(entry.error).toBeUndefined(); // it waited for no timeout of the request
    respond("ok");
    await closed;
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
    expect(await outbox.correct(other, 1, toRequest({ email: "new@example.com" }))).toBe("accepted");
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

  const clients = overEveryClient(pool, sql);

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
      expect(requests.map(({ body }) => JSON.parse(body).customer.email)).toEqual(["new@example.com"]);
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

    it("refuses a client that is not in a transaction", async () => {
      const { outbox } = openShop();
      const entry = toEntry(1);
      await expect(outbox.add(outside as never, entry)).rejects.toThrow(
        /^outbox.add and outbox.correct need the transaction that saves the user, .* Pass the client after BEGIN/,
      );
    });
  });

  it("works with postgres.js, and with a transaction of another client", async () => {
    const network = createNetwork();
    const overSql = postgresOutbox({ client: network.createClient(), pool: sql as never, log: () => {} });
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
      const result = await write(String(index), index % 2 === 0 ? "SELECT 1" : "DEALLOCATE ALL").catch(
        () => "rejected",
      );
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

  it("says what fits when the object is no transaction", async () => {
    const { outbox } = openShop();
    const connection = await pool.connect();
    const manager = {
      query: async (text: string, values: unknown[]) => (await connection.query(text, values)).rows,
    };
    const added = outbox.add(manager as never, { userId: 1, template, request: toRequest() });
    await expect(added).rejects.toThrow("as those of TypeORM and MikroORM: pass the client of pg below it");
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
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["issued", "not-delivered", "delivered"]);
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
    expect(entries.rows.filter(({ card, result }) => card !== JSON.parse(result).cardId)).toEqual([]);
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
      expect(await first.outbox.issue(userId, { deadlineMs: 100 })).toMatchObject({ state: "waiting" });
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
