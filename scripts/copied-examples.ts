/**
 * Copies examples into empty folders, installs the packed tarballs there by the commands of the guide, and runs them:
 * the tests of each folder, and the first guide on each framework. `copied-examples.ts [name …]`
 */
import {
  type ExecFileSyncOptionsWithStringEncoding,
  execFileSync,
  spawn,
  spawnSync,
} from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { readRegion } from "../docs/snippets.ts";
import { findLine } from "../examples/getting-started/line.ts";
import { freePort } from "../packages/webhook-inbox/test/own-redis.ts";
import { root } from "./published.ts";

/** A user's own npm settings, not those of this repository. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))),
  NEXT_TELEMETRY_DISABLED: "1",
};
const commands = readFileSync(join(root, "examples/getting-started/commands.sh"), "utf8");
const temporary = mkdtempSync(join(tmpdir(), "loyalty-cards-copied-"));
const tarballs = join(temporary, "tarballs");

function run(command: string, cwd: string): string {
  const options: ExecFileSyncOptionsWithStringEncoding = {
    cwd,
    env,
    encoding: "utf8",
    stdio: "pipe",
  };
  return execFileSync("bash", ["-ec", command], options);
}

/** The command of the guide, with another folder and without the build. */
function packAll(): void {
  const command = readRegion(commands, "commands.sh", "pack")
    .replace("npm ci && npm run build\n", "")
    .replaceAll("../my-shop", tarballs);
  run(command, root);
}

/** A folder that contains only the tarballs. */
function createFolder(name: string): string {
  const folder = join(temporary, name);
  cpSync(tarballs, folder, { recursive: true });
  return folder;
}

const installTarballs = readRegion(commands, "commands.sh", "install-tarballs");

/** Copies an example, installs it, and runs its tests. */
function testExample(name: string, ...scripts: string[]): void {
  const folder = createFolder(name);
  const filter = (path: string) => !["node_modules", ".next"].includes(basename(path));
  cpSync(join(root, "examples", name), folder, { recursive: true, filter });
  run(installTarballs, folder);
  for (const script of scripts) run(`npm run ${script}`, folder);
}

/** Whether a reader of the guide who uses this framework saves the file. */
const isFor = (framework: string, file: string) =>
  file === "loyalty.ts" ||
  file === "seed.json" ||
  (framework === "next" ? /^(app|server)\//.test(file) : file === `shop-${framework}.ts`);

/** Saves the files that the guide prints, under the names that it gives. */
function savePrintedFiles(folder: string, framework: string, ports: Ports): void {
  const page = readFileSync(join(root, "docs/guides/getting-started.md"), "utf8");
  for (const [, seed, program = ""] of page.matchAll(
    /<!-- snippet: \S*?(seed\.json)?(?:#\S+)? -->\n```(?:ts|json)\n([\s\S]*?)^```/gm,
  )) {
    const name = seed ?? /^\/\/ (\S+)/.exec(program)?.[1] ?? "";
    if (!isFor(framework, name)) continue;
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, replacePorts(program, ports));
  }
}

interface Ports {
  shop: number;
  service: number;
}

const replacePorts = (text: string, { shop, service }: Ports) =>
  text.replace(/\b3000\b/g, String(shop)).replace(/\b4010\b/g, String(service));

/** Runs the commands of the guide, from an empty folder to a balance. @returns the folder. */
async function followGuide(framework: string): Promise<string> {
  const ports = { shop: await freePort(), service: await freePort() };
  const folder = createFolder(`getting-started-${framework}`);
  const command = (region: string) => replacePorts(readRegion(commands, "commands.sh", region), ports);
  savePrintedFiles(folder, framework, ports);
  run(command("project"), folder);
  run(installTarballs, folder);
  run(command(`install-${framework}`), folder);
  const child = spawn("bash", ["-ec", command(`start-${framework}`)], {
    cwd: folder,
    env: { ...env, PORT: String(ports.shop) },
    detached: true, // in its own process group, so that all of it can be killed
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await findLine(child, /The shop is open|Ready in/);
    const { user } = JSON.parse(run(command("sign-up"), folder));
    const post = (path: string, body: object) =>
      fetch(`http://127.0.0.1:${ports.service}/_mock/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    await post(`cards/${user.cardId}/purchase`, { points: 120 });
    await post("wait", { delivery: { type: "balance.changed", state: "delivered" } });
    const users = run(command("users"), folder);
    if (JSON.parse(users)[0]?.balance !== 120) throw new Error(`${framework}: the shop has ${users}`);
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  }
  return folder;
}

/** The Next shop builds without an API key, but not when a client component imports the server's file. */
async function followGuideOnNext(): Promise<void> {
  const folder = await followGuide("next");
  run("npx next build", folder);
  const layout =
    "export default ({ children }: { children: React.ReactNode }) => <html lang='en'><body>{children}</body></html>;";
  writeFileSync(join(folder, "app/layout.tsx"), layout);
  writeFileSync(
    join(folder, "app/page.tsx"),
    '"use client";\nimport { users } from "../server/loyalty";\nexport default () => <p>{users.length}</p>;\n',
  );
  const build = spawnSync("bash", ["-ec", "npx next build"], { cwd: folder, env, encoding: "utf8" });
  const output = build.stdout + build.stderr;
  if (build.status === 0 || !/"server-only"\. /.test(output))
    throw new Error(`next build with a client component that imports the API key: ${build.status} ${output}`);
}

const examples: Readonly<Record<string, () => unknown>> = {
  testing: () => testExample("testing", "test", "test:server"),
  express: () => testExample("express", "test"),
  fastify: () => testExample("fastify", "test"),
  next: () => testExample("next", "test", "build"),
  workers: () => testExample("workers", "test"),
  "getting-started-express": () => followGuide("express"),
  "getting-started-fastify": () => followGuide("fastify"),
  "getting-started-next": followGuideOnNext,
};
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(examples);
if (!existsSync(join(root, "packages/issuing-client/dist"))) throw new Error("Run `npm run build` first.");

try {
  packAll();
  for (const name of names) {
    const example = examples[name];
    if (example === undefined) throw new Error(`${name}: available are ${Object.keys(examples).join(", ")}`);
    await example();
    console.log(`✓ ${name} works in an empty folder, with the packed packages`);
  }
} finally {
  rmSync(temporary, { recursive: true });
}
