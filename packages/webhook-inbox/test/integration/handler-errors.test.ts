/**
 * The log of a handler's error, in the receiver and in each inbox: on one line, with the place of
 * the error, and without foreign messages.
 */
import { describe, expect, it } from "vitest";
import {
  createReceiver,
  signWebhookSync,
  type WebhookEvent,
} from "../../../webhook-verify/src/index.ts";
import { inboxHandler, openLibsql } from "../../src/index.ts";
import { markProcessed } from "../../src/postgres.ts";
import { balanceChanged, openInbox, put, recordOutcomes, toBody } from "../inboxes.ts";

interface Options {
  event?: WebhookEvent;
  logErrorMessages?: boolean;
}
type Way = (
  handler: (event: WebhookEvent) => Promise<unknown>,
  log: string[],
  options: Options,
) => unknown;

/** Each way to call a handler once. */
const ways: Record<string, Way> = {
  async "the receiver"(handler, log, { event = balanceChanged("evt_1"), ...options }) {
    const receive = createReceiver({
      secret: "s",
      handler,
      log: (line) => log.push(line),
      ...options,
    });
    const rawBody = toBody(event);
    const headers = { "service-signature": signWebhookSync({ rawBody, secret: "s" }) };
    expect((await receive({ method: "POST", headers, rawBody })).status).toBe(503);
  },
  async "a worker of SQLite"(handler, log, { event = balanceChanged("evt_1"), ...options }) {
    const { onOutcome, until } = recordOutcomes();
    const inbox = openInbox({
      open: openLibsql,
      onOutcome,
      log: (line) => log.push(line),
      ...options,
    });
    await put(inbox, event);
    inbox.work(handler, { maxAttempts: 1, pollMs: 5 });
    await until("dead");
    const [letter] = await inbox.list({ state: "dead" });
    expect(log).toEqual([expect.stringContaining(letter?.lastFailure ?? "nothing stored")]);
  },
  async "a worker of a queue"(handler, log, { event = balanceChanged("evt_1"), ...options }) {
    const handle = inboxHandler(handler, { log: (line) => log.push(line), ...options });
    const data = { body: JSON.stringify(event), receivedAt: new Date().toISOString() };
    await expect(handle({ data })).rejects.toThrow();
  },
};
const here = "packages/webhook-inbox/test/integration/handler-errors\\.test\\.ts:\\d+:\\d+";

describe.each(Object.entries(ways))("in %s", (_name, run) => {
  it("a handler that returns a function has failed, because nothing calls that", async () => {
    const log: string[] = [];
    await run(async () => () => {}, log, {});
    expect(log).toEqual([expect.stringContaining("handler returned a function, which nothing")]);
  });

  /** @returns the line that was logged. */
  async function readLog(handler: Parameters<Way>[0], options: Options = {}): Promise<string> {
    const log: string[] = [];
    await run(handler, log, options);
    expect(log).toHaveLength(1);
    return log.join();
  }

  it("quotes the message of our own error", async () => {
    const typeOrm = { query: async () => [] };
    expect(await readLog((event) => markProcessed(typeOrm as never, event))).toMatch(
      /: TypeError at \S+: The query of this transaction does not resolve to \{ rows \}/,
    );
  });

  // G8
  it("names the place of a foreign error, and quotes its message only with logErrorMessages", async () => {
    const fail = () => Promise.reject(new RangeError("ada@example.com\u001b[2J\nis unknown"));
    const line = await readLog(fail);
    expect(line).toMatch(
      new RegExp(`: RangeError at ${here} \\(logErrorMessages: true adds the message\\)`),
    );
    expect(line).not.toContain("ada");
    expect(await readLog(fail, { logErrorMessages: true })).toMatch(
      new RegExp(
        `: RangeError at ${here}: ada@example\\.com\ufffd\\[2J\ufffdis unknown(?!.*logErrorMessages)`,
      ),
    );
  });

  it("shortens the id and the type of an event, and removes their line breaks", async () => {
    const event = {
      id: "evt\n1 is fine\u2028",
      type: "x\r\n".repeat(1_000),
      createdAt: "x",
      data: {},
    };
    const line = await readLog(() => Promise.reject(new Error("no")), { event });
    expect(line).not.toMatch(/[\r\n\u2028]/);
    expect(line.length).toBeLessThan(600);
  });
});
