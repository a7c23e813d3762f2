/** The inbox on the other supported majors of pg-boss, which `npm run compat` installs. Both need Node 22. */
import { existsSync } from "node:fs";
import type PgBoss from "pg-boss";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pgBossInbox } from "../../src/index.ts";
import { balanceChanged, put } from "../events.ts";
import { describePgBossInbox } from "../pg-boss-contract.ts";
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

  describePgBossInbox(`pg-boss ${major}`, boss, ownQueue);

  it("rejects a put when the queue was deleted", async () => {
    const queue = await ownQueue();
    const inbox = await pgBossInbox(boss, { queue });
    await boss.deleteQueue(queue);
    await expect(put(inbox, balanceChanged("evt_1"))).rejects.toThrow();
  });
});
