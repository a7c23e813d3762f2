/** The workflows keep what protects a release: pinned actions, permissions for each job, and a publishing job that runs nothing of others. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { root } from "../../published.ts";

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}

interface Job {
  permissions?: Record<string, string>;
  environment?: unknown;
  needs?: string | string[];
  steps: Step[];
}

interface Workflow {
  permissions?: Record<string, string>;
  jobs: Record<string, Job>;
}

const folder = join(root, ".github/workflows");
const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
const jobs = files.flatMap(({ name, text }) => {
  const { permissions, jobs } = parse(text) as Workflow;
  return Object.entries(jobs).map(([id, job]) => ({ name: `${name}: ${id}`, workflow: permissions, job }));
});
/** Its image cannot be pinned by a commit. */
const unpinned = ["docker://rhysd/actionlint:1.7.7"];

it.each(files)("$name pins every action by commit, with its version beside it", ({ text }) => {
  for (const [, action = ""] of text.matchAll(/uses: (.+)/g))
    if (!unpinned.includes(action)) expect(action).toMatch(/^[\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

describe.each(jobs)("$name", ({ workflow, job }) => {
  const permissions = job.permissions ?? workflow;
  const uses = job.steps.map(({ uses = "" }) => uses.replace(/@.*/, ""));
  const canPublish = permissions?.["id-token"] === "write";

  it("states its permissions; the default ones write nothing", () => {
    expect(permissions).toBeDefined();
    expect(Object.values(workflow ?? {})).not.toContain("write");
  });

  it.runIf(canPublish)(
    "has an environment, and neither a cache, a repository, dependencies nor a write to it",
    () => {
      expect(job.environment).toBeDefined();
      expect(uses).not.toContain("actions/checkout");
      expect(uses).not.toContain("actions/cache");
      expect(permissions?.["contents"]).toBeUndefined();
      for (const { with: options = {}, run = "" } of job.steps) {
        expect(options["cache"]).toBeUndefined();
        expect(run).not.toMatch(/npm (ci|install|run)|npx /);
      }
    },
  );

  it("runs no text of a pull request in a shell", () => {
    for (const { run = "" } of job.steps)
      expect(run).not.toMatch(/\$\{\{\s*(github\.(event|head_ref)|inputs)/);
  });

  it("stores no credentials unless it pushes", () => {
    if (permissions?.["contents"] === "write") return;
    for (const { uses = "", with: options = {} } of job.steps)
      if (uses.startsWith("actions/checkout@")) expect(options["persist-credentials"]).toBe(false);
  });
});

it("publishes the bytes that the job without credentials has tested", () => {
  const { jobs } = parse(readFileSync(join(folder, "release.yml"), "utf8")) as Workflow;
  const { build, publish } = jobs;
  expect(Object.keys(jobs).filter((id) => jobs[id]?.permissions?.["id-token"])).toEqual(["publish"]);
  expect(build?.permissions).toEqual({ contents: "read" });
  expect(build?.steps.map(({ run }) => run)).toContain("npm run release -- check");
  for (const { with: options = {} } of build?.steps ?? []) expect(options["cache"]).toBeUndefined();
  expect(publish?.needs).toBe("build");
  expect(publish?.permissions).toEqual({ "id-token": "write" });
  const script = publish?.steps.map(({ run = "" }) => run).join("\n");
  expect(script).toContain("sha256sum --check --strict SHA256SUMS");
  expect(script).toContain("--ignore-scripts");
});

it("waits days for a new version of a dependency", () => {
  const { minimumReleaseAge } = JSON.parse(readFileSync(join(root, "renovate.json"), "utf8"));
  expect(Number.parseInt(minimumReleaseAge, 10)).toBeGreaterThanOrEqual(3);
});
