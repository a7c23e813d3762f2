/** The one gate: everything that must hold before a change lands, each with how long it took. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const scratch = mkdtempSync(join(tmpdir(), "loyalty-cards-check-"));
const report = join(scratch, "tests.json");
const published = ["issuing-client", "webhook-verify", "webhook-inbox", "mock-server"];
/** Here nothing may be skipped because a server is missing. */
const env = { ...process.env, LOYALTY_CARDS_SERVERS: "required" };

const gates: [name: string, command: string][] = [
  ["format and lint", "npm run lint"],
  ["types", "npm run types"],
  ["tests", `npm test -- --reporter=default --reporter=json --outputFile=${report}`],
  ["build", "npm run build"],
  ["generated files are fresh", "npm run generate:check"],
  ["document", "npm run lint:document"],
  ...published.map((name): [string, string] => [`publint ${name}`, `npx publint --strict packages/${name}`]),
  ...published.map((name): [string, string] => [`attw ${name}`, `npx attw --pack packages/${name}`]),
  ["sizes", "npm run sizes"],
  ["packed tarballs", "npm run test:packed"],
  ["real Next", "npm run test:next"],
  ["everything on all runtimes", "npm run test:runtimes"],
  ["killed receivers", "npm run test:crash:inbox -- 150 6"],
  ["doors under MSW 3", "npm run test:msw3"],
  ["mock server against the document", "npm run test:contract"],
  ["pages in a browser", "npm run test:browser"],
  ["the shop on Next, in a browser", "npm run test:shop"],
  ["reference", "npm run docs"],
  ["demo", "npm run demo"],
];

let failures = 0;
for (const [name, command] of gates) {
  const startedMs = performance.now();
  const { status, stdout, stderr } = spawnSync(command, {
    shell: true,
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);
  console.log(`${status === 0 ? "✓" : "✗"} ${name.padEnd(40)}${seconds} s`);
  if (status === 0) continue;
  failures += 1;
  console.log(stdout, stderr);
}

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
if (failures > 0) console.log(`${failures} of ${gates.length} gates failed.`);
const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
console.log(`${numPassedTests} passed, ${numFailedTests} failed${skipped}`);
process.exitCode = failures > 0 || numFailedTests > 0 ? 1 : 0;
