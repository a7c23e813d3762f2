/** The rules of the workflows: pinned actions, permissions for each job, tests without credentials, and a job that only publishes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "../published.ts";

interface Step {
  id?: string;
  if?: string;
  uses?: string;
  run?: string;
  with?: Readonly<Record<string, unknown>>;
  env?: Readonly<Record<string, string>>;
}

interface Job {
  permissions?: Readonly<Record<string, string>>;
  environment?: unknown;
  needs?: string | string[];
  services?: Readonly<Record<string, { image: string }>>;
  outputs?: Readonly<Record<string, string>>;
  steps: Step[];
}

interface Workflow {
  on: Readonly<Record<string, unknown>>;
  permissions?: Readonly<Record<string, string>>;
  jobs: Readonly<Record<string, Job>>;
}

/** The names of the files, with their texts. */
type Files = Readonly<Record<string, string>>;

const folder = join(root, ".github/workflows");
export const readWorkflows = (): Files =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));

/** Every permission to write. All other jobs only read. */
const writers: Readonly<Record<string, readonly string[]>> = {
  "codeql.yml analyze": ["security-events"],
  "pages.yml deploy": ["id-token", "pages"],
  "release.yml publish": ["id-token"],
  "release.yml tags": ["contents"],
  "release.yml versions": ["contents", "pull-requests"],
  "scorecard.yml analysis": ["security-events"],
};
/** npm trusts `release.yml` with the environment `npm`, and GitHub Pages its own environment. */
const environments: Readonly<Record<string, string>> = {
  "pages.yml deploy": "github-pages",
  "release.yml publish": "npm",
};

