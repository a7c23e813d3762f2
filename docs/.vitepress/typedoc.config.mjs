/** The reference: Markdown in docs/reference for every entry point that a package publishes, one page per symbol. */
import { readFileSync } from "node:fs";

const packages = ["issuing-client", "webhook-verify", "issuing-outbox", "webhook-inbox", "mock-server"];

const entryPoints = packages.flatMap((name) => {
  const { exports } = JSON.parse(
    readFileSync(new URL(`../../packages/${name}/package.json`, import.meta.url)),
  );
  return Object.values(exports)
    .map((entry) => entry["@loyalty-cards/source"])
    .filter((source) => source !== undefined)
    .map((source) => source.replace("./", `../../packages/${name}/`));
});

/** @type {import("typedoc").TypeDocOptions} */
export default {
  name: "Reference",
  plugin: ["typedoc-plugin-markdown", "./typedoc-plugin.mjs"],
  entryPointStrategy: "expand",
  entryPoints,
  tsconfig: "../../tsconfig.json",
  out: "../reference",
  readme: "none",
  router: "member",
  entryFileName: "index",
  excludeScopesInPaths: true,
  navigationJson: "../reference/navigation.json",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  expandObjects: true,
  indexFormat: "table",
  parametersFormat: "table",
  typeDeclarationFormat: "table",
  pageTitleTemplates: { member: "{name}", module: "{name}" },
  groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables", "*"],
  preservedTypeAnnotationTags: ["@throws"],
  excludeInternal: true,
  hideGenerator: true,
  disableSources: true,
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
