/** A bulk run in a separate process; crash-bulk.ts kills it and starts it again. Prints how far it is as one line of JSON each. */
import { setTimeout as pause } from "node:timers/promises";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";

const { file, baseUrl, apiKey, template, rows } = JSON.parse(process.argv[2]);
/** Short, because the entries of a killed process wait until its lease ends. */
const client = createIssuingClient({ baseUrl, apiKey, timeoutMs: 1_000, deadlineMs: 2_000 });
const outbox = sqliteOutbox({ client, file, log: () => {} });
const consents = { privacy: { version: "1" } };

function* readRows() {
  for (let userId = 0; userId < rows; userId++) {
    const customer = { phone: `+48${600_000_000 + userId}`, email: `member${userId}@example.com`, consents };
    yield { userId, template, request: { customer } };
  }
}

function print(progress) {
  const maxRssBytes = process.resourceUsage().maxRSS * 1024;
  console.log(JSON.stringify({ rssBytes: process.memoryUsage.rss(), maxRssBytes, ...progress }));
}

const startedMs = performance.now();
await outbox.addAll(readRows());
const addedMs = performance.now() - startedMs;
// It ends while the entries of a killed process wait until its lease ends.
while ((await outbox.drain({ onProgress: print })).waiting > 0) await pause(1_000);
const { issued } = await outbox.count();
const others = [];
for (const state of ["rejected", "unknown"])
  for await (const { userId, error, attempts } of outbox.list({ state, limit: 20 }))
    others.push({ userId, state, code: error?.code, attempts });
await outbox.close();
print({ issued, others, addedMs, isDone: true });
