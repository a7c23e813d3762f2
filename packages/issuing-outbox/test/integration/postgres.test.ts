import { overPg, type Transacting } from "@loyalty-cards/testing/postgres-clients";
import { createGate } from "@loyalty-cards/testing/resources";
import { hasPostgres } from "@loyalty-cards/testing/servers";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, templateId, toEntries, toEntry, toRequest } from "../shop.ts";
import { beforeQueries, openPostgres } from "./postgres-shop.ts";

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
  const { createPool, openPostgresShop, pool, readUsers, schema, sql, untilOneWaits, url } =
    openPostgres();

  it("issues the card of a sign-up and stores it with the user in one transaction", async () => {
    const { outbox, signUp } = openPostgresShop();
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
    const { outbox } = openPostgresShop();
    for (const end of ["ROLLBACK", "COMMIT"])
      await expect(outbox.write((transaction) => transaction.query(end))).rejects.toThrow(
        "The transaction was ended inside of its function, with COMMIT or ROLLBACK.",
      );
    expect(await outbox.write((own) => outbox.add(own, toEntry(1)))).toBe("added");
  });

  it("rejects a write that does not await add, and stores nothing", async () => {
    const notAwaited = "Is outbox.add awaited? Write await outbox.add(transaction, entry).";
    const { outbox } = openPostgresShop();
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
    const { outbox } = openPostgresShop(undefined, { pool: undefined, transaction } as never);
    const entries = ["1", "2"].map((userId) => ({
      userId,
      template: templateId,
      request: toRequest(),
    }));
    expect(await outbox.addAll(entries)).toEqual({ added: 2, known: 0 });
    deadlocks = 100;
    await expect(
      outbox.addAll([{ userId: "3", template: templateId, request: toRequest() }]),
    ).rejects.toThrow("deadlock");
  });

  it("records the card of the first of two people who resolve an entry at once, and refuses the second", async () => {
    const cards: string[] = [];
    const { outbox, signUp } = openPostgresShop(undefined, {
      onIssued: ({ cardId }) => void cards.push(cardId),
    });
    await signUp("1");
    await pool.query("UPDATE issuing_outbox_entries SET state = 'unknown', rank = NULL");
    const both = ["card_1", "card_2"].map((cardId) => outbox.resolve(1, { cardId }));
    const results = await Promise.allSettled(both);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await outbox.get(1)).toMatchObject({ cardId: cards[0], isDelivered: true });
    expect(cards).toHaveLength(1);
  });

  it("sends the entry that tries a paused template although the next query conflicts", async () => {
    let step: "" | "probe" | "lease" | "conflict" = "";
    const conflicting = Object.assign(Object.create(pool), {
      connect: pool.connect.bind(pool),
      async query(text: string, values: unknown[]) {
        if (step === "conflict") return pool.query(text, values);
        if (text.includes("probes = probes + 1")) step = "probe";
        else if (step === "probe" && text.includes("SET lease")) step = "lease";
        else if (step === "lease" && text.includes("FROM queues")) step = "conflict";
        if (step !== "conflict") return pool.query(text, values);
        throw Object.assign(new Error("could not serialize access"), { code: "40001" });
      },
    });
    const network = createNetwork({
      templates: ["A", "B"].map((id) => ({ id, name: id, fields: [] })),
    });
    const last = createGate();
    let requestsOfB = 0;
    const client = network.createClient({
      async fetch(input, init) {
        if (new Request(input).url.includes("/B/") && ++requestsOfB === 4) await last.opened;
        return network.fetch(input, init);
      },
    });
    const { outbox } = openPostgresShop(network, { client, pool: conflicting });
    for (const [id, count] of [["A", 3] as const, ["B", 4] as const])
      await outbox.addAll(toEntries(count).map((entry) => ({ ...entry, template: id })));
    network.weather.push(503, 503, 503);
    await outbox.drain({ maxEntries: 3 });
    outbox.work({ concurrency: 4 }); // it is not idle when A is due for a probe
    await expect.poll(async () => (await outbox.count()).issued).toBeGreaterThan(5);
    last.open();
  });

  it("reports one pause when many requests fail at once", async () => {
    const { outbox, outcomes, weather } = openPostgresShop();
    await outbox.addAll(toEntries(30));
    weather.push(...Array.from({ length: 1_000 }, () => 503));
    await outbox.drain({ concurrency: 16, maxMs: 1_500 });
    expect(outcomes.filter(({ outcome }) => outcome === "failed").length).toBeGreaterThan(2);
    expect(outcomes.filter(({ outcome }) => outcome === "paused")).toHaveLength(1);
  });

  it("records the other cards when a callback ignores the failure of a query", async () => {
    const { outbox } = openPostgresShop(undefined, {
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
    const { outbox, signUp } = openPostgresShop();
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

  it("leaves an entry as it is that is issued while it is added again", async () => {
    const { outbox, signUp, requests } = openPostgresShop();
    await signUp("1");
    let isIssuing = false;
    beforeQueries(async (text) => {
      if (isIssuing || !text.includes("issuing_outbox_entries_bodies")) return;
      isIssuing = true;
      await outbox.issue(1);
    });
    await outbox.write((transaction) => outbox.add(transaction, toEntry(1)));
    expect(isIssuing).toBe(true);
    expect(await outbox.get(1)).toMatchObject({ state: "issued" });
    expect((await pool.query("SELECT FROM issuing_outbox_entries_bodies")).rowCount).toBe(0);
    expect(requests).toHaveLength(1);
  });

  it("sends the form of the last correction, which waited for another one", async () => {
    const { outbox, signUp, requests } = openPostgresShop();
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
    const { outbox, signUp, requests } = openPostgresShop();
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
    const { outbox, signUp } = openPostgresShop();
    await signUp("1");
    let isFirst = true;
    beforeQueries(async (text) => {
      if (!isFirst || !/^SELECT \*\s+FROM issuing_outbox_entries/.test(text)) return;
      isFirst = false;
      expect(await outbox.forget(1)).toBe(true);
    });
    const entry = { userId: 1, template: templateId, request: toRequest() };
    expect(await outbox.write((own) => outbox.add(own, entry))).toBe("added");
    expect(isFirst).toBe(false);
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
  });

  it("ends issue when the outbox is closed while the entry is leased", async () => {
    const { outbox, signUp, weather } = openPostgresShop();
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

  it("repeats a callback that returns a function, which nothing calls", async () => {
    const results: unknown[] = [undefined, () => {}];
    const { outbox, signUp } = openPostgresShop(undefined, { onIssued: () => results.pop() });
    await signUp("1");
    expect(await outbox.issue(1)).toMatchObject({ state: "issued", isDelivered: false });
    expect(await outbox.drain()).toMatchObject({ issued: 1, undelivered: 0 });
  });

  it("ends close after its grace while a callback hangs, and records nothing of it", async () => {
    const [called, end] = [createGate(), createGate()];
    const { outbox, signUp } = openPostgresShop(undefined, {
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
    await expect(signUp("3")).rejects.toThrow("The outbox is closed.");
    end.open();
  });

  it("erases nothing too early, and drains, with a retention that is not a whole number of milliseconds", async () => {
    const { outbox, signUp, weather } = openPostgresShop(undefined, { retentionDays: 1.1 });
    await signUp("1");
    weather.push(422);
    expect(await outbox.drain()).toMatchObject({ rejected: 1 });
    expect((await pool.query("SELECT FROM issuing_outbox_entries_bodies")).rowCount).toBe(1);
  });

  it("keeps the form of a correction that is committed while old forms are erased", async () => {
    const { outbox, signUp, weather, requests } = openPostgresShop();
    await signUp("1");
    weather.push(422);
    expect(await outbox.issue(1)).toMatchObject({ state: "rejected" });
    await pool.query("UPDATE issuing_outbox_entries SET ended = 1, uncertain = NULL");
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
    const { outbox } = openPostgresShop(undefined, { pool: unreachable } as never);
    await expect(outbox.drain({ maxMs: 100 })).rejects.toThrow("ECONNREFUSED");
  });

  it("issues the card after a failover, and gives up each connection that is read-only now", async () => {
    const own = createPool(4);
    const { outbox, signUp } = openPostgresShop(createNetwork(), { pool: own });
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
      const { outbox } = openPostgresShop(createNetwork(), { pool: own });
      failures.push("INSERT INTO issuing_outbox_settings", "BEGIN");
      expect(await outbox.addAll([toEntry(1)])).toEqual({ added: 1, known: 0 });
      expect(failures).toEqual([]);
      failures.push("COMMIT");
      await expect(outbox.addAll([toEntry(2)])).rejects.toMatchObject({ code: "08007" });
    },
  );

  it("writes the settings before the first transaction begins, also with one connection", async () => {
    const own = createPool(1);
    const { signUp } = openPostgresShop(createNetwork(), { pool: own });
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
    const { outbox, signUp } = openPostgresShop(createNetwork(), { pool: serializable });
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

  it("holds no connection while a request is sent, and needs only one", async () => {
    const single = createPool(1);
    const { outbox, signUp, weather } = openPostgresShop(createNetwork(), { pool: single });
    await signUp("1");
    let rows: unknown[] = [];
    weather.push(async () => {
      rows = (await single.query("SELECT 1 AS one")).rows;
      return "ok";
    });
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
    expect(rows).toEqual([{ one: 1 }]);
  });

  it("holds up no other entry of the template while a callback runs", async () => {
    const breaker = "SELECT FROM issuing_outbox_entries_breakers FOR UPDATE SKIP LOCKED";
    const free: unknown[] = [];
    const { outbox, signUp, weather } = openPostgresShop(undefined, {
      onIssued: async () => void free.push((await pool.query(breaker)).rowCount),
    });
    await signUp("1");
    weather.push(503);
    expect(await outbox.drain({ maxEntries: 1 })).toMatchObject({ waiting: 1 });
    await signUp("2");
    expect(await outbox.issue(2)).toMatchObject({ state: "issued", isDelivered: true });
    expect(free).toEqual([1]);
  });

  it("records the card without a callback whose query fails, and repeats it", async () => {
    let isFailing = true;
    const { outbox, signUp, outcomes, requests } = openPostgresShop(createNetwork(), {
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
    const shops = [1, 2, 3].map(() => openPostgresShop(network, { pool: createPool(4) }));
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
    const first = openPostgresShop(network);
    const second = openPostgresShop(network);
    for (const userId of ["1", "2", "3"]) {
      await first.signUp(userId);
      network.weather.push(new Response(null, { status: 503, headers: { "retry-after": "600" } }));
      expect(await first.outbox.issue(userId, { deadlineMs: 10_000 })).toMatchObject({
        state: "waiting",
      });
    }
    await first.signUp("4");
    expect((await second.outbox.count()).paused).toMatchObject([
      { template: templateId, reason: "server" },
    ]);
    expect(await second.outbox.issue(4)).toMatchObject({ state: "waiting", attempts: 0 });
    expect(network.requests).toHaveLength(3);
  });

  // G25
  it("refuses a process with another namespace", async () => {
    const network = createNetwork();
    await openPostgresShop(network).outbox.count();
    const client = network.createClient({ idempotencyNamespace: "staging" });
    await expect(openPostgresShop(network, { client }).outbox.count()).rejects.toThrow(
      'the idempotencyNamespace (LOYALTY_IDEMPOTENCY_NAMESPACE) "", and the client of this process has "staging"',
    );
  });
});
