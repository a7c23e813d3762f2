/** The runtimes: how each one runs the programs of this folder. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "@loyalty-cards/testing/free-port";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const binary = (path) => here(`../node_modules/${path}`);

/** Runs `in-process.mjs`, which prints the results of the setup as JSON. */
const inProcess =
  (command, ...args) =>
  async (setup) => {
    const folder = mkdtempSync(join(tmpdir(), "compat-"));
    const file = join(folder, "setup.json"); // longer than a command line may be
    writeFileSync(file, JSON.stringify(setup));
    try {
      const options = { maxBuffer: 2 ** 26, timeout: 60_000, cwd: here("../..") };
      const program = [...args, here("in-process.mjs"), file];
      return JSON.parse((await promisify(execFile)(command, program, options)).stdout);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

const denoFlags = ["run", "--quiet", "--allow-net", "--allow-env", "--allow-read"];

/** By name, a function that runs the setup there. */
export const runtimes = {
  "Node 20": inProcess(binary("node-20/bin/node")),
  "Node 22": inProcess(binary("node-22/bin/node")),
  "Node 24": inProcess(binary("node-24/bin/node")),
  "Node 26": inProcess(binary("node-26/bin/node")),
  Deno: inProcess(binary("@deno/linux-x64-glibc/deno"), ...denoFlags),
  Bun: inProcess(binary("@oven/bun-linux-x64/bin/bun"), "run"),
  workerd: inWorkerd,
};

/**
 * The client over fetch on Node.js: the global one, and the one of each major version of undici.
 */
export const otherTransports = {
  "Node 20 over fetch": (setup) => runtimes["Node 20"]({ ...setup, useFetch: true }),
  "Node 24 over fetch": (setup) => runtimes["Node 24"]({ ...setup, useFetch: true }),
  "fetch of undici 6": (setup) => runtimes["Node 20"]({ ...setup, undici: "undici-6" }),
  "fetch of undici 7": (setup) => runtimes["Node 22"]({ ...setup, undici: "undici-7" }),
  "fetch of undici 8": (setup) => runtimes["Node 24"]({ ...setup, undici: "undici-8" }),
};

/** Bundles `worker.mjs` as wrangler does, and sends the setup to it in workerd. */
async function inWorkerd(setup) {
  const folder = mkdtempSync(join(tmpdir(), "compat-workerd-"));
  const port = await freePort();
  await build({
    entryPoints: [here("worker.mjs")],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker", "browser"], // those of workers come with `browser`, and must win over it
    logLevel: "error",
  });
  const file = join(folder, "config.capnp");
  const configuration = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "worker", esModule = embed "worker.js")], compatibilityDate = "2026-01-01", globalOutbound = "out")),
    (name = "out", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
`;
  writeFileSync(file, configuration);
  const workerd = binary("@cloudflare/workerd-linux-64/bin/workerd");
  const child = spawn(workerd, ["serve", "--control-fd=3", file], {
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  try {
    // workerd reports on file descriptor 3 that it listens.
    await new Promise((resolve, reject) => {
      child.stdio[3].once("data", resolve);
      child.once("exit", (code) => reject(new Error(`workerd exited with ${code}`)));
    });
    const url = `http://127.0.0.1:${port}`;
    const response = await fetch(url, { method: "POST", body: JSON.stringify(setup) });
    return await response.json();
  } finally {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
}
