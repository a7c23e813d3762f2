/**
 * Kills an import at random moments and runs the same command again, while one of 50 requests fails
 * in one of 17 ways: each row must get exactly one card. `npm run compat:crash-bulk ROWS KILLS`;
 * CRASH_SEED=N repeats the random choices.
 */
// G13
import { fork } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { draw, everyFailure, startService } from "@loyalty-cards/testing/failing-service";

const rows = Number(process.argv[2] ?? 500_000);
const kills = Number(process.argv[3] ?? 20);
const maxBytes = 160e6;
const program = fileURLToPath(new URL("crash-bulk.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "crash-bulk-"));

await writeFile(join(folder, "members.csv"), formatList());
function* formatList() {
  yield "userId,phone,email\n";
  for (let userId = 0; userId < rows; userId++)
    yield `${userId},+48${600_000_000 + userId},member${userId}@example.com\n`;
}

let killAt = Number.POSITIVE_INFINITY;
let kill = () => {};
const service = await startService([[2, everyFailure]], (requests) => {
  if (requests >= killAt) kill();
});
const { baseUrl, apiKey, template } = service.settings;
const command = [
  "import",
  "members.csv",
  "--template",
  template,
  "--privacy",
  "1",
  "--yes",
  "--timeout",
  "1",
];

interface Memory {
  rssBytes: number;
  maxRssBytes: number;
}

/** Runs until the end, or until it is killed. */
async function run(): Promise<{ code: number | null; memory: Memory[] }> {
  const child = fork(program, [...command, "--quiet"], {
    cwd: folder,
    execArgv: [], // the build, not the sources
    env: { ...process.env, LOYALTY_URL: baseUrl, LOYALTY_API_KEY: apiKey },
  });
  kill = () => {
    kill = () => {};
    setTimeout(() => child.kill("SIGKILL"), draw.below(50));
  };
  const memory: Memory[] = [];
  child.on("message", (message) => memory.push(message as Memory));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, memory };
}

const startedMs = performance.now();
let killed = 0;
let maxRssBytes = 0;
let last = await runNext();
while (last.code === null) {
  killed += 1;
  last = await runNext();
}

/** The kills are in the first nine tenths of the rows. */
async function runNext() {
  const part = (killed + draw.below(100) / 100) / kills;
  killAt = killed < kills ? 0.9 * rows * part : Number.POSITIVE_INFINITY;
  const ended = await run();
  maxRssBytes = Math.max(maxRssBytes, ...ended.memory.map((each) => each.maxRssBytes));
  return ended;
}

const readLines = async (name: string) => {
  const lines: string[] = [];
  for await (const line of createInterface({ input: createReadStream(join(folder, name)) }))
    lines.push(line);
  return lines.slice(1);
};
const others = await readLines("members.rejected.csv");
for (const line of others.slice(0, 20)) console.error(line);
const results = new Map(
  (await readLines("members.cards.csv")).map((line) => line.split(",") as [string, string]),
);
const cards = service.readCards();
const second = [...cards.values()].filter(({ length }) => length !== 1).length;
const wrong = [...results].filter(
  ([userId, card]) => cards.get(`member${userId}@example.com`)?.[0] !== card,
).length;
const isRight =
  last.code === 0 &&
  [cards.size, results.size].every((count) => count === rows) &&
  second + wrong + others.length === 0 &&
  killed === kills &&
  maxRssBytes <= maxBytes;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
const middle = last.memory[Math.floor(last.memory.length / 2)];
const growthBytes = (last.memory.at(-1)?.rssBytes ?? 0) - (middle?.rssBytes ?? 0);
console.log(
  `${isRight ? "✓" : "✗"} ${rows} rows: ${cards.size} customers with a card, ${second} with another number of cards than one, ${results.size} cards in members.cards.csv, ${wrong} of them wrong, ${others.length} rejected rows\n` +
    `  killed ${killed} times, ${service.counts.requests} requests of which ${service.counts.failures} failed, ${((performance.now() - startedMs) / 1_000).toFixed(0)} s\n` +
    `  peak memory ${megabytes(maxRssBytes)} of at most ${megabytes(maxBytes)}, ${megabytes(growthBytes)} more at the end of the last run than in its middle`,
);
await service.close();
rmSync(folder, { recursive: true });
process.exitCode = isRight ? 0 : 1;
