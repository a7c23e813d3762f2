/** Names the modules of the reference after their import specifiers. */
import { readFileSync } from "node:fs";
import { Comment, Converter } from "typedoc";

const introduction =
  "The public names of each entry point, from the comments in the sources. [Getting started](/guides/getting-started) shows how they work together.";

/** "Entry point `/postgres`: an outbox in …" is "An outbox in …" beside the name of the entry point. */
function withoutName(purpose) {
  const text = purpose.replace(/^Entry point( `[^`]+`)?: /, "");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** For each module such as `packages/issuing-client/src/links.ts`: its import specifier and its first line. */
function readEntryPoints() {
  const found = new Map();
  for (const name of ["issuing-client", "webhook-verify", "issuing-outbox", "webhook-inbox", "mock-server"]) {
    const folder = new URL(`../../packages/${name}/`, import.meta.url);
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

/** Shows the type of `@throws {IssuingError} …` as code; TypeDoc shows it in braces. */
function formatThrows(comment) {
  for (const tag of comment?.blockTags ?? []) {
    if (tag.tag !== "@throws" || tag.typeAnnotation === undefined) continue;
    const name = tag.typeAnnotation.replace(/^\{|\}$/g, "");
    tag.content = [{ kind: "code", text: `\`${name}\`` }, { kind: "text", text: " " }, ...tag.content];
    tag.typeAnnotation = undefined;
  }
}

/** @param {import("typedoc").Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    project.comment = new Comment([{ kind: "text", text: introduction }]);
    const known = readEntryPoints();
    for (const module of project.children ?? []) {
      const entry = known.get(module.name);
      if (entry === undefined) throw new Error(`The module ${module.name} is not an entry point.`);
      module.name = entry.specifier;
      module.comment ??= new Comment([{ kind: "text", text: withoutName(entry.purpose) }]);
    }
    for (const reflection of Object.values(project.reflections)) formatThrows(reflection.comment);
  });
}
