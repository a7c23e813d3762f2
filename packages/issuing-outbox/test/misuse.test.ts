/**
 * Mistakes in a program: each is an error that names what to change, before anything is sent or
 * stored.
 */
import { openLibsql } from "@loyalty-cards/internal/sqlite/database-node";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { scratchFile } from "@loyalty-cards/testing/resources";
import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import { expect, it } from "vitest";
import { sqliteOutbox } from "../src/index.ts";
import { ensureOutboxTables, postgresOutbox } from "../src/postgres.ts";
import {
  createNetwork,
  openSqliteShop,
  openVirtualShop,
  templateId,
  toEntries,
  toRequest,
} from "./shop.ts";

const request = toRequest({ phone: "+48600100200" });

async function toArray<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const array: Item[] = [];
  for await (const item of items) array.push(item);
  return array;
}

it("refuses add and correct outside of a transaction", () => {
  const { outbox, database } = openSqliteShop();
  expect(() => outbox.add(database, { userId: 1, template: templateId, request })).toThrow(
    "called outside of a transaction",
  );
  expect(() => outbox.correct(database, 1, request)).toThrow("called outside of a transaction");
});

// G2
it("refuses add in a write whose transaction has ended, as after a full disk", async () => {
  const { outbox, database } = openSqliteShop();
  database.exec("INSERT INTO users (id) VALUES ('1')");
  const failed = outbox.write((own) => {
    expect(() => own.exec("INSERT OR ROLLBACK INTO users (id) VALUES ('1')")).toThrow("UNIQUE");
    outbox.add(own, { userId: 2, template: templateId, request });
  });
  await expect(failed).rejects.toThrow("was ended inside of its function");
  expect(await outbox.get(2)).toBeUndefined();
});

it.each(["COMMIT", "ROLLBACK"])("says that the function of write must not %s", async (sql) => {
  const { outbox } = openSqliteShop();
  await expect(outbox.write((own) => own.exec(sql))).rejects.toThrow(
    "The transaction was ended inside of its function",
  );
});

it("refuses write without a function", async () => {
  const { outbox, database } = openSqliteShop();
  const pool = new pg.Pool(); // never connects
  const inPostgres = postgresOutbox({ client: createNetwork().createClient(), pool });
  for (const write of [outbox.write, inPostgres.write])
    for (const work of [undefined, database])
      await expect(write(work as never)).rejects.toThrow("outbox.write takes one function");
});

it.each([
  ["", ""],
  [", which has attached that of the outbox", "ATTACH"],
])("refuses a connection to another file%s", (_, attach) => {
  const { outbox, database } = openSqliteShop();
  const other = openLibsql(scratchFile("other.db"));
  const [row] = database.prepare("PRAGMA database_list").all() as { file: string }[];
  if (attach) other.exec(`ATTACH '${row?.file}' AS shop`);
  other.exec("BEGIN");
  expect(() => outbox.add(other, { userId: 1, template: templateId, request })).toThrow(
    /This connection is to .*other.db, and the outbox is in .*shop.db/,
  );
  expect(() =>
    outbox.add({ userId: 1, template: templateId, request } as never, undefined as never),
  ).toThrow("outbox.add(database, entry)");
});

it.each([
  [{}, "outbox.add(transaction, { userId, template, request })"],
  [{ request: { customer: {} } }, "privacy.version"],
  [
    { request: { customer: { ...request.customer, passwordHash: "x" } } },
    'customer has no member "passwordHash"',
  ],
  [{ request, userId: undefined }, "userId"],
  [{ request, template: "" }, "template id"],
  [{ request, userID: 1 }, 'The entry of outbox.add has no member "userID". Did you mean userId?'],
  [{ request, firstAttemptAt: 1_700_000_000 }, "firstAttemptAt"],
  [
    { request, userId: "a\0b" },
    "userId must be well-formed text of at most 255 characters, without NUL",
  ],
  [{ request, userId: "a".repeat(256) }, "userId must be well-formed text"],
  [{ request, template: "a\0b" }, "template must be well-formed text"],
  // The key would be that of another card, or older than is known.
  [{ request, keySuffix: undefined }, "keySuffix is present but undefined"],
  [{ request, keySuffix: "" }, "keySuffix is present but undefined, null or empty"],
  [{ request, firstAttemptAt: undefined }, "firstAttemptAt is present but undefined"],
  [{ request, keySuffix: "a\0b" }, "keySuffix must be well-formed text"],
  [{ request, keySuffix: ["a"] }, "keySuffix is present but undefined, blank or not text"],
  [
    { request, keySuffix: "x".repeat(241) },
    "keySuffix must be well-formed text of at most 240 characters",
  ],
])("refuses the entry %j", async (entry, message) => {
  const { outbox } = openSqliteShop();
  const added = outbox.write((own) =>
    outbox.add(own, { userId: 1, template: templateId, ...entry } as never),
  );
  await expect(added).rejects.toThrow(message);
  expect(await outbox.count()).toMatchObject({ waiting: 0, issued: 0 });
});