export const expression = (text: string) => `\${{ ${text} }}`;
const pinned = /^[\w-]+\/[\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
const isAction = (name: string, { uses = "" }: Step) => uses.startsWith(`actions/${name}@`);
/** What the jobs of the release may have: no container, no other machine, no step whose failure is ignored. */
const releaseKeys = {
  job: /^(needs|if|runs-on|timeout-minutes|permissions|outputs|services|environment|steps)$/,
  step: /^(id|name|if|uses|with|env|run)$/,
  if: /^(steps|needs)\.prepare\.outputs\.(has-versions|tags)$/,
};
/** The programs of the jobs with rights, each with what it may do, and the words of the shell. */
const programs =
  /^(git (apply|config|commit|push)|gh (auth|pr|api)|npm (view|publish)|node -p|(sha256sum|cut|tar|read|echo|mapfile|tag=\S*|if|for|case|do|done|then|else|esac|fi|continue)\b)/;
/** The beginnings of commands. What is in single quotes is text. */
const findCommands = (script: string) =>
  [
    ...script
      .replace(/'[^']*'/g, "''")
      .matchAll(/(?:^|[|;&(`]|\b(?:if|then|do|else)\b|\*\))[ \t]*(?=([a-z./~$][^\n]*))/gm),
  ].map(([, command = ""]) => command);
/** What runs code of the repository or of its dependencies. */
const runsCode = /\b(npm (ci|install|run|exec|test)|npx|tsx|node (?!-p ))\b/;
const readsOnly = (permissions: object = { default: "write" }) =>
  Object.entries(permissions).every(([scope, access]) => scope === "contents" && access === "read");

/** Returns a sentence for each broken rule. */
export function findProblems(files: Files): string[] {
  const problems: string[] = [];
  for (const [name, text] of Object.entries(files)) {
    const { on, permissions, jobs } = parse(text) as Workflow;
    const check = (passes: boolean, problem: string) => passes || problems.push(`${name}${problem}`);
    const lines = [...text.matchAll(/\buses: (.+)/g)].map(([, action = ""]) => action);
    for (const line of lines) check(pinned.test(line), `: ${line} has no commit with its version`);
    const uses = Object.values(jobs).flatMap(({ steps }) => steps.filter((step) => step.uses !== undefined));
    check(uses.length === lines.length, ": a line `uses: …` is written in another way");
    check(readsOnly(permissions), ": the default permissions are not only `contents: read`");
    check(
      !("pull_request_target" in on || "workflow_run" in on),
      ": a pull request of a fork runs with the rights of the repository",
    );
    check(!/\bsecrets\b/.test(text), ": it uses a secret");
    for (const [id, job] of Object.entries(jobs))
      for (const problem of findJobProblems(job, `${name} ${id}`, permissions))
        check(false, ` ${id}: ${problem}`);
  }
  return [...problems, ...findReleaseProblems(files), ...findMissingChecks(files)];
}

function findJobProblems(job: Job, name: string, defaults: Job["permissions"]): string[] {
  const problems: string[] = [];
  const check = (passes: boolean, problem: string) => passes || problems.push(problem);
  const { permissions = defaults ?? {}, steps, services = {} } = job;
  const writes = Object.keys(permissions).filter((scope) => permissions[scope] === "write");
  const scripts = steps.map(({ run = "" }) => run).join("\n");
  const text = JSON.stringify(job);
  check(
    typeof permissions === "object" && `${writes.sort()}` === `${writers[name] ?? []}`,
    `it may write ${writes}`,
  );
  check(
    !runsCode.test(scripts) || (readsOnly(permissions) && !text.includes("github.token")),
    "it runs dependencies beside credentials",
  );
  check(!scripts.includes("${{"), "a script contains an expression");
  for (const step of steps.filter((step) => isAction("checkout", step)))
    check(step.with?.["persist-credentials"] === false, "the checkout stores credentials");
  for (const { image } of Object.values(services))
    check(
      /:\d+\.\d+.*@sha256:[\da-f]{64}$/.test(image) && readsOnly(permissions),
      `the image ${image} has no version with its digest, or is beside credentials`,
    );
  if (writes.includes("id-token")) {
    const { environment } = job;
    const { name: environmentName = environment } = (environment ?? {}) as { name?: string };
    check(environmentName === environments[name], "its environment is another one");
    check(writes.length === Object.keys(permissions).length, "it has more permissions than it needs");
    check(!text.includes("actions/checkout@"), "it has the repository");
    for (const run of scripts.match(/npm publish.*/g) ?? [])
      check(
        run.includes("--ignore-scripts") && run.includes("--provenance"),
        "it publishes with scripts, or without provenance",
      );
  }
  if (writes.includes("id-token") || name.startsWith("release.yml"))
    check(!/"cache"|\/cache[/@]/.test(text), "it has a cache");
  if (name.startsWith("release.yml")) problems.push(...findOddities(job, writes));
  return problems;
}

/** What a job of the release has beside what it needs. */
function findOddities(job: Job, writes: readonly string[]): string[] {
  const problems: string[] = [];
  const check = (passes: boolean, problem: string) => passes || problems.push(problem);
  const { steps } = job;
  for (const key of Object.keys(job)) check(releaseKeys.job.test(key), `it has ${key}`);
  for (const key of steps.flatMap(Object.keys)) check(releaseKeys.step.test(key), `a step has ${key}`);
  for (const each of [job, ...steps] as { if?: string }[])
    check(each.if === undefined || releaseKeys.if.test(each.if), `it has another condition: ${each.if}`);
  check((job as { "runs-on"?: unknown })["runs-on"] === "ubuntu-latest", "it runs on another machine");
  const ids = steps.flatMap(({ id }) => id ?? []);
  check(new Set(ids).size === ids.length, "two steps have the same id");
  for (const { run = "" } of steps)
    check(!/npm (ci|install)\b(?! --ignore-scripts)/.test(run), "it runs scripts of dependencies");
  if (writes.length === 0) return problems;
  for (const step of steps.filter(({ uses }) => uses !== undefined))
    check(
      ["checkout", "download-artifact", "setup-node"].some((action) => isAction(action, step)),
      `it uses ${step.uses}`,
    );
  for (const command of steps.flatMap(({ run = "" }) => findCommands(run)))
    check(programs.test(command), `it runs ${command}`);
  return problems;
}

/** The tested bytes are the published ones, and the pull request of versions is computed elsewhere than where it is pushed. */
function findReleaseProblems({ "release.yml": text = "", "ci.yml": ci = "" }: Files): string[] {
  const problems: string[] = [];
  const check = (passes: boolean, problem: string) => passes || problems.push(`release.yml: ${problem}`);
  const { prepare, versions, build, publish, tags } = (parse(text) as Workflow).jobs;
  const { linux } = (parse(ci) as Workflow).jobs;
  if (!prepare || !versions || !build || !publish || !tags) return ["release.yml: a job is missing"];
  const runs = ({ steps }: Job) => steps.map(({ run = "" }) => run);
  const artifacts = ({ steps }: Job, action: string) =>
    steps.filter((step) => isAction(action, step)).map((step) => step.with?.["name"]);

  const { on } = parse(text) as Workflow;
  check(JSON.stringify(on) === '{"push":{"branches":["main"]}}', "it runs for another event");
  const pack = build.steps.find(({ id }) => id === "pack")?.run ?? "";
  check(pack.startsWith("npm run release -- pack tarballs\n"), "the digest is not that of the packed files");
  const order = ["npm run build", pack, "npm run check", "npm run release -- check"].map((command) =>
    runs(build).indexOf(command),
  );
  check(
    order.every((place, index) => place > (order[index - 1] ?? -1)),
    "build, pack, check: one is missing or late",
  );
  const checks = build.steps.filter(({ run = "" }) => /check$/.test(run));
  check(
    checks.every(({ env }) => env?.["LOYALTY_CARDS_TARBALLS"] === "tarballs"),
    "a check packs tarballs of its own",
  );
  check(
    JSON.stringify(build.services) === JSON.stringify(linux?.services),
    "the services are not those of ci.yml",
  );
  const isUpload = (step: Step) => isAction("upload-artifact", step) && step.with?.["name"] === "tarballs";
  check(build.steps.find(isUpload)?.with?.["path"] === "tarballs/", "the tarballs are not uploaded");

  check(`${artifacts(publish, "download-artifact")}` === "tarballs", "the tarballs are not downloaded");
  check(publish.needs === "build", "the publishing job does not wait for the tests");
  const compare = publish.steps.findIndex(
    ({ run = "", env }) =>
      env?.["DIGEST"] === expression("needs.build.outputs.digest") &&
      run.includes('echo "$DIGEST  SHA256SUMS" | sha256sum --check --strict\n') &&
      run.includes("sha256sum --check --strict SHA256SUMS\n"),
  );
  const send = runs(publish).findIndex((run) => run.includes("npm publish"));
  check(build.outputs?.["digest"] === expression("steps.pack.outputs.digest"), "the digest is not an output");
  check(compare >= 0 && compare < send, "the digests are not compared before");
  check(runs(publish)[send]?.includes(" SHA256SUMS)") === true, "it publishes files without a digest");
  check(`${tags.needs}`.includes("publish"), "tags do not wait for the publishing job");

  check(runs(prepare).includes("npm run release -- version"), "no job computes the next versions");
  check(versions.needs === "prepare", "the pull request does not wait for the next versions");
  check(
    `${artifacts(prepare, "upload-artifact")} ${artifacts(versions, "download-artifact")}` ===
      "versions versions",
    "the pull request is not made from the artifact",
  );
  return problems;
}

/** The workflows are checked themselves, and the repository each week. */
function findMissingChecks({ "ci.yml": ci = "", "scorecard.yml": scorecard = "" }: Files): string[] {
  const problems: string[] = [];
  const { workflows } = (parse(ci) as Workflow).jobs;
  const scripts = workflows?.steps.map(({ run = "" }) => run).join("\n") ?? "";
  if (
    !scripts.includes('cmd/actionlint@$ACTIONLINT_VERSION"') ||
    !/ ACTIONLINT_VERSION: v\d+\.\d+\.\d+\n/.test(ci)
  )
    problems.push("ci.yml: actionlint is missing, or has no version");
  if (!scripts.includes('"zizmor==$ZIZMOR_VERSION"') || !/ ZIZMOR_VERSION: \d+\.\d+\.\d+\n/.test(ci))
    problems.push("ci.yml: zizmor is missing, or has no version");
  if (!scorecard.includes("ossf/scorecard-action@") || !/cron: "\d+ \d+ \* \* \d"/.test(scorecard))
    problems.push("scorecard.yml: Scorecard does not run each week");
  return problems;
}
