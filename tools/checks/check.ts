/**
 * The gate: everything that must hold before a change is merged, each with its time. `--tested`
 * skips `npm test`, for a caller that has run it.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** With the reason why it runs on Linux only; on other systems it is reported as skipped. */
type Gate = readonly [name: string, command: string, linuxOnly?: string];

/** The tarballs of a release, or those that the gate "build" packs for all others. */
const releaseTarballs = process.env["LOYALTY_CARDS_TARBALLS"];
const tarballs = releaseTarballs ?? mkdtempSync(join(tmpdir(), "loyalty-cards-check-"));
const pack = releaseTarballs ? "" : ` && npm run release:pack ${JSON.stringify(tarballs)}`;

const needsServers = "it needs PostgreSQL and Redis";
const needsBinaries = "its binaries from npm are for Linux";
const needsShell = "its commands are for a shell";
const compat = (command: string) => `npm run --silent compat:${command}`;
/** Projects of compat/vitest.config.ts. */
const suite = (project: string) => `npm run --silent compat -- ${project}`;
/** What needs a newer Node.js than the oldest that is supported. */
const onNode24 = (project: string) =>
  `compat/node_modules/node-24/bin/node node_modules/vitest/vitest.mjs run --config compat/vitest.config.ts --project ${project}`;

const isTested = process.argv.includes("--tested");

// Some tests run with engines and a Node.js of compat.
const install: Gate = [
  "packages of compat and docs",
  "node --import tsx tools/install.ts compat docs",
];
/** The stages after it test what it builds. */
const build: Gate = ["build", `npm run build${pack}`];

/**
 * A stage begins when the one before has ended. Within it two gates run at a time, the longest
 * first.
 */
const stages: readonly (readonly Gate[])[] = [
  [install],
  isTested ? [] : [["tests", "npm test"]],
  [build, ["format and lint", "npm run lint"], ["demo", "npm run demo"]],
  [
    ["Next: receivers; Workers", suite("next receivers workers"), needsBinaries],
    ["simulated histories", "npm run --silent simulate -- --built --seed 1 --histories 250"],
    ["guides and reference", "npm run docs"],
    ["packed tarballs in an empty folder", compat("smoke"), needsShell],
    ["tarballs: files, sizes, publint, attw", "npm run release:tarballs"],
    ["killed receivers", compat("crash-inbox 150 6"), needsServers],
    ["killed shops", compat("crash-outbox 60 5"), needsServers],
    ["Koa, NestJS, Express 4", `${suite("frameworks")} && ${suite("express-4 -t Express")}`],
    ["bundles for browsers", suite("bundlers"), needsBinaries],
    ["killed bulk runs", compat("crash-bulk 2000 4")],
    ["bills of materials", "npm run release:sbom"],
    ["adapters under MSW 3", onNode24("msw3"), needsBinaries],
    ["verifiers in other languages", compat("languages"), needsBinaries],
  ],
  // These measure time, and mostly wait.
  [
    ["long tests", "npx vitest run --project slow"],
    ["all runtimes", suite("runtimes"), needsBinaries],
    ["pg-boss on Node 24", onNode24("pg-boss -t pg-boss"), needsBinaries],
  ],
  [
    ["pages in a browser", suite("browser"), needsBinaries],
    ["the site in a browser", suite("site"), needsBinaries],
  ],
];

/**
 * On Linux no test is skipped because a server is missing; the runners of the other systems have
 * none.
 */
const env = {
  ...process.env,
  LOYALTY_CARDS_TARBALLS: tarballs,
  ...(process.platform === "linux" && { LOYALTY_CARDS_SERVERS: "required" }),
};

/** @returns whether it passed, or was skipped. */
async function run([name, command, linuxOnly]: Gate): Promise<boolean> {
  if (linuxOnly !== undefined && process.platform !== "linux") {
    console.log(`– ${name.padEnd(40)} skipped: ${linuxOnly}`);
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
  if (status !== 0) {
    console.log(output, errors);
    return false;
  }
  const skippedParts = output.split("\n").filter((line) => line.startsWith("– "));
  for (const line of skippedParts) console.log(`  ${line}`);
  return true;
}

/**
 * Runs the gates of a stage.
 * @returns those that failed.
 */
async function runStage(gates: readonly Gate[]): Promise<Gate[]> {
  const waiting = gates.values();
  const failed: Gate[] = [];
  async function runNext(): Promise<void> {
    for (const gate of waiting) if (!(await run(gate))) failed.push(gate);
  }
  await Promise.all([runNext(), runNext()]);
  return failed;
}

const failed: Gate[] = [];
for (const stage of stages) {
  failed.push(...(await runStage(stage)));
  if (failed.includes(install) || failed.includes(build)) {
    console.log("The other stages did not run: they need what this one installs or builds.");
    break;
  }
}
if (!releaseTarballs) rmSync(tarballs, { recursive: true });
if (failed.length > 0) console.log(`${failed.length} gates failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
