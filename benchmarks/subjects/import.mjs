/** What a package costs before it does anything: its first import, and its size in a bundle. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const folder = fileURLToPath(new URL("..", import.meta.url));
const own = ["issuing-client", "webhook-verify", "webhook-inbox", "mock-server"];
const toSpecifier = (name) => (own.includes(name) ? `@loyalty-cards/${name}` : name);
const peers = ["openapi-fetch", "ky", "axios", "stripe", "svix", "standardwebhooks"];
const floor = "empty process";

export default {
  title: "Import and bundle",
  notes:
    "The first import in a fresh process, beside an empty one; the whole entry point, bundled for Node by esbuild.",
  figures: {
    time: { label: "ms", compare: "difference" },
    gzip: { label: "gzip kB", compare: "none" },
  },
  floor,
  own,
  panels: [
    { name: "ESM", starts: 1, rounds: 15, importer: ["--input-type=module", "await import"] },
    { name: "CommonJS", starts: 1, rounds: 15, importer: ["--input-type=commonjs", "require"] },
    { name: "Bundle", starts: 1, rounds: 1, warmUps: 0 },
  ],
  packages: peers,
  async open({ name, importer }) {
    if (name === "Bundle") return { variants: await createVariants(measureBundle) };
    const variants = createVariants((specifier) => measureImport(importer, specifier));
    return { variants: { [floor]: () => measureImport(importer, "node:module"), ...variants } };
  },
};

const createVariants = (measure) =>
  Object.fromEntries([...own, ...peers].map((name) => [name, () => measure(toSpecifier(name))]));

function measureImport([flag, call], specifier) {
  const program = `const ms = performance.now();
${call}(${JSON.stringify(specifier)});
console.log(JSON.stringify({ time: performance.now() - ms }));`;
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
  return { gzip: gzipSync(contents).length / 1000 };
}
