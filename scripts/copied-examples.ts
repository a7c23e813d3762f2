/** Copies examples into empty folders, installs the packed tarballs there by the commands of the README, and runs them. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { regionOf } from "../docs/snippets.ts";
import { lineOf } from "../examples/getting-started/line-of.ts";
import { root } from "./published.ts";

/** A user's own npm settings, not those of this repository. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))),
  NEXT_TELEMETRY_DISABLED: "1",
};
const commands = readFileSync(join(root, "examples/getting-started/commands.sh"), "utf8");
const temporary = mkdtempSync(join(tmpdir(), "loyalty-cards-copied-"));
const tarballs = join(temporary, "tarballs");

function run(command: string, folder: string): string {
  return execFileSync("bash", ["-ec", command], {
    cwd: folder,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** The command of the README, in a folder of ours. What was built is not built again. */
function packAll(): void {
  const command = regionOf(commands, "commands.sh", "pack")
    .replace("npm ci && npm run build\n", "")
    .replaceAll("../my-shop", tarballs);
  run(command, root);
}

/** An empty folder with the tarballs in it. */
function emptyFolder(name: string): string {
  const folder = join(temporary, name);
  cpSync(tarballs, folder, { recursive: true });
  return folder;
}

const installTarballs = regionOf(commands, "commands.sh", "install-tarballs");

function tryTestYourIntegration(): void {
  const folder = emptyFolder("test-your-integration");
  const filter = (path: string) => basename(path) !== "node_modules";
  cpSync(join(root, "examples/test-your-integration"), folder, { recursive: true, filter });
  run(installTarballs, folder);
  run("npm test", folder);
  run("npm run test:server", folder);
}

/** Which of the printed files a reader saves who has chosen this framework. */
const isFor = (framework: string, file: string) =>
  file === "loyalty.ts" ||
  file === "seed.json" ||
  (framework === "next" ? /^(app|server)\//.test(file) : file === `shop-${framework}.ts`);

/** The files that the guide prints, where it says. */
function savePrintedFiles(folder: string, framework: string, ports: Ports): void {
  const page = readFileSync(join(root, "docs/guides/getting-started.md"), "utf8");
  for (const [, seed, program = ""] of page.matchAll(
    /<!-- snippet: \S*?(seed\.json)?(?:#\S+)? -->\n```(?:ts|json)\n([\s\S]*?)^```/gm,
  )) {
    const name = seed ?? /^\/\/ (\S+)/.exec(program)?.[1] ?? "";
    if (!isFor(framework, name)) continue;
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, withPorts(program, ports));
  }
}

interface Ports {
  shop: number;
  service: number;
}

const withPorts = (text: string, { shop, service }: Ports) =>
  text.replace(/\b3000\b/g, String(shop)).replace(/\b4010\b/g, String(service));

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What the reader of the first guide types, from an empty folder to a balance. */
async function tryGettingStarted(framework: string): Promise<void> {
  const ports = { shop: await freePort(), service: await freePort() };
  const folder = emptyFolder(`getting-started-${framework}`);
  const typed = (region: string) => withPorts(regionOf(commands, "commands.sh", region), ports);
  savePrintedFiles(folder, framework, ports);
  run(typed("project"), folder);
  run(installTarballs, folder);
  run(typed(`install-${framework}`), folder);
  const child = spawn("bash", ["-ec", typed(`start-${framework}`)], {
    cwd: folder,
    env: { ...env, PORT: String(ports.shop) },
    detached: true, // a group of its own, so that all of it can be ended
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await lineOf(child, /The shop is open|Ready in/);
    const { user } = JSON.parse(run(typed("sign-up"), folder));
    const post = (path: string, body: object) =>
      fetch(`http://127.0.0.1:${ports.service}/_mock/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    await post(`cards/${user.cardId}/purchase`, { points: 120 });
    await post("wait", { delivery: { type: "balance.changed", state: "delivered" } });
    const users = run(typed("users"), folder);
    if (JSON.parse(users)[0]?.balance !== 120) throw new Error(`${framework}: the shop has ${users}`);
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  }
}

/** The shop builds without an API key; with a page of the browser that imports the server's file it does not. */
function tryServerOnly(folder: string): void {
  run("npx next build", folder);
  const layout =
    "export default ({ children }: { children: React.ReactNode }) => <html lang='en'><body>{children}</body></html>;";
  writeFileSync(join(folder, "app/layout.tsx"), layout);
  writeFileSync(
    join(folder, "app/page.tsx"),
    '"use client";\nimport { users } from "../server/loyalty";\nexport default () => <p>{users.length}</p>;\n',
  );
  const { status, stdout, stderr } = spawnSync("bash", ["-ec", "npx next build"], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  if (status === 0 || !/"server-only"\. /.test(stdout + stderr))
    throw new Error(`next build with a page that imports the API key: ${status} ${stdout} ${stderr}`);
}

const chosen = process.argv.slice(2);

try {
  packAll();
  for (const [name, attempt] of Object.entries({
    "test-your-integration": tryTestYourIntegration,
    express: () => tryGettingStarted("express"),
    fastify: () => tryGettingStarted("fastify"),
    next: async () => {
      await tryGettingStarted("next");
      tryServerOnly(join(temporary, "getting-started-next"));
    },
  })) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    await attempt();
    console.log(`✓ ${name} works in an empty folder, with the packed packages`);
  }
} finally {
  rmSync(temporary, { recursive: true });
}
