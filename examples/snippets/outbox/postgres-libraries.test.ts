/** The examples for PostgreSQL libraries, with the real libraries in a real PostgreSQL. */
import {
  ensureOutboxTables,
  type PostgresTransaction,
  postgresOutbox,
} from "@loyalty-cards/issuing-outbox/postgres";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import {
  ensureInboxTables,
  isNewest,
  markProcessed,
} from "@loyalty-cards/webhook-inbox/postgres";
import { defineEntity, MikroORM, p } from "@mikro-orm/postgresql";
import { drizzle } from "drizzle-orm/node-postgres";
import knex from "knex";
import pgPromise from "pg-promise";
import { DataSource } from "typeorm";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from "vitest";
import { coffeeClub, openService } from "../../test/service.ts";
import { openOutbox, users } from "./drizzle.ts";
import {
  fromKnex,
  fromMikroOrm,
  fromPgPromise,
  fromTypeOrm,
} from "./postgres-libraries.ts";

interface Library {
  transaction<Result>(
    work: (own: PostgresTransaction) => Promise<Result>,
  ): Promise<Result>;
  outside: PostgresTransaction;
  close(): Promise<void>;
}

/** Opens a library for the address of a database. */
const libraries: Record<string, (url: string) => Promise<Library>> = {
  async "pg-promise"(url) {
    const database = pgPromise()(url);
    return {
      transaction: (work) => database.tx((task) => work(fromPgPromise(task))),
      outside: fromPgPromise(database as never),
      close: () => database.$pool.end(),
    };
  },
  async Knex(url) {
    const database = knex({ client: "pg", connection: url });
    return {
      transaction: (work) => database.transaction((trx) => work(fromKnex(trx))),
      outside: fromKnex(database as never),
      close: () => database.destroy(),
    };
  },
  async TypeORM(url) {
    const source = await new DataSource({ type: "postgres", url }).initialize();
    return {
      transaction: (work) =>
        source.transaction((manager) => work(fromTypeOrm(manager))),
      outside: fromTypeOrm(source.manager),
      close: () => source.destroy(),
    };
  },
  async MikroORM(url) {
    const User = defineEntity({
      name: "User",
      properties: { id: p.string().primary() },
    });
    const orm = await MikroORM.init({
      driverOptions: { connectionString: url },
      dbName: "postgres",
      entities: [User],
    });
    return {
      transaction: (work) => orm.em.transactional((em) => work(fromMikroOrm(em))),
      outside: fromMikroOrm(orm.em.fork()),
      close: () => orm.close(),
    };
  },
};

const template = coffeeClub.id;
const toRequest = (name: string) => ({
  fieldValues: { name },
  customer: { phone: "600100200", consents: { privacy: { version: "1" } } },
});
const refusal = /not a pool, a database or a client without BEGIN/;

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
  const { pool: createPool, schema, url } = ownSchema();
  const pool = createPool();
  beforeAll(async () => {
    await ensureOutboxTables(pool);
    await ensureInboxTables(pool);
    await pool.query("CREATE TABLE users (id text PRIMARY KEY, card text)");
  });

  // Each test has a service of its own.
  beforeEach(() => pool.query("TRUNCATE issuing_outbox_settings"));

  it("stores a user and an entry with Drizzle, and the card with the user", async () => {
    const { client } = await openService({ templates: [coffeeClub] });
    const db = drizzle(pool);
    const outbox = openOutbox(client, db);
    onTestFinished(() => outbox.close());
    await outbox.write(async (tx) => {
      await tx.insert(users).values({ id: "1" });
      await outbox.add(tx, { userId: 1, template, request: toRequest("Anna") });
    });
    const { cardId } = await outbox.issue(1);
    expect(await db.select().from(users)).toEqual([{ id: "1", card: cardId }]);
  });

  describe.each(Object.entries(libraries))("with %s", (name, open) => {
    const ownUrl = new URL(url);
    ownUrl.searchParams.set("options", `-c search_path=${schema}`);
    let library: Library;
    beforeAll(async () => {
      library = await open(ownUrl.href);
    });
    afterAll(() => library.close());

    it("adds and corrects an entry with the user, or not at all", async () => {
      const { client } = await openService({ templates: [coffeeClub] });
      const outbox = postgresOutbox({ client, pool });
      onTestFinished(() => outbox.close());
      const { transaction, outside } = library;
      const entry = { userId: name, template, request: toRequest("It's $1 or ?") };
      const rolledBack = transaction(async (own) => {
        expect(await outbox.add(own, entry)).toBe("added");
        throw new Error("The name is taken.");
      });
      await expect(rolledBack).rejects.toThrow("The name is taken.");
      await expect(outbox.add(outside, entry)).rejects.toThrow(refusal);
      expect(await outbox.get(name)).toBeUndefined();
      expect(await transaction((own) => outbox.add(own, entry))).toBe("added");
      expect(await transaction((own) => outbox.add(own, entry))).toBe("waiting");
      const correct = (own: PostgresTransaction) =>
        outbox.correct(own, name, toRequest("Anna"));
      await expect(correct(outside)).rejects.toThrow(refusal);
      expect(await transaction(correct)).toBe("accepted");
      expect(await outbox.issue(name)).toMatchObject({ state: "issued" });
    });

    it("marks an event once, and finds the newest one", async () => {
      const { transaction, outside } = library;
      const event = {
        id: `${name} $1 or ?`,
        createdAt: "2026-03-01T12:00:00.000Z",
      };
      const mark = (own: PostgresTransaction) => markProcessed(own, event);
      const compare = (own: PostgresTransaction) => isNewest(own, name, event);
      await expect(mark(outside)).rejects.toThrow(refusal);
      await expect(compare(outside)).rejects.toThrow(refusal);
      expect([await transaction(mark), await transaction(mark)]).toEqual([
        true,
        false,
      ]);
      expect([await transaction(compare), await transaction(compare)]).toEqual([
        true,
        false,
      ]);
    });
  });
});
