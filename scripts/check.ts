/**
 * The gate: everything that must hold before a change is merged, each with its time, and the totals of the tests.
 * `check.ts release` runs what must hold before publishing.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Gate {
  name: string;
  command: string;
  /** Its tests are counted: Vitest writes a report. */
  isVitest?: boolean;
  /** Why it runs on Linux only; on other systems it is reported as skipped. */
  linuxOnly?: string;
}

const needsServers = "it needs PostgreSQL and Redis";
const needsBinaries = "its binaries from npm are for Linux";
const compat = (name: string, title: string, more: Partial<Gate> = {}): Gate => ({
  name: title,
  command: `npm run --silent compat -- ${name}`,
  isVitest: true,
  ...more,
});
const linuxOnly = needsBinaries;

const build: Gate = { name: "build", command: "npm run build" };
const tarballs: readonly Gate[] = [
  { name: "tarballs: files, publint, attw", command: "npm run release -- contents" },
  { name: "licences", command: "npm run release -- licences" },
];

const beforeMerge: readonly Gate[] = [
  { name: "format and lint", command: "npm run lint" },
  { name: "types", command: "npm run types" },
  {
    name: "tests, with the long ones",
    command: "npx vitest run --exclude '**/*doctor*.slow.test.ts'", // minutes: release:check runs these
    isVitest: true,
  },
  build,
  { name: "generated files are fresh", command: "npm run generate -- --check" },
  {
    name: "OpenAPI document",
    command: "npx redocly lint openapi/openapi.yaml --config openapi/redocly.yaml --max-problems 50",
  },
  ...tarballs,
  { name: "sizes", command: "npx size-limit" },
  { name: "costs: bundles, imports, dependencies, types", command: "npm run release -- costs" },
  { name: "packed tarballs", command: "npm run compat -- packed" },
  { name: "examples in empty folders", command: "npm run compat -- examples testing express next workers" },
  compat("next receivers", "Next: receivers", { linuxOnly }),
  compat("runtimes", "all runtimes", { linuxOnly }),
  { name: "killed receivers", command: "npm run compat -- crash-inbox 150 6", linuxOnly: needsServers },
  { name: "killed bulk runs", command: "npm run compat -- crash-bulk 2000 4" },
  compat("msw3", "adapters under MSW 3", { linuxOnly }),
  compat("browser", "pages in a browser", { linuxOnly }),
  { name: "verifiers in other languages", command: "npm run --silent compat -- languages --installed" },
  { name: "guides and reference", command: "npm run docs" },
  { name: "demo", command: "npm run demo" },
];

const beforeRelease: readonly Gate[] = [
  build,
  compat("doctor", "the doctor against faulty receivers"),
  compat("next sign-up", "Next: the shop in a browser", { linuxOnly }),
  ...tarballs,
  { name: "reproducible build", command: "npm run release -- reproducible" },
  {
    name: "first programs and the command on Node 20, 22 and 24",
    command: "npm run compat -- readmes",
    linuxOnly,
  },
  { name: "examples in empty folders", command: "npm run compat -- examples" },
];

/** On Linux no test is skipped because a server is missing; the runners of the other systems have none. */
const env =
  process.platform === "linux" ? { ...process.env, LOYALTY_CARDS_SERVERS: "required" } : process.env;
const reports = mkdtempSync(join(tmpdir(), "loyalty-cards-check-"));

/** @returns whether it passed, or was skipped. */
function run({ name, command, isVitest = false, linuxOnly: reason }: Gate, index: number): boolean {
  if (reason !== undefined && process.platform !== "linux") {
    console.log(`– ${name.padEnd(44)} skipped: ${reason}`);
    return true;
  }
  const report = join(reports, `${index}.json`);
  const flags = isVitest ? ` --reporter=default --reporter=json --outputFile=${report}` : "";
  const startedMs = performance.now();
  const options = { shell: true, env, encoding: "utf8", maxBuffer: 2 ** 28 } as const;
  const { status, stdout, stderr } = spawnSync(command + flags, options);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);
  console.log(`${status === 0 ? "✓" : "✗"} ${name.padEnd(44)}${seconds} s`);
  if (status !== 0) console.log(stdout, stderr);
  else for (const line of stdout.split("\n")) if (line.startsWith("– ")) console.log(`  ${line}`); // skipped parts
  return status === 0;
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
const failures = gates.map(run).filter((passed) => !passed).length;
const { passed, failed, skipped } = countTests();
rmSync(reports, { recursive: true });
if (failures > 0) console.log(`${failures} of ${gates.length} gates failed`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failures > 0 || failed > 0 ? 1 : 0;
