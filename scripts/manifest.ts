/** What npm, bundlers and people read in the package.json of a published package, and what it lacks. */
import type { Exports, Manifest, Published } from "./published.ts";

const repository = "https://github.com/loyalty-cards/loyalty-cards";
/** What these use is bundled, so that nobody else's release reaches their users. */
const withoutDependencies = ["issuing-client", "webhook-verify"];
/** What npm publishes must be among these; the last comes with the first release. */
const inEveryTarball = ["dist", "src", "README.md", "LICENSE", "CHANGELOG.md"];

/** One sentence per fault; none when the manifest is complete. */
export function manifestFaults({ name, manifest }: Pick<Published, "name" | "manifest">): string[] {
  const where = `packages/${name}/package.json`;
  const page = `${repository}/tree/main/packages/${name}#readme`;
  const files = manifest.files ?? [];
  const rules: [holds: boolean, sentence: string][] = [
    [manifest.name === `@loyalty-cards/${name}`, `is called ${manifest.name}, its folder ${name}`],
    [(manifest.description ?? "").length > 20, "needs a `description`: a sentence, shown in npm's search"],
    [new Set(manifest.keywords).size >= 5, "needs five different `keywords`, by which npm's search finds it"],
    [manifest.homepage === page, `needs \`homepage\`: ${page}`],
    [manifest.bugs?.url === `${repository}/issues`, `needs \`bugs.url\`: ${repository}/issues`],
    [manifest.license === "MIT", "needs `license`: MIT"],
    [
      manifest.repository?.type === "git" &&
        manifest.repository.url === `git+${repository}.git` &&
        manifest.repository.directory === `packages/${name}`,
      `needs \`repository\`: git, git+${repository}.git, packages/${name}; npm compares it with the provenance`,
    ],
    [manifest.type === "module", "needs `type`: module"],
    [manifest.engines?.node === ">=20", "needs `engines.node`: >=20"],
    [manifest.sideEffects === false, "needs `sideEffects`: false, or bundlers keep what nobody uses"],
    [
      !withoutDependencies.includes(name) || Object.keys(manifest.dependencies ?? {}).length === 0,
      "may have no `dependencies`: bundle what it uses",
    ],
    ...inEveryTarball.map((file): [boolean, string] => [files.includes(file), `needs ${file} in \`files\``]),
    [!files.some((file) => /[*!]/.test(file)), "names files in `files`, not patterns"],
    [manifest.publishConfig?.access === "public", "needs `publishConfig.access`: public"],
    [manifest.publishConfig?.provenance === true, "needs `publishConfig.provenance`: true"],
    ...node10Rules(manifest),
  ];
  return rules.filter(([holds]) => !holds).map(([, sentence]) => `${where} ${sentence}`);
}

/** TypeScript's `node10` reads no export map: `main`, `types` and `typesVersions` have to say the same. */
function node10Rules({ main, module, types, exports = {}, typesVersions }: Manifest): [boolean, string][] {
  const entry = exports["."];
  const subPaths = Object.keys(exports)
    .filter((path) => path.startsWith("./") && !path.includes("*") && !path.endsWith(".json"))
    .map((path) => path.slice(2));
  return [
    [main === at(entry, "require", "default"), "needs `main`: what `exports` requires"],
    [module === at(entry, "import", "default"), "needs `module`: what `exports` imports"],
    [types === at(entry, "import", "types"), "needs `types`: those of `exports`"],
    ...subPaths.map((path): [boolean, string] => [
      typesVersions?.["*"]?.[path]?.[0] === at(exports[`./${path}`], "require", "types"),
      `needs ${path} in \`typesVersions\`, as \`exports\` has it for require`,
    ]),
  ];
}

function at(exports: Exports | string | undefined, ...conditions: string[]): string | undefined {
  let place = exports;
  for (const condition of conditions) place = typeof place === "object" ? place[condition] : undefined;
  return typeof place === "string" ? place : undefined;
}
