/** The one gate: everything that must hold before a change lands, each with how long it took. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gate, runGates } from "./gates.ts";
import { publishedGates } from "./published-gates.ts";

const scratch = mkdtempSync(join(tmpdir(), "loyalty-cards-check-"));
const report = join(scratch, "tests.json");
/** On Linux nothing may be skipped because a server is missing; the other systems' runners have none. */
const env =
  process.platform === "linux" ? { ...process.env, LOYALTY_CARDS_SERVERS: "required" } : process.env;
const needsServers = "it needs PostgreSQL and Redis";
const needsBinaries = "the binaries that it takes from npm are for Linux";

const gates: readonly Gate[] = [
  { name: "format and lint", command: "npm run lint" },
  { name: "types", command: "npm run types" },
  { name: "workflows", command: "npm run lint:workflows" },
  { name: "tests", command: `npm test -- --reporter=default --reporter=json --outputFile=${report}` },
  { name: "build", command: "npm run build" },
  { name: "generated files are fresh", command: "npm run generate:check" },
  { name: "document", command: "npm run lint:document" },
  ...publishedGates,
  { name: "sizes", command: "npm run sizes" },
  { name: "packed tarballs", command: "npm run test:packed" },
  { name: "real Next", command: "npm run test:next" },
  { name: "everything on all runtimes", command: "npm run test:runtimes", linuxOnly: needsBinaries },
  { name: "killed receivers", command: "npm run test:crash:inbox -- 150 6", linuxOnly: needsServers },
  { name: "doors under MSW 3", command: "npm run test:msw3", linuxOnly: needsBinaries },
  { name: "mock server against the document", command: "npm run test:contract" },
  { name: "pages in a browser", command: "npm run test:browser", linuxOnly: needsBinaries },
  { name: "the shop on Next, in a browser", command: "npm run test:shop", linuxOnly: needsBinaries },
  { name: "guides and reference", command: "npm run docs" },
  { name: "demo", command: "npm run demo" },
];

const failures = runGates(gates, env);

interface Totals {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
}

function totals(): Totals {
  try {
    return JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0 };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

const { numPassedTests, numFailedTests, numPendingTests } = totals();
const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
console.log(`${numPassedTests} passed, ${numFailedTests} failed${skipped}`);
process.exitCode = failures > 0 || numFailedTests > 0 ? 1 : 0;
