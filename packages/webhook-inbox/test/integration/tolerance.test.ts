/** From a receiver through every engine to a handler: events with unexpected data are processed, and other bodies are rejected. */
import { requiredData } from "@loyalty-cards/openapi/events";
import {
  createReceiver,
  type EventHandlers,
  isKnownEvent,
  onEvents,
  type ReceiverOutcome,
  signWebhookSync,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";
import { Queue, Worker } from "bullmq";
import { PgBoss } from "pg-boss";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  bullmqInbox,
  inboxHandler,
  pgBossInbox,
  type QueueHandler,
  type SqliteInbox,
} from "../../src/index.ts";
import { balanceChanged, recordOutcomes } from "../events.ts";
import { hasPgBoss, hasRedis, ownPrefix, ownSchema } from "../servers.ts";
import { engines, openInbox } from "../sqlite-files.ts";

type Inbox = Pick<SqliteInbox, "put">;

interface Opened {
  inbox: Inbox;
  /** The ids of the stored events; of dead letters only. */
  listIds(isDead?: boolean): Promise<string[]>;
  /** Runs the handler once for each stored event. */
  work(handler: QueueHandler): void | Promise<void>;
  recorded: ReturnType<typeof recordOutcomes>;
}

const secret = "whsec_1";
/** Known event types with data that differs from the contract, and the paths of the differences. */
const unexpected: [event: object, paths: string[]][] = [
  [
    { ...balanceChanged("evt_text"), data: { ...balanceChanged("x").data, balance: "120" } },
    ["/data/balance"],
  ],
  [{ ...balanceChanged("evt_none"), data: undefined }, ["/data"]],
  [{ ...balanceChanged("evt_list"), type: "card.added", data: [] }, ["/data"]],
  [
    { ...balanceChanged("evt_null"), type: "consent.changed", data: { passIds: ["card_1", 7] } },
    ["/data/passIds/1"],
  ],
  [{ ...balanceChanged("evt_tier"), type: "tier.changed", data: { customerId: "cus_1" } }, ["/data/passId"]],
];
const getId = (event: object) => (event as WebhookEvent).id;

function receiving(inbox: Inbox) {
  const recorded: ReceiverOutcome[] = [];
  const log: string[] = [];
  const receive = createReceiver({
    secret,
    inbox,
    onOutcome: (outcome) => recorded.push(outcome),
    log: (line) => log.push(line),
  });
  const deliver = async (body: string) => {
    const signature = signWebhookSync({ rawBody: body, secret });
    const headers = { "service-signature": signature };
    return (await receive({ method: "POST", headers, rawBody: body })).status;
  };
  return { deliver, recorded, log };
}

const uncalled = () => Promise.reject(new Error("called with unexpected data"));
/** Handlers for every known event type, without `unexpectedData` and `otherTypes`. */
const knownOnly = Object.fromEntries(
  Object.keys(requiredData).map((type) => [type, uncalled]),
) as unknown as EventHandlers;

function describeTolerance(name: string, open: () => Promise<Opened>): void {
  describe(name, () => {
    // G17
    it("stores events whose data differs from the contract, and passes them to `unexpectedData`", async () => {
      const { inbox, work, recorded } = await open();
      const { deliver, recorded: received } = receiving(inbox);
      for (const [event] of unexpected) expect(await deliver(JSON.stringify(event))).toBe(204);
      expect(received).toMatchObject(
        unexpected.map(([event, unexpectedData]) => ({
          outcome: "stored",
          event: { id: getId(event) },
          unexpectedData,
        })),
      );
      const unknown: [string, boolean][] = [];
      await work(
        onEvents({
          ...knownOnly,
          otherTypes: uncalled,
          unexpectedData: (event) => void unknown.push([event.id, isKnownEvent(event)]),
        }),
      );
      await recorded.until("done", unexpected.length);
      expect(unknown.sort()).toEqual(unexpected.map(([event]) => [getId(event), false]).sort());
    });

    it("dead-letters an event with unexpected data when onEvents has no `unexpectedData`, also with `otherTypes`", async () => {
      const { inbox, listIds, work, recorded } = await open();
      const { deliver } = receiving(inbox);
      const [[event] = [{}]] = unexpected;
      expect(await deliver(JSON.stringify(event))).toBe(204);
      await work(onEvents({ ...knownOnly, otherTypes: () => {} }));
      await recorded.until("dead");
      expect(recorded.of("dead")).toMatchObject([
        { event: { id: "evt_text" }, error: { message: expect.stringContaining("/data/balance") } },
      ]);
      await expect.poll(() => listIds(true)).toEqual(["evt_text"]);
    });

    it("rejects a signed body whose id an engine cannot store, and logs why", async () => {
      const { inbox, listIds } = await open();
      const { deliver, log } = receiving(inbox);
      const genuine = JSON.stringify(balanceChanged("evt_1"));
      for (const id of ["evt_\\u0000", "evt_\\ud800", "evt_\\udfff", "e".repeat(513)]) {
        expect(await deliver(genuine.replace("evt_1", id))).toBe(400);
      }
      for (const type of ["\\u0000", "\\ud800"]) {
        expect(await deliver(genuine.replace("balance.changed", type))).toBe(400);
      }
      expect(await listIds()).toEqual([]);
      expect(log).toHaveLength(6);
      expect(log[0]).toMatch(/is not an event: id has a NUL character/);
      expect(log[3]).toMatch(/is not an event: id has more than 512 characters/);
    });

    it("distinguishes ids of 512 characters that differ in the last one, and accepts types of any text", async () => {
      const { inbox, listIds, work, recorded } = await open();
      const { deliver } = receiving(inbox);
      const ids = ["a", "寿", "\t"].map((last) => "寿".repeat(511) + last);
      const types = ["", "\n", "card renamed"];
      for (const [index, id] of ids.entries()) {
        const body = JSON.stringify({ id, type: types[index], createdAt: "x" });
        expect([await deliver(body), await deliver(body)]).toEqual([204, 204]);
      }
      expect((await listIds()).sort()).toEqual([...ids].sort());
      const seen: string[] = [];
      await work((event) => void seen.push(event.id, event.type));
      await recorded.until("done", 3);
      expect(seen.sort()).toEqual([...ids, ...types].sort());
    });
  });
}

