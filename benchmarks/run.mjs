/**
 * `npm run bench [-- NAME…]`: measures subjects, all by default, and writes results/NAME.json, docs/benchmarks.md and its plots.
 * `--list` lists the subjects; `--quick` starts one process per panel, to try a subject; `--page` writes the page again without
 * measuring. A subject that fails leaves its last result.
 *
 * A subject is a file subjects/NAME.mjs, which must not import a package before `open` is called, with this default export:
 *
 *     title, question   heading and first sentence of its section of the page
 *     notes             optional Markdown after the table: conditions, and an explanation of what is not flat
 *     figures           { time: { label: "Time per call", unit: "µs" } }: what a round measures. Options of a figure:
 *                       compare: "ratio" to the floor (default), "difference" from it, or "none"; higherIsBetter; plot: true (default:
 *                       the first figure of each panel is plotted)
 *     floor, own        the variant that the others are compared with; the names of our variants. The rest are peers
 *     panels            [{ name: "2 KB" }]: groups of variants that are compared. A panel can have members of its own for `open`, and
 *                       `node: 22` (runs on Node 22; default 24), `figures` (some of the names), `floor`, `starts`, `rounds`, `warmUps`
 *     growth            optional [{ name, unit: "cards", x: [1e2, 1e6], figures }]: for each x a panel with the member `x`
 *     starts, rounds    fresh processes of each panel (default 5), and rounds in each of them (default 5), after `warmUps` (default 1)
 *     packages          the names of the peers' packages, whose versions are recorded
 *     open(panel)       called in the fresh process. Returns { variants: { NAME: async () => ({ time: 62, cpu: 61 }) }, close }: each
 *                       function measures one round and returns its figures; rounds are interleaved, in random order
 */
import { execFileSync, fork } from "node:child_process";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { cpus, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { writeBenchmarks } from "../tools/docs/benchmarks.ts";
import { install } from "../tools/install.ts";
import { published, root } from "../tools/published.ts";
import { quantile, readVersion, receive } from "./measure.mjs";

/** Panels run on this version, whatever Node starts the command. */
const defaultNode = 24;
const folder = join(root, "benchmarks");
const names = readdirSync(join(folder, "subjects")).map((file) => file.replace(".mjs", ""));
async function load(name) {
  return (await import(`./subjects/${name}.mjs`)).default;
}

async function measureAll(subjects) {
  const failed = [];
  install("benchmarks");
  install("compat"); // peers, and the versions of Node
  buildIfStale();
  const commit = describeCommit();
  for (const name of subjects) {
    try {
      const result = { commit, ...(await measure(name, await load(name))) };
      const lines = JSON.stringify(result).replaceAll('{"name"', '\n{"name"'); // a line for each row
      writeFileSync(join(folder, "results", `${name}.json`), `${lines}\n`);
      await writeBenchmarks();
    } catch (error) {
      console.error(`${name} failed:`, error);
      failed.push(name);
    }
  }
  if (failed.length === 0) return;
  console.error(`Failed, and kept the last result: npm run bench -- ${failed.join(" ")}`);
  process.exitCode = 1;
}

async function measure(name, subject) {
  const startedMs = performance.now();
  const { panels = [], growth = [], packages = [], starts = 5 } = subject;
  const points = growth.flatMap((one) => one.x.map((x) => ({ starts: 1, rounds: 1, warmUps: 0, ...one, x })));
  const all = [...panels, ...points].map((panel) => ({
    starts,
    ...panel,
    ...(isQuick && { starts: 1 }),
    measured: [],
  }));
  for (let start = 0; start < Math.max(...all.map((panel) => panel.starts)); start++) {
    for (const { measured, ...panel } of all.filter((one) => start < one.starts)) {
      const panelMs = performance.now();
      measured.push(...(await measureInFreshProcess(name, panel)));
      const seconds = ((performance.now() - panelMs) / 1000).toFixed(1);
      const title = [panel.name, panel.x].filter((part) => part !== undefined).join(", ");
      console.log(`${name}: ${title}, process ${start + 1} of ${panel.starts}: ${seconds} s`);
    }
  }
  const rows = (panel) => summarize(panel.measured, subject.figures, panel.floor ?? subject.floor);
  return {
    date: new Date().toISOString().slice(0, 10),
    seconds: Math.round((performance.now() - startedMs) / 1000),
    machine: describeMachine(),
    versions: Object.fromEntries(packages.map((each) => [each, readVersion(each)])),
    panels: all.slice(0, panels.length).map((panel) => ({ name: panel.name, rows: rows(panel) })),
    growth: growth.map((one) => ({
      name: one.name,
      points: all
        .filter((panel) => panel.x !== undefined && panel.name === one.name)
        .map((panel) => ({ x: panel.x, rows: rows(panel) })),
    })),
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

/** @returns for each variant and figure the quartiles of its value, and of how it compares with the floor in the same round. */
function summarize(rounds, figures, floor) {
  return Object.keys(rounds[0]).map((name) => {
    const entries = Object.keys(rounds[0][name]).map((key) => {
      const values = rounds.map((round) => round[name][key]);
      const { compare = "ratio" } = figures[key];
      if (compare === "none" || rounds[0][floor]?.[key] === undefined)
        return [key, { value: quartiles(values) }];
      const against = compare === "ratio" ? (one, other) => one / other : (one, other) => one - other;
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
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const results = ["benchmarks/results", "docs/benchmarks.md", "docs/diagrams/benchmarks"];
  const changes = git("status", "--porcelain", "--", ".", ...results.map((path) => `:!${path}`));
  return git("rev-parse", "--short", "HEAD") + (changes === "" ? "" : "+");
}

/** The built packages are measured. They contain parts of internal/ and openapi/. */
function buildIfStale() {
  const newest = (path) =>
    Math.max(0, ...readdirSync(path, { recursive: true }).map((file) => statSync(join(path, file)).mtimeMs));
  const isFresh = ({ folder: of }) => {
    const sources = [join(of, "src"), join(root, "internal"), join(root, "openapi")];
    const dist = join(of, "dist");
    return existsSync(dist) && sources.every((source) => newest(source) < newest(dist));
  };
  if (!published.every(isFresh)) execFileSync("npm", ["run", "build"], { cwd: root, stdio: "inherit" });
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isQuick = flags.includes("--quick");
const unknown = chosen.filter((name) => !names.includes(name));

if (unknown.length > 0 || flags.includes("--list")) {
  if (unknown.length > 0) console.error(`Unknown name: ${unknown.join(", ")}`);
  for (const name of names) console.log(`${name.padEnd(12)}${(await load(name)).question}`);
  process.exit(unknown.length > 0 ? 1 : 0);
}
if (!flags.includes("--page")) await measureAll(chosen.length > 0 ? chosen : names);
await writeBenchmarks();
