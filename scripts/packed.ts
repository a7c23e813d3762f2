/** Installs the packed tarballs as a user would, and uses them from ESM, from CommonJS and from TypeScript. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const consumer = mkdtempSync(join(tmpdir(), "loyalty-cards-consumer-"));
/** Not this repository's npm settings: a user's are plain. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));

function inConsumer(command: string, ...args: string[]): string {
  return execFileSync(command, args, {
    cwd: consumer,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

try {
  for (const name of ["issuing-client", "webhook-verify", "webhook-inbox", "mock-server"]) {
    // Built before: packing again would build again.
    const folder = join(root, "packages", name);
    execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", consumer], {
      cwd: folder,
    });
  }
  const tarballs = readdirSync(consumer).filter((file) => file.endsWith(".tgz"));
  const compilers = ["5.4", "5.9", "6", "7"].map(
    (version) => `typescript-${version}@npm:typescript@${version}`,
  );
  const tools = [
    ...compilers,
    "esbuild@0.28",
    "@types/node@20",
    "@types/express@5",
    "express@5",
    "fastify@5",
    "msw@2",
    "undici@7",
    "@opentelemetry/api@1.9",
    "libsql@0.5",
  ];
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ private: true, type: "module" }));
  inConsumer("npm", "install", "--no-audit", "--no-fund", ...tarballs.map((file) => `./${file}`), ...tools);
  cpSync(join(root, "scripts/consumer"), consumer, { recursive: true });
  cpSync(join(consumer, "types.ts"), join(consumer, "types.cts")); // the same, read as CommonJS

  for (const file of ["use.mjs", "use.cjs"]) {
    const said = inConsumer(process.execPath, file).trim();
    if (said !== "issued, delivered, verified") throw new Error(`${file} said: ${said}`);
  }
  const imported = inConsumer(process.execPath, "import.mjs").trim();
  if (imported !== "imported, nothing touched") throw new Error(`import.mjs said: ${imported}`);
  for (const file of ["inbox.mjs", "inbox.cjs"]) {
    const said = inConsumer(process.execPath, file).trim();
    if (said !== "stored, duplicate, done once") throw new Error(`${file} said: ${said}`);
  }
  for (const version of ["5.4", "5.9", "6", "7"]) {
    for (const [module, resolution] of [
      ["esnext", "bundler"],
      ["node16", "node16"],
    ] as const) {
      const strictly = [
        "--noEmit",
        "--strict",
        "--exactOptionalPropertyTypes",
        "--target",
        "es2022",
        "--types",
        "node",
      ];
      const flags = [...strictly, "--module", module, "--moduleResolution", resolution];
      const compile = (...files: string[]) =>
        inConsumer(process.execPath, `node_modules/typescript-${version}/bin/tsc`, ...flags, ...files);
      compile("types.ts", "types.cts");
      if (version === "5.9") compile("--skipLibCheck", "types-msw.ts");
    }
  }
  const bundled = inConsumer(process.execPath, "bundle.mjs").trim();
  if (bundled !== "pages are refused, servers are not") throw new Error(`bundle.mjs said: ${bundled}`);
  const help = inConsumer("npx", "mock-server", "--help");
  if (!help.startsWith("Usage: mock-server")) throw new Error(`mock-server --help said: ${help}`);
  console.log("The packed packages work from ESM, CommonJS and TypeScript 5.4, 5.9, 6 and 7.");
} finally {
  rmSync(consumer, { recursive: true });
}