describe.each(engines)("with %s", (_name, open) => {
  describeTolerance("the SQLite inbox", async () => {
    const recorded = recordOutcomes();
    const inbox = openInbox({ open, onOutcome: recorded.onOutcome });
    return {
      inbox,
      recorded,
      listIds: async (isDead) => (await inbox.list(isDead ? { state: "dead" } : {})).map(({ id }) => id),
      work: (handler) => void inbox.work(handler, { maxAttempts: 1 }),
    };
  });

  it("logs an event whose id and type have line breaks on one line, and shortens them", async () => {
    const recorded = recordOutcomes();
    const log: string[] = [];
    const inbox = openInbox({ open, onOutcome: recorded.onOutcome, log: (line) => log.push(line) });
    const { deliver } = receiving(inbox);
    const id = "evt\n1 is fine\u2028";
    expect(await deliver(JSON.stringify({ id, type: "x\r\n".repeat(1_000), createdAt: "x" }))).toBe(204);
    inbox.work(() => Promise.reject(new Error("no")), { maxAttempts: 1 });
    await recorded.until("dead");
    expect(log).toHaveLength(1);
    expect(log[0]).not.toMatch(/[\r\n\u2028]/);
    expect(log[0]?.length).toBeLessThan(500);
  });
});

describe.skipIf(!(await hasPgBoss()))("with pg-boss", () => {
  const { url, schema, pool: createPool } = ownSchema();
  const pool = createPool(1);
  const boss = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false });
  boss.on("error", () => {});
  beforeAll(() => boss.start());
  afterAll(() => boss.stop({ graceful: false }));
  let queues = 0;
  describeTolerance("the pg-boss inbox", async () => {
    const recorded = recordOutcomes();
    const queue = `tolerance-${++queues}`;
    await boss.createQueue(queue);
    const inbox = await pgBossInbox(boss, { queue, maxAttempts: 1, onOutcome: recorded.onOutcome });
    onTestFinished(() => boss.offWork(queue));
    return {
      inbox,
      recorded,
      async listIds(isDead) {
        const text = `SELECT data->>'body' AS body FROM job WHERE name = $1 AND (state = 'failed' OR $2)`;
        const { rows } = await pool.query(text, [queue, !isDead]);
        return rows.map(({ body }) => JSON.parse(body).id);
      },
      async work(handler) {
        const settings = { pollingIntervalSeconds: 0.5, includeMetadata: true as const };
        await boss.work(
          queue,
          settings,
          inboxHandler(handler, { onOutcome: recorded.onOutcome, log: () => {} }),
        );
      },
    };
  });
});

describe.skipIf(!(await hasRedis()))("with BullMQ", () => {
  const { prefix, url } = ownPrefix();
  let queues = 0;
  describeTolerance("the BullMQ inbox", async () => {
    const recorded = recordOutcomes();
    const queue = new Queue(`tolerance-${++queues}`, {
      prefix,
      connection: { url, enableOfflineQueue: false },
    });
    queue.on("error", () => {});
    onTestFinished(() => queue.close());
    const inbox = await bullmqInbox(queue, { maxAttempts: 1, onOutcome: recorded.onOutcome, log: () => {} });
    return {
      inbox,
      recorded,
      async listIds(isDead) {
        const jobs = await queue.getJobs(isDead ? ["failed"] : undefined);
        return jobs.map(({ data }) => JSON.parse(data.body).id);
      },
      work(handler) {
        const processor = inboxHandler(handler, { onOutcome: recorded.onOutcome, log: () => {} });
        const worker = new Worker(queue.name, processor, { prefix, connection: { url } });
        worker.on("error", () => {});
        onTestFinished(() => worker.close(true));
      },
    };
  });
});
