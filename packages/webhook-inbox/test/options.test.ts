/** Options with an unknown name are rejected before anything is opened. */
import { scratchFile } from "@loyalty-cards/testing/resources";
import pg from "pg";
import { expect, it } from "vitest";
import { bullmqInbox, inboxHandler, pgBossInbox, sqliteInbox } from "../src/index.ts";
import { ensureInboxTables, fromDrizzle, fromKysely, markProcessed } from "../src/postgres.ts";
import { markProcessed as markInFile } from "../src/sqlite/processed.ts";

const handler = () => {};
/** Opened at first use only. */
const open = (options: object = {}) => sqliteInbox({ file: "unused.db", ...options });
const openPgBoss = (options: object) =>
  pgBossInbox({ getQueue() {} } as never, { queue: "loyalty", ...options });
const openBullmq = (options: object) => bullmqInbox({ waitUntilReady() {} } as never, options);

// G20
it.each<[message: string, create: () => unknown]>([
  ['sqliteInbox has no option "sorce". Did you mean source?', () => open({ sorce: "shop" })],
  [
    'source names the sender of the events with a string, such as "coffee"; it is of type number.',
    () => open({ source: 5 }),
  ],
  ['it is the text "undefined".', () => open({ source: `${process.env["NO_NAME"]}` })],
  [
    'The worker of an inbox has no option "concurency". Did you mean concurrency?',
    () => open().work(handler, { concurency: 2 } as object),
  ],
  [
    'drain has no option "maxMS". Did you mean maxMs?',
    () => open().drain(handler, { maxMS: 1 } as object),
  ],
  [
    'backoff has no option "initialDelay". Did you mean initialDelayMs?',
    () => open().work(handler, { backoff: { initialDelay: 1 } as object }),
  ],
  [
    'testing of sqliteInbox has no option "clok". Did you mean clock?',
    () => open({ testing: { clok: {} } }),
  ],
  [
    "pgBossInbox takes a PgBoss: pgBossInbox(boss, {",
    () => pgBossInbox("postgres://shop@localhost/shop" as never, { queue: "loyalty" }),
  ],
  ["pgBossInbox takes a PgBoss", () => pgBossInbox(undefined as never, undefined as never)],
  ["bullmqInbox takes a Queue of BullMQ", () => bullmqInbox("loyalty" as never)],
  ["list takes an object: { state, limit }.", () => open().list(null as never)],
  [
    'markProcessed has no option "sorce". Did you mean source?',
    () => markProcessed({ query() {} } as never, { id: "evt_1" }, { sorce: "shop" } as object),
  ],
  [
    'markProcessed has no option "sorce". Did you mean source?',
    () => markInFile({ prepare() {} } as never, { id: "evt_1" }, { sorce: "shop" } as object),
  ],
  [
    "inbox.replay takes the id of an event, a string: inbox.replay(event.id).",
    () => open().replay({ id: "evt_1" } as never),
  ],
  [
    "inbox.put takes (event, { body, receivedAt }, { signal }), which a receiver passes",
    () => (open().put as (event: object) => unknown)({ id: "evt_1", type: "ping" }),
  ],
  [
    'sqliteInbox needs a file on a disk: { file: "shop.db" }. This is a URL: pass fileURLToPath(url).',
    () => open({ file: new URL("file:///tmp/inbox.db") }),
  ],
  ["fileURLToPath", () => open({ file: "file:///tmp/inbox.db" })],
  [
    "open must be a function, such as (file) => new Database(file); it is object.",
    () => open({ open: {} as never }),
  ],
  [
    "ensureInboxTables takes a Pool or connected Client of pg, the sql of postgres.js, or a client of Prisma: ensureInboxTables(pool).",
    () => ensureInboxTables(undefined as never),
  ],
  [
    "This Client is not connected: await client.connect().",
    () => ensureInboxTables(new pg.Client()),
  ],
  ["fromDrizzle(tx, sql)", () => fromDrizzle({ execute() {} } as never, undefined as never)],
  ["fromKysely(tx, CompiledQuery)", () => fromKysely({} as never, { raw() {} } as never)],
  ['state must be "waiting", "done" or "dead".', () => open().list({ state: "failed" } as object)],
  ["log must be a function; it is string.", () => open({ log: "console" })],
  [
    "onOutcome must be a function; it is object.",
    () => inboxHandler(handler, { onOutcome: {} as never }),
  ],
  ["limit must be a number", () => open().list({ limit: "5" } as object)],
  ["limit must be an integer", () => open().list({ limit: 1.5 })],
  ['list has no option "status".', () => open().list({ status: "dead" } as object)],
  ['pgBossInbox has no option "que". Did you mean queue?', () => openPgBoss({ que: "loyalty" })],
  [
    'bullmqInbox has no option "timeout". Did you mean timeoutMs?',
    () => openBullmq({ timeout: 1 }),
  ],
  ["maxAttempts must be an integer; it is 2.5.", () => openPgBoss({ maxAttempts: 2.5 })],
  ["maxAttempts must be an integer; it is 2.5.", () => openBullmq({ maxAttempts: 2.5 })],
  ["maxAttempts must be a number from 1 to", () => openPgBoss({ maxAttempts: 2 ** 31 })],
  ["maxAttempts must be a number from 1 to", () => openBullmq({ maxAttempts: Infinity })],
  ["timeoutMs must be an integer; it is 1.5.", () => openBullmq({ timeoutMs: 1.5 })],
  ...[open, openPgBoss, openBullmq].flatMap<[string, () => unknown]>((create) => [
    [
      "retentionSeconds must be an integer; it is 31020.5.",
      () => create({ retentionSeconds: 31_020.5 }),
    ],
    [
      "retentionSeconds must be a number from 31020 to",
      () => create({ retentionSeconds: 2 ** 31 }),
    ],
  ]),
  [
    'inboxHandler has no option "onOutcom". Did you mean onOutcome?',
    () => inboxHandler(handler, { onOutcom: handler } as object),
  ],
])("%s", async (message, create) => {
  const error: unknown = await new Promise((resolve) => resolve(create())).catch((each) => each);
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toContain(message);
});

it("refuses a second worker with another handler, to which few events would go", async () => {
  await using inbox = sqliteInbox({ file: scratchFile() });
  const worker = inbox.work(handler);
  expect(() => inbox.work(() => {})).toThrow("combine the handlers in one onEvents({ … })");
  await expect(inbox.drain(() => {})).rejects.toThrow("each event goes to one of them only");
  expect(() => inbox.work(handler)).not.toThrow();
  await worker.stop();
});
