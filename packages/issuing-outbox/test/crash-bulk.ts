/**
 * Kills a bulk run at random moments and starts it again, while one of 50 requests fails in one of 17 ways: each row must get exactly
 * one card. `npm run compat -- crash-bulk ROWS KILLS`; CRASH_SEED=N repeats the random choices.
 */
// G13
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { draw, everyFailure, startService } from "./crash-service.ts";

interface Progress {
  rssBytes: number;
  maxRssBytes: number;
  issued?: number;
  /** Some of the entries that have ended without a card. */
  others?: unknown[];
  addedMs?: number;
  isDone?: true;
}

const rows = Number(process.argv[2] ?? 500_000);
const kills = Number(process.argv[3] ?? 20);
const maxBytes = 160e6;
const program = fileURLToPath(new URL("crash-bulk.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "crash-bulk-"));

let killAt = Number.POSITIVE_INFINITY;
let kill = () => {};
const service = await startService([[2, everyFailure]], (requests) => {
  if (requests >= killAt) kill();
});
const argument = JSON.stringify({ ...service.settings, file: join(folder, "members.db"), rows });

/** Runs until the end, or until it is killed. */
async function run(): Promise<Progress[]> {
  const child = spawn(process.execPath, [program, argument], { stdio: ["ignore", "pipe", "inherit"] });
  kill = () => {
    kill = () => {};
    setTimeout(() => child.kill("SIGKILL"), draw.below(50));
  };
  const lines: Progress[] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line));
  return lines;
}

const startedMs = performance.now();
let killed = 0;
let maxRssBytes = 0;
let lines: Progress[] = [];
// The kills are in the first nine tenths of the rows.
for (;;) {
  killAt =
    killed < kills ? (0.9 * rows * (killed + draw.below(100) / 100)) / kills : Number.POSITIVE_INFINITY;
  lines = await run();
  maxRssBytes = Math.max(maxRssBytes, ...lines.map((line) => line.maxRssBytes));
  if (lines.at(-1)?.isDone === true) break;
  killed += 1;
  if (killed > kills) throw new Error("The run ended by itself.");
}
const { issued = 0, others = [], addedMs = 0, rssBytes = 0 } = lines.at(-1) ?? {};
for (const other of others) console.error(JSON.stringify(other));
const growthBytes = rssBytes - (lines[Math.floor(lines.length / 2)]?.rssBytes ?? 0);
const cards = [...service.readCards().values()];
const second = cards.filter(({ length }) => length !== 1).length;
const isRight =
  cards.length === rows && second === 0 && issued === rows && killed === kills && maxRssBytes <= maxBytes;
const seconds = (ms: number) => `${(ms / 1000).toFixed(0)} s`;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
console.log(
  `${isRight ? "✓" : "✗"} ${rows} rows: ${cards.length} customers with a card, ${second} with another number of cards than one, ${issued} issued entries\n` +
    `  killed ${killed} times, ${service.counts.requests} requests of which ${service.counts.failures} failed, ` +
    `${seconds(performance.now() - startedMs)}, of which the last addAll ${seconds(addedMs)}\n` +
    `  peak memory ${megabytes(maxRssBytes)} of at most ${megabytes(maxBytes)}, ${megabytes(growthBytes)} more at the end of the last run than in its middle`,
);
await service.close();
rmSync(folder, { recursive: true });
process.exitCode = isRight ? 0 : 1;
