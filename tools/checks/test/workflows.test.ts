/** What protects a release: actions that cannot change, and a token for npm beside which nothing else runs. actionlint and zizmor check the rest in CI. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { root } from "../../published.ts";

interface Job {
  permissions?: unknown;
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[];
}

const folder = join(root, ".github/workflows");
const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
const jobs = files.flatMap(({ name, text }) => {
  const workflow = parse(text) as { permissions?: unknown; jobs: Record<string, Job> };
  return Object.entries(workflow.jobs).map(([job, { permissions, steps }]) => ({
    name: `${name} ${job}`,
    steps,
    hasToken:
      JSON.stringify(permissions ?? workflow.permissions ?? "write-all").match(/id-token|write-all/) !== null,
  }));
});

it("pins every action by its commit, with the version beside it", () => {
  const used = files.flatMap(({ name, text }) =>
    [...text.matchAll(/^.*\buses\b.*$/gm)].map(([line]) => `${name}: ${line.trim()}`),
  );
  expect(used.length).toBeGreaterThan(10);
  expect(used.filter((line) => !/\buses: [\w./-]+@[\da-f]{40} # v\d+(\.\d+)*$/.test(line))).toEqual([]);
});

it("gives an OIDC token only to the jobs that publish", () => {
  const names = jobs.filter(({ hasToken }) => hasToken).map(({ name }) => name);
  expect(names).toEqual(["pages.yml deploy", "release.yml publish"]);
});

it("uses no cache and no code of the repository beside the token, and no cache for what is published", () => {
  const steps = jobs
    .filter(({ name, hasToken }) => hasToken || name === "release.yml build")
    .flatMap((job) => job.steps);
  expect(
    steps.filter((step) => step.with?.["cache"] !== undefined || /\/cache@/.test(step.uses ?? "")),
  ).toEqual([]);
  const withToken = jobs.filter(({ hasToken }) => hasToken).flatMap((job) => job.steps);
  expect(withToken.filter(({ uses = "" }) => uses.startsWith("actions/checkout@"))).toEqual([]);
  expect(withToken.filter(({ run = "" }) => /\bnpm (ci|i|install|run)\b/.test(run))).toEqual([]);
});
