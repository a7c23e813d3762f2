/**
 * The gate: everything that must hold before a change is merged, each with its time, and the totals of the tests.
 * `check.ts release` runs what must hold before publishing.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

interface Gate {
  name: string;
  command: string;
  /** Its tests are counted: Vitest writes a report. */
  isVitest?: boolean;
  /** Why it runs on Linux only; on other systems it is reported as skipped. */
  linuxOnly?: string;
  /** It runs alone: others would change what it measures, or need the processors. */
  isAlone?: boolean;
}

const needsServers = "it needs PostgreSQL and Redis";
const needsBinaries = "its binaries from npm are for Linux";
const compat = (name: string, title: string, more: Partial<Gate> = {}): Gate => ({
  name: title,
  command: `npm run --silent compat -- ${name}`,
  isVitest: true,
  isAlone: true,
  ...more,
});
const linuxOnly = needsBinaries;

const build: Gate = { name: "build", command: "npm run build", isAlone: true };
const tarballs: readonly Gate[] = [
  { name: "tarballs: files, sizes, publint, attw", command: "npm run release -- tarballs" },
  { name: "licences", command: "npm run release -- licences" },
];

const beforeMerge: readonly Gate[] = [
  { name: "format and lint", command: "npm run lint" },
  { name: "types", command: "npm run types" },
  {
    name: "tests, with the long ones",
    command: "npx vitest run",
    isVitest: true,
    isAlone: true,
  },
  build,
  { name: "generated files are fresh", command: "npm run generate -- --check" },
  ...tarballs,
  {
    name: "packed tarballs in an empty folder",
    command: "npm run compat -- smoke",
    linuxOnly: "its commands are for a shell",
  },
  { name: "guides and reference", command: "npm run docs" },
  { name: "simulated histories", command: "npm run --silent simulate -- --built --seed 1 --histories 2000" },
  { name: "killed receivers", command: "npm run compat -- crash-inbox 150 6", linuxOnly: needsServers },
  { name: "killed shops", command: "npm run compat -- crash-outbox 60 5", linuxOnly: needsServers },
  { name: "killed bulk runs", command: "npm run compat -- crash-bulk 2000 4" },
  {
    name: "verifiers in other languages",
    command: "npm run --silent compat -- languages --installed",
    linuxOnly: "its interpreters are packages of Debian",
  },
  { name: "demo", command: "npm run demo" },
  compat("next receivers workers", "Next: receivers; Workers", { linuxOnly }),
  compat("runtimes", "all runtimes", { linuxOnly }),
  compat("bundlers", "bundles for browsers", { linuxOnly }),
  compat("msw3", "adapters under MSW 3", { linuxOnly }),
  compat("browser", "pages in a browser", { linuxOnly }),
  compat("site", "the site in a browser", { linuxOnly }),
];

const beforeRelease: readonly Gate[] = [
  build,
  compat("next sign-up", "Next: the shop in a browser", { linuxOnly }),
  ...tarballs,
  { name: "reproducible build", command: "npm run release -- reproducible" },
];

/** On Linux no test is skipped because a server is missing; the runners of the other systems have none. */
const env =
  process.platform === "linux" ? { ...process.env, LOYALTY_CARDS_SERVERS: "required" } : process.env;
const reports = mkdtempSync(join(tmpdir(), "loyalty-cards-check-"));

/** @returns whether it passed, or was skipped. */
async function run(
  { name, command, isVitest = false, linuxOnly: reason }: Gate,
  index: number,
): Promise<boolean> {
  if (reason !== undefined && process.platform !== "linux") {
    console.log(`– ${name.padEnd(44)} skipped: ${reason}`);
    return true;
  }
  const report = join(reports, `${index}.json`);
  const flags = isVitest ? ` --reporter=default --reporter=json --outputFile=${report}` : "";
  const startedMs = performance.now();
  const child = spawn(command + flags, { shell: true, env, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on("close", resolve)),
  ]);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);
  console.log(`${status === 0 ? "✓" : "✗"} ${name.padEnd(44)}${seconds} s`);
  if (status !== 0) console.log(output, errors);
  else for (const line of output.split("\n")) if (line.startsWith("– ")) console.log(`  ${line}`); // skipped parts
  return status === 0;
}

/** Runs the gates in their order, those that need not be alone two at a time. @returns how many failed. */
async function runAll(gates: readonly Gate[]): Promise<number> {
  let failures = 0;
  let running: Promise<void>[] = [];
  for (const [index, gate] of gates.entries()) {
    if (gate.isAlone) await Promise.all(running);
    else if (running.length >= 2) await Promise.race(running);
    const ended: Promise<void> = run(gate, index).then((passed) => {
      failures += Number(!passed);
      running = running.filter((other) => other !== ended);
    });
    running.push(ended);
    if (gate.isAlone) await ended;
  }
  await Promise.all(running);
  return failures;
}

/** The tests of all reports. */
function countTests() {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const file of readdirSync(reports)) {
    const report = JSON.parse(readFileSync(join(reports, file), "utf8"));
    total.passed += report.numPassedTests;
    total.failed += report.numFailedTests;
    total.skipped += report.numPendingTests + report.numTodoTests;
  }
  return total;
}

const gates = process.argv[2] === "release" ? beforeRelease : beforeMerge;
const failures = await runAll(gates);
const { passed, failed, skipped } = countTests();
rmSync(reports, { recursive: true });
if (failures > 0) console.log(`${failures} of ${gates.length} gates failed`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failures > 0 || failed > 0 ? 1 : 0;
