/**
 * PostgreSQL is killed and restarted while receivers store and process events: no process ends, and
 * each effect happens once.
 */

// G3
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "@loyalty-cards/testing/free-port";
import { createCluster, hasPostgresPrograms } from "@loyalty-cards/testing/own-servers";
import { hasRedis, pgBossNode } from "@loyalty-cards/testing/servers";
import { describe, expect, it, onTestFinished } from "vitest";
import { bullmq, deliver, type Engine, pgBoss, startReceiver } from "../engines.ts";
import { balanceChanged } from "../inboxes.ts";

/** POSTGRES_CRASHES=25 makes it longer. */
const crashes = Number(process.env["POSTGRES_CRASHES"] ?? 3);
const eventsPerCrash = crashes > 3 ? 200 : 60;

describe.each<[name: string, make: (url: string) => Promise<Engine>, isRunnable: boolean]>([
  ["pg-boss", pgBoss, hasPostgresPrograms && pgBossNode !== undefined],
  ["BullMQ", bullmq, hasPostgresPrograms && (await hasRedis())],
])("on %s", (name, make, isRunnable) => {
  it.skipIf(!isRunnable)(
    `writes each effect once, and no process ends, while PostgreSQL crashes ${crashes} times`,
    { timeout: 120_000 + crashes * 15_000 },
    async () => {
      const cluster = await createCluster(await freePort());
      onTestFinished(() => cluster.remove());
      const engine = await make(cluster.url);
      const receivers = await Promise.all([startReceiver(engine), startReceiver(engine)]);
      const statuses = new Map<number | undefined, number>();
      let isOver = false;
      onTestFinished(() => {
        isOver = true;
      });

      /**
       * As the service and its network: until the response is 2xx, some events twice, to any
       * receiver.
       */
      async function send(id: string, balance: number): Promise<void> {
        const event = balanceChanged(id, balance, new Date(balance).toISOString());
        for (let status: number | undefined; status !== 204 && !isOver; ) {
          const receiver = receivers[Math.floor(Math.random() * receivers.length)] ?? receivers[0];
          status = await deliver(receiver.url, event).catch(() => undefined); // if it ends, the test fails below
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status !== 204) await pause(50); // so that the receivers have time for their work
        }
        if (Math.random() < 0.2) await deliver(receivers[0].url, event).catch(() => undefined);
      }

      const sent: Promise<void>[] = [];
      const ways = ["crash", "restart"] as const;
      for (let crash = 0; crash < crashes; crash++) {
        const isBusy = Promise.race(receivers.map((receiver) => receiver.nextDone()));
        for (let index = 0; index < eventsPerCrash; index++)
          sent.push(send(`evt_${sent.length}`, sent.length + 1));
        await isBusy;
        await pause(Math.random() * 20); // before, during or after the statement that ends the jobs
        await cluster[ways[crash % ways.length] ?? "crash"]();
        expect(receivers.map((receiver) => receiver.hasEnded())).toEqual([false, false]);
      }
      await Promise.all(sent);
      const ids = sent.map((_, index) => `evt_${index}`).sort();
      await expect
        .poll(async () => new Set(await engine.effects()).size, { timeout: 90_000 })
        .toBe(ids.length);
      expect((await engine.effects()).sort()).toEqual(ids);
      expect(await engine.balances()).toEqual(new Map([["card_1", ids.length]]));
      expect(receivers.map((receiver) => receiver.hasEnded())).toEqual([false, false]);
      if (crashes > 3)
        console.error(
          `${name}: ${crashes} crashes, ${ids.length} events, responses: ${JSON.stringify(Object.fromEntries(statuses))}, none lost, none doubled`,
        );
    },
  );
});
