/** Updates the YAML file of the contract, and preserves comments, order and unchanged lines. */
import { isDeepStrictEqual } from "node:util";
import { type Document, isMap, type Node, parse, parseDocument, visit } from "yaml";
import { isRecord } from "../../packages/cli/src/drift/document.ts";

type Path = readonly string[];
type Change = { path: Path; kind: "added" | "removed" | "changed"; value?: unknown };

export function patchYaml(yaml: string, next: unknown): string {
  const before = parse(yaml);
  if (isDeepStrictEqual(before, next)) return yaml;
  const changes = [...changesBetween(before, next, [])];
  const patched = applyChanges(parseDocument(yaml), changes);
  if (isDeepStrictEqual(parse(patched), next)) return patched;
  // A change at an anchor or an alias would change all places that share it, so each place gets its own copy.
  return applyChanges(withoutAliases(parseDocument(yaml)), changes);
}

function* changesBetween(before: unknown, after: unknown, path: Path): Generator<Change> {
  if (isDeepStrictEqual(before, after)) return;
  if (!isRecord(before) || !isRecord(after)) {
    yield { path, kind: "changed", value: after };
    return;
  }
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) yield { path: [...path, key], kind: "removed" };
  }
  for (const [key, value] of Object.entries(after)) {
    if (Object.hasOwn(before, key)) yield* changesBetween(before[key], value, [...path, key]);
    else yield { path: [...path, key], kind: "added", value };
  }
}

function applyChanges(document: Document.Parsed, changes: readonly Change[]): string {
  for (const { path, kind, value } of changes) {
    if (!isMap(document.getIn(path.slice(0, -1)))) continue; // an alias: the caller checks the result
    if (kind === "removed") document.deleteIn(path);
    else document.setIn(path, document.createNode(value, { aliasDuplicateObjects: false }));
  }
  return document.toString({ lineWidth: 110, flowCollectionPadding: false });
}

function withoutAliases(document: Document.Parsed): Document.Parsed {
  visit(document, {
    Alias: (_, alias) => alias.resolve(document)?.clone() as Node | undefined,
  });
  visit(document, {
    Value: (_, node) => {
      delete node.anchor;
    },
  });
  return document;
}
