/** The site: guides and pages as documents, and every entry that a package publishes, with every symbol in it. */
import { readdirSync, readFileSync } from "node:fs";
import { OptionDefaults } from "typedoc";

const packages = ["issuing-client", "webhook-verify", "webhook-inbox", "mock-server"];

const entryPoints = packages.flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(new URL(`packages/${name}/package.json`, import.meta.url)));
  return Object.values(exports)
    .map((entry) => entry["@loyalty-cards/source"])
    .filter((source) => source !== undefined)
    .map((source) => source.replace("./", `packages/${name}/`));
});

const decisions = readdirSync(new URL("docs/decisions", import.meta.url))
  .filter((file) => file.endsWith(".md"))
  .sort((one, other) => Number(other === "README.md") - Number(one === "README.md") || (one < other ? -1 : 1))
  .map((file) => `docs/decisions/${file}`);

/** @type {import("typedoc").TypeDocOptions} */
export default {
  name: "loyalty-cards",
  plugin: ["./docs/typedoc-plugin.mjs"],
  entryPointStrategy: "expand",
  entryPoints,
  projectDocuments: [
    ...[
      "getting-started",
      "sign-up",
      "receiving-webhooks",
      "testing",
      "command-line",
      "production",
      "common-mistakes",
      "troubleshooting",
      "migration",
      "security",
    ].map((guide) => `docs/guides/${guide}.md`),
    ...[...packages, "cli"].map((name) => `packages/${name}/README.md`),
    "packages/mock-server/CONTROL.md",
    ...["glossary", "assumptions", "architecture", "measurements", "benchmarks"].map(
      (page) => `docs/${page}.md`,
    ),
    "benchmarks/README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    ...decisions,
  ],
  out: "docs/api",
  readme: "README.md",
  customCss: "docs/site.css",
  sort: ["documents-first", "kind", "instance-first", "alphabetical-ignoring-documents"],
  groupOrder: ["Guides", "Packages", "Modules", "About", "Decisions", "*"],
  navigation: { includeGroups: true, includeCategories: true },
  searchInDocuments: true,
  highlightLanguages: [...OptionDefaults.highlightLanguages, "log"],
  preservedTypeAnnotationTags: ["@throws"],
  excludeInternal: true,
  includeHierarchySummary: false,
  disableSources: true,
  hideGenerator: true,
  validation: {
    invalidLink: true,
    invalidPath: true,
    notDocumented: true,
    notExported: true,
    rewrittenLink: true,
  },
  packagesRequiringDocumentation: packages.map((name) => `@loyalty-cards/${name}`),
  requiredToBeDocumented: ["Class", "Interface", "TypeAlias", "Variable"],
  treatWarningsAsErrors: true,
};
