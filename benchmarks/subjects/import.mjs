/** What a package costs before it does anything: its first import, its size in a bundle, and its size on the disk. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { readVersion } from "../measure.mjs";

const folder = fileURLToPath(new URL("..", import.meta.url));
const own = ["issuing-client", "webhook-verify", "webhook-inbox", "mock-server"];
const toSpecifier = (name) => (own.includes(name) ? `@loyalty-cards/${name}` : name);
const peers = [
  "openapi-fetch",
  "ky",
  "axios",
  "got",
  "stripe",
  "openai",
  "@octokit/core",
  "svix",
  "standardwebhooks",
];
const floor = "empty process";
const once = { starts: 1, rounds: 1, warmUps: 0 };

export default {
  title: "Import, bundle and installation",
  question: "What does a package cost before it does anything?",
  notes: `The time of the first import is measured inside a fresh process, from its call to its end. The bundle is the whole entry point, built
for Node by esbuild and minified. The installation is \`npm install\` of the package alone, and counts the package and everything that
is installed with it.`,
  figures: {
    time: { label: "first import", unit: "ms", compare: "difference" },
    cpu: { label: "processor time", unit: "ms", compare: "difference" },
    gzip: { label: "minified, gzip", unit: "kB", compare: "none" },
    minified: { label: "minified", unit: "kB", compare: "none" },
    disk: { label: "on the disk", unit: "kB", compare: "none" },
    packages: { label: "packages", unit: "", compare: "none" },
  },
  floor,
  own,
  panels: [
    { name: "ESM", starts: 1, rounds: 15, importer: ["--input-type=module", "await import"] },
    { name: "CommonJS", starts: 1, rounds: 15, importer: ["--input-type=commonjs", "require"] },
    { name: "Bundle", ...once },
    { name: "Installation", ...once },
  ],
  packages: peers,
  async open({ name, importer }) {
    if (name === "Bundle") return { variants: await createVariants(measureBundle) };
    if (name === "Installation") return openInstallations();
    const variants = createVariants((specifier) => measureImport(importer, specifier));
    return { variants: { [floor]: () => measureImport(importer, "node:module"), ...variants } };
  },
};

const createVariants = (measure) =>
  Object.fromEntries([...own, ...peers].map((name) => [name, () => measure(toSpecifier(name))]));

function measureImport([flag, call], specifier) {
  const program = `const ms = performance.now(), cpu = process.cpuUsage();
${call}(${JSON.stringify(specifier)});
const time = performance.now() - ms, { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ time, cpu: (user + system) / 1000 }));`;
  return JSON.parse(execFileSync(process.execPath, [flag, "--eval", program], { cwd: folder }));
}

async function measureBundle(specifier) {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    stdin: { contents: `export * from ${JSON.stringify(specifier)}`, resolveDir: folder },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    logLevel: "error",
  });
  const [{ contents }] = outputFiles;
  return { gzip: gzipSync(contents).length / 1000, minified: contents.length / 1000 };
}

function openInstallations() {
  const temporary = mkdtempSync(join(tmpdir(), "benchmark-install-"));
  const npm = (args, cwd) =>
    execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  /** By name, what npm installs: our packages are packed, the others come from the registry. */
  const sources = Object.fromEntries(peers.map((name) => [name, `${name}@${readVersion(name)}`]));
  for (const name of own) {
    const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", temporary];
    sources[toSpecifier(name)] = `file:${join(temporary, npm(args, join(folder, "../packages", name)))}`;
  }
  const verifier = toSpecifier("webhook-verify"); // a dependency of the others
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--engine-strict=false"];
  const measure = (name) => {
    const project = mkdtempSync(join(temporary, "project-"));
    const overrides = name === verifier ? {} : { [verifier]: sources[verifier] };
    writeFileSync(join(project, "package.json"), JSON.stringify({ overrides }));
    npm(["install", sources[name], ...flags], project);
    const modules = join(project, "node_modules");
    const lock = join(modules, ".package-lock.json");
    const packages = Object.keys(JSON.parse(readFileSync(lock, "utf8")).packages).length;
    rmSync(lock);
    const files = readdirSync(modules, { recursive: true }).map((file) => statSync(join(modules, file)));
    const bytes = files.reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0);
    return { disk: bytes / 1000, packages };
  };
  return { variants: createVariants(measure), close: () => rmSync(temporary, { recursive: true }) };
}
