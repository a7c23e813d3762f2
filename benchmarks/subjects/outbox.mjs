/**
 * Issuing many cards, 32 at a time, with and without an outbox: each measurement is a fresh
 * process, so that its peak memory is known.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTimers } from "../measure.mjs";

const atATime = 32;
const loops = {
  "bare loop over fetch": loopOverFetch,
  "p-limit + openapi-fetch": loopWithLimit,
  "issueCard in a loop": loopOverIssueCard,
  "outbox: addAll and drain": addAllAndDrain,
};

export default {
  title: "Issuing many cards",
  notes:
    "32 at a time. The outbox stores the list in SQLite, and each attempt and card on the disk.",
  figures: {
    time: { label: "µs each" },
    memory: { label: "peak MB", compare: "none" },
  },
  floor: "bare loop over fetch",
  own: ["issueCard in a loop", "outbox: addAll and drain"],
  panels: [
    { name: "5 000 cards", starts: 1, rounds: 5, cards: 5_000 },
    { name: "100 000 cards", starts: 1, rounds: 1, warmUps: 0, cards: 100_000 },
  ],
  packages: ["p-limit", "openapi-fetch"],
  alone: Object.keys(loops),
  async measureAlone(name, baseUrl, { cards }) {
    const stopTimers = startTimers();
    await loops[name](listRows(cards), baseUrl);
    return { ...stopTimers(cards), memory: process.resourceUsage().maxRSS / 1000 };
  },
};

function* listRows(count) {
  const consents = { privacy: { version: "1" } };
  for (let index = 0; index < count; index++)
    yield {
      userId: `user_${index}`,
      body: {
        fieldValues: { name: "Anna" },
        customer: { phone: `+48${600_000_000 + index}`, consents },
      },
    };
}

/** Runs a function for each row, at most 32 at a time: the workers share the generator. */
async function forEach(rows, issue) {
  const worker = async () => {
    for (const row of rows) await issue(row);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}

async function loopOverFetch(rows, baseUrl) {
  const url = `${baseUrl}/api/v1/templates/t/passes`;
  await forEach(rows, async ({ userId, body }) => {
    const headers = {
      authorization: "Bearer k",
      "content-type": "application/json",
      "idempotency-key": userId,
    };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.status !== 201) throw new Error(`${userId}: status ${response.status}`);
    return response.json();
  });
}

async function loopWithLimit(rows, baseUrl) {
  const { default: pLimit } = await import("p-limit");
  const { default: createClient } = await import("openapi-fetch");
  const client = createClient({ baseUrl: `${baseUrl}/api/v1` });
  const params = { path: { templateId: "t" } };
  await pLimit(atATime).map(rows, async ({ userId, body }) => {
    const headers = { authorization: "Bearer k", "idempotency-key": userId };
    const { data, response } = await client.POST("/templates/{templateId}/passes", {
      params,
      body,
      headers,
    });
    if (data === undefined) throw new Error(`${userId}: status ${response.status}`);
  });
}

async function createClient(baseUrl) {
  const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
  return createIssuingClient({ baseUrl, apiKey: "k" });
}

async function loopOverIssueCard(rows, baseUrl) {
  const client = await createClient(baseUrl);
  await forEach(rows, ({ userId, body }) => client.issueCard("t", body, { userId }));
}

async function addAllAndDrain(rows, baseUrl) {
  const { sqliteOutbox } = await import("@loyalty-cards/issuing-outbox");
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-outbox-"));
  const client = await createClient(baseUrl);
  const outbox = sqliteOutbox({ client, file: join(folder, "outbox.db") });
  await outbox.addAll(toEntries(rows));
  const { waiting, issued } = await outbox.drain({ concurrency: atATime });
  if (waiting > 0) throw new Error(`${issued} issued, ${waiting} waiting`);
  await outbox.close();
  rmSync(folder, { recursive: true });
}

function* toEntries(rows) {
  for (const { userId, body } of rows) yield { userId, template: "t", request: body };
}
