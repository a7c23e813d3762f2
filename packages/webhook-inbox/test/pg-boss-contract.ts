/** The contract of an inbox on one major of pg-boss. */
import type PgBoss from "pg-boss";
import { onTestFinished } from "vitest";
import { inboxHandler, pgBossInbox } from "../src/index.ts";
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
    const inbox = await pgBossInbox(boss, {
      queue,
      maxAttempts: attempts,
      onOutcome,
      ...(retentionSeconds === undefined ? {} : { retentionSeconds }),
    });
    return {
      inbox,
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
}
