/** Events in a real pg-boss, 12 and 11, on a real PostgreSQL. */
import { existsSync } from "node:fs";
import { hasPgBoss, ownSchema } from "@loyalty-cards/testing/servers";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { PgBoss } from "pg-boss";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { inboxHandler, pgBossInbox } from "../../src/index.ts";
import { toUuid } from "../../src/pg-boss.ts";
import { describeInbox } from "../inbox-contract.ts";
import { balanceChanged, put, recordOutcomes } from "../inboxes.ts";

const isAvailable = await hasPgBoss();
const versions: [name: string, Boss: typeof PgBoss][] = [["pg-boss 12", PgBoss]];
const pgBoss11 = new URL(
  "../../../../compat/node_modules/pg-boss-11/src/index.js",
  import.meta.url,
);
if (isAvailable && existsSync(pgBoss11))
  versions.push(["pg-boss 11", (await import(pgBoss11.href)).default]);

describe.skipIf(!isAvailable).each(versions)("with %s", (name, Boss) => {
  const { url, schema, pool } = ownSchema();
  const settings = { connectionString: url, schema, supervise: false, schedule: false };
  const boss = new Boss(settings);
  boss.on("error", () => {});
  beforeAll(() => boss.start());
  afterAll(() => boss.stop({ graceful: false }));
  /** Another process. */
  async function startOther(own = {}): Promise<PgBoss> {
    const other = new Boss({ ...settings, ...own });
    onTestFinished(() => other.stop({ graceful: false }));
    return other.start();
  }
  let queues = 0;
  async function ownQueue(options?: Parameters<PgBoss["createQueue"]>[1]): Promise<string> {
    queues += 1;
    await boss.createQueue(`events-${queues}`, options);
    return `events-${queues}`;
  }
  /**
   * Counts the last job of each event: the id of a successor follows from that of a dead letter.
   */
  async function count(queue: string) {
    const { rows } = await pool(1).query("SELECT id::text, state::text FROM job WHERE name = $1", [
      queue,
    ]);
    const ids = new Set(rows.map(({ id }) => id));
    const states: string[] = rows
      .filter(({ id }) => !ids.has(toUuid(id)))
      .map(({ state }) => state);
    const waiting = states.filter((state) => ["created", "retry", "active"].includes(state)).length;
    return {
      waiting,
      dead: states.filter((state) => ["failed", "cancelled"].includes(state)).length,
    };
  }
  /** Takes the next job, whenever it is due, and fails it. */
  async function failNext(queue: string) {
    const [job] = await boss.fetch(queue, { includeMetadata: true, ignoreStartAfter: true });
    await boss.fail(queue, job?.id ?? "");
    return job?.retryCount;
  }

  describeInbox(name, async ({ attempts, onOutcome, retentionSeconds }) => {
    const queue = await ownQueue();
    const openInbox = (source: string) => {
      const retention = retentionSeconds === undefined ? {} : { retentionSeconds };
      return pgBossInbox(boss, { queue, maxAttempts: attempts, source, onOutcome, ...retention });
    };
    return {
      inbox: await openInbox(""),
      count: () => count(queue),
      openSource: async (source) => ({ inbox: await openInbox(source), work: async () => {} }),
      deleteOld: () => boss.supervise(queue),
      async work(handler) {
        const run = inboxHandler(handler, { onOutcome, log: () => {} });
        let isOver = false;
        const working = (async () => {
          while (!isOver) {
            // Like the worker of pg-boss, but without delays between attempts.
            const jobs = await boss.fetch(queue, { includeMetadata: true, ignoreStartAfter: true });
            for (const job of jobs)
              await run([job]).then(
                () => boss.complete(queue, job.id),
                () => boss.fail(queue, job.id),
              );
            await new Promise(setImmediate);
          }
        })();
        onTestFinished(async () => {
          isOver = true;
          await working;
        });
      },
    };
  });

  it("processes each event once in a worker of pg-boss", async () => {
    const queue = await ownQueue();
    const recorded = recordOutcomes();
    const inbox = await pgBossInbox(boss, { queue });
    await Promise.all(Array.from({ length: 20 }, () => put(inbox, balanceChanged("evt_1"))));
    const handled: number[] = [];
    const handler = onEvents({
      "balance.changed": ({ data }) => void handled.push(data.balance),
      otherTypes: () => {},
    });
    const options = { pollingIntervalSeconds: 0.5 };
    await boss.work(queue, options, inboxHandler(handler, { onOutcome: recorded.onOutcome }));
    await recorded.until("done");
    await boss.offWork(queue);
    expect(handled).toEqual([120]);
    expect(await put(inbox, balanceChanged("evt_1"))).toBe("duplicate");
  });

  it("keeps a dead letter longer than pg-boss keeps jobs, and gives it all attempts when it is replayed or delivered again", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue, maxAttempts: 1, log: () => {} });
    await put(inbox, balanceChanged("evt_1"));
    expect(await failNext(queue)).toBe(0);
    await pool(1).query("UPDATE job SET completed_on = completed_on - interval '13 days'");
    await boss.supervise(queue);
    expect(await count(queue)).toEqual({ waiting: 0, dead: 1 });
    expect(await inbox.replay("evt_1")).toBe(true);
    expect(await failNext(queue)).toBe(0);
    const again = [put(inbox, balanceChanged("evt_1")), put(inbox, balanceChanged("evt_1"))];
    expect((await Promise.all(again)).sort()).toEqual(["duplicate", "stored"]);
    expect(await failNext(queue)).toBe(0);
    expect(await count(queue)).toEqual({ waiting: 0, dead: 1 });
  });

  it("replays an event that was cancelled manually", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue });
    await put(inbox, balanceChanged("evt_1"));
    const { rows } = await pool(1).query("SELECT id FROM job WHERE name = $1", [queue]);
    await boss.cancel(queue, rows[0].id);
    expect(await count(queue)).toEqual({ waiting: 0, dead: 1 });
    expect(await inbox.replay("evt_1")).toBe(true);
    expect(await count(queue)).toEqual({ waiting: 1, dead: 0 });
  });

  it("stores each event once when two processes receive the same events in opposite orders", async () => {
    const queue = await ownQueue();
    const inboxes = [
      await pgBossInbox(boss, { queue }),
      await pgBossInbox(await startOther(), { queue }),
    ] as const;
    const ids = Array.from({ length: 2_000 }, (_, index) => `evt_${index}`);
    const results = await Promise.all([
      ...ids.map((id) => put(inboxes[0], balanceChanged(id))),
      ...ids.toReversed().map((id) => put(inboxes[1], balanceChanged(id))),
    ]);
    expect(results.filter((result) => result === "stored")).toHaveLength(ids.length);
    expect(await count(queue)).toMatchObject({ waiting: ids.length });
  });

  it("lets an attempt take as long as the queue is configured", async () => {
    const queue = await ownQueue({ expireInSeconds: 55 });
    await put(await pgBossInbox(boss, { queue }), balanceChanged("evt_1"));
    const [job] = await boss.fetch(queue, { includeMetadata: true });
    expect(Number(job?.expireInSeconds)).toBe(55);
  });

  it("rejects when the queue was deleted, the database is unreachable, or the signal of the receiver aborts", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue });
    const controller = new AbortController();
    const putting = put(inbox, balanceChanged("evt_1"), { signal: controller.signal });
    controller.abort(new Error("The response deadline passed."));
    await expect(putting).rejects.toThrow("The response deadline passed.");

    const other = await startOther();
    const cutOff = await pgBossInbox(other, { queue });
    await other.stop({ graceful: false });
    await expect(put(cutOff, balanceChanged("evt_1"))).rejects.toThrow();

    const deleted = await ownQueue(); // without jobs: pg-boss 11 hides that it could not delete a queue
    const late = await pgBossInbox(boss, { queue: deleted });
    await boss.deleteQueue(deleted);
    await expect(put(late, balanceChanged("evt_2"))).rejects.toThrow();
  });

  it("reports errors of pg-boss, which without a listener would end the process", async () => {
    const { onOutcome, of } = recordOutcomes();
    const other = await startOther();
    await pgBossInbox(other, { queue: await ownQueue(), onOutcome, log: () => {} });
    const error = new Error("Connection terminated unexpectedly");
    other.emit("error", error);
    expect(of("unavailable")).toEqual([{ outcome: "unavailable", error }]);
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      "a missing queue",
      () => pgBossInbox(boss, { queue: "nowhere" }),
      /has no queue "nowhere". Create it/,
    ],
    [
      "a queue whose policy merges events",
      async () => pgBossInbox(boss, { queue: await ownQueue({ policy: "short" }) }),
      /policy "short".* Events need "standard"/,
    ],
    [
      "a pg-boss that was not started",
      () => pgBossInbox(new Boss(settings), { queue: "events-1" }),
      /Is it started/,
    ],
    [
      "an older pg-boss",
      () =>
        pgBossInbox({ ...boss, getQueue: async () => ({ name: "events" }) } as never, {
          queue: "events",
        }),
      /needs pg-boss 11 \(Node.js 22\) or 12 \(Node.js 22.12\)/,
    ],
  ])("rejects %s at the start", async (_case, open, message) => {
    await expect(open()).rejects.toThrow(message);
  });
});
