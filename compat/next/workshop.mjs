/** Installs Next and the packed packages as a user does, builds the shop, and starts it. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
/** Not this repository's npm settings: a user's are plain. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))),
  NEXT_TELEMETRY_DISABLED: "1",
};

/** A folder far from this repository, so that nothing is found in its node_modules. */
export function openWorkshop() {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-next-"));
  const run = (command, ...args) => execFileSync(command, args, { cwd: folder, env, stdio: "pipe" });

  for (const name of ["issuing-client", "webhook-verify"]) {
    // Built before: packing again would build again.
    execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], {
      cwd: join(here, "../../packages", name),
      env,
    });
  }
  const tarballs = readdirSync(folder).map((file) => `./${file}`);
  for (const file of ["package.json", "package-lock.json"]) cpSync(join(here, file), join(folder, file));
  cpSync(join(here, "shop"), folder, { recursive: true });
  run("npm", "ci", "--no-audit", "--no-fund");
  run("npm", "install", "--no-save", "--no-audit", "--no-fund", ...tarballs);

  return {
    folder,
    /** `next build` into a folder of that name. @throws with what Next said when it fails. */
    build(name, { bundler, withProxy, checksTypes }) {
      if (withProxy) cpSync(join(here, "proxy.ts"), join(folder, "proxy.ts"));
      try {
        execFileSync("npx", ["next", "build", `--${bundler}`], {
          cwd: folder,
          env: { ...env, BUILD_FOLDER: name, TYPES_WERE_CHECKED: checksTypes ? "no" : "yes" },
          encoding: "utf8",
          stdio: "pipe",
        });
      } catch (error) {
        throw new Error(`next build said:\n${error.stdout}${error.stderr}`);
      } finally {
        rmSync(join(folder, "proxy.ts"), { force: true });
      }
    },
    /** What was bundled needs no package any more; what was not will miss it. */
    removeClient: () =>
      rmSync(join(folder, "node_modules/@loyalty-cards/issuing-client"), { recursive: true }),
    start: (name, port, settings) => startShop(folder, name, port, settings),
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** `next start`. @throws with what Next said when it does not come up. */
export async function startShop(folder, name, port, settings) {
  let log = "";
  const waiting = new Set();
  const child = spawn(
    process.execPath,
    ["node_modules/next/dist/bin/next", "start", "-H", "127.0.0.1", "-p", String(port)],
    { cwd: folder, env: { ...env, ...settings, BUILD_FOLDER: name }, stdio: ["ignore", "pipe", "pipe"] },
  );
  const hear = (text) => {
    log += text;
    for (const check of waiting) check();
  };
  child.stdout.setEncoding("utf8").on("data", hear);
  child.stderr.setEncoding("utf8").on("data", hear);
  const ended = new Promise((resolve) => child.on("exit", resolve));

  const says = (pattern) =>
    new Promise((resolve) => {
      const check = () => {
        if (!pattern.test(log)) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  await Promise.race([
    says(/Ready in/),
    ended.then(() => Promise.reject(new Error(`next start said:\n${log}`))),
  ]);
  return {
    folder,
    name,
    url: `http://127.0.0.1:${port}`,
    log: () => log,
    says,
    /** Asks it to end, as a platform does before it replaces a server. */
    end: () => {
      child.kill("SIGTERM");
      return ended;
    },
    kill: () => child.kill("SIGKILL"),
    ended,
  };
}

export function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
