/** Finds the operations of the contract in a served document, below any path prefix, and the address that they have there. */
import {
  getProperty,
  isRecord,
  type Json,
  listIn,
  printable,
  recordIn,
  UnusableDocumentError,
} from "./document.ts";
import type { ServedParameters } from "./parameter-drift.ts";
import type { Comparison } from "./schema-drift.ts";
import type { ApiDocument } from "./schema-form.ts";

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** An operation of the served document. */
export interface Match extends ServedParameters {
  operation: Json;
  /** The base path of the operation, such as `/api/v2`; undefined when the contract has the same base path. */
  otherBasePath: string | undefined;
}

export interface Matches {
  /** The operations, by their method and path in the contract. */
  matches: ReadonlyMap<string, Match>;
  /** The method and path of every other operation. */
  others: readonly string[];
}

interface Candidate {
  own: FoundOperation;
  served: FoundOperation;
  prefix: string;
  otherBasePath: string | undefined;
}

export function matchOperations({ contract, served, work }: Comparison): Matches {
  const getOwnBasePaths = basePathsIn(contract);
  const own = operationsIn(contract).map((operation) => ({
    ...operation,
    pattern: toPattern(operation.path),
    basePath: getOwnBasePaths(operation)[0] ?? "",
  }));
  const getBasePaths = basePathsIn(served);
  const all = operationsIn(served);
  const candidates = all.flatMap((one): Candidate[] => {
    work.spend(1);
    const pattern = toPattern(one.path);
    return own
      .filter((operation) => operation.method === one.method && pattern.endsWith(operation.pattern))
      .map((operation) => {
        const prefix = pattern.slice(0, -operation.pattern.length);
        const servers = getBasePaths(one);
        const basePaths = (servers.length === 0 ? [""] : servers).map((path) => path + prefix);
        const isSame = basePaths.some((path) => path.endsWith(operation.basePath));
        // Without servers and prefix, the document does not say where the operation is.
        const isUnknown = servers.length === 0 && prefix === "";
        const otherBasePath = isSame || isUnknown ? undefined : basePaths[0] || "/";
        return { own: operation, served: one, prefix, otherBasePath };
      });
  });
  const prefix = choosePrefix(candidates);
  if (prefix === undefined) {
    const names = own.map(toKey).join(", ");
    throw new UnusableDocumentError(
      `The service's document has none of the operations ${names}. Is this the address of a Loyalty Card Issuing Service?`,
    );
  }
  const chosen = candidates.filter((candidate) => candidate.prefix === prefix);
  const used = new Set(chosen.map((candidate) => candidate.served));
  return {
    matches: new Map(
      chosen.map(({ own: { method, path }, served: one, otherBasePath }) => {
        const parameters = [one.item, one.operation]
          .flatMap((node) => listIn(node, "parameters"))
          .map((parameter) => served.resolved(parameter));
        const pathParameters = namesIn(one.path);
        return [`${method} ${path}`, { parameters, pathParameters, operation: one.operation, otherBasePath }];
      }),
    ),
    others: all.filter((one) => !used.has(one)).map(toKey),
  };
}

/** Chooses one prefix for all operations, because `/customers/{id}/passes/{id}` is not `/passes/{id}`. Prefers the addresses of the client's requests. */
function choosePrefix(candidates: readonly Candidate[]): string | undefined {
  const counts = new Map<string, { same: number; all: number }>();
  for (const { prefix, otherBasePath } of candidates) {
    const { same, all } = counts.get(prefix) ?? { same: 0, all: 0 };
    counts.set(prefix, { same: same + (otherBasePath === undefined ? 1 : 0), all: all + 1 });
  }
  const [first] = [...counts].sort(
    ([one, first], [other, second]) =>
      second.same - first.same || second.all - first.all || one.length - other.length,
  );
  return first?.[0];
}

interface FoundOperation {
  method: string;
  path: string;
  item: Json;
  operation: Json;
}

const toKey = ({ method, path }: FoundOperation) => `${method.toUpperCase()} ${path}`;

function operationsIn(document: ApiDocument): FoundOperation[] {
  return Object.entries(recordIn(document.root, "paths")).flatMap(([path, node]) => {
    const item = document.resolved(node);
    return methods.flatMap((method) => {
      const operation = getProperty(item, method);
      return isRecord(operation) ? [{ method, path, item, operation }] : [];
    });
  });
}

/** Returns a function for the paths of the servers of an operation; empty when the document describes none. */
function basePathsIn(document: ApiDocument): (operation: FoundOperation) => readonly string[] {
  const known = new Map<readonly unknown[], string[]>();
  return ({ item, operation }) => {
    const lists = [operation, item, document.root].map((node) => listIn(node, "servers"));
    const servers = lists.find((list) => list.length > 0) ?? [];
    const paths = known.get(servers) ?? servers.map((server) => toBasePath(document.resolved(server)));
    known.set(servers, paths);
    return paths;
  };
}

function toBasePath(server: Json): string {
  const variables = recordIn(server, "variables");
  const template = String(server["url"] ?? "").slice(0, maxPathLength);
  const url = template.replace(/\{([^{}]*)\}/g, (_, name: string) =>
    String(getProperty(recordIn(variables, name), "default") ?? ""),
  );
  // Relative to the address of the document (spec 4.6).
  const address = "http://service/api/docs/json";
  return URL.canParse(url, address) ? toPattern(new URL(url, address).pathname) : "";
}

const maxPathLength = 2000;

/** A path without the names of its parameters: `/passes/{}`; empty for a path that is too long to be one. */
const toPattern = (path: string) =>
  path
    .slice(0, path.length > maxPathLength ? 0 : path.length)
    .split("/")
    .filter((segment) => segment !== "")
    .map((segment) => `/${isParameter(segment) ? "{}" : segment}`)
    .join("");

const isParameter = (segment: string) => segment.startsWith("{") && segment.endsWith("}");

const namesIn = (path: string) =>
  path
    .split("/")
    .filter(isParameter)
    .map((segment) => segment.slice(1, -1));

/** Changes the operations of path items; omits an item without operations. */
export function mapOperations(
  items: Json,
  change: (operation: Json, path: string, method: string) => Json | undefined,
): Json {
  const changed = Object.entries(items).flatMap(([path, item]): [string, Json][] => {
    const entries = Object.entries(item as Json).flatMap(([name, value]): [string, unknown][] => {
      if (!methods.includes(name)) return [[name, value]];
      const operation = change(value as Json, path, name);
      return operation === undefined ? [] : [[name, operation]];
    });
    return entries.some(([name]) => methods.includes(name)) ? [[path, Object.fromEntries(entries)]] : [];
  });
  return Object.fromEntries(changed);
}

/** A note about parts of the served document that the contract does not have. */
export function* noteOthers(kind: string, others: readonly string[]): Generator<string> {
  if (others.length === 0) return;
  const names = others.slice(0, 10).map(printable).join(", ") + (others.length > 10 ? ", …" : "");
  const isOne = others.length === 1;
  yield `${others.length} ${kind}${isOne ? " is" : "s are"} not part of the contract, and omitted: ${names}.`;
}
