/**
 * Several receivers on one inbox: of many concurrent duplicates one is stored, and the effect
 * happens once.
 */

import { hasPostgres, hasRedis, pgBossNode } from "@loyalty-cards/testing/servers";
import { describe, expect, it, onTestFinished } from "vitest";
import { bullmq, deliver, type Engine, pgBoss, sqlite, startReceiver } from "../engines.ts";
import { balanceChanged } from "../inboxes.ts";

const isAvailable = { postgres: await hasPostgres(), redis: await hasRedis() };

describe.each<[name: string, make: () => Promise<Engine>, isRunnable: boolean]>([
  ["a SQLite file", sqlite, true],
  ["pg-boss", pgBoss, isAvailable.postgres && pgBossNode !== undefined],
  ["BullMQ", bullmq, isAvailable.postgres && isAvailable.redis],
])("on %s", (_name, make, isRunnable) => {
  // G3
  it.skipIf(!isRunnable)(
    "stores one of 200 duplicates sent to 2 processes, and writes its effect once",
    { timeout: 60_000 },
    async () => {
      const engine = await make();
      onTestFinished(() => engine.remove());
      const receivers = await Promise.all(Array.from({ length: 2 }, () => startReceiver(engine)));
      const event = balanceChanged("evt_1", 7);
      const responses = await Promise.all(
        receivers.flatMap(({ url }) => Array.from({ length: 100 }, () => deliver(url, event))),
      );
      await Promise.race(receivers.map(({ done }) => done));
      expect(new Set(responses)).toEqual(new Set([204]));
      const recorded = await Promise.all(receivers.map((receiver) => receiver.recorded()));
      const sum = (name: "stored" | "duplicate") =>
        recorded.reduce((total, each) => total + each[name], 0);
      expect([sum("stored"), sum("duplicate")]).toEqual([1, 199]);
      expect(await engine.effects()).toEqual(["evt_1"]);
      expect(await engine.balances()).toEqual(new Map([["card_1", 7]]));
    },
  );
});
