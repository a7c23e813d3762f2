/**
 * Kills a bulk run at random points and starts it again, while one of 50 requests fails in one of 20 ways: each row must get exactly
 * one card. Once only the checkpoint is moved to another folder. `npm run compat -- crash-bulk ROWS KILLS`; without kills the first
 * estimate of the duration is compared with the duration.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { startMockServer } from "../../mock-server/src/adapters/node.ts";
import type { FaultInput } from "../../mock-server/src/index.ts";

// The run uses the build.
if (!existsSync(new URL("../dist/bulk.js", import.meta.url)))
  throw new Error("Run `npm run build` before this.");

const rows = Number(process.argv[2] ?? 100_000);
const kills = Number(process.argv[3] ?? 20);
const program = fileURLToPath(new URL("crash-bulk.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-crash-bulk-"));

const kinds = [
  { kind: "status", status: 500 },
  { kind: "status", status: 503 },
  { kind: "status", status: 429 },
  { kind: "latency", delayMs: 300 },
  { kind: "reset" },
  { kind: "destroy" },
  { kind: "truncate" },
  { kind: "malformed" },
  { kind: "hang" },
  { kind: "html" },
] as const;
const faults = kinds.flatMap((kind) =>
  (["before", "after-commit"] as const).map((phase) => ({
    phase,
    times: 1,
    match: { operation: "issueCard" },
    ...kind,
  })),
) as FaultInput[];

let requests = 0;
let injected = 0;
/** Called when so many requests have been answered. */
let killAt = Number.POSITIVE_INFINITY;
let kill = () => {};
const server = await startMockServer({
  onTraffic() {
    requests += 1;
    if (Math.random() < 0.02) {
      server.service.faults.add(faults[injected % faults.length] as FaultInput);
      injected += 1;
    }
    if (requests >= killAt) kill();
  },
});
const { service } = server;

interface Line {
  issued: number;
  replayed: number;
  read: number;
  elapsedMs: number;
  etaMs?: number;
  rss: number;
  maxRss: number;
  index?: number;
  status?: string;
  done?: boolean;
}

/** Runs until the end, or until it is killed. @returns what it printed. */
async function run(file: string): Promise<Line[]> {
  const args = [program, server.url, service.apiKeys.website, service.templateId, String(rows), file];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  kill = () => {
    kill = () => {};
    setTimeout(() => child.kill("SIGKILL"), Math.random() * 50);
  };
  const lines: Line[] = [];
  if (child.stdout === null) throw new Error("no output");
  for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line));
  return lines;
}

const startedMs = performance.now();
let file = join(folder, "checkpoint");
let killed = 0;
let maxRss = 0;
const lost: Line[] = [];
/** Of the memory, in the second half of the last run. */
let growth = 0;
/** Of a run that was not killed: its duration, as estimated first, and as it was. After a kill the last run would be too short. */
let firstEstimate: number | undefined;
let lastRunMs = 0;
// The kills are in the first nine tenths of the rows.
for (let index = 1; ; index++) {
  killAt = index <= kills ? (0.9 * rows * (index - Math.random())) / kills : Number.POSITIVE_INFINITY;
  const lines = await run(file);
  const last = lines.at(-1);
  maxRss = Math.max(maxRss, ...lines.map((line) => line.maxRss));
  if (last?.done === true) {
    growth = last.rss - (lines[Math.floor(lines.length / 2)]?.rss ?? 0);
    const estimate = lines.find(({ etaMs }) => etaMs !== undefined && etaMs > 0);
    if (estimate !== undefined && kills === 0) firstEstimate = estimate.elapsedMs + (estimate.etaMs ?? 0);
    lastRunMs = last.elapsedMs;
    lost.push(...lines.filter(({ status }) => status !== undefined));
    if (last.issued + last.replayed !== rows)
      throw new Error(`${last.issued + last.replayed} of ${rows} rows have a card`);
    break;
  }
  killed += 1;
  if (killed === Math.ceil(kills / 2)) {
    const moved = join(folder, "moved");
    copyFileSync(file, moved);
    file = moved;
  }
}

const cards = (service.snapshot().state as { cards: Map<string, unknown> }).cards.size;
const seconds = (performance.now() - startedMs) / 1000;
if (firstEstimate !== undefined)
  console.log(`first estimate: ${((firstEstimate / lastRunMs - 1) * 100).toFixed(1)} % off`);
console.log(
  `${rows} rows in ${seconds.toFixed(0)} s, killed ${killed} times${kills > 0 ? ", once moved to another folder" : ""}`,
);
console.log(`${requests} requests, of which ${injected} failed in ${faults.length} ways`);
console.log(`${cards} cards, ${lost.length} rows without a result`);
console.log(
  `peak memory of the issuing process ${(maxRss / 1e6).toFixed(0)} MB, in the second half of the last run ${(growth / 1e6).toFixed(1)} MB more; checkpoint ${(statSync(file).size / 1e6).toFixed(1)} MB`,
);
await server.close();
rmSync(folder, { recursive: true });
process.exitCode = cards === rows && lost.length === 0 && maxRss < 150e6 && killed === kills ? 0 : 1;
