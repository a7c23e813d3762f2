/** The inbox on the other supported majors of pg-boss, which `npm run compat` installs. Both need Node 22. */
import { existsSync } from "node:fs";
import type PgBoss from "pg-boss";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { inboxHandler, pgBossInbox } from "../../src/index.ts";
import { balanceChanged, put } from "../events.ts";
import { describeInbox } from "../inbox-contract.ts";
import { hasPostgres, ownSchema } from "../servers.ts";

const nodeMajor = Number.parseInt(process.versions.node, 10);
const toUrl = (path: string) => new URL(`../../../../compat/node_modules/${path}`, import.meta.url);
const majors = [
  { major: 11, url: toUrl("pg-boss-11/src/index.js") },
  { major: 12, url: toUrl("pg-boss-12/dist/index.js") },
];
const isAvailable = await hasPostgres();

describe.each(majors)("with pg-boss $major", async ({ major, url: moduleUrl }) => {
  if (!isAvailable || nodeMajor < 22 || !existsSync(moduleUrl)) {
    it.skip("needs Node 22, PostgreSQL and the packages of compat");
    return;
  }
  const { url, schema } = ownSchema();
  const module = (await import(moduleUrl.href)) as { default?: typeof PgBoss; PgBoss?: typeof PgBoss };
  const Boss = module.PgBoss ?? (module.default as typeof PgBoss);
  const boss = new Boss({ connectionString: url, schema, supervise: false, schedule: false });
  boss.on("error", () => {});
  beforeAll(() => boss.start());
  afterAll(() => boss.stop({ graceful: false, close: true }));
  let queues = 0;
  async function ownQueue(): Promise<string> {
    queues += 1;
    const name = `events-${queues}`;
    await boss.createQueue(name);
    return name;
  }

  describeInbox(`pg-boss ${major}`, async ({ attempts, onOutcome, retentionSeconds }) => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, {
      queue,
      retryLimit: attempts - 1,
      onOutcome,
      ...(retentionSeconds === undefined ? {} : { retentionSeconds }),
    });
    return {
      inbox,
      async work(handler) {
        const run = inboxHandler(handler, { onOutcome, log: () => {} });
        let isOver = false;
        const working = (async () => {
          while (!isOver) {
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

  it("rejects a put when the queue was deleted", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue });
    await boss.deleteQueue(queue);
    await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow();
  });
});
