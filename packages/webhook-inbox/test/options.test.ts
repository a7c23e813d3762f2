/** Options with an unknown name are rejected before anything is opened. */
import { expect, it } from "vitest";
import { bullmqInbox, inboxHandler, pgBossInbox, sqliteInbox } from "../src/index.ts";

const handler = () => {};
/** Opened at first use only. */
const open = (options: object = {}) => sqliteInbox({ file: "unused.db", ...options });

// G20
it.each<[message: string, create: () => unknown]>([
  ['sqliteInbox has no option "sorce". Did you mean source?', () => open({ sorce: "shop" })],
  [
    'The worker of an inbox has no option "concurency". Did you mean concurrency?',
    () => open().work(handler, { concurency: 2 } as object),
  ],
  [
    'The worker of an inbox has no option "maxMS".',
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
  ['state must be "waiting", "done" or "dead".', () => open().list({ state: "failed" } as object)],
  ['list has no option "status".', () => open().list({ status: "dead" } as object)],
  [
    'pgBossInbox has no option "que". Did you mean queue?',
    () => pgBossInbox({ getQueue() {} } as never, { que: "loyalty" } as never),
  ],
  [
    'bullmqInbox has no option "timeout". Did you mean timeoutMs?',
    () => bullmqInbox({ waitUntilReady() {} } as never, { timeout: 1 } as object),
  ],
  [
    'inboxHandler has no option "onOutcom". Did you mean onOutcome?',
    () => inboxHandler(handler, { onOutcom: handler } as object),
  ],
])("%s", async (message, create) => {
  const error: unknown = await new Promise((resolve) => resolve(create())).catch((each) => each);
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toContain(message);
});
