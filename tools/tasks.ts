/**
 * `npm run compat -- NAME` and `npm run release -- NAME`: runs one task, with the remaining arguments. Without a name it lists
 * the tasks; an unknown name exits with 1.
 */
import { spawnSync } from "node:child_process";
import { install } from "./install.ts";
import { root } from "./published.ts";

interface Task {
  description: string;
  /** Shell commands; the remaining arguments are added to the last one. */
  commands: readonly string[];
  /** The folder with a lock file that is installed before. */
  needs?: "compat";
}

const script = (file: string) => `node --conditions=@loyalty-cards/source --import tsx ${file}`;
/** A project of compat/vitest.config.ts. */
const suite = (name: string, description: string): Task => ({
  description,
  commands: [`npx vitest run --config compat/vitest.config.ts --project ${name}`],
  needs: "compat",
});
const node24 = "compat/node_modules/node-24/bin/node node_modules/vitest/vitest.mjs";
const fuzzTests = [
  "packages/webhook-verify/test/random-input.test.ts",
  "packages/webhook-verify/test/integration/random-requests.test.ts",
  "packages/mock-server/test/integration/raw-requests.test.ts",
].join(" ");

const tasks: Readonly<Record<string, Readonly<Record<string, Task>>>> = {
  compat: {
    runtimes: suite("runtimes", "the built packages on Node 20, 22, 24 and 26, Deno, Bun and workerd"),
    bundlers: suite(
      "bundlers",
      "the built client in programs for browsers, bundled by Vite 8, webpack and esbuild",
    ),
    browser: suite("browser", "every page of the mock server in a headless Chromium"),
    site: suite("site", "the documentation site, after npm run docs, in a headless Chromium"),
    next: suite("next", "the packed packages and the Next example on the real Next, built by both bundlers"),
    "pg-boss": {
      description: "the inbox on pg-boss 12 and 11, which need a newer Node than the rest, on Node 24",
      commands: [`${node24} run --config compat/vitest.config.ts --project pg-boss -t pg-boss`],
      needs: "compat",
    },
    frameworks: {
      description: "nodeReceiver in Koa and NestJS as the guide shows, and the Express adapter in Express 4",
      commands: [
        "npx vitest run --config compat/vitest.config.ts --project frameworks",
        "npx vitest run --config compat/vitest.config.ts --project express-4 -t Express",
      ],
      needs: "compat",
    },
    msw3: {
      description: "the adapters of the mock server under MSW 3",
      commands: [`${node24} run --config compat/vitest.config.ts --project msw3`],
      needs: "compat",
    },
    smoke: {
      description:
        "the packed tarballs in an empty folder: the README's program, every entry point and the commands on Node 20 and 24, the types",
      commands: [script("tools/checks/smoke.ts")],
      needs: "compat",
    },
    open: {
      description:
        "starts the Next example or the Workers example with the mock service; add next or workers",
      commands: [script("compat/open-example.mjs")],
    },
    languages: {
      description:
        "the verifiers in Python and PHP: signature vectors, deliveries, large and slow requests; --installed skips what is missing",
      commands: [script("tools/checks/other-languages.ts")],
    },
    "unknown-service": {
      description:
        "client and receiver against every service that contradicts docs/assumptions.md; npm test takes one for each assumption",
      commands: ["UNKNOWN_SERVICE=all npx vitest run --project unit compat/unknown-service"],
    },
    "hostile-service": {
      description:
        "the client over each transport against 20 000 hostile responses, with and without undici (HOSTILE_SEED=N)",
      commands: ["HOSTILE_RESPONSES=20000 npx vitest run --project slow hostile-service"],
    },
    "crash-outbox": {
      description:
        "kills shops with an outbox 100 times while 1 000 people sign up, each once, on SQLite and PostgreSQL, and counts the cards; add SIGN_UPS KILLS SHOP…",
      commands: [script("packages/issuing-outbox/test/crash.ts")],
    },
    "crash-bulk": {
      description:
        "kills an import of 500 000 rows 20 times while requests fail, and counts the cards; add ROWS KILLS",
      commands: [script("packages/cli/test/crash-bulk.ts")],
    },
    "crash-inbox": {
      description:
        "kills receivers 200 times while 5 000 events arrive, and counts the effects; add EVENTS KILLS ENGINE…",
      commands: [script("packages/webhook-inbox/test/crash.ts")],
      needs: "compat",
    },
    "crash-postgres": {
      description:
        "kills and restarts PostgreSQL 25 times while receivers on pg-boss and BullMQ work, and counts the effects",
      commands: [
        "POSTGRES_CRASHES=25 npx vitest run --project slow packages/webhook-inbox/test/integration/postgres-crash.slow.test.ts",
      ],
      needs: "compat",
    },
    fuzz: {
      description: "a million random inputs for the verifier, 100 000 random requests for the servers",
      commands: [`RANDOM_INPUTS=1000000 RANDOM_REQUESTS=100000 npx vitest run ${fuzzTests}`],
    },
    mutation: {
      description:
        "mutation tests of client, verifier, outbox and engine (Stryker); add --mutate FILES for some of them",
      commands: [
        "node compat/node_modules/@stryker-mutator/core/bin/stryker.js run compat/stryker.config.json",
      ],
      needs: "compat",
    },
    timing: {
      description: "whether the time of a comparison reveals a part of a signature",
      commands: [script("benchmarks/timing.mjs")],
    },
  },
  release: {
    licences: {
      description:
        "writes what each package contains and installs into sbom/, and checks its licences; --write updates THIRD-PARTY.md",
      commands: [script("tools/release/licences.ts")],
    },
    tarballs: {
      description: "publint, attw, and the rules and budgets of tools/checks/tarballs.ts",
      commands: [script("tools/checks/tarballs.ts")],
      needs: "compat",
    },
    version: {
      description: "turns the changesets into versions and change logs",
      commands: [
        "npx changeset version",
        "npm install --package-lock-only --ignore-scripts",
        "npm run format",
      ],
    },
    untagged: {
      description: "the current versions that have no git tag yet; a workflow publishes and tags them",
      commands: [script("tools/release/untagged.ts")],
    },
    pack: {
      description:
        "the tarballs of the built packages and their digests, into a folder; with LOYALTY_CARDS_TARBALLS=FOLDER all checks use them",
      commands: [script("tools/release/pack.ts")],
    },
  },
};

function list(group: string, names: Readonly<Record<string, Task>>): void {
  console.log(`npm run ${group} -- NAME`);
  for (const [name, { description }] of Object.entries(names))
    console.log(`  ${name.padEnd(17)}${description}`);
}

const [group = "", name, ...args] = process.argv.slice(2);
const names = tasks[group] ?? {};
const task = name === undefined ? undefined : names[name];
if (task === undefined) {
  if (name !== undefined) console.error(`Unknown name: ${name}`);
  list(group, names);
  process.exit(name === undefined ? 0 : 1);
}
if (task.needs !== undefined) install(task.needs);
for (const [index, command] of task.commands.entries()) {
  const isLast = index === task.commands.length - 1;
  const quoted = isLast ? args.map((argument) => ` ${JSON.stringify(argument)}`).join("") : "";
  const { status } = spawnSync(command + quoted, { cwd: root, shell: true, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
