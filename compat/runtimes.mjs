/** The other runtimes: how each one runs a program of this folder. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const binary = (path) => here(`node_modules/${path}`);
/** Runs a program of this folder, which prints what it makes of the set-up. */
function running(program, command, ...args) {
  return async (setup) => {
    const folder = mkdtempSync(join(tmpdir(), "compat-"));
    const file = join(folder, "setup.json"); // longer than an argument may be
    writeFileSync(file, JSON.stringify(setup));
    try {
      return await new Promise((resolve, reject) => {
        const options = { maxBuffer: 2 ** 26, timeout: 60_000, cwd: here("..") };
        execFile(command, [...args, here(program), file], options, (error, stdout, stderr) => {
          if (error) reject(new Error(`${error.message}\n${stderr}`));
          else resolve(JSON.parse(stdout));
        });
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

/** The runtimes that run a file, by name. */
export const inProcess = (program) => ({
  "Node 20": running(program, binary("node-20/bin/node")),
  "Node 22": running(program, binary("node-22/bin/node")),
  "Node 24": running(program, binary("node-24/bin/node")),
  Deno: running(
    program,
    binary("@deno/linux-x64-glibc/deno"),
    "run",
    "--quiet",
    "--allow-net",
    "--allow-env",
    "--allow-read",
  ),
  Bun: running(program, binary("@oven/bun-linux-x64/bin/bun"), "run"),
});

/** The client's transport on undici, in its versions. */
export const overUndici = (program) => {
  const over = (undici, node) => (setup) =>
    running(program, binary(`${node}/bin/node`))({ ...setup, undici });
  return {
    "undici 6": over("undici-6", "node-20"),
    "undici 7": over("undici-7", "node-22"),
    "undici 8": over("undici-8", "node-24"),
  };
};

export const inWorkerd = (entry) => async (setup) => {
  const folder = mkdtempSync(join(tmpdir(), "compat-workerd-"));
  // As wrangler does: the conditions of workers come with `browser`, and must win over it.
  await build({
    entryPoints: [here(entry)],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker", "browser"],
    logLevel: "error",
  });
  const port = await freePort();
  writeFileSync(join(folder, "config.capnp"), configuration(port));
  const workerd = spawn(
    binary("@cloudflare/workerd-linux-64/bin/workerd"),
    ["serve", join(folder, "config.capnp")],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  workerd.stderr.on("data", (chunk) => {
    said += chunk;
  });
  try {
    return await posted(`http://127.0.0.1:${port}/`, setup);
  } catch (error) {
    throw new Error(`${error.message}\n${said}`);
  } finally {
    workerd.kill();
    rmSync(folder, { recursive: true });
  }
};

const configuration = (port) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "worker", esModule = embed "worker.js")], compatibilityDate = "2026-01-01", globalOutbound = "out")),
    (name = "out", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
`;

/** Posts as soon as somebody listens. */
async function posted(url, setup) {
  const untilMs = Date.now() + 20_000;
  for (;;) {
    try {
      const response = await fetch(url, { method: "POST", body: JSON.stringify(setup) });
      return await response.json();
    } catch (error) {
      if (Date.now() > untilMs || error.cause?.code !== "ECONNREFUSED") throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
