/** The outbox in a real PostgreSQL: through each supported client, in several processes' places, and with connections that are cut. */
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { hasPostgres, ownSchema } from "../../../webhook-inbox/test/servers.ts";
import {
  inPrismasShape,
  overDrizzle,
  overDrizzleAndPostgresJs,
  overKysely,
  overPg,
  overPostgresJs,
  type Transacting,
} from "../../../webhook-inbox/test/transactions.ts";
import type { OutboxOutcome } from "../../src/index.ts";
import { ensureTables, type PostgresOutboxOptions, postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, nextPhone, template, toRequest } from "../shop.ts";

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
    await Promise.all([ensureTables(pool), ensureTables(pool), ensureTables(sql as never)]);
    await pool.query("CREATE TABLE users (id text PRIMARY KEY, card text)");
  });
  beforeEach(async () => {
    await pool.query(
      "TRUNCATE users, issuing_outbox_entries, issuing_outbox_requests, issuing_outbox_contact_locks",
    );
    await pool.query("DELETE FROM issuing_outbox_scopes WHERE template <> ''");
    await pool.query(
      "UPDATE issuing_outbox_scopes SET reason = NULL, until_at = NULL, probe = NULL, probes = 0",
    );
    await pool.query(
      "UPDATE issuing_outbox_settings SET base_url_hash = NULL, namespace_hash = NULL, contact_key = NULL, place = NULL",
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
    const signUp = (userId: string, request = toRequest({ phone: nextPhone() })) =>
      outbox.write(async (transaction) => {
        await transaction.query("INSERT INTO users (id) VALUES ($1)", [userId]);
        return outbox.add(transaction, { userId, template, request });
      });
    return { ...network, outbox, outcomes, signUp };
  }
  const readUsers = async () =>
    (await pool.query<{ id: string; card: string | null }>("SELECT id, card FROM users ORDER BY id")).rows;

  it("issues the card of a sign-up and stores it with the user in one transaction", async () => {
    const { outbox, signUp } = openShop();
    expect(await signUp("1")).toBe("added");
    const entry = await outbox.issue(1);
    expect(entry).toMatchObject({ state: "issued", isDelivered: true, card: { id: expect.any(String) } });
    expect(await readUsers()).toEqual([{ id: "1", card: entry.cardId }]);
    const { rows } = await pool.query("SELECT FROM issuing_outbox_requests");
    expect(rows).toEqual([]);
  });

  it("repeats a batch that PostgreSQL ended because of a deadlock", async () => {
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
    await outbox.addAll(
      Array.from({ length: 30 }, (_, userId) => ({
        userId,
        template,
        request: toRequest({ phone: nextPhone() }),
      })),
    );
    weather.push(...Array.from({ length: 1_000 }, () => 503));
    await outbox.drain({ concurrency: 16, maxMs: 1_500 });
    expect(outcomes.filter(({ outcome }) => outcome === "failed").length).toBeGreaterThan(4);
    expect(outcomes.filter(({ outcome }) => outcome === "paused")).toHaveLength(1);
  });

  it("records the other cards when a callback ignores the failure of a query", async () => {
    const { outbox } = openShop(undefined, {
      onIssued: async ({ userId, cardId }, transaction) => {
        if (userId === "7") await transaction.query("INSERT INTO nowhere VALUES (1)").catch(() => {});
        await transaction.query("INSERT INTO users VALUES ($1, $2)", [userId, cardId]).catch(() => {});
      },
    });
    await outbox.addAll(
      Array.from({ length: 20 }, (_, userId) => ({
        userId,
        template,
        request: toRequest({ phone: nextPhone() }),
      })),
    );
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
    await outbox.correct(other, 1, toRequest({ phone: nextPhone() }));
    let queries = 0;
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = function (this: pg.Client, ...values: unknown[]) {
      queries += 1;
      return Reflect.apply(query, this, values);
    } as typeof query;
    onTestFinished(() => void Object.assign(pg.Client.prototype, { query }));
    expect(await outbox.issue(1, { deadlineMs: 500 })).toMatchObject({ state: "waiting", attempts: 0 });
    expect(queries).toBeLessThan(200);
    await other.query("COMMIT");
    other.release();
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
  });

  it("keeps the form of a correction that is committed while old forms are erased", async () => {
    const { outbox, signUp, weather, requests } = openShop();
    await signUp("1");
    weather.push(422);
    expect(await outbox.issue(1)).toMatchObject({ state: "rejected" });
    await pool.query("UPDATE issuing_outbox_entries SET ended_at = 1, last_attempt_at = NULL");
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

  const clients: Record<string, Transacting> = {
    pg: overPg(pool),
    "postgres.js": overPostgresJs(sql),
    "Drizzle over pg": overDrizzle(pool),
    "Drizzle over postgres.js": overDrizzleAndPostgresJs(sql),
    Kysely: overKysely(pool),
    "the shape of Prisma": inPrismasShape(pool),
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
      expect(requests.map(({ body }) => JSON.parse(body).customer.email)).toEqual(["new@example.com"]);
    });

    it("refuses a client that is not in a transaction", async () => {
      const { outbox } = openShop();
      const entry = { userId: 1, template, request: toRequest({ phone: nextPhone() }) };
      await expect(outbox.add(outside as never, entry)).rejects.toThrow("transaction that saves the user");
    });
  });

  it("works with postgres.js, and with a transaction of another client", async () => {
    const network = createNetwork();
    const overSql = postgresOutbox({ client: network.createClient(), pool: sql as never, log: () => {} });
    await overSql.addAll([{ userId: 1, template, request: toRequest({ phone: nextPhone() }) }]);
    expect(await overSql.drain()).toMatchObject({ issued: 1 });
    const { transaction } = clients["Kysely"] as Transacting;
    const overKyselys = postgresOutbox({
      client: network.createClient(),
      transaction: (work) => transaction((own) => work(own)),
      log: () => {},
    });
    await overKyselys.addAll([{ userId: 2, template, request: toRequest({ phone: nextPhone() }) }]);
    expect(await overKyselys.drain()).toMatchObject({ issued: 2 });
  });

  it("refuses a transaction that repeats its work, and stores nothing of it", async () => {
    const network = createNetwork();
    const { transaction } = clients["Kysely"] as Transacting;
    let isFailing = false;
    const failure = new Error("could not serialize access");
    const outbox = postgresOutbox({
      client: network.createClient(),
      log: () => {},
      async transaction(work) {
        if (!isFailing) return transaction((own) => work(own));
        const fail = () => transaction(async (own) => Promise.reject(await work(own).then(() => failure)));
        await expect(fail()).rejects.toBe(failure);
        return transaction((own) => work(own));
      },
    });
    onTestFinished(() => outbox.close({ graceMs: 0 }));
    await outbox.addAll([{ userId: 1, template, request: toRequest({ phone: nextPhone() }) }]);
    isFailing = true;
    await expect(outbox.forget(1)).rejects.toThrow("must call its work once");
    await expect(outbox.issue(1)).rejects.toThrow("must call its work once");
    expect(network.requests).toEqual([]);
    isFailing = false;
    expect(await outbox.issue(1)).toMatchObject({ state: "issued", attempts: 1 });
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
  it("distributes entries to several outboxes: each card once, one contact at a time, none left, although connections are cut", async () => {
    const network = createNetwork();
    const running = new Map<string, number>();
    let mostOfOne = 0;
    const shared = toRequest({ phone: "+48600999888" });
    const list = Array.from({ length: 600 }, (_, index) => ({
      userId: `u${index}`,
      template,
      request: index % 20 === 0 ? shared : toRequest({ phone: nextPhone() }),
    }));
    for (const { userId } of list) await pool.query("INSERT INTO users (id) VALUES ($1)", [userId]);
    const weather = async () => {
      const body = network.requests.at(-1)?.body ?? "";
      const phone = JSON.parse(body).customer.phone as string;
      running.set(phone, (running.get(phone) ?? 0) + 1);
      mostOfOne = Math.max(mostOfOne, running.get(phone) ?? 0);
      await new Promise(setImmediate);
      running.set(phone, (running.get(phone) ?? 0) - 1);
      return "ok" as const;
    };
    network.weather.push(...Array.from({ length: 5_000 }, () => weather));
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
         AND pid NOT IN (SELECT pid FROM pg_stat_activity WHERE backend_type <> 'client backend')`,
      );
    }
    await expect
      .poll(async () => (await pool.query("SELECT FROM users WHERE card IS NULL")).rowCount, {
        timeout: 50_000,
      })
      .toBe(0);
    for (const worker of workers) await worker.stop();
    expect(mostOfOne).toBe(1);
    const entries = await pool.query(
      "SELECT u.card, e.card_id FROM users u JOIN issuing_outbox_entries e ON e.user_id = u.id",
    );
    expect(entries.rows.filter(({ card, card_id }) => card !== card_id)).toEqual([]);
    expect(network.cards.length).toBeGreaterThanOrEqual(600);
    expect(new Set(network.requests.map(({ key }) => key)).size).toBe(600);
  }, 120_000);

  it("shares a pause with other processes, and shows it", async () => {
    const network = createNetwork();
    const first = openShop(network);
    const second = openShop(network);
    await first.signUp("1");
    await first.signUp("2");
    network.weather.push(new Response(null, { status: 503, headers: { "retry-after": "600" } }));
    expect(await first.outbox.issue(1, { deadlineMs: 1_000 })).toMatchObject({ state: "waiting" });
    expect((await second.outbox.count()).paused).toMatchObject([{ reason: "outage", retryAfterMs: 600_000 }]);
    expect(await second.outbox.issue(2)).toMatchObject({ state: "waiting", attempts: 0 });
    expect(network.requests).toHaveLength(1);
  });

  // G25
  it("refuses a process with another namespace, and a copy waits for a person", async () => {
    const network = createNetwork();
    const first = openShop(network);
    await first.signUp("1");
    const client = network.createClient({ idempotencyNamespace: "staging" });
    await expect(openShop(network, { client }).outbox.count()).rejects.toThrow(
      "another idempotencyNamespace",
    );
    await pool.query("UPDATE issuing_outbox_settings SET place = 'another/database'");
    const copy = openShop(network);
    expect(await copy.outbox.issue(1)).toMatchObject({ state: "waiting" });
    expect((await copy.outbox.count()).paused).toMatchObject([{ reason: "restored" }]);
    await copy.outbox.resume({ resend: true });
    expect(await copy.outbox.issue(1)).toMatchObject({ state: "issued" });
  });

  // G12
  it("records the time while nothing is due, so that a standby server is not taken for an old copy", async () => {
    let passedMs = 0;
    const after = (ms: number, wake: () => void) => {
      const timer = setTimeout(wake, ms);
      return () => clearTimeout(timer);
    };
    const clock = { now: Date.now, monotonicMs: () => performance.now() + passedMs, after };
    const network = createNetwork();
    const { outbox } = openShop(network, { client: network.createClient({ testing: { clock } }) });
    const setBack = "UPDATE issuing_outbox_settings SET latest_at = latest_at - 7200000 RETURNING latest_at";
    const readLatestMs = async () =>
      Number((await pool.query("SELECT latest_at FROM issuing_outbox_settings")).rows[0].latest_at);
    const worker = outbox.work({ pollMs: 20 });
    await expect.poll(readLatestMs).toBeGreaterThan(Date.now() - 3_600_000);
    for (let count = 0; count < 3; count++) await outbox.count(); // the worker has become idle
    await pool.query(setBack);
    passedMs = 600_001;
    await expect.poll(readLatestMs).toBeGreaterThan(Date.now() - 3_600_000);
    await worker.stop();
  });

  // G12
  it("goes on as before when a standby server has taken over", async () => {
    const network = createNetwork();
    const { signUp, outbox } = openShop(network);
    await signUp("1");
    await outbox.drain();
    const { rows } = await pool.query("SELECT place FROM issuing_outbox_settings");
    const [base] = String(rows[0].place).split("@");
    await pool.query("UPDATE issuing_outbox_settings SET place = $1", [`${base}@0`]);
    expect(await openShop(network).outbox.count()).toMatchObject({ issued: 1, paused: [] });
  });

  it("finds due entries among 100,000 by the index", async () => {
    await pool.query(
      `INSERT INTO issuing_outbox_entries (user_id, template, state, work, due_at, added_at)
       SELECT 'x' || number, 'tpl_many', 'waiting', 3, number, 0 FROM generate_series(1, 100000) AS number`,
    );
    await pool.query("ANALYZE issuing_outbox_entries");
    const { rows } = await pool.query(
      `EXPLAIN SELECT e.id FROM issuing_outbox_entries e LEFT JOIN issuing_outbox_requests r ON r.id = e.id
       WHERE e.work = 3 AND e.template = 'tpl_many' AND e.due_at <= 50000 ORDER BY e.due_at LIMIT 16 FOR UPDATE OF e SKIP LOCKED`,
    );
    expect(JSON.stringify(rows)).toContain("issuing_outbox_due");
    expect(JSON.stringify(rows)).not.toContain("Seq Scan on issuing_outbox_entries");
  });
});
