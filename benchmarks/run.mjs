/**
 * `npm run bench [-- NAME…]`: measures subjects, all by default, and writes results.json and the
 * benchmarks of docs/evidence.md. `--quick` starts one process per panel, to try a subject. A subject
 * that fails leaves its last result.
 *
 * A subject is a file subjects/NAME.mjs, which must not import a package before `open` is called,
 * with this default export:
 *
 *     title, notes      heading of its section of the page, and the conditions below the table
 *     figures           { time: { label: "µs each" } }: what a round measures. Options of a figure:
 *                       compare: "ratio" to the floor (default), "difference" from it, or "none"
 *     floor, own        the variant that the others are compared with, if there is one; the names of our variants. The rest are peers
 *     panels            [{ name: "2 KB" }]: groups of variants that are compared. A panel can have members of its own for `open`, and
 *                       `node: 22` (runs on Node 22; default 24), `starts`, `rounds`, `warmUps`
 *     starts, rounds    fresh processes of each panel (default 5), and rounds in each of them (default 5), after `warmUps` (default 1)
 *     packages          the names of the peers' packages, whose versions are recorded
 *     open(panel)       called in the fresh process. Returns { variants: { NAME: async () => ({ time: 62, cpu: 61 }) }, close }: each
 *                       function measures one round and returns its figures; rounds are interleaved, in random order
 *     alone, measureAlone(name, baseUrl, panel)
 *                       instead of `open`: the names of the variants, and a function that returns the figures of one. It is called in
 *                       a process of its own for each round, with a service that issues cards at this address
 */
import { execFileSync, fork } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { install } from "../tools/install.ts";
import { root } from "../tools/run.ts";
import { quantile, readVersion, receive } from "./measure.mjs";

/** Panels run on this version, whatever Node starts the command. */
const defaultNode = 24;
const folder = join(root, "benchmarks");
const names = readdirSync(join(folder, "subjects")).map((file) => file.replace(".mjs", ""));

async function measureAll(subjects) {
  install("benchmarks");
  install("compat"); // peers, and the versions of Node
  execFileSync("npm", ["run", "build"], { cwd: root, stdio: "inherit" });
  const commit = describeCommit();
  for (const name of subjects) {
    try {
      const { default: subject } = await import(`./subjects/${name}.mjs`);
      const result = { commit, ...(await measure(name, subject)) };
      const file = join(folder, "results.json");
      const results = { ...JSON.parse(readFileSync(file, "utf8")), [name]: result };
      const lines = JSON.stringify(results).replaceAll('{"name"', '\n{"name"'); // a line for each row
      writeFileSync(file, `${lines}\n`);
    } catch (error) {
      console.error(`${name} failed, and keeps its last result:`, error);
      process.exitCode = 1;
    }
  }
}

async function measure(name, subject) {
  const { packages = [], starts = 5 } = subject;
  const panels = subject.panels.map((panel) => ({
    starts,
    ...panel,
    ...(isQuick && { starts: 1 }),
    measured: [],
  }));
  for (let start = 0; start < Math.max(...panels.map((panel) => panel.starts)); start++) {
    for (const { measured, ...panel } of panels.filter((one) => start < one.starts)) {
      const panelMs = performance.now();
      measured.push(...(await measureInFreshProcess(name, panel)));
      const seconds = ((performance.now() - panelMs) / 1000).toFixed(1);
      console.log(`${name}: ${panel.name}, process ${start + 1} of ${panel.starts}: ${seconds} s`);
    }
  }
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    versions: Object.fromEntries(packages.map((each) => [each, readVersion(each)])),
    panels: panels.map((panel) => ({ name: panel.name, rows: summarize(panel.measured, subject) })),
  };
}

function measureInFreshProcess(name, panel) {
  const file = new URL(`subjects/${name}.mjs`, import.meta.url).href;
  const options = {
    execArgv: [],
    execPath: join(root, `compat/node_modules/node-${panel.node ?? defaultNode}/bin/node`),
    timeout: 900_000,
  };
  return receive(fork(join(folder, "measure.mjs"), [file, JSON.stringify(panel)], options));
}

/**
 * @returns for each variant and figure the quartiles of its value, and of how it compares with the
 * floor in the same round.
 */
function summarize(rounds, { figures, floor }) {
  return Object.keys(rounds[0]).map((name) => {
    const keys = Object.keys(figures).filter((key) => key in rounds[0][name]);
    const entries = keys.map((key) => {
      const values = rounds.map((round) => round[name][key]);
      const { compare = "ratio" } = figures[key];
      if (compare === "none" || rounds[0][floor]?.[key] === undefined)
        return [key, { value: quartiles(values) }];
      const against =
        compare === "ratio" ? (one, other) => one / other : (one, other) => one - other;
      const compared = rounds.map((round) => against(round[name][key], round[floor][key]));
      return [key, { value: quartiles(values), [compare]: quartiles(compared) }];
    });
    return { name, figures: Object.fromEntries(entries) };
  });
}

const quartiles = (numbers) =>
  [0.25, 0.5, 0.75].map((share) => Number(quantile(numbers, share).toPrecision(4)));

function describeMachine() {
  const [{ model }] = cpus();
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${model.trim()}, ${gibibytes} GiB, ${platform()} ${release().split("-")[0]}, Node ${readVersion(`node-${defaultNode}`)}`;
}

/** @returns the commit that is measured, with `+` if files other than results differ from it. */
function describeCommit() {
  const git = (command) =>
    execFileSync("git", command.split(" "), { cwd: root, encoding: "utf8" }).trim();
  const changes = git("status --porcelain -- . :!benchmarks/results.json :!docs/evidence.md");
  return git("rev-parse --short HEAD") + (changes === "" ? "" : "+");
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isQuick = flags.includes("--quick");
const unknown = chosen.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown name: ${unknown.join(", ")}. The names are ${names.join(", ")}.`);
  process.exit(1);
}
await measureAll(chosen.length > 0 ? chosen : names);
execFileSync("npm", ["run", "--silent", "snippets"], { cwd: root, stdio: "inherit" });
