/** An example outside this repository: installed with the packed packages as a user does. The Next example is built and started too. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { userEnvironment } from "../../tools/published.ts";
import { pack } from "../../tools/release/pack.ts";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const notCopied = new Set(["node_modules", ".next", "next-env.d.ts"]);

/** Installs an example that has its own lock file; with a source, the files of that folder with the packages and the compiler options of the example. */
export function installExample(name, source = here(`../../examples/${name}`)) {
  const example = here(`../../examples/${name}`);
  const folder = mkdtempSync(join(tmpdir(), `loyalty-cards-${name}-`));
  for (const file of ["package.json", "package-lock.json", ".npmrc", "tsconfig.json"])
    cpSync(join(example, file), join(folder, file));
  cpSync(source, folder, { recursive: true, filter: (path) => !notCopied.has(basename(path)) });

  // Our packages are installed from tarballs, everything else as the lock file says.
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const tarballs = [];
  for (const list of [manifest.dependencies, manifest.devDependencies]) {
    for (const name of Object.keys(list).filter((name) => name.startsWith("@loyalty-cards/"))) {
      tarballs.push(pack(here(`../../packages/${basename(name)}`), folder).file);
      delete list[name];
    }
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  const run = (command, args, more = {}) => {
    try {
      execFileSync(command, args, {
        cwd: folder,
        env: { ...userEnvironment, ...more },
        encoding: "utf8",
        stdio: "pipe",
      });
    } catch (error) {
      throw new Error(`${command} ${args.join(" ")} failed:\n${error.stdout}${error.stderr}`);
    }
  };
  run("npm", ["install", "--no-save", "--no-audit", "--no-fund", ...tarballs]);
  return { folder, run, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Installs the Next example, or a folder with its packages. */
export function installProject(source) {
  const { folder, run, remove } = installExample("next", source);
  return {
    folder,
    build: (args = [], settings = {}) => run("npx", ["next", "build", ...args], settings),
    start: (port, settings) => startNext(folder, port, settings),
    remove,
  };
}

/** `next start`. @throws with Next's output when it does not start. */
async function startNext(folder, port, settings) {
  let log = "";
  const next = join(folder, "node_modules/next/dist/bin/next");
  const child = spawn(process.execPath, [next, "start", "-H", "127.0.0.1", "-p", String(port)], {
    cwd: folder,
    env: { ...userEnvironment, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      log += text;
      if (log.includes("Ready in")) child.emit("ready");
    });
  }
  const exited = new Promise((resolve) => child.on("exit", resolve));
  await Promise.race([
    once(child, "ready"),
    exited.then(() => Promise.reject(new Error(`next start failed:\n${log}`))),
  ]);
  return {
    url: `http://127.0.0.1:${port}`,
    log: () => log,
    /** Sends SIGTERM, as a platform does before it replaces a server. */
    stop() {
      child.kill("SIGTERM");
      return exited;
    },
    kill() {
      child.kill("SIGKILL");
      return exited;
    },
  };
}
