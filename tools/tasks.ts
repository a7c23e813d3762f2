/**
 * `npm run compat -- NAME` and `npm run release -- NAME`: runs one task, with the remaining
 * arguments. Without a name it lists the tasks; an unknown name exits with 1.
 */
import { spawnSync } from "node:child_process";
import { root } from "./published.ts";

/** Shell commands after a description; the remaining arguments are added to the last one. */
type Task = readonly [description: string, ...commands: string[]];

const script = (file: string) => `node --conditions=@loyalty-cards/source --import tsx ${file}`;
const installCompat = `${script("tools/install.ts")} compat`;
/** A project of compat/vitest.config.ts. */
const suite = (project: string, vitest = "npx vitest") => [
  installCompat,
  `${vitest} run --config compat/vitest.config.ts --project ${project}`,
];
const node24 = "compat/node_modules/node-24/bin/node node_modules/vitest/vitest.mjs";
const fuzzTests = [
  "packages/webhook-verify/test/random-input.test.ts",
  "packages/webhook-verify/test/integration/random-requests.test.ts",
  "packages/mock-server/test/integration/raw-requests.test.ts",
].join(" ");

const tasks: Readonly<Record<string, Readonly<Record<string, Task>>>> = {
  compat: {
    runtimes: [
      "the built packages on Node 20, 22, 24 and 26, Deno, Bun and workerd",
      ...suite("runtimes"),
    ],
    bundlers: [
      "the built client in programs for browsers, bundled by Vite 8, webpack and esbuild",
      ...suite("bundlers"),
    ],
    browser: ["every page of the mock server in a headless Chromium", ...suite("browser")],
    site: ["the documentation site, after npm run docs, in a headless Chromium", ...suite("site")],
    next: [
      "the packed packages and the Next example on the real Next, built by both bundlers",
      ...suite("next"),
    ],
    "pg-boss": [
      "the inbox on pg-boss 12 and 11, which need a newer Node than the rest, on Node 24",
      ...suite("pg-boss -t pg-boss", node24),
    ],
    frameworks: [
      "nodeReceiver in Koa and NestJS as the guide shows, and the Express adapter in Express 4",
      ...suite("frameworks"),
      ...suite("express-4 -t Express"),
    ],
    msw3: ["the adapters of the mock server under MSW 3", ...suite("msw3", node24)],
    smoke: [
      "the packed tarballs in an empty folder: the README's program, every entry point and the commands on Node 20 and 24, the types",
      installCompat,
      script("tools/checks/smoke.ts"),
    ],
    registry: [
      "a rehearsal of the release on a registry of its own: npm, pnpm and yarn install the packages by name, and update",
      installCompat,
      `${script("tools/install.ts")} compat/registry`,
      script("compat/registry/rehearsal.ts"),
    ],
    open: [
      "starts the Next example or the Workers example with the mock service; add next or workers",
      script("compat/next/project.mjs"),
    ],
    languages: [
      "the verifiers in Python and PHP: signature vectors, deliveries, large and slow requests; skips what is not installed",
      script("tools/checks/other-languages.ts"),
    ],
    "unknown-service": [
      "client and receiver against every service that contradicts docs/assumptions.md; npm test takes one for each assumption",
      "UNKNOWN_SERVICE=all npx vitest run --project unit compat/unknown-service",
    ],
    "hostile-service": [
      "the client over each transport against 20 000 hostile responses, with and without undici (HOSTILE_SEED=N)",
      "HOSTILE_RESPONSES=20000 npx vitest run --project slow hostile-service",
    ],
    "crash-outbox": [
      "kills shops with an outbox 100 times while 1 000 people sign up, each once, on SQLite and PostgreSQL, and counts the cards; add SIGN_UPS KILLS SHOP…",
      script("packages/issuing-outbox/test/crash.ts"),
    ],
    "crash-bulk": [
      "kills an import of 500 000 rows 20 times while requests fail, and counts the cards; add ROWS KILLS",
      script("packages/cli/test/crash-bulk.ts"),
    ],
    "crash-inbox": [
      "kills receivers 200 times while 5 000 events arrive, and counts the effects; add EVENTS KILLS ENGINE…",
      installCompat,
      script("packages/webhook-inbox/test/crash.ts"),
    ],
    "crash-postgres": [
      "kills and restarts PostgreSQL 25 times while receivers on pg-boss and BullMQ work, and counts the effects",
      installCompat,
      "POSTGRES_CRASHES=25 npx vitest run --project slow packages/webhook-inbox/test/integration/postgres-crash.slow.test.ts",
    ],
    fuzz: [
      "a million random inputs for the verifier, 100 000 random requests for the servers",
      `RANDOM_INPUTS=1000000 RANDOM_REQUESTS=100000 npx vitest run ${fuzzTests}`,
    ],
    mutation: [
      "mutation tests of client, verifier, outbox and engine (Stryker); add --mutate FILES for some of them",
      installCompat,
      "node compat/node_modules/@stryker-mutator/core/bin/stryker.js run compat/stryker.config.json",
    ],
  },
  release: {
    licences: [
      "writes what each package contains and installs into sbom/, and checks its licences; --write updates THIRD-PARTY.md",
      script("tools/release/licences.ts"),
    ],
    tarballs: [
      "publint, attw, and the rules and budgets of tools/checks/tarballs.ts",
      installCompat,
      script("tools/checks/tarballs.ts"),
    ],
    version: [
      "turns the changesets into versions and change logs",
      "npx changeset version",
      "npm install --package-lock-only --ignore-scripts",
      "npm run snippets",
      "npm run format",
    ],
    untagged: [
      "the current versions that have no git tag yet; a workflow publishes and tags them",
      script("tools/published.ts"),
    ],
    pack: [
      "the tarballs of the built packages and their digests, into a folder; with LOYALTY_CARDS_TARBALLS=FOLDER all checks use them",
      script("tools/release/pack.ts"),
    ],
  },
};

const [group = "", name, ...args] = process.argv.slice(2);
const [, ...commands] = tasks[group]?.[name ?? ""] ?? [];
if (commands.length > 0) {
  process.exitCode = run(commands, args);
} else {
  if (name !== undefined) console.error(`Unknown name: ${name}`);
  printNames(group);
  process.exitCode = name === undefined ? 0 : 1;
}

/**
 * Runs one command after the other, until one fails.
 * @returns the exit code of the last one that ran
 */
function run(commands: readonly string[], args: readonly string[]): number {
  const quoted = args.map((argument) => ` ${JSON.stringify(argument)}`).join("");
  for (const [index, command] of commands.entries()) {
    const isLast = index === commands.length - 1;
    const { status } = spawnSync(isLast ? command + quoted : command, {
      cwd: root,
      shell: true,
      stdio: "inherit",
    });
    if (status !== 0) return status ?? 1;
  }
  return 0;
}

function printNames(group: string): void {
  console.log(`npm run ${group} -- NAME`);
  for (const [name, [description]] of Object.entries(tasks[group] ?? {}))
    console.log(`  ${name.padEnd(17)}${description}`);
}
