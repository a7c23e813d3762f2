/** Exactly-once, in-order effects: the marks in a SQLite database of the application, and two purchases within one millisecond of the mock service's clock, of which the newer balance is kept in either order of arrival. */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import { createMockService, manualClock } from "@loyalty-cards/mock-server";
import { onEvents, type ReceiverOptions } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import fc from "fast-check";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { inTransaction } from "../../../../examples/fastify/transaction.ts";
import * as inPostgres from "../../src/postgres.ts";
import * as inSqlite from "../../src/sqlite/processed.ts";
import { balanceChanged } from "../events.ts";
import { hasPostgres, ownSchema } from "../servers.ts";
import { engines, openInbox, scratchFile } from "../sqlite-files.ts";

const runs = 40;

/** Makes two purchases on a new card in each run, and delivers both events to a real receiver. @returns the balance of each card */
async function buyTwice(order: "in order" | "in reverse order", options: Partial<ReceiverOptions>) {
  const arrived: { header: string; body: ArrayBuffer }[] = [];
  const service = createMockService({
    clock: manualClock(),
    deliver: async (request) => {
      arrived.push({
        header: request.headers.get("service-signature") ?? "",
        body: await request.arrayBuffer(),
      });
      return new Response(null, { status: 204 });
    },
  });
  const { secret } = service.webhooks.createEndpoint({
    url: "https://shop.test/",
    events: ["balance.changed"],
  });
  const server = createServer(nodeReceiver({ secret, now: service.clock.now, ...options }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const balances = new Map<string, number>();
  for (let run = 0; run < runs; run++) {
    const response = await service.fetch(
      new Request(`${service.baseUrl}/api/v1/templates/${service.templateId}/passes`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.apiKeys.full}`, "content-type": "application/json" },
        body: JSON.stringify({ fieldValues: {}, customer: { consents: { privacy: { version: "1" } } } }),
      }),
    );
    const { id } = (await response.json()) as { id: string };
    arrived.length = 0;
    service.cards.purchase(id, { points: 5 });
    service.cards.purchase(id, { points: 7 });
    await service.idle();
    const moments = arrived.map(({ body }) => JSON.parse(new TextDecoder().decode(body)).createdAt);
    expect(moments).toEqual([moments[0], moments[0]]);
    const deliveries = order === "in order" ? arrived : arrived.toReversed();
    for (const { header, body } of deliveries) {
      const response = await fetch(url, { method: "POST", headers: { "service-signature": header }, body });
      expect(response.status).toBe(204);
    }
    balances.set(id, 12);
  }
  return balances;
}

const orders = ["in order", "in reverse order"] as const;

// G4
describe.each(engines)("with %s", (_name, open) => {
  it.each(orders)("events that arrive %s keep the newer balance forty times", async (order) => {
    const inbox = openInbox({ open });
    await inbox.write((database) =>
      database.exec("CREATE TABLE balances (card TEXT PRIMARY KEY, balance REAL)"),
    );
    inbox.work(
      onEvents({
        "balance.changed": (event, delivery) =>
          delivery.write((database) => {
            const { passId, balance } = event.data;
            if (!inSqlite.isNewest(database, passId, event)) return;
            database.prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)").run(passId, balance);
          }),
        otherTypes: () => {},
      }),
    );
    const expected = await buyTwice(order, { inbox });
    await expect.poll(async () => (await inbox.list({ state: "done", limit: 1_000 })).length).toBe(2 * runs);
    const read = "SELECT card, balance FROM balances";
    expect(toMap(await inbox.write((database) => database.prepare(read).all()))).toEqual(expected);
  });
});

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
  const { pool: createPool } = ownSchema();
  const pool = createPool(2);
  beforeAll(async () => {
    await inPostgres.ensureInboxTables(pool);
    await pool.query("CREATE TABLE balances (card text PRIMARY KEY, balance float)");
  });

  it.each(orders)("events that arrive %s keep the newer balance forty times", async (order) => {
    await pool.query("TRUNCATE balances");
    const handler = onEvents({
      "balance.changed": (event) =>
        inTransaction(pool, async (transaction) => {
          if (!(await inPostgres.markProcessed(transaction, event))) return;
          const { passId, balance } = event.data;
          if (!(await inPostgres.isNewest(transaction, passId, event))) return;
          const upsert = "INSERT INTO balances VALUES ($1, $2) ON CONFLICT (card) DO UPDATE SET balance = $2";
          await transaction.query(upsert, [passId, balance]);
        }),
      otherTypes: () => {},
    });
    const expected = await buyTwice(order, { handler });
    expect(toMap((await pool.query("SELECT card, balance FROM balances")).rows)).toEqual(expected);
  });
});

const toMap = (rows: unknown[]) =>
  new Map((rows as { card: string; balance: number }[]).map(({ card, balance }) => [card, balance]));

// G3
it.each(engines)("marks an event once, and not when the transaction fails, with %s", (_name, open) => {
  const database = open(scratchFile());
  onTestFinished(() => void database.close());
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
  expect([inSqlite.markProcessed(database, event), inSqlite.markProcessed(database, event)]).toEqual([
    true,
    false,
  ]);
});

it.each(engines)(
  "ends with the newest event after any permutation, with duplicates, with %s",
  (_name, open) => {
    const database = open(scratchFile());
    onTestFinished(() => void database.close());
    inSqlite.ensureInboxTables(database);
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
          const kept = events.filter((event) => inSqlite.isNewest(database, `card_${key}`, event)).at(-1);
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
  expect(tablesAfter((database) => database.exec(file))).toEqual(tablesAfter(inSqlite.ensureInboxTables));
  expect(tablesAfter(inSqlite.ensureInboxTables)).toHaveLength(4); // two tables and the indexes of their keys
});
