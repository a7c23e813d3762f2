/**
 * The gate: everything that must hold before a change is merged, each with its time. `--tested` skips what `npm test` has shown.
 */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

interface Gate {
  name: string;
  command: string;
  /** Why it runs on Linux only; on other systems it is reported as skipped. */
  linuxOnly?: string;
  /** It runs alone: others would change what it measures, or need the processors. */
  isAlone?: boolean;
}

const needsServers = "it needs PostgreSQL and Redis";
const needsBinaries = "its binaries from npm are for Linux";
const needsShell = "its commands are for a shell";
const compat = (name: string, command: string, more: Partial<Gate> = {}): Gate => ({
  name,
  command: `npm run --silent compat -- ${command}`,
  ...more,
});

const gates: readonly Gate[] = [
  { name: "format and lint", command: "npm run lint" },
  { name: "tests", command: "npm test", isAlone: true },
  { name: "long tests", command: "npx vitest run --project slow", isAlone: true },
  { name: "build", command: "npm run build", isAlone: true },
  { name: "generated files are fresh", command: "npm run generate -- --check" },
  { name: "tarballs: files, sizes, publint, attw", command: "npm run release -- tarballs" },
  { name: "licences and bills of materials", command: "npm run release -- licences" },
  { name: "guides and reference", command: "npm run docs" },
  { name: "demo", command: "npm run demo" },
  { name: "simulated histories", command: "npm run --silent simulate -- --built --seed 1 --histories 250" },
  compat("packed tarballs in an empty folder", "smoke", { linuxOnly: needsShell }),
  compat("killed receivers", "crash-inbox 150 6", { linuxOnly: needsServers }),
  compat("killed shops", "crash-outbox 60 5", { linuxOnly: needsServers }),
  compat("killed bulk runs", "crash-bulk 2000 4"),
  compat("verifiers in other languages", "languages --installed", { linuxOnly: needsBinaries }),
  compat("Next: receivers; Workers", "next receivers workers", { linuxOnly: needsBinaries }),
  compat("all runtimes", "runtimes", { linuxOnly: needsBinaries, isAlone: true }),
  compat("pg-boss on Node 24", "pg-boss", { linuxOnly: needsBinaries, isAlone: true }),
  compat("Koa, NestJS, Express 4", "frameworks"),
  compat("bundles for browsers", "bundlers", { linuxOnly: needsBinaries }),
  compat("adapters under MSW 3", "msw3", { linuxOnly: needsBinaries }),
  compat("pages in a browser", "browser", { linuxOnly: needsBinaries, isAlone: true }),
  compat("the site in a browser", "site", { linuxOnly: needsBinaries }),
];

/** On Linux no test is skipped because a server is missing; the runners of the other systems have none. */
const env =
  process.platform === "linux" ? { ...process.env, LOYALTY_CARDS_SERVERS: "required" } : process.env;

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

/** Runs the gates in their order, those that need not be alone two at a time. @returns how many failed. */
async function runAll(all: readonly Gate[]): Promise<number> {
  let failures = 0;
  let running: Promise<void>[] = [];
  for (const gate of all) {
    if (gate.isAlone) await Promise.all(running);
    else if (running.length >= 2) await Promise.race(running);
    const ended: Promise<void> = run(gate).then((passed) => {
      failures += Number(!passed);
      running = running.filter((other) => other !== ended);
    });
    running.push(ended);
    if (gate.isAlone) await ended;
  }
  await Promise.all(running);
  return failures;
}

const isTested = process.argv.includes("--tested");
const failures = await runAll(gates.filter(({ command }) => !isTested || command !== "npm test"));
if (failures > 0) console.log(`${failures} gates failed`);
process.exitCode = failures > 0 ? 1 : 0;
