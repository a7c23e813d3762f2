/** Events in a real pg-boss on a real PostgreSQL. */
import { onEvents } from "@loyalty-cards/webhook-verify";
import PgBoss from "pg-boss";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { inboxHandler, type PgBossLike, pgBossInbox } from "../../src/index.ts";
import { balanceChanged, put } from "../events.ts";
import { outcomes } from "../outcomes.ts";
import { hasPostgres, ownSchema } from "../servers.ts";

describe.skipIf(!(await hasPostgres()))("with pg-boss", () => {
  const { url, schema } = ownSchema();
  const boss = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false });
  boss.on("error", () => {});
  beforeAll(() => boss.start());
  afterAll(() => boss.stop({ graceful: false, close: true, wait: true }));
  let queues = 0;
  async function ownQueue(options?: PgBoss.Queue): Promise<string> {
    queues += 1;
    const name = `events-${queues}`;
    await boss.createQueue(name, options);
    return name;
  }

  it("takes each event once, also after it was handled", async () => {
    const queue = await ownQueue();
    const told = outcomes();
    const inbox = await pgBossInbox(boss, { queue, onOutcome: told.onOutcome });
    const copies = Array.from({ length: 20 }, () => put(inbox, balanceChanged("evt_1")));
    expect((await Promise.all(copies)).filter((result) => result === "stored")).toHaveLength(1);
    expect(await inbox.health()).toMatchObject({ isReachable: true, waiting: 1, dead: 0 });

    const handled: number[] = [];
    const handler = onEvents({
      "balance.changed": ({ data }) => void handled.push(data.balance),
      other: () => {},
    });
    await boss.work(
      queue,
      { pollingIntervalSeconds: 0.5 },
      inboxHandler(handler, { onOutcome: told.onOutcome }),
    );
    await told.until("done");
    await boss.offWork(queue);
    expect(handled).toEqual([120]);
    expect(await put(inbox, balanceChanged("evt_1"))).toBe("duplicate");
    expect(told.of("stored")).toHaveLength(1);
  });

  it("shows what waits and what is dead, and replays it", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue, retryLimit: 0 });
    await put(inbox, balanceChanged("evt_1"));
    await put(inbox, balanceChanged("evt_2"));
    const [job] = await boss.fetch(queue);
    const failing = inboxHandler(() => {
      throw new Error("no");
    });
    await expect(failing([job])).rejects.toThrow("no");
    await boss.fail(queue, job?.id ?? "");
    expect(await inbox.health()).toMatchObject({ waiting: 1, dead: 1, oldestWaitingMs: expect.any(Number) });
    expect(await inbox.list({ state: "dead" })).toMatchObject([
      { id: "evt_1", type: "balance.changed", attempts: 1 },
    ]);
    expect((await inbox.list()).map(({ id, state }) => [id, state])).toEqual([
      ["evt_1", "dead"],
      ["evt_2", "waiting"],
    ]);
    expect([await inbox.replay("evt_1"), await inbox.replay("evt_2"), await inbox.replay("evt_3")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await inbox.health()).toMatchObject({ waiting: 2, dead: 0 });
  });

  it("does not take a queue that vanished for a first copy", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue });
    await boss.deleteQueue(queue);
    await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow(
      /did not keep the event: does the queue "events-\d+" still exist/,
    );
  });

  it("fails at once when its database is gone", async () => {
    const other = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false });
    other.on("error", () => {});
    await other.start();
    const inbox = await pgBossInbox(other, { queue: await ownQueue() });
    await other.stop({ graceful: false, close: true, wait: true });
    await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow();
    expect(await inbox.health()).toMatchObject({ isReachable: false });
  });

  it("gives up when the answer is due", async () => {
    const inbox = await pgBossInbox(boss, { queue: await ownQueue() });
    const controller = new AbortController();
    const putting = put(inbox, balanceChanged("evt_1"), controller.signal);
    controller.abort(new Error("The answer was due."));
    await expect(putting).rejects.toThrow("The answer was due.");
  });

  describe("refuses at the start", () => {
    it("a queue that is not there", async () => {
      await expect(pgBossInbox(boss, { queue: "nowhere" })).rejects.toThrow(
        /has no queue "nowhere". Create it/,
      );
    });

    it("a queue whose policy merges events", async () => {
      const queue = await ownQueue({ name: "short", policy: "short" } as PgBoss.Queue);
      await expect(pgBossInbox(boss, { queue })).rejects.toThrow(/policy "short".* Events need "standard"/);
    });

    it("a retention below the service's retries", async () => {
      const queue = await ownQueue();
      await expect(pgBossInbox(boss, { queue, retentionSeconds: 31_019 })).rejects.toThrow(
        /at least 31020 seconds/,
      );
    });

    it("a pg-boss that was not started", async () => {
      const other = new PgBoss({ connectionString: url, schema });
      await expect(pgBossInbox(other, { queue: "events-1" })).rejects.toThrow(/Is it started/);
    });

    it("an archive that comes too early", async () => {
      const queue = await ownQueue();
      const other = new PgBoss({
        connectionString: url,
        schema,
        supervise: false,
        schedule: false,
        archiveCompletedAfterSeconds: 3_600,
      });
      onTestFinished(() => other.stop({ graceful: false, close: true }));
      await other.start();
      await expect(pgBossInbox(other, { queue })).rejects.toThrow(
        /archiveCompletedAfterSeconds of pg-boss is 3600; it must be at least 31020/,
      );
    });

    it("an archive that it cannot know of", async () => {
      const queue = await ownQueue();
      const ownDatabase: PgBossLike = {
        insert: (...args) => boss.insert(...(args as unknown as Parameters<typeof boss.insert>)),
        getQueue: (name) => boss.getQueue(name),
        getJobById: (name, id) => boss.getJobById(name, id),
        retry: (name, id) => boss.retry(name, id),
        getDb: () => ({ executeSql: boss.getDb().executeSql }),
      };
      await expect(pgBossInbox(ownDatabase, { queue })).rejects.toThrow(
        /pass archiveCompletedAfterSeconds here too/,
      );
      await pgBossInbox(ownDatabase, { queue, archiveCompletedAfterSeconds: 43_200 });
    });
  });
});
