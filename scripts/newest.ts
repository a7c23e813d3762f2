/** Runs the tests with the newest versions of frameworks and engines, in a clone: `newest.ts [name …]`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./published.ts";

const nest = ["@nestjs/common", "@nestjs/core", "@nestjs/platform-express", "@nestjs/platform-fastify"];

/** Which tests each one concerns. Next is tried in a shop of its own, with the packed tarballs. */
const concerns: Readonly<Record<string, string>> = {
  express: "npm test -- packages/webhook-verify packages/webhook-inbox/test examples",
  fastify: "npm test -- packages/webhook-verify examples",
  koa: "npm test -- packages/webhook-verify examples",
  nest: "npm test -- packages/webhook-verify examples",
  hono: "npm test -- packages/webhook-verify examples",
  msw: "npm test -- packages/mock-server examples",
  bullmq: "npm test -- packages/webhook-inbox examples",
  "pg-boss": "npm test -- packages/webhook-inbox examples",
  next: "npm run build && npm run test:next",
};
const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : Object.keys(concerns);
const unknown = names.filter((name) => concerns[name] === undefined);
if (unknown.length > 0) {
  throw new Error(`${unknown.join(", ")}: known are ${Object.keys(concerns).join(", ")}`);
}

const clone = mkdtempSync(join(tmpdir(), "loyalty-cards-newest-"));
const inClone = (command: string) =>
  execFileSync(command, { cwd: clone, shell: true, stdio: ["ignore", "inherit", "inherit"] });

/** Every manifest that installs it gets the newest version, exactly. */
function renew(name: string): void {
  const version = execFileSync("npm", ["view", name, "version"], { encoding: "utf8" }).trim();
  const manifests = readdirSync(clone, { recursive: true, encoding: "utf8" }).filter(
    (path) => /(^|[\\/])package\.json$/.test(path) && !path.includes("node_modules"),
  );
  for (const path of manifests) {
    const manifest = JSON.parse(readFileSync(join(clone, path), "utf8"));
    let isOld = false;
    for (const list of [manifest.dependencies, manifest.devDependencies]) {
      if (list?.[name] === undefined || list[name] === version) continue;
      list[name] = version;
      isOld = true;
    }
    if (isOld) writeFileSync(join(clone, path), JSON.stringify(manifest));
  }
  console.log(`${name} ${version}`);
}

try {
  inClone(`git clone --quiet "${root}" .`);
  for (const name of names.flatMap((each) => (each === "nest" ? nest : each))) renew(name);
  // The lock file's versions stay, but for the new ones; an optional peer's range may not know a new major yet.
  inClone("npm install --legacy-peer-deps --no-audit --no-fund");
  if (names.includes("next")) inClone("npm install --prefix compat/next --no-audit --no-fund");
  for (const command of new Set(names.map((name) => concerns[name] ?? ""))) inClone(command);
} finally {
  rmSync(clone, { recursive: true });
}