it("refuses issue before the transaction is committed, and for a user who was not added", async () => {
  const { outbox } = openSqliteShop();
  await expect(outbox.issue(1)).rejects.toThrow("outbox.issue after its commit");
});

// G20
it("refuses invalid options", () => {
  const client = createNetwork().createClient();
  expect(() => sqliteOutbox({ client, file: ":memory:" })).toThrow("needs a file on a disk");
  expect(() => sqliteOutbox({ client, file: scratchFile(), open: {} as never })).toThrow(
    "open must be a function, such as (file) => new Database(file); it is object",
  );
  expect(() => sqliteOutbox({ client: {} as never, file: scratchFile() })).toThrow(
    "createIssuingClient",
  );
  expect(() => sqliteOutbox({ client, file: scratchFile(), retentionDays: 0 })).toThrow(
    "retentionDays",
  );
  expect(() => postgresOutbox({ client } as never)).toThrow("needs pool");
  expect(() => postgresOutbox({ client, pool: new pg.Client() as never })).toThrow(
    "pool is neither a Pool of pg, which a Client is not,",
  );
  const knex = Object.assign(() => {}, { transaction() {}, raw() {} });
  expect(() => postgresOutbox({ client, pool: knex as never })).toThrow(
    "with Knex transaction: (work) => knex.transaction(",
  );
  expect(() => postgresOutbox({ client, pool: drizzle.mock() as never })).toThrow(
    "With Drizzle or Kysely pass transaction and adapt: (tx) => fromDrizzle(tx, sql);",
  );
  const endless = createNetwork().createClient({ deadlineMs: Number.POSITIVE_INFINITY });
  expect(() => sqliteOutbox({ client: endless, file: scratchFile() })).toThrow(
    "deadlineMs of the client",
  );
  const { outbox } = openSqliteShop();
  expect(() => outbox.work({ concurrency: 0 })).toThrow("concurrency must be a number from 1");
  expect(() => outbox.work({ pollMs: -1 })).toThrow("pollMs");
});

it.each([
  [{ onIsued: () => {} }, 'sqliteOutbox has no option "onIsued". Did you mean onIssued?'],
  [{ testing: { clok: 1 } }, 'testing of sqliteOutbox has no option "clok". Did you mean clock?'],
  [{ onIssued: undefined }, "onIssued must be a function; it is undefined"],
  [{ client: "https://cards.example.com" }, "createIssuingClient"],
  [{ log: "console" }, "log must be a function; it is string"],
])("refuses the option %j, which would be ignored", (option, message) => {
  const client = createNetwork().createClient();
  expect(() => sqliteOutbox({ client, file: scratchFile(), ...(option as object) })).toThrow(
    message,
  );
  expect(() => sqliteOutbox(undefined as never)).toThrow("sqliteOutbox needs options");
});

it.each([
  [{ cardId: "" }, "cardId must be an id"],
  [{ cardId: "  " }, "cardId must be an id"],
  [{ cardId: null }, "cardId must be an id"],
  [{ cardId: 17 }, "cardId must be an id"],
  [{ cardId: "undefined" }, "cardId must be an id"],
  [{ cardId: "a".repeat(256) }, "cardId must be well-formed text"],
  [{ cardId: "card_1", noCard: true }, "not both"],
  [{}, "resolve needs { cardId } or { noCard: true }"],
])("refuses to resolve with %j", async (resolution, message) => {
  const { outbox } = openSqliteShop();
  await expect(outbox.resolve(1, resolution as never)).rejects.toThrow(message);
});

