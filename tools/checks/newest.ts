/** Runs the tests with the newest versions of frameworks and engines, in a clone: `newest.ts [name …]`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../published.ts";

const nest = ["@nestjs/common", "@nestjs/core", "@nestjs/platform-express", "@nestjs/platform-fastify"];

/** The tests of each name. Next is tested with the packed tarballs. */
const tests: Readonly<Record<string, string>> = {
  express: "npm test -- packages/webhook-verify packages/webhook-inbox/test examples",
  fastify: "npm test -- packages/webhook-verify examples",
  koa: "npm test -- packages/webhook-verify examples",
  nest: "npm test -- packages/webhook-verify examples",
  hono: "npm test -- packages/webhook-verify examples",
  msw: "npm test -- packages/mock-server examples",
  bullmq: "npm test -- packages/webhook-inbox examples",
  "pg-boss": "npm test -- packages/webhook-inbox examples",
  next: "npm run build && npm run compat -- next",
};
const args = process.argv.slice(2);
const names = args.length > 0 ? args : Object.keys(tests);
const unknown = names.filter((name) => tests[name] === undefined);
if (unknown.length > 0) {
  throw new Error(`${unknown.join(", ")}: available are ${Object.keys(tests).join(", ")}`);
}

const clone = mkdtempSync(join(tmpdir(), "loyalty-cards-newest-"));
const inClone = (command: string) =>
  execFileSync(command, { cwd: clone, shell: true, stdio: ["ignore", "inherit", "inherit"] });

/** Writes the newest version into every manifest that installs the package. */
function upgrade(name: string): void {
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
  for (const name of names.flatMap((each) => (each === "nest" ? nest : each))) upgrade(name);
  // All other versions stay as in the lock file. The range of an optional peer may not include a new major yet.
  inClone("npm install --legacy-peer-deps --no-audit --no-fund");
  for (const command of new Set(names.map((name) => tests[name] ?? ""))) inClone(command);
} finally {
  rmSync(clone, { recursive: true });
}
