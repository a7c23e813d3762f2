/**
 * The path of a sign-up: how many statements, files and functions of ours it needs while a worker
 * runs.
 */
import { listOwnFunctions } from "@loyalty-cards/testing/own-functions";
import { listen, scratchFile } from "@loyalty-cards/testing/resources";
import { card } from "@loyalty-cards/testing/scripted-client";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import { openWatched } from "@loyalty-cards/testing/sqlite-files";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { ensureOutboxTables, postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, openSqliteShop, toEntry } from "../shop.ts";

/** The worker looks for entries too; it is idle while the sign-up is counted. */
const pollMs = 60_000;

it("needs 12 statements in SQLite at most", async () => {
  const statements: string[] = [];
  let isCounting = false;
  const open = openWatched((sql) => {
    if (isCounting) statements.push(sql);
  });
  const { outbox, signUp, getUserCard } = openSqliteShop(createNetwork(), { open });
  const worker = outbox.work({ pollMs });
  await signUp("1");
  await outbox.issue(1);
  isCounting = true;
  await signUp("2");
  expect(await outbox.issue(2)).toMatchObject({ state: "issued", isDelivered: true });
  isCounting = false;
  expect(getUserCard("2")).not.toBeNull();

  expect(statements.length, statements.join("\n\n")).toBeLessThanOrEqual(12);
  await worker.stop();
});

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
  const { pool: createPool } = ownSchema();

  it("needs 14 statements at most", async () => {
    const pool = createPool(4);
    await ensureOutboxTables(pool);
    await pool.query("CREATE TABLE users (id text PRIMARY KEY, card text)");
    const outbox = postgresOutbox<pg.PoolClient>({
      client: createNetwork().createClient(),
      pool,
      onIssued: ({ userId, cardId }, transaction) =>
        transaction.query("UPDATE users SET card = $1 WHERE id = $2", [cardId, userId]),
    });
    const statements: unknown[] = [];
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = function (this: pg.Client, ...values: unknown[]) {
      statements.push(values[0]);
      return Reflect.apply(query, this, values);
    } as typeof query;
    onTestFinished(() => void Object.assign(pg.Client.prototype, { query }));
    const worker = outbox.work({ pollMs });
    const signUp = async (userId: string) => {
      await outbox.write(async (transaction) => {
        await transaction.query("INSERT INTO users (id) VALUES ($1)", [userId]);
        await outbox.add(transaction, toEntry(userId));
      });
      return outbox.issue(userId);
    };
    await signUp("1");
    // Each ten minutes the worker erases forms whose retention is over: for the first time now.
    const countErased = () =>
      statements.filter((sql) => String(sql).includes("SET error = CASE")).length;
    await expect.poll(() => countErased() === 2 && pool.idleCount === pool.totalCount).toBe(true);
    statements.length = 0;
    expect(await signUp("2")).toMatchObject({ state: "issued", isDelivered: true });

    expect(statements.length, statements.join("\n\n")).toBeLessThanOrEqual(14);
    await worker.stop();
    await outbox.close();
  });
});

it("runs through 28 files and 165 functions of ours at most", async () => {
  const baseUrl = await listen((request, response) => {
    request.resume();
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(card));
  });
  const { files, functions } = await listOwnFunctions(`
    import { createIssuingClient } from "@loyalty-cards/issuing-client";
    import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
    const outbox = sqliteOutbox({
      client: createIssuingClient({ baseUrl: "${baseUrl}", apiKey: "k" }),
      file: ${JSON.stringify(scratchFile())},
      onIssued: ({ userId, cardId }, database) =>
        database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId),
    });
    await outbox.write((database) => database.exec("CREATE TABLE users (id TEXT PRIMARY KEY, card TEXT)"));
    let id = 0;
    const operation = async () => {
      id += 1;
      await outbox.write((database) => {
        database.prepare("INSERT INTO users (id) VALUES (?)").run(String(id));
        const customer = { consents: { privacy: { version: "1" } } };
        outbox.add(database, { userId: id, template: "tpl_1", request: { customer } });
      });
      const { state } = await outbox.issue(id);
      if (state !== "issued") throw new Error(state);
    };`);
  expect(functions).toContain("packages/issuing-outbox/src/verdict.ts judge");
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(28);
  expect(functions.length, functions.join("\n")).toBeLessThanOrEqual(165);
});
