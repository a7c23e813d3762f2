/**
 * Copies examples into empty folders, installs the packed tarballs there by the commands of the guide, and runs them:
 * the tests of each folder, and the first guide on each framework. `copied-examples.ts [name …]`
 */
import { type ExecFileSyncOptionsWithStringEncoding, execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { readRegion } from "../docs/snippets.ts";
import { root, userEnvironment } from "../published.ts";
import { type Framework, followGuide, packForGuide } from "./first-minute.ts";

const commands = readFileSync(join(root, "examples/getting-started/commands.sh"), "utf8");
const temporary = mkdtempSync(join(tmpdir(), "loyalty-cards-copied-"));
const tarballs = join(temporary, "tarballs");

function run(command: string, cwd: string): string {
  const options: ExecFileSyncOptionsWithStringEncoding = {
    cwd,
    env: userEnvironment,
    encoding: "utf8",
    stdio: "pipe",
  };
  return execFileSync("bash", ["-ec", command], options);
}

/** A folder that contains only the tarballs. */
function createFolder(name: string): string {
  const folder = join(temporary, name);
  cpSync(tarballs, folder, { recursive: true });
  return folder;
}

/** Copies an example, installs it, and runs its tests. */
function testExample(name: string, ...scripts: string[]): void {
  const folder = createFolder(name);
  const filter = (path: string) => !["node_modules", ".next"].includes(basename(path));
  cpSync(join(root, "examples", name), folder, { recursive: true, filter });
  run("npm install ./loyalty-cards-*.tgz libsql", folder);
  for (const script of scripts) run(`npm run ${script}`, folder);
}

/** @returns the folder. */
async function followGuideOn(framework: Framework): Promise<string> {
  const folder = createFolder(`getting-started-${framework}`);
  await followGuide(framework, folder);
  return folder;
}

/** Next would choose another port, which gets no webhooks. @throws unless the guide's command fails when its port is taken. */
async function startNextOnTakenPort(folder: string): Promise<void> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const command = readRegion(commands, "commands.sh", "start-next")
    .replace(/ &$/, "")
    .replace("--port 4010 ", "")
    .replaceAll("3000", String(port));
  const { status, stdout, stderr } = spawnSync("bash", ["-ec", command], {
    cwd: folder,
    env: userEnvironment,
    encoding: "utf8",
    timeout: 60_000,
  });
  server.close();
  if (status !== 1 || !stderr.includes("EADDRINUSE"))
    throw new Error(`Next on a port that is taken: ${status} ${stdout}${stderr}`);
}

/** The Next shop builds without an API key, but not when a client component imports the server's file. */
async function followGuideOnNext(): Promise<void> {
  const folder = await followGuideOn("next");
  await startNextOnTakenPort(folder);
  run("npx next build", folder);
  const layout =
    "export default ({ children }: { children: React.ReactNode }) => <html lang='en'><body>{children}</body></html>;";
  writeFileSync(join(folder, "app/layout.tsx"), layout);
  writeFileSync(
    join(folder, "app/page.tsx"),
    '"use client";\nimport { listUsers } from "../server/loyalty";\nexport default () => <p>{listUsers().length}</p>;\n',
  );
  const build = spawnSync("bash", ["-ec", "npx next build"], {
    cwd: folder,
    env: userEnvironment,
    encoding: "utf8",
  });
  const output = build.stdout + build.stderr;
  if (build.status === 0 || !/"server-only"\. /.test(output))
    throw new Error(`next build with a client component that imports the API key: ${build.status} ${output}`);
}

const examples: Readonly<Record<string, () => unknown>> = {
  testing: () => testExample("testing", "test", "test:server"),
  express: () => testExample("express", "test"),
  fastify: () => testExample("fastify", "test"),
  next: () => testExample("next", "test", "build"),
  workers: () => testExample("workers", "types", "test"),
  "getting-started-express": () => followGuideOn("express"),
  "getting-started-fastify": () => followGuideOn("fastify"),
  "getting-started-next": followGuideOnNext,
};
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(examples);
if (!existsSync(join(root, "packages/issuing-client/dist"))) throw new Error("Run `npm run build` first.");

try {
  packForGuide(tarballs);
  for (const name of names) {
    const example = examples[name];
    if (example === undefined) throw new Error(`${name}: available are ${Object.keys(examples).join(", ")}`);
    await example();
    console.log(`✓ ${name} works in an empty folder, with the packed packages`);
  }
} finally {
  rmSync(temporary, { recursive: true });
}
