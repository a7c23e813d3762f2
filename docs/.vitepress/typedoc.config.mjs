/** The reference: Markdown in docs/reference, one page for each entry point that a package publishes. */
import { readFileSync } from "node:fs";
import { Comment, Converter, OptionDefaults } from "typedoc";

const packages = [
  "issuing-client",
  "webhook-verify",
  "issuing-outbox",
  "webhook-inbox",
  "mock-server",
];

const introduction =
  "The public names of each entry point, from the comments in the sources. [Getting started](/guides/getting-started) shows how they work together.";

/** Every entry point: its source relative to `packages/`, its import specifier, and the first comment of its source. */
const entryPoints = packages.flatMap((name) => {
  const folder = new URL(`../../packages/${name}/`, import.meta.url);
  const { exports } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
  return Object.entries(exports)
    .filter(([, entry]) => entry["@loyalty-cards/source"] !== undefined)
    .map(([path, { "@loyalty-cards/source": source }]) => {
      const [, comment = ""] =
        /^\/\*\*([\s\S]+?)\*\//.exec(readFileSync(new URL(source, folder), "utf8")) ?? [];
      return {
        file: `${name}${source.slice(1)}`,
        specifier: `@loyalty-cards/${name}${path.slice(1)}`,
        purpose: comment.replaceAll(/\s+(\* )?/g, " ").trim(),
      };
    });
});

/** "Entry point `/postgres`: an outbox in …" is "An outbox in …" beside the name of the entry point. */
function withoutName(purpose) {
  const text = purpose.replace(/^Entry point( `[^`]+`)?: /, "");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Shows the type of `@throws {IssuingError} …` as code; TypeDoc shows it in braces. */
function formatThrows(comment) {
  for (const tag of comment?.blockTags ?? []) {
    if (tag.tag !== "@throws" || tag.typeAnnotation === undefined) continue;
    const name = tag.typeAnnotation.replace(/^\{|\}$/g, "");
    tag.content = [
      { kind: "code", text: `\`${name}\`` },
      { kind: "text", text: " " },
      ...tag.content,
    ];
    tag.typeAnnotation = undefined;
  }
}

/** The members of `paths` are the OpenAPI document once more, in hundreds of rows. */
function shortenPaths(project) {
  const paths = Object.values(project.reflections).find(({ name }) => name === "paths");
  paths.comment = new Comment([
    { kind: "text", text: "What openapi-typescript generates from the OpenAPI document." },
  ]);
  for (const member of [...paths.children]) project.removeReflection(member);
}

/** Names the modules after their import specifiers. @param {import("typedoc").Application} app */
function nameEntryPoints(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    project.comment = new Comment([{ kind: "text", text: introduction }]);
    for (const module of project.children ?? []) {
      const entry = entryPoints.find(
        ({ file }) => file.replace(/(\/index)?\.ts$/, "") === module.name,
      );
      if (entry === undefined) throw new Error(`The module ${module.name} is not an entry point.`);
      module.name = entry.specifier;
      module.comment ??= new Comment([{ kind: "text", text: withoutName(entry.purpose) }]);
    }
    shortenPaths(project);
    for (const reflection of Object.values(project.reflections)) formatThrows(reflection.comment);
  });
  // "Inherited from" of each member tells a reader nothing: the bases are types of the packages themselves.
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) {
      reflection.inheritedFrom = undefined;
      reflection.overwrites = undefined;
      reflection.implementationOf = undefined;
    }
  });
}

/** @type {import("typedoc").TypeDocOptions} */
export default {
  name: "Reference",
  plugin: ["typedoc-plugin-markdown", nameEntryPoints],
  entryPointStrategy: "expand",
  entryPoints: entryPoints.map(({ file }) => `../../packages/${file}`),
  tsconfig: "../../tsconfig.json",
  out: "../reference",
  readme: "none",
  router: "module",
  entryFileName: "index",
  excludeScopesInPaths: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  expandObjects: true,
  indexFormat: "table",
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  tableColumnSettings: {
    hideDefaults: true,
    hideInherited: true,
    hideModifiers: true,
    hideOverrides: true,
  },
  pageTitleTemplates: { member: "{name}", module: "{name}" },
  groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables", "*"],
  preservedTypeAnnotationTags: ["@throws"],
  blockTags: [...OptionDefaults.blockTags, "@constant"], // of openapi-typescript
  excludeTags: [...OptionDefaults.excludeTags, "@constant"],
  excludeInternal: true,
  excludeExternals: true,
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
