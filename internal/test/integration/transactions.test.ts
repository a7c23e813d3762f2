/**
 * Transactions of pg and postgres.js whose connection a real PostgreSQL closes, in each phase of
 * the transaction.
 */
import { type AddressInfo, createServer } from "node:net";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { withPgTransaction } from "../../postgres/pg-transaction.ts";
import { withPostgresJsTransaction } from "../../postgres/postgres-js-transaction.ts";

/** One transaction, with the same methods for each client. */
interface Running {
  run(text: string): PromiseLike<unknown>;
  processId(): Promise<number>;
}
type RunTransaction = <Result>(work: (running: Running) => Promise<Result>) => Promise<Result>;

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
  const { pool: createPool, schema, url } = ownSchema();
  const admin = createPool(3);
  const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 1 });
  const sql = postgres(url, {
    connection: { search_path: schema },
    max: 1,
    fetch_types: false,
    onnotice: () => {},
  });
  beforeAll(async () => {
    await admin.query("CREATE TABLE effects (event_id text UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    // A COMMIT after an insert into this table waits for a lock, so that a test can close the
    // connection during COMMIT.
    await admin.query("CREATE TABLE slow_commits (lock bigint)");
    await admin.query(`CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(NEW.lock); RETURN NULL; END $$`);
    await admin.query(`CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON slow_commits
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_lock()`);
  });
  beforeEach(() => admin.query("TRUNCATE effects, slow_commits"));
  afterAll(async () => {
    await pool.end();
    await sql.end();
  });

  const effects = async () =>
    (await admin.query("SELECT event_id FROM effects ORDER BY event_id")).rows.map(
      (row) => row.event_id,
    );
  const isGone = async (processId: number) =>
    (await admin.query("SELECT FROM pg_stat_activity WHERE pid = $1", [processId])).rows.length ===
    0;
  async function cut(processId: number): Promise<void> {
    await admin.query("SELECT pg_terminate_backend($1)", [processId]);
    await expect.poll(() => isGone(processId)).toBe(true);
  }
  /** Waits until PostgreSQL reports that this connection waits for a lock or runs a query. */
  const untilActive = (processId: number) => expect.poll(() => readState(processId)).toBe("active");
  const readState = async (processId: number) =>
    (await admin.query("SELECT state FROM pg_stat_activity WHERE pid = $1", [processId])).rows[0]
      ?.state;
  /** After a few turns of the event loop the client has noticed that its connection is closed. */
  const untilNoticed = async () => {
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  };

  const overPg: RunTransaction = (work) =>
    withPgTransaction(pool, (client) =>
      work({
        run: (text) => client.query(text),
        processId: async () => (await client.query("SELECT pg_backend_pid() AS id")).rows[0].id,
      }),
    );
  const overPostgresJs: RunTransaction = (work) =>
    withPostgresJsTransaction(sql, (own) =>
      work({
        run: (text) => own.unsafe(text),
        processId: async () =>
          (await own<{ id: number }[]>`SELECT pg_backend_pid() AS id`)[0]?.id ?? 0,
      }),
    );

  describe.each<[string, RunTransaction]>([
    ["pg", overPg],
    ["postgres.js", overPostgresJs],
  ])("through %s", (_name, transaction) => {
    /** Retries until it succeeds, like a queue. */
    async function retried<Result>(work: (running: Running) => Promise<Result>): Promise<Result> {
      for (let attempt = 1; ; attempt++) {
        try {
          return await transaction(work);
        } catch (error) {
          if (attempt === 5) throw error;
        }
      }
    }

    it("commits the work, and resolves with its result", async () => {
      expect(
        await transaction(async ({ run }) => run("INSERT INTO effects VALUES ('a')").then(() => 7)),
      ).toBe(7);
      expect(await effects()).toEqual(["a"]);
    });

    it("rolls back and rejects with the error of work, and the connection can be used again", async () => {
      const workError = new Error("the handler failed");
      const failing = transaction(async ({ run }) => {
        await run("INSERT INTO effects VALUES ('a')");
        throw workError;
      });
      await expect(failing).rejects.toBe(workError);
      const processIds = [
        await transaction((own) => own.processId()),
        await transaction((own) => own.processId()),
      ];
      expect(processIds[0]).toBe(processIds[1]);
      expect(await effects()).toEqual([]);
    });

    it("rolls back when work throws synchronously", async () => {
      const workError = new Error("at once");
      const failing = transaction(() => {
        throw workError;
      });
      await expect(failing).rejects.toBe(workError);
    });

    const moments: [string, (running: Running) => Promise<unknown>][] = [
      [
        "before a query",
        async ({ run, processId }) => {
          await cut(await processId());
          await run("INSERT INTO effects VALUES ('late')");
        },
      ],
      [
        "before a query, when the client has noticed",
        async ({ run, processId }) => {
          await cut(await processId());
          await untilNoticed();
          await run("INSERT INTO effects VALUES ('late')");
        },
      ],
      [
        "during a query",
        async ({ run, processId }) => {
          const id = await processId();
          const sleeping = run("SELECT pg_sleep(60)").then(
            () => {},
            (error) => error,
          );
          await untilActive(id);
          await cut(id);
          throw await sleeping;
        },
      ],
      ["right before COMMIT", async ({ processId }) => cut(await processId())],
      [
        "right before COMMIT, when the client has noticed",
        async ({ processId }) => {
          await cut(await processId());
          await untilNoticed();
        },
      ],
      [
        "while the error of a query is ignored",
        async ({ run, processId }) => {
          await cut(await processId());
          await run("SELECT 1").then(undefined, () => {});
        },
      ],
    ];
    it.each(moments)(
      "rejects when the connection is cut %s, and a retry has the effect once",
      async (_when, cutNow) => {
        let attempts = 0;
        const handle = async (running: Running) => {
          attempts += 1;
          await running.run("INSERT INTO effects VALUES ('evt_1')");
          if (attempts === 1) await cutNow(running);
        };
        await expect(transaction(handle)).rejects.toThrow();
        await untilNoticed();
        expect(await effects()).toEqual([]);
        await retried(handle);
        expect(await effects()).toEqual(["evt_1"]);
      },
    );

    it("rejects when PostgreSQL ends a transaction whose work never ends", async () => {
      const failing = transaction(async ({ run }) => {
        await run("SET LOCAL idle_in_transaction_session_timeout = 50");
        await new Promise(() => {});
      });
      await expect(failing).rejects.toThrow();
      expect(await retried(async () => "works")).toBe("works");
    });

    it("rejects with the error of work, not with that of the rollback, when the connection is cut", async () => {
      const workError = new Error("the handler failed");
      const failing = transaction(async ({ run }) => {
        // The connection cuts itself, so that `work` ends after the cut and before the client
        // notices the closed socket.
        await run("SELECT pg_terminate_backend(pg_backend_pid())").then(undefined, () => {});
        throw workError;
      });
      await expect(failing).rejects.toBe(workError);
      expect(await retried(async () => "works")).toBe("works");
    });

    it("rejects with an error that says the result is unknown when COMMIT gets no response", async () => {
      const lock = Math.floor(Math.random() * 2 ** 31);
      const holder = await admin.connect();
      await holder.query("SELECT pg_advisory_lock($1)", [lock]);
      let id = 0;
      const failing = transaction(async ({ run, processId }) => {
        id = await processId();
        await run(`INSERT INTO slow_commits VALUES (${lock})`);
      });
      const expected = expect(failing).rejects.toMatchObject({
        message: expect.stringContaining(
          "COMMIT got no response: whether the transaction was committed is unknown",
        ),
        cause: expect.any(Error),
      });
      await expect.poll(() => id).not.toBe(0);
      const waits = "SELECT FROM pg_locks WHERE pid = $1 AND locktype = 'advisory' AND NOT granted";
      await expect.poll(async () => (await admin.query(waits, [id])).rows.length).toBe(1);
      await cut(id);
      await expected;
      holder.release(true); // the lock ends with its connection
      expect(await retried(async () => "works")).toBe("works");
    });

    it("rejects with PostgreSQL's error when COMMIT fails", async () => {
      const failing = transaction(({ run }) =>
        Promise.resolve(run("INSERT INTO effects VALUES ('a'), ('a')")),
      );
      await expect(failing).rejects.toMatchObject({ code: "23505" });
      expect(await transaction(async () => "works")).toBe("works");
    });

    it("rejects when work ignored a failed query, because PostgreSQL then commits nothing", async () => {
      const failing = transaction(async ({ run }) => {
        await run("INSERT INTO effects VALUES ('a')");
        await run("SELECT 1 / 0").then(undefined, () => {});
      });
      await expect(failing).rejects.toThrow(
        /rolled the transaction back at COMMIT|division by zero/,
      );
      expect(await effects()).toEqual([]);
    });

    it("survives connections that are cut at random, without a lost or double effect", async () => {
      const ids = Array.from({ length: 60 }, (_value, index) => `evt_${index}`);
      const open = new Set<number>();
      let isOver = false;
      const cutting = (async () => {
        // At most 40, because on a busy machine each transaction may take longer than the time
        // between two cuts.
        for (let cuts = 0; !isOver && cuts < 40; ) {
          const [id] = open;
          if (id !== undefined) {
            cuts += 1;
            await admin.query("SELECT pg_terminate_backend($1)", [id]);
          }
          await untilNoticed();
        }
      })();
      const handle = async (id: string) => {
        for (let isDone = false; !isDone; ) {
          isDone = await transaction(async (own) => {
            const processId = await own.processId();
            open.add(processId);
            try {
              await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
              await own.run(`INSERT INTO effects VALUES ('${id}')`);
              return true;
            } finally {
              open.delete(processId);
            }
          }).catch(({ code }) => code === "23505"); // an earlier COMMIT without a response took effect
        }
      };
      await Promise.all(ids.map(handle));
      isOver = true;
      await cutting;
      expect(await effects()).toEqual([...ids].sort());
    });
  });

  describe("through pg", () => {
    it("removes its listeners, and does not return a lost connection to the pool", async () => {
      const own = new pg.Pool({ connectionString: url, max: 1 });
      onTestFinished(() => own.end());
      const clients: pg.PoolClient[] = [];
      await withPgTransaction(own, async (client) => void clients.push(client));
      const idle = clients[0]?.listenerCount("error");
      await withPgTransaction(own, async (client) => {
        expect(client.listenerCount("error")).toBe(1);
      });
      expect([own.totalCount, idle, clients[0]?.listenerCount("error")]).toEqual([1, 1, 1]);
      const failing = withPgTransaction(own, async (client) =>
        cut((await client.query("SELECT pg_backend_pid() AS id")).rows[0].id),
      );
      await expect(failing).rejects.toThrow();
      expect(own.totalCount).toBe(0);
    });

    it("keeps the process alive when an idle connection is cut", async () => {
      const own = new pg.Pool({ connectionString: url, max: 1 });
      onTestFinished(() => own.end());
      const id = await withPgTransaction(
        own,
        async (client) => (await client.query("SELECT pg_backend_pid() AS id")).rows[0].id,
      );
      await cut(id);
      await expect.poll(() => own.totalCount).toBe(0);
    });

    it("rejects when a new connection is cut in the packet that completes it", async () => {
      // PostgreSQL's own protocol: AuthenticationOk, ReadyForQuery, and the ErrorResponse of a
      // terminated connection.
      const message = (type: string, body: string) => {
        const length = Buffer.alloc(4);
        length.writeInt32BE(body.length + 4);
        return Buffer.concat([Buffer.from(type), length, Buffer.from(body, "latin1")]);
      };
      const packet = Buffer.concat([
        message("R", "\0\0\0\0"),
        message("Z", "I"),
        message("E", "SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"),
      ]);
      const server = createServer((socket) => socket.once("data", () => socket.end(packet)));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const cutPool = new pg.Pool({
        host: "127.0.0.1",
        port,
        user: "anna",
        database: "shop",
        max: 1,
      });
      onTestFinished(async () => {
        await cutPool.end();
        server.close();
      });
      for (let round = 0; round < 3; round++) {
        await expect(withPgTransaction(cutPool, async () => {})).rejects.toThrow();
      }
      expect(cutPool.totalCount).toBe(0);
    });
  });

  describe("through postgres.js", () => {
    it("does not send a query of a lost transaction on another connection", async () => {
      let late: Promise<unknown> | undefined;
      const failing = withPostgresJsTransaction(sql, async (own) => {
        const [row] = await own<{ id: number }[]>`SELECT pg_backend_pid() AS id`;
        late = (async () => {
          await cut(row?.id ?? 0);
          await untilNoticed();
          await sql`SELECT 1`.catch(() => sql`SELECT 1`); // the connection is open again, for another query
          await own`INSERT INTO effects VALUES ('late')`;
        })();
        await late;
      });
      await expect(failing).rejects.toThrow();
      await expect(late).rejects.toThrow("The transaction has ended, so this query was not sent");
      expect(await effects()).toEqual([]);
    });

    it("does not send a query after the transaction has ended, including one from a savepoint", async () => {
      const kept: (() => Promise<unknown>)[] = [];
      await withPostgresJsTransaction(sql, async (own) => {
        kept.push(async () => own`SELECT 1`);
        await own.savepoint(async (inner) => {
          kept.push(async () => inner.unsafe("SELECT 1"));
          await inner`INSERT INTO effects VALUES (${"a"})`;
        });
        await own`INSERT INTO effects ${own([{ event_id: "b" }])}`;
      });
      expect(await effects()).toEqual(["a", "b"]);
      for (const query of kept)
        await expect(query()).rejects.toThrow("await every query inside of it");
    });
  });
});