it("refuses misspelt options of postgresOutbox, work, drain and issue", async () => {
  const client = createNetwork().createClient();
  expect(() => postgresOutbox({ client, pol: {} } as never)).toThrow("Did you mean pool?");
  const { outbox } = openSqliteShop();
  expect(() => outbox.work({ concurency: 2 } as never)).toThrow("Did you mean concurrency?");
  await expect(outbox.drain({ pollMs: 5 } as never)).rejects.toThrow(
    'drain has no option "pollMs"',
  );
  await expect(outbox.drain({ onProgress: true } as never)).rejects.toThrow(
    "onProgress must be a function; it is boolean",
  );
  await expect(outbox.drain({ maxEntries: 1.5 })).rejects.toThrow(
    "maxEntries must be an integer; it is 1.5",
  );
  await expect(toArray(outbox.list({ limit: 1.5 }))).rejects.toThrow("limit must be an integer");
  await expect(toArray(outbox.list({ stat: "issued" } as never))).rejects.toThrow(
    "Did you mean state?",
  );
  await expect(outbox.issue(1, { deadlineMs: 3_600_001 })).rejects.toThrow("from 1 to 3600000");
  await expect(outbox.issue(1, { deadline: 5 } as never)).rejects.toThrow(
    "Did you mean deadlineMs?",
  );
});

it("refuses a misspelt template, without which another entry of the user could be meant", async () => {
  const { outbox, database } = openSqliteShop();
  await outbox.addAll([{ userId: 1, template: templateId, request }]);
  const other = { templat: "tpl_other" } as never;
  const calls = {
    get: () => outbox.get(1, other),
    retry: () => outbox.retry(1, other),
    resolve: () => outbox.resolve(1, { noCard: true }, other),
    forget: () => outbox.forget(1, other),
  };
  for (const [name, call] of Object.entries(calls))
    await expect(call()).rejects.toThrow(`${name} has no option "templat". Did you mean template?`);
  database.exec("BEGIN");
  expect(() => outbox.correct(database, 1, request, other)).toThrow(
    'correct has no option "templat". Did you mean template?',
  );
  expect(await outbox.count()).toMatchObject({ waiting: 1 });
});

it("names the arguments of a call that got others", async () => {
  const { outbox, database } = openSqliteShop();
  const entry = { userId: 1, template: templateId, request };
  await expect(outbox.addAll(entry as never)).rejects.toThrow(
    "outbox.addAll takes a list of entries",
  );
  database.exec("BEGIN");
  expect(() =>
    outbox.correct(database, { userId: 1, request } as never, undefined as never),
  ).toThrow("outbox.correct(transaction, userId, request)");
  const signal = new AbortController() as never;
  await expect(outbox.issue(1, { signal })).rejects.toThrow("pass controller.signal");
  await expect(outbox.drain({ signal })).rejects.toThrow("pass controller.signal");
  expect(() => outbox.work(null as never)).toThrow("work takes an object: { concurrency,");
  await expect(outbox.drain(null as never)).rejects.toThrow("drain takes an object: {");
  await expect(outbox.issue(1, null as never)).rejects.toThrow("issue takes an object: {");
  for (const client of [undefined, outbox, "postgres://localhost/shop"])
    await expect(ensureOutboxTables(client as never)).rejects.toThrow(
      "ensureOutboxTables takes a Pool or connected Client of pg",
    );
  await expect(ensureOutboxTables(new pg.Client())).rejects.toThrow("This Client is not connected");
  const client = createNetwork().createClient();
  const url = "file:///tmp/shop.db";
  for (const file of [url, new URL(url)])
    expect(() => sqliteOutbox({ client, file: file as never })).toThrow("pass fileURLToPath(url)");
});

it("distinguishes the templates of one user", async () => {
  const { outbox, service } = openSqliteShop();
  service.templates.create({ id: "tpl_other", name: "Other", fields: [] });
  await outbox.addAll([
    { userId: 42, template: templateId, request },
    { userId: "42", template: "tpl_other", request },
  ]);
  await expect(outbox.get(42n)).rejects.toThrow("several templates");
  expect(await outbox.get(42, { template: "tpl_other" })).toMatchObject({
    userId: "42",
    template: "tpl_other",
  });
});

it("lists entries in pages, by state and after an entry", async () => {
  const { outbox } = openSqliteShop();
  await outbox.addAll(toEntries(450));
  const list = await toArray(outbox.list({ state: "waiting" }));
  expect(list).toHaveLength(450);
  const rest = await toArray(outbox.list({ after: list[399] as never, limit: 20 }));
  expect(rest.map(({ userId }) => Number(userId))).toEqual(
    Array.from({ length: 20 }, (_, index) => 400 + index),
  );
  await expect(toArray(outbox.list({ state: "done" as never }))).rejects.toThrow("state must be");
});

it("uses the key that issueCard derives", async () => {
  const { outbox, signUp, requests, createClient } = openSqliteShop();
  await signUp("42", request);
  await outbox.issue(42);
  await createClient().issueCard(templateId, request, { userId: 42 });
  expect(requests[0]?.key).toBe(requests[1]?.key);
});

