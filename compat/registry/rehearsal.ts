/**
 * `npm run compat:registry`: a rehearsal of the release, in a clone, on a registry on the
 * loopback. The commands of the release workflow version, build, pack and publish the packages; a
 * new project installs them by name with npm, pnpm and yarn, and runs the program of the README. A
 * changeset then releases a second version, to which each project updates. It needs
 * `npm ci --prefix compat/registry`.
 */
import { equal, match } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import ts from "typescript";
import { parse } from "yaml";
import { readFromRoot, readRegion } from "../../tools/docs/snippets.ts";
import { published } from "../../tools/packages.ts";
import { root, run, userEnvironment } from "../../tools/run.ts";

const node = join(root, "compat/node_modules/node-24/bin/node");
const tools = join(import.meta.dirname, "node_modules/.bin");
const names = published.map(({ manifest }) => manifest.name);

/** How a project installs packages by name, and updates to the newest version of a tag. */
const managers = {
  npm: ["npm", "install", "--no-audit", "--no-fund"],
  pnpm: [join(tools, "pnpm"), "add", "--config.minimum-release-age=0"],
  yarn: [join(tools, "yarn"), "add", "--silent"],
} satisfies Record<string, [string, ...string[]]>;

const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-registry-"));
const clone = join(folder, "clone");

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Packages of this project are only here; all others come from the registry of the user. */
async function startRegistry(port: number): Promise<ChildProcess> {
  const upstream = run("npm", ["config", "get", "registry"], tmpdir(), userEnvironment).trim();
  const config = {
    storage: join(folder, "storage"),
    uplinks: { upstream: { url: upstream } },
    packages: {
      "@loyalty-cards/*": { access: "$all", publish: "$all" },
      "**": { access: "$all", proxy: "upstream" },
    },
    max_body_size: "100mb",
    log: { type: "stdout", level: "error" },
  };
  const file = join(folder, "config.yaml");
  writeFileSync(file, JSON.stringify(config)); // YAML too
  const listen = ["--config", file, "--listen", `127.0.0.1:${port}`];
  const child = spawn(node, [join(tools, "verdaccio"), ...listen], { stdio: "inherit" });
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/-/ping`).catch(() => undefined);
    if (response?.ok) return child;
    if (child.exitCode !== null) throw new Error("The registry ended.");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** npm's settings for the registry. It takes any token. */
function createEnvironment(port: number): NodeJS.ProcessEnv {
  const host = `127.0.0.1:${port}`;
  const file = join(folder, ".npmrc");
  writeFileSync(file, `registry=http://${host}/\n//${host}/:_authToken=rehearsal\n`);
  return {
    ...userEnvironment,
    PATH: [dirname(node), process.env["PATH"]].join(delimiter),
    NPM_CONFIG_USERCONFIG: file,
    npm_config_registry: `http://${host}/`,
  };
}

/** The steps of the release workflow, without those that need GitHub. */
interface Workflow {
  jobs: Record<string, { steps: { name?: string; run?: string }[] }>;
}

function readPublishCommands(): string {
  const workflow: Workflow = parse(readFromRoot(".github/workflows/release.yml"));
  const step = workflow.jobs["publish"]?.steps.find(({ name }) => name?.startsWith("Publish "));
  if (step?.run === undefined) throw new Error("release.yml has no step that publishes.");
  return step.run.replace(" --provenance", " --provenance=false"); // it needs the identity of a workflow
}

/**
 * Publishes what the registry does not have.
 * @returns the version.
 */
function release(environment: NodeJS.ProcessEnv): string {
  const npm = (...args: string[]) => run("npm", args, clone, environment);
  npm("run", "release:version");
  npm("run", "build");
  npm("run", "release:pack", "tarballs");
  run("bash", ["-euo", "pipefail", "-c", readPublishCommands()], join(clone, "tarballs"), {
    ...environment,
  });
  rmSync(join(clone, "tarballs"), { recursive: true });
  const manifest = readFileSync(join(clone, "packages/issuing-client/package.json"), "utf8");
  return JSON.parse(manifest).version;
}

function createProject(name: string): string {
  const project = join(folder, `with-${name}`);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
  const file = "examples/getting-started/first-card.ts";
  const { outputText } = ts.transpileModule(readRegion(readFromRoot(file), file, "first-card"), {
    compilerOptions: { module: ts.ModuleKind.ES2022, target: ts.ScriptTarget.ES2022 },
  });
  writeFileSync(join(project, "first-card.mjs"), outputText);
  return project;
}

/** The tag under which the workflow publishes a version: of a pre-release its name. */
const getTag = (version: string) => /-(\w+)/.exec(version)?.[1] ?? "latest";

/** Installs the newest packages by name, and issues a card with the program of the README. */
function installAndRun(
  project: string,
  [manager, ...args]: readonly [string, ...string[]],
  version: string,
  environment: NodeJS.ProcessEnv,
): void {
  const newest = names.map((name) => `${name}@${getTag(version)}`);
  const output = run(manager, [...args, ...newest], project, environment);
  if (output.includes("EBADENGINE")) throw new Error(output);
  const installed = join(project, "node_modules/@loyalty-cards/issuing-client/package.json");
  equal(JSON.parse(readFileSync(installed, "utf8")).version, version);
  const command = "node_modules/.bin/loyalty-cards";
  const issued = run(command, ["exec", "--quiet", "--", node, "first-card.mjs"], project, {
    ...environment,
  });
  match(issued, /^card_\w+ http:/);
}

function addChangeset(): void {
  const lines = names.map((name) => `"${name}": patch\n`).join("");
  writeFileSync(join(clone, ".changeset/second.md"), `---\n${lines}---\n\nThe second version.\n`);
}

/** What a release changes in documents, besides change logs. */
function listChangedPages(): string {
  return run("git", ["diff", "--stat", "--", "*.md", ":!*/CHANGELOG.md", ":!.changeset"], clone);
}

const port = await findFreePort();
const registry = await startRegistry(port);
try {
  const environment = createEnvironment(port);
  run("git", ["clone", "--quiet", root, clone], folder);
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], clone);
  const first = release(environment);
  console.log(`✓ ${names.length} packages published, version ${first}`);
  console.log(listChangedPages());
  const projects = Object.entries(managers).map(
    ([name, install]) => [name, install, createProject(name)] as const,
  );
  for (const [name, install, project] of projects) {
    installAndRun(project, install, first, environment);
    console.log(`✓ ${name} installs them by name, and the program of the README issues a card`);
  }
  addChangeset();
  const second = release(environment);
  for (const [name, install, project] of projects) {
    installAndRun(project, install, second, environment);
    console.log(`✓ ${name} updates to version ${second}`);
  }
} finally {
  registry.kill();
  rmSync(folder, { recursive: true });
}
