/** Calls the site's pages what their headings say, and its modules what one imports. */
import { readFileSync } from "node:fs";
import { Comment, Converter } from "typedoc";

/** Which pages stand together in the navigation, in this order. */
const groups = [
  [/^docs\/guides\//, "Guides"],
  [/^packages\//, "Packages"],
  [/^docs\/decisions\//, "Decisions"],
  [/./, "About"],
];

/** `packages/issuing-client/src/otel.ts` is imported as `@loyalty-cards/issuing-client/otel`, and its first line says what it is. */
function entries() {
  const found = new Map();
  for (const name of ["issuing-client", "webhook-verify", "webhook-inbox", "mock-server"]) {
    const folder = new URL(`../packages/${name}/`, import.meta.url);
    const { exports } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
    for (const [path, { "@loyalty-cards/source": source }] of Object.entries(exports)) {
      if (source === undefined) continue;
      const [, purpose] = /^\/\*\* (.+) \*\/\n/.exec(readFileSync(new URL(source, folder), "utf8"));
      const module = `${name}${source.slice(1)}`.replace(/(\/index)?\.ts$/, "");
      found.set(module, { specifier: `@loyalty-cards/${name}${path.slice(1)}`, purpose });
    }
  }
  return found;
}

/** `@throws {IssuingError} …` with the error as code, where TypeDoc would show it in braces. */
function nameErrors(comment) {
  for (const tag of comment?.blockTags ?? []) {
    if (tag.tag !== "@throws" || tag.typeAnnotation === undefined) continue;
    const name = tag.typeAnnotation.replace(/^\{|\}$/g, "");
    tag.content = [{ kind: "code", text: `\`${name}\`` }, { kind: "text", text: " " }, ...tag.content];
    tag.typeAnnotation = undefined;
  }
}

/** @param {import("typedoc").Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const file = document.project.files.getReflectionPath(document) ?? "";
    const path = file.slice(file.indexOf(`${process.cwd()}/`) + process.cwd().length + 1);
    const heading = /^\s*# (.+)\n/.exec(document.content[0]?.text ?? "");
    if (heading === null) throw new Error(`${path} begins without a heading.`);
    document.name = heading[1].replaceAll("`", "");
    const [, group] = groups.find(([pattern]) => pattern.test(path));
    document.frontmatter.group ??= group;
  });

  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const known = entries();
    for (const module of project.children ?? []) {
      const entry = known.get(module.name);
      if (entry === undefined) throw new Error(`Nothing imports the module ${module.name}.`);
      module.name = entry.specifier;
      module.comment ??= new Comment([{ kind: "text", text: entry.purpose }]);
    }
    for (const reflection of Object.values(project.reflections)) nameErrors(reflection.comment);
  });
}
