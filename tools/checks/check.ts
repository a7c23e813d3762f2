/**
 * The gate: everything that must hold before a change is merged, each with its time. `--tested` skips what `npm test` has shown.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

interface Gate {
  name: string;
  command: string;
  /** Why it runs on Linux only; on other systems it is reported as skipped. */
  linuxOnly?: string;
}

/** The tarballs of a release, or those that the gate "build" packs for all others. */
const releaseTarballs = process.env["LOYALTY_CARDS_TARBALLS"];
const tarballs = releaseTarballs ?? mkdtempSync(join(tmpdir(), "loyalty-cards-check-"));
const pack = releaseTarballs ? "" : ` && npm run release -- pack ${JSON.stringify(tarballs)}`;

const needsServers = "it needs PostgreSQL and Redis";
const needsBinaries = "its binaries from npm are for Linux";
const needsShell = "its commands are for a shell";
const compat = (name: string, command: string, linuxOnly?: string): Gate => ({
  name,
  command: `npm run --silent compat -- ${command}`,
  ...(linuxOnly && { linuxOnly }),
});

/** A stage begins when the one before has ended. Within it two gates run at a time, the longest first. */
const stages: readonly (readonly Gate[])[] = [
  [{ name: "tests", command: "npm test" }],
  // The other stages need what is installed and built here.
  [
    { name: "packages of compat and docs", command: "node --import tsx tools/install.ts compat docs" },
    { name: "build", command: `npm run build${pack}` },
    { name: "format and lint", command: "npm run lint" },
    { name: "generated files are fresh", command: "npm run generate -- --check" },
    { name: "demo", command: "npm run demo" },
  ],
  [
    compat("Next: receivers; Workers", "next receivers workers", needsBinaries),
    { name: "simulated histories", command: "npm run --silent simulate -- --built --seed 1 --histories 250" },
    { name: "guides and reference", command: "npm run docs" },
    compat("packed tarballs in an empty folder", "smoke", needsShell),
    { name: "tarballs: files, sizes, publint, attw", command: "npm run release -- tarballs" },
    compat("killed receivers", "crash-inbox 150 6", needsServers),
    compat("killed shops", "crash-outbox 60 5", needsServers),
    compat("Koa, NestJS, Express 4", "frameworks"),
    compat("bundles for browsers", "bundlers", needsBinaries),
    compat("killed bulk runs", "crash-bulk 2000 4"),
    { name: "licences and bills of materials", command: "npm run release -- licences" },
    compat("adapters under MSW 3", "msw3", needsBinaries),
    compat("verifiers in other languages", "languages", needsBinaries),
  ],
  // These measure time, and mostly wait.
  [
    { name: "long tests", command: "npx vitest run --project slow" },
    compat("all runtimes", "runtimes", needsBinaries),
    compat("pg-boss on Node 24", "pg-boss", needsBinaries),
  ],
  [
    compat("pages in a browser", "browser", needsBinaries),
    compat("the site in a browser", "site", needsBinaries),
  ],
];

/** On Linux no test is skipped because a server is missing; the runners of the other systems have none. */
const env = {
  ...process.env,
  LOYALTY_CARDS_TARBALLS: tarballs,
  ...(process.platform === "linux" && { LOYALTY_CARDS_SERVERS: "required" }),
};

/** @returns whether it passed, or was skipped. */
async function run({ name, command, linuxOnly: reason }: Gate): Promise<boolean> {
  if (reason !== undefined && process.platform !== "linux") {
    console.log(`– ${name.padEnd(40)} skipped: ${reason}`);
    return true;
  }
  const startedMs = performance.now();
  const child = spawn(command, { shell: true, env, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on("close", resolve)),
  ]);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);
  console.log(`${status === 0 ? "✓" : "✗"} ${name.padEnd(40)}${seconds} s`);
  if (status !== 0) console.log(output, errors);
  else for (const line of output.split("\n")) if (line.startsWith("– ")) console.log(`  ${line}`); // skipped parts
  return status === 0;
}

/** Runs the gates of a stage. @returns how many failed. */
async function runStage(gates: readonly Gate[]): Promise<number> {
  const waiting = gates.values();
  let failures = 0;
  async function runNext(): Promise<void> {
    for (const gate of waiting) if (!(await run(gate))) failures++;
  }
  await Promise.all([runNext(), runNext()]);
  return failures;
}

const isTested = process.argv.includes("--tested");
let failures = 0;
for (const stage of isTested ? stages.slice(1) : stages) failures += await runStage(stage);
if (!releaseTarballs) rmSync(tarballs, { recursive: true });
if (failures > 0) console.log(`${failures} gates failed`);
process.exitCode = failures > 0 ? 1 : 0;
