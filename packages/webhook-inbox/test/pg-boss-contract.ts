/** The contract of an inbox on one major of pg-boss. */
import type PgBoss from "pg-boss";
import { expect, it, onTestFinished } from "vitest";
import { inboxHandler, pgBossInbox } from "../src/index.ts";
import { balanceChanged, put } from "./events.ts";
import { describeInbox, type InboxUnderTest } from "./inbox-contract.ts";

/** @param createQueue creates a new queue, and returns its name. @param more what else the engine has. */
export function describePgBossInbox(
  name: string,
  boss: PgBoss,
  createQueue: () => Promise<string>,
  more: Pick<InboxUnderTest, "deleteOld"> = {},
): void {
  describeInbox(name, async ({ attempts, onOutcome, retentionSeconds }) => {
    const queue = await createQueue();
    const openInbox = (source: string) => {
      const retention = retentionSeconds === undefined ? {} : { retentionSeconds };
      return pgBossInbox(boss, { queue, maxAttempts: attempts, source, onOutcome, ...retention });
    };
    return {
      inbox: await openInbox(""),
      openSource: async (source) => ({ inbox: await openInbox(source), work: async () => {} }),
      ...more,
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

  it(`${name} drains what is due, and leaves what failed for a later call`, async () => {
    const inbox = await pgBossInbox(boss, { queue: await createQueue(), log: () => {} });
    for (let number = 1; number <= 12; number++) await put(inbox, balanceChanged(`evt_${number}`));
    const handled: string[] = [];
    const handle = ({ id }: { id: string }, { attempt }: { attempt: number | undefined }) => {
      if (id === "evt_7" && attempt === 1) throw new Error("The handler failed.");
      handled.push(id);
    };
    expect(await inbox.drain(handle, { maxMs: 0 })).toMatchObject({ waiting: 12 });
    expect(await inbox.drain(handle)).toMatchObject({ isReachable: true, waiting: 1, dead: 0 });
    expect(new Set(handled).size).toBe(11);
    await expect.poll(() => inbox.drain(handle), { timeout: 15_000 }).toMatchObject({ waiting: 0, dead: 0 });
    expect(handled).toHaveLength(12);
  });
}
