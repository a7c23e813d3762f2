/** Brings the snapshot up to what a service serves, and tells what changed, keeping the comments of the file. */
import { isDeepStrictEqual } from "node:util";
import { isMap, isSeq, parse, parseDocument, stringify } from "yaml";

type Path = readonly (string | number)[];
type Change = { path: Path; kind: "added" | "removed" | "changed"; value?: unknown };

/** The operations the client calls: a document without them is not this service's. */
const operationsOfTheClient = [
  ["/templates/{templateId}/passes", "post"],
  ["/passes/{id}", "get"],
  ["/passes/{id}/operations", "get"],
  ["/passes/{id}/consent", "get"],
  ["/passes/{id}/consent", "put"],
] as const;

export async function pull(from: string, yaml: string): Promise<{ yaml: string; changes: string[] }> {
  const served = await fetchDocument(from);
  const current = parse(yaml);
  // Where a service lives is not part of the contract.
  const next = { ...served, servers: current.servers };
  const changes = [...differences(current, next, [])];
  if (changes.length === 0) return { yaml, changes: [] };
  return {
    yaml: patched(yaml, changes, next),
    changes: changes.map(({ kind, path }) => `${kind.padEnd(7)} ${path.join(" › ")}`),
  };
}

async function fetchDocument(from: string): Promise<Record<string, unknown>> {
  if (!URL.canParse(from))
    throw new TypeError(`--from takes the base URL of a service; "${from}" is not a URL.`);
  const address = `${from.replace(/\/+$/, "")}/api/docs/json`; // spec 4.6
  const response = await fetch(address, { signal: AbortSignal.timeout(10_000) }).catch((cause: Error) => {
    throw new Error(`${address} does not answer: ${causeOf(cause)}. Nothing was changed.`, { cause });
  });
  if (!response.ok) throw new Error(`${address} answered ${response.status}. Nothing was changed.`);
  const document: unknown = await response.json().catch(() => undefined);
  if (
    !isRecord(document) ||
    typeof document["openapi"] !== "string" ||
    !document["openapi"].startsWith("3.")
  ) {
    throw new Error(`${address} is not an OpenAPI 3 document. Nothing was changed.`);
  }
  const paths = isRecord(document["paths"]) ? document["paths"] : {};
  for (const [path, method] of operationsOfTheClient) {
    const item = paths[path];
    if (!isRecord(item) || !isRecord(item[method])) {
      throw new Error(`${address} has no ${method.toUpperCase()} ${path}. Nothing was changed.`);
    }
  }
  return document;
}

const causeOf = (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function* differences(before: unknown, after: unknown, path: Path): Generator<Change> {
  if (isDeepStrictEqual(before, after)) return;
  if (!isRecord(before) || !isRecord(after)) {
    yield { path, kind: "changed", value: after };
    return;
  }
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) yield { path: [...path, key], kind: "removed" };
  }
  for (const [key, value] of Object.entries(after)) {
    if (Object.hasOwn(before, key)) yield* differences(before[key], value, [...path, key]);
    else yield { path: [...path, key], kind: "added", value };
  }
}

/** Applies the changes node by node; a file whose aliases stand in the way is written anew. */
function patched(yaml: string, changes: readonly Change[], next: unknown): string {
  const document = parseDocument(yaml);
  for (const { path, kind, value } of changes) {
    const parent = document.getIn(path.slice(0, -1));
    if (!isMap(parent) && !isSeq(parent)) return stringify(next);
    if (kind === "removed") document.deleteIn(path);
    else document.setIn(path, document.createNode(value));
  }
  const text = document.toString({ lineWidth: 110 });
  return isDeepStrictEqual(parse(text), next) ? text : stringify(next, { lineWidth: 110 });
}
