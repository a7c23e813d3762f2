/** A SQLite inbox with a backlog: the speed of storing and processing, and how long the event loop is blocked. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";

const sizes = (process.argv[2] ?? "10000,100000,1000000").split(",").map(Number);
const handledEvents = 5_000;
const storedEvents = 2_000;

let counter = 0;
function put(inbox) {
  counter += 1;
  const event = {
    id: `evt_${crypto.randomUUID()}`,
    type: "balance.changed",
    createdAt: new Date().toISOString(),
    data: {
      passId: `card_${counter}`,
      customerId: `cus_${counter}`,
      balance: 120,
      change: 20,
      operation: { id: `op_${counter}`, type: "purchase" },
    },
  };
  const body = new TextEncoder().encode(JSON.stringify(event));
  const { signal } = new AbortController();
  return inbox.put(event, { body, receivedAt: new Date() }, { signal });
}

async function fill(inbox, count, atOnce) {
  for (let stored = 0; stored < count; stored += atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, count - stored) }, () => put(inbox)));
}

/** Runs `work`, which does `count` operations. @returns a line of figures. */
async function measured(name, count, work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  await new Promise((resolve) => setTimeout(resolve, 50));
  delay.enable();
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  await work();
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  const ms = (nanoseconds) => (nanoseconds / 1e6).toFixed(1);
  const perSecond = Math.round(count / seconds);
  const cpu = Math.round((user + system) / count);
  return `  ${name}: ${perSecond} a second, ${cpu} µs of processor time each, loop delay p99 ${ms(delay.percentile(99))} ms, max ${ms(delay.max)} ms`;
}

/** Processes `count` events with the worker's defaults and an empty handler. */
async function handle(inbox, count) {
  let handled = 0;
  let worker;
  await new Promise((resolve) => {
    worker = inbox.work(() => {
      handled += 1;
      if (handled === count) resolve();
    });
  });
  await worker.stop();
}

console.log(
  `Node ${process.versions.node}, ${process.getBuiltinModule("node:sqlite") ? "node:sqlite" : "libsql"}`,
);
for (const size of sizes) {
  const folder = mkdtempSync(join(tmpdir(), "benchmark-waiting-"));
  const file = join(folder, "inbox.db");
  const inbox = sqliteInbox({ file, log: () => {} });
  const startedMs = performance.now();
  await fill(inbox, size, 500);
  console.log(`${size} waiting, stored in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  const count = Math.min(handledEvents, size);
  console.log(await measured("handling", count, () => handle(inbox, count)));
  console.log(await measured("storing, 64 at a time", storedEvents, () => fill(inbox, storedEvents, 64)));
  console.log(
    await measured("health", 100, async () => {
      for (let index = 0; index < 100; index++) {
        await inbox.health();
        await new Promise(setImmediate);
      }
    }),
  );
  await inbox.close();
  rmSync(folder, { recursive: true });
}
