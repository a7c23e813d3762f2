/** Updates the YAML file of the contract, and preserves comments, order and unchanged lines. */
import { isDeepStrictEqual } from "node:util";
import { type Document, isMap, type Node, parse, parseDocument, visit } from "yaml";
import { getReference, isRecord, printable } from "./document.ts";

/** A member that was added has no `before`, one that was removed no `after`. */
interface Change {
  path: readonly string[];
  before?: unknown;
  after?: unknown;
}

/** The members in which two documents differ. */
export function* changesBetween(before: unknown, after: unknown, path: string[] = []): Generator<Change> {
  if (isDeepStrictEqual(before, after)) return;
  if (!isRecord(before) || !isRecord(after) || getReference(before) !== getReference(after)) {
    yield { path, before, after };
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const next = [...path, name];
    if (!Object.hasOwn(after, name)) yield { path: next, before: before[name] };
    else if (!Object.hasOwn(before, name)) yield { path: next, after: after[name] };
    else yield* changesBetween(before[name], after[name], next);
  }
}

/** The lines of a change: what was there, and what is there now. */
export const formatChange = ({ path, before, after }: Change): string[] =>
  Object.entries({ "-": before, "+": after }).flatMap(([sign, value]) =>
    value === undefined ? [] : `${sign} ${printable(path.join("."))}: ${printable(JSON.stringify(value))}`,
  );

export function patchYaml(yaml: string, after: unknown): string {
  const changes = [...changesBetween(parse(yaml), after)];
  if (changes.length === 0) return yaml;
  const patched = applyChanges(parseDocument(yaml), changes);
  if (isDeepStrictEqual(parse(patched), after)) return patched;
  // A change at an anchor or an alias would change all places that share it, so each place gets its own copy.
  return applyChanges(withoutAliases(yaml), changes);
}

function applyChanges(document: Document.Parsed, changes: readonly Change[]): string {
  for (const { path, after } of changes) {
    if (!isMap(document.getIn(path.slice(0, -1)))) continue; // an alias: the caller checks the result
    if (after === undefined) document.deleteIn(path);
    else document.setIn(path, document.createNode(after, { aliasDuplicateObjects: false }));
  }
  return document.toString({ lineWidth: 110, flowCollectionPadding: false });
}

function withoutAliases(yaml: string): Document.Parsed {
  const [source, document] = [parseDocument(yaml), parseDocument(yaml)];
  visit(document, {
    Alias: (_, alias) => alias.resolve(source)?.clone() as Node | undefined,
    Value: (_, node) => {
      delete node.anchor;
    },
  });
  return document;
}