it("sends nothing after close, which checks its options first", async () => {
  const { outbox, signUp, requests } = openSqliteShop();
  await signUp("1", request);
  expect(() => outbox.close({ graceMs: -1 })).toThrow("graceMs must be a number from 0");
  const issued = outbox.issue(1);
  await outbox.close();
  expect(["waiting", "issued"]).toContain((await issued).state);
  const sent = requests.length;
  await new Promise((resolve) => setImmediate(resolve));
  expect(requests).toHaveLength(sent);
});

it("takes null, as a callback of Node.js gets it for no error, for options of close and stop", async () => {
  const { outbox } = openSqliteShop();
  await outbox.work().stop(null as never);
  await outbox.close(null as never);
  await expect(outbox.count()).rejects.toThrow("closed");
});

it("refuses an open function that is asynchronous", async () => {
  const client = createNetwork().createClient();
  const open = (async () => {}) as never;
  await expect(sqliteOutbox({ client, file: scratchFile(), open }).count()).rejects.toThrow(
    "open must return a database, not a promise",
  );
});

it("rejects every method after close", async () => {
  const { outbox, database } = openSqliteShop();
  await outbox[Symbol.asyncDispose]();
  await expect(outbox.count()).rejects.toThrow("closed");
  await expect(outbox.issue(1)).rejects.toThrow("closed");
  expect(() => outbox.work()).toThrow("closed");
  await expect(outbox.addAll([])).rejects.toThrow("closed");
  database.exec("BEGIN");
  expect(() => outbox.correct(database, 1, request)).toThrow("The outbox is closed.");
});

it("reports another card than the recorded one, which stays", async () => {
  const { outbox, database, signUp, weather, outcomes, getUserCard } = openSqliteShop();
  await signUp("1", request);
  weather.push(async () => {
    // Another process has lost its lease, and records its card meanwhile.
    database.exec(
      `UPDATE issuing_outbox_entries SET state = 'issued', result = '{"cardId":"card_first"}', rank = NULL, lease = NULL`,
    );
    return "ok";
  });
  const entry = await outbox.issue(1);
  expect(entry).toMatchObject({ cardId: "card_first" });
  expect(entry.card).toBeUndefined();
  expect(outcomes).toMatchObject([{ outcome: "another-card" }]);
  expect(getUserCard("1")).toBeNull();
});

it.each([
  ["another process has leased it", "lease = 'of another process'"],
  ["it was rejected and corrected", "lease = NULL, key = 'lc1_new', suffix = '~2', rank = 2"],
  ["it is unknown", "lease = NULL, state = 'unknown', rank = NULL"],
])("records a card that arrives late, after %s", async (_name, change) => {
  const { outbox, database, signUp, weather, getUserCard } = openSqliteShop();
  await signUp("1", request);
  weather.push(async () => {
    database.exec(`UPDATE issuing_outbox_entries SET ${change}`);
    return "ok";
  });
  expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
  expect(getUserCard("1")).not.toBeNull();
  expect(await outbox.drain()).toMatchObject({ issued: 1, waiting: 0, unknown: 0 });
});

it("does not take a client that is not the SDK's", () => {
  const copy = { ...createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "k" }) };
  expect(() => sqliteOutbox({ client: copy as never, file: scratchFile() })).toThrow(
    "createIssuingClient",
  );
});

it("goes on while the form of an entry is missing", async () => {
  const { outbox, run, clock, signUp, requests, database } = openVirtualShop();
  await run(signUp("1"));
  database.exec("DELETE FROM issuing_outbox_entries_bodies");
  expect(await run(outbox.issue(1, { deadlineMs: 1_000 }))).toMatchObject({
    state: "waiting",
    attempts: 0,
  });
  const worker = outbox.work();
  await run(signUp("2"));
  await clock.pass(5_000);
  expect(requests).toHaveLength(1);
  await run(worker.stop());
  expect(await outbox.count()).toMatchObject({ waiting: 1, issued: 1 });
});

it("refuses a firstAttemptAt more than a minute in the future, and stores at most now: the 24 hours of a key are not longer", async () => {
  const { outbox, clock } = openVirtualShop();
  const add = (userId: number, aheadMs: number) => {
    const entry = { userId, template: templateId, request, firstAttemptAt: clock.now() + aheadMs };
    return outbox.write((own) => outbox.add(own, entry));
  };
  await expect(add(1, 60_001)).rejects.toThrow("not in the future");
  expect(await add(2, 60_000)).toBe("added");
  expect((await outbox.get(2))?.firstAttemptAt?.getTime()).toBe(clock.now());
});
