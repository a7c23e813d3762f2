/** The log names the cause of a handler's error, in the receiver and in each inbox, and quotes no foreign message. */
import pg from "pg";
import { describe, expect, it } from "vitest";
import { createReceiver, signWebhookSync, type WebhookEvent } from "../../../webhook-verify/src/index.ts";
import { inboxHandler, openLibsql } from "../../src/index.ts";
import { markProcessed } from "../../src/postgres.ts";
import { balanceChanged, put, recordOutcomes } from "../events.ts";
import { hasPostgres, ownSchema } from "../servers.ts";
import { openInbox, scratchFile } from "../sqlite-files.ts";

type Handler = (event: WebhookEvent) => Promise<unknown>;
interface Options {
  logErrorMessages?: boolean;
}

/** Each way to call a handler once. @returns what was logged, and the stored reason of a dead letter. */
const ways: Record<string, (handler: Handler, options?: Options) => Promise<string>> = {
  async "the receiver"(handler, options = {}) {
    const log: string[] = [];
    const receive = createReceiver({ secret: "s", handler, log: (line) => log.push(line), ...options });
    const rawBody = JSON.stringify(balanceChanged("evt_1"));
    const headers = { "service-signature": signWebhookSync({ rawBody, secret: "s" }) };
    expect((await receive({ method: "POST", headers, rawBody })).status).toBe(503);
    return log.join("\n");
  },
  async "a worker of SQLite"(handler, options = {}) {
    const log: string[] = [];
    const recorded = recordOutcomes();
    const inbox = openInbox({
      file: scratchFile(),
      open: openLibsql,
      onOutcome: recorded.onOutcome,
      log: (line) => log.push(line),
      ...options,
    });
    await put(inbox, balanceChanged("evt_1"));
    inbox.work(handler, { maxAttempts: 1, pollMs: 5 });
    await recorded.until("dead");
    const [letter] = await inbox.list({ state: "dead" });
    expect(log).toEqual([expect.stringContaining(letter?.lastFailure ?? "nothing stored")]);
    return log.join("\n");
  },
  async "a worker of a queue"(handler, options = {}) {
    const log: string[] = [];
    const handle = inboxHandler(handler, { log: (line) => log.push(line), ...options });
    const data = { body: JSON.stringify(balanceChanged("evt_1")), receivedAt: new Date().toISOString() };
    await expect(handle({ data })).rejects.toThrow();
    return log.join("\n");
  },
};
const here = "packages/webhook-inbox/test/integration/handler-errors\\.test\\.ts:\\d+:\\d+";

describe.each(Object.entries(ways))("in %s", (_name, logOf) => {
  // G8
  it("names the code and the place when a database is down, also one with two addresses", async () => {
    const pool = new pg.Pool({ host: "127.0.0.1", port: 1 });
    const line = await logOf(async () => await pool.query("SELECT 1"));
    expect(line).toMatch(new RegExp(`: (Aggregate)?Error connect ECONNREFUSED at ${here}`));
    expect(line).not.toContain("127.0.0.1");
  });

  it("quotes the message of our own error", async () => {
    const pool = new pg.Pool({ host: "127.0.0.1", port: 1 });
    expect(await logOf((event) => markProcessed(pool as never, event))).toMatch(
      /: TypeError at \S+: markProcessed and isNewest need the transaction that writes the effect of the event, not a pool/,
    );
  });

  it("quotes a foreign message only with logErrorMessages, on one line", async () => {
    const fail = () => Promise.reject(new RangeError("ada@example.com\u001b[2J\nis unknown"));
    expect(await logOf(fail)).not.toContain("ada");
    expect(await logOf(fail, { logErrorMessages: true })).toMatch(
      new RegExp(`: RangeError at ${here}: ada@example\\.com\ufffd\\[2J\ufffdis unknown`),
    );
  });
});

describe.skipIf(!(await hasPostgres()))("with PostgreSQL", () => {
  const { pool: createPool } = ownSchema();
  const pool = createPool();

  it.each(Object.entries(ways))(
    "in %s names the code and the place when a table is missing",
    async (_name, logOf) => {
      const line = await logOf(
        async () => await pool.query("SELECT FROM members WHERE email = 'ada@example.com'"),
      );
      expect(line).toMatch(new RegExp(`: error 42P01 at ${here}`));
      expect(line).not.toMatch(/ada|node_modules/);
    },
  );
});
