/**
 * An example outside this repository, installed with the packed packages as a user does. As a
 * command, `npm run compat:open next` or `open workers`, it is started with the mock service,
 * until Ctrl-C.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack } from "../../tools/release/pack.ts";
import { run, userEnvironment } from "../../tools/run.ts";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const notCopied = new Set(["node_modules", ".next", "next-env.d.ts"]);

/**
 * Installs an example that has its own lock file; with a source, the files of that folder with the
 * packages and the compiler options of the example.
 */
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
      tarballs.push(pack(here(`../../packages/${basename(name)}`), folder));
      delete list[name];
    }
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  const runThere = (command, args, settings) =>
    run(command, args, folder, { ...userEnvironment, ...settings });
  runThere("npm", ["install", "--no-save", "--no-audit", "--no-fund", ...tarballs]);
  return { folder, run: runThere, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * `next start`.
 * @throws with Next's output when it does not start.
 */
export async function startNext(folder, port, settings) {
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
    /** By default as a platform does before it replaces a server. */
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return exited;
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log("Installing and building the example…");
  const { folder, run, remove } = installExample(process.argv[2]);
  try {
    run("npm", ["run", "build", "--if-present"]);
    const example = spawn("npm", ["start"], {
      cwd: folder,
      env: userEnvironment,
      stdio: "inherit",
    });
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => example.kill(signal));
    await once(example, "exit");
  } finally {
    remove();
  }
}
