/** Events in a real pg-boss on a real PostgreSQL. */
import { onEvents } from "@loyalty-cards/webhook-verify";
import PgBoss from "pg-boss";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { inboxHandler, pgBossInbox } from "../../src/index.ts";
import { balanceChanged, put } from "../events.ts";
import { recordOutcomes } from "../outcomes.ts";
import { describePgBossInbox } from "../pg-boss-contract.ts";
import { hasPostgres, ownSchema } from "../servers.ts";

describe.skipIf(!(await hasPostgres()))("with pg-boss", () => {
  const { url, schema, pool: createPool } = ownSchema();
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

  describePgBossInbox("pg-boss", boss, ownQueue, { deleteOld: () => boss.maintain() });

  it("stores each event once, also after it was processed", async () => {
    const queue = await ownQueue();
    const recorded = recordOutcomes();
    const inbox = await pgBossInbox(boss, { queue, onOutcome: recorded.onOutcome });
    const copies = Array.from({ length: 20 }, () => put(inbox, balanceChanged("evt_1")));
    expect((await Promise.all(copies)).filter((result) => result === "stored")).toHaveLength(1);
    expect(await inbox.health()).toMatchObject({ isReachable: true, waiting: 1, dead: 0 });

    const handled: number[] = [];
    const handler = onEvents({
      "balance.changed": ({ data }) => void handled.push(data.balance),
      otherTypes: () => {},
    });
    await boss.work(
      queue,
      { pollingIntervalSeconds: 0.5 },
      inboxHandler(handler, { onOutcome: recorded.onOutcome }),
    );
    await recorded.until("done");
    await boss.offWork(queue);
    expect(handled).toEqual([120]);
    expect(await put(inbox, balanceChanged("evt_1"))).toBe("duplicate");
    expect(recorded.of("stored")).toHaveLength(1);
  });

  it("reports waiting events and dead letters, and replays a dead letter", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue, maxAttempts: 1 });
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

  describe("keeps dead letters when pg-boss archives and deletes", () => {
    const admin = createPool(1);
    /** Runs the maintenance of pg-boss as if this time had passed. */
    async function maintainAfter(time: string) {
      for (const column of ["created_on", "started_on", "completed_on"])
        await admin.query(`UPDATE job SET ${column} = ${column} - $1::interval`, [time]);
      await admin.query("UPDATE archive SET archived_on = archived_on - $1::interval", [time]);
      await boss.maintain();
    }
    async function withDeadLetter(id: string) {
      const queue = await ownQueue();
      const inbox = await pgBossInbox(boss, { queue, maxAttempts: 1, log: () => {} });
      await put(inbox, balanceChanged(id));
      const fail = async () => {
        const [job] = await boss.fetch(queue, { ignoreStartAfter: true });
        await boss.fail(queue, job?.id ?? "");
      };
      await fail();
      const archived = async () =>
        (await admin.query("SELECT FROM archive WHERE name = $1", [queue])).rows.length;
      return { queue, inbox, fail, archived };
    }

    it("lists and replays one after thirteen hours, and after thirteen days", async () => {
      const { inbox, archived } = await withDeadLetter("evt_1");
      await maintainAfter("13 hours");
      expect(await archived()).toBe(1);
      expect(await inbox.health()).toMatchObject({ waiting: 0, dead: 1 });
      await maintainAfter("13 days");
      expect(await inbox.list({ state: "dead" })).toMatchObject([
        { id: "evt_1", state: "dead", attempts: 1 },
      ]);
      expect([await inbox.health(), await inbox.replay("evt_1")]).toMatchObject([{ dead: 1 }, true]);
      expect(await inbox.health()).toMatchObject({ waiting: 1, dead: 0 });
    });

    it("replays one from the archive at once", async () => {
      const { inbox } = await withDeadLetter("evt_1");
      await maintainAfter("13 hours");
      expect(await inbox.replay("evt_1")).toBe(true);
    });

    it("stores an archived one that is delivered again, and deletes it from the archive", async () => {
      const { queue, inbox, archived } = await withDeadLetter("evt_1");
      await maintainAfter("13 hours");
      const results = await Promise.all([
        put(inbox, balanceChanged("evt_1")),
        put(inbox, balanceChanged("evt_1")),
      ]);
      expect(results.sort()).toEqual(["duplicate", "stored"]);
      expect(await archived()).toBe(0);
      const [job] = await boss.fetch(queue);
      await boss.complete(queue, job?.id ?? "");
      await maintainAfter("13 hours");
      expect(await inbox.health()).toMatchObject({ waiting: 0, dead: 0 });
    });

    it("moves them back to the jobs when an inbox starts, so that pg-boss does not delete one after seven days", async () => {
      const { queue, archived } = await withDeadLetter("evt_1");
      await maintainAfter("13 hours");
      const next = await pgBossInbox(boss, { queue });
      await expect.poll(archived).toBe(0);
      await maintainAfter("8 days");
      expect(await next.health()).toMatchObject({ dead: 1 });
    });

    it("counts and replays one that was cancelled manually", async () => {
      const { queue, inbox } = await withDeadLetter("evt_1");
      await put(inbox, balanceChanged("evt_2"));
      const [waiting] = (
        await admin.query("SELECT id FROM job WHERE name = $1 AND state = 'created'", [queue])
      ).rows;
      await boss.cancel(queue, waiting.id);
      expect(await inbox.health()).toMatchObject({ waiting: 0, dead: 2 });
      expect(await inbox.replay("evt_2")).toBe(true);
    });
  });

  it("stores an event after its connection lost the prepared statement, as behind a connection pooler", async () => {
    const other = new PgBoss({ connectionString: url, schema, max: 1, supervise: false, schedule: false });
    onTestFinished(() => other.stop({ graceful: false, close: true }));
    await other.start();
    const inbox = await pgBossInbox(other, { queue: await ownQueue() });
    expect(await put(inbox, balanceChanged("evt_1"))).toBe("stored");
    await other.getDb().executeSql("DEALLOCATE ALL", []);
    expect(await put(inbox, balanceChanged("evt_2"))).toBe("stored");
    expect(await put(inbox, balanceChanged("evt_2"))).toBe("duplicate");
    expect(await put(inbox, balanceChanged("evt_3"))).toBe("stored");
  });

  it("stores each event once when two processes receive the same events in opposite orders", async () => {
    const queue = await ownQueue();
    const other = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false });
    onTestFinished(() => other.stop({ graceful: false, close: true }));
    await other.start();
    const inboxes = [await pgBossInbox(boss, { queue }), await pgBossInbox(other, { queue })] as const;
    const ids = Array.from({ length: 2_000 }, (_, index) => `evt_${index}`);
    const results = await Promise.all([
      ...ids.map((id) => put(inboxes[0], balanceChanged(id))),
      ...ids.toReversed().map((id) => put(inboxes[1], balanceChanged(id))),
    ]);
    expect(results.filter((result) => result === "stored")).toHaveLength(ids.length);
    expect(await inboxes[0].health()).toMatchObject({ waiting: ids.length });
  });

  it("lets an attempt take as long as the queue, or else pg-boss, is configured", async () => {
    const other = new PgBoss({ connectionString: url, schema, expireInSeconds: 77, supervise: false });
    onTestFinished(() => other.stop({ graceful: false, close: true }));
    await other.start();
    const ofQueue = { name: "", expireInSeconds: 55 };
    const expirations = [
      [boss, await ownQueue()],
      [other, await ownQueue()],
      [other, await ownQueue(ofQueue)],
    ] as const;
    const found = expirations.map(async ([each, queue]) => {
      await put(await pgBossInbox(each, { queue }), balanceChanged("evt_1"));
      const [job] = await boss.fetch(queue, { includeMetadata: true });
      return Number(job?.expireInSeconds);
    });
    expect(await Promise.all(found)).toEqual([900, 77, 55]);
  });

  it("rejects a put when the queue was deleted", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue });
    await boss.deleteQueue(queue);
    await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow(
      /did not store the event: does the queue "events-\d+" still exist/,
    );
  });

  it("rejects at once when the database is unreachable", async () => {
    const other = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false });
    other.on("error", () => {});
    await other.start();
    const inbox = await pgBossInbox(other, { queue: await ownQueue() });
    await other.stop({ graceful: false, close: true, wait: true });
    await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow();
    expect(await inbox.health()).toMatchObject({ isReachable: false });
  });

  it("rejects when the signal of the receiver aborts", async () => {
    const inbox = await pgBossInbox(boss, { queue: await ownQueue() });
    const controller = new AbortController();
    const putting = put(inbox, balanceChanged("evt_1"), controller.signal);
    controller.abort(new Error("The response deadline passed."));
    await expect(putting).rejects.toThrow("The response deadline passed.");
  });

  describe("rejects at the start", () => {
    it("a queue that does not exist", async () => {
      await expect(pgBossInbox(boss, { queue: "nowhere" })).rejects.toThrow(
        /has no queue "nowhere". Create it/,
      );
    });

    it("a queue whose policy merges events", async () => {
      const queue = await ownQueue({ name: "short", policy: "short" } as PgBoss.Queue);
      await expect(pgBossInbox(boss, { queue })).rejects.toThrow(/policy "short".* Events need "standard"/);
    });

    it("a pg-boss that was not started", async () => {
      const other = new PgBoss({ connectionString: url, schema });
      await expect(pgBossInbox(other, { queue: "events-1" })).rejects.toThrow(/Is it started/);
    });

    it("a pg-boss that archives jobs too early", async () => {
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

    it("an archive that deletes jobs within a day", async () => {
      const queue = await ownQueue();
      const other = new PgBoss({
        connectionString: url,
        schema,
        supervise: false,
        schedule: false,
        deleteAfterHours: 23,
      });
      onTestFinished(() => other.stop({ graceful: false, close: true }));
      await other.start();
      await expect(pgBossInbox(other, { queue })).rejects.toThrow(
        "pg-boss deletes archived jobs after 23 hours, dead letters too; create it with a deleteAfterSeconds of at least 86400",
      );
    });

    it("an archive whose settings it cannot read", async () => {
      const queue = await ownQueue();
      const ownDatabase: Parameters<typeof pgBossInbox>[0] = {
        insert: (...args) => boss.insert(...(args as unknown as Parameters<typeof boss.insert>)),
        fetch: (...args) => boss.fetch(...(args as unknown as [string])),
        complete: (...args) => boss.complete(...(args as unknown as Parameters<typeof boss.complete>)),
        fail: (...args) => boss.fail(...(args as unknown as Parameters<typeof boss.fail>)),
        getQueue: (name) => boss.getQueue(name),
        getDb: () => ({ executeSql: boss.getDb().executeSql }),
      };
      await expect(pgBossInbox(ownDatabase, { queue })).rejects.toThrow(
        /pass archiveCompletedAfterSeconds here too/,
      );
      await pgBossInbox(ownDatabase, { queue, archiveCompletedAfterSeconds: 43_200 });
    });
  });
});
