/** Events in a real BullMQ, 6 and 5, on a real Redis. */

import { freePort } from "@loyalty-cards/testing/free-port";
import { hasRedisServer, startRedis } from "@loyalty-cards/testing/own-servers";
import { createGate } from "@loyalty-cards/testing/resources";
import { hasRedis, ownPrefix } from "@loyalty-cards/testing/servers";
import * as bullmq6 from "bullmq";
import * as bullmq5 from "bullmq-5";
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished } from "vitest";
import { bullmqInbox, inboxHandler } from "../../src/index.ts";
import { describeInbox } from "../inbox-contract.ts";
import { balanceChanged, put } from "../inboxes.ts";

const failFast = { enableOfflineQueue: false };
const quiet = { log: () => {} };

const versions: [name: string, bullmq: typeof bullmq6][] = [
  ["BullMQ 6", bullmq6],
  ["BullMQ 5", bullmq5 as unknown as typeof bullmq6], // as far as these tests use it
];

describe.skipIf(!(await hasRedis())).each(versions)("with %s", (name, { Queue, Worker }) => {
  const { prefix, url } = ownPrefix();
  let queues = 0;
  function ownQueue(): bullmq6.Queue {
    queues += 1;
    const queue = new Queue(`events-${queues}`, { prefix, connection: { url, ...failFast } });
    queue.on("error", () => {});
    onTestFinished(() => queue.close());
    return queue;
  }
  function work(queue: bullmq6.Queue, processor: ReturnType<typeof inboxHandler>): bullmq6.Worker {
    const worker = new Worker(queue.name, processor, { prefix, connection: { url } });
    worker.on("error", () => {});
    onTestFinished(() => worker.close(true));
    return worker;
  }

  describeInbox(name, async ({ attempts, onOutcome, retentionSeconds }) => {
    const queue = ownQueue();
    const openInbox = (source: string) => {
      const retention = retentionSeconds === undefined ? {} : { retentionSeconds };
      return bullmqInbox(queue, {
        maxAttempts: attempts,
        source,
        onOutcome,
        ...quiet,
        ...retention,
      });
    };
    return {
      inbox: await openInbox(""),
      async count() {
        const { failed = 0, ...others } = await queue.getJobCounts(
          "failed",
          "active",
          "waiting",
          "delayed",
        );
        return {
          waiting: Object.values(others).reduce((sum, jobs) => sum + jobs, 0),
          dead: failed,
        };
      },
      openSource: async (source) => ({ inbox: await openInbox(source), work: async () => {} }),
      async work(handler) {
        const worker = work(queue, inboxHandler(handler, { onOutcome, ...quiet }));
        // Without delays between attempts; at the end of the test the queue is closed.
        worker.on("failed", () => void queue.promoteJobs().catch(() => {}));
      },
    };
  });

  it.skipIf(!hasRedisServer)(
    "rejects at once when Redis is unreachable, and stores events again when it is back",
    async () => {
      const port = await freePort();
      let server = await startRedis(port);
      onTestFinished(() => void server.kill("SIGKILL"));
      const connection = new Redis({
        port,
        ...failFast,
        maxRetriesPerRequest: null,
        retryStrategy: () => 20,
      });
      connection.on("error", () => {});
      onTestFinished(() => connection.disconnect());
      await new Promise((resolve) => connection.once("ready", resolve));
      const queue = new Queue("events", { connection });
      queue.on("error", () => {});
      const inbox = await bullmqInbox(queue, quiet);
      expect(await put(inbox, balanceChanged("evt_1"))).toBe("stored");

      const closed = new Promise((resolve) => connection.once("close", resolve));
      server.kill("SIGKILL");
      await closed;
      await expect(put(inbox, balanceChanged("evt_2"))).rejects.toThrow();

      const ready = new Promise((resolve) => connection.once("ready", resolve));
      server = await startRedis(port);
      await ready;
      expect(await put(inbox, balanceChanged("evt_2"))).toBe("stored");
    },
  );

  it("repeats an event whose handler rejects with nothing, and one that it cancels", async () => {
    const queue = ownQueue();
    const inbox = await bullmqInbox(queue, quiet);
    await put(inbox, balanceChanged("evt_1"));
    const ended: string[] = [];
    const done = createGate();
    const handler = inboxHandler((_event, { attempt = 0, signal }) => {
      if (attempt === 1) return Promise.reject();
      if (attempt > 2) return done.open();
      signal.addEventListener("abort", () => ended.push("cancelled"));
      worker.cancelJob("event-evt_1");
      return new Promise(() => {});
    }, quiet);
    const worker = work(queue, handler);
    worker.on("failed", () => void queue.promoteJobs().catch(() => {}));
    await done.opened;
    expect(ended).toEqual(["cancelled"]);
  });

  it("rejects attempts out of range", async () => {
    const message = /maxAttempts must be a number from 1/;
    await expect(bullmqInbox(ownQueue(), { maxAttempts: 0 })).rejects.toThrow(message);
  });

  it("rejects a Redis that is not running", async () => {
    const port = await freePort();
    const queue = new Queue("events", { connection: { port, ...failFast } });
    queue.on("error", () => {});
    onTestFinished(() => queue.close());
    await expect(bullmqInbox(queue, { ...quiet, timeoutMs: 200 })).rejects.toThrow(
      'Redis cannot be used for the queue "events"',
    );
  });
});
