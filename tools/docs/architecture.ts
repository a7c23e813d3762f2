/** Import rules: reads the imports of every source file and reports violations. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import ts from "typescript";

/** A package imports packages of lower layers only, `import type` included. */
export const layers: Readonly<Record<string, number>> = {
  openapi: 1,
  internal: 1,
  "issuing-client": 2,
  "webhook-verify": 2,
  "issuing-outbox": 3,
  "webhook-inbox": 3,
  "mock-server": 3,
  cli: 4,
  examples: 5,
};

/** Folders, and files without a folder, of `packages/mock-server/src`. Each imports from lower ones only, `import type` included. */
export const mockServerLayers: Readonly<Record<string, number>> = {
  domain: 1, // customers, cards, templates, ledger, idempotency
  faults: 2, // rules for injected faults
  delivery: 3, // outbox, dispatcher, attempts, endpoints
  sandbox: 4, // options, state, clock, one isolated service, the list of them, persistence
  http: 5, // router, operations of the API, applying faults
  control: 6, // the control API under /_mock
  pages: 6, // card page, console, API reference
  service: 7, // the public object
  index: 8,
  adapters: 8, // MSW, Node, the command
};

export interface Import {
  specifier: string;
  isTypeOnly: boolean;
}

export interface SourceFile {
  /** Relative to the root of the repository, with forward slashes. */
  path: string;
  firstLine: string;
  imports: readonly Import[];
}

/** Modules that only certain files may import. */
const reserved: [what: RegExp, mayImport: RegExp][] = [
  [/^openapi-(fetch|typescript-helpers)(\/|$)/, /^packages\/issuing-client\/src\/api\.ts$/],
  [/^msw(\/|$)/, /^packages\/mock-server\/src\/adapters\/msw\.ts$/],
  [/^@opentelemetry\//, /^packages\/[\w-]+\/src\/otel\.ts$/],
  [/^libsql$/, /^internal\/sqlite\/database-node\.ts$/],
  [/^node:/, /^packages\/cli\/|(^|\/)(bin|pg-boss|[\w-]*node[\w-]*)\.ts$/],
];

/** Users pass frameworks and engines as arguments. The packages import only their types, so that they stay optional. */
const onlyAsTypes =
  /^(express|fastify|koa|next|@nestjs\/.*|pg|postgres|drizzle-orm|kysely|@prisma\/.*|pg-boss|bullmq|ioredis)(\/|$)/;
const vagueNames = /(^|\/)(utils|helpers|types|constants|interfaces|common)\.ts$/;

export function readSourceFiles(root: string): SourceFile[] {
  const folders = ["examples", "internal"];
  for (const name of readdirSync(join(root, "packages"))) folders.push(`packages/${name}/src`);
  const existing = folders.filter((folder) => existsSync(join(root, folder))); // the contract has no code
  return existing.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/node_modules|\.next\//.test(file))
      .map((file) => readSourceFile(root, join(root, folder, file))),
  );
}

function readSourceFile(root: string, file: string): SourceFile {
  const text = readFileSync(file, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const imports: Import[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      const clause = ts.isImportDeclaration(node) ? node.importClause : node;
      const isTypeOnly =
        clause !== undefined &&
        (ts.isExportDeclaration(clause)
          ? clause.isTypeOnly
          : clause.phaseModifier === ts.SyntaxKind.TypeKeyword);
      imports.push({ specifier: readLiteral(node.moduleSpecifier), isTypeOnly });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      imports.push({ specifier: readLiteral(node.argument.literal), isTypeOnly: true });
    } else if (
      ts.isCallExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      node.arguments[0]
    ) {
      imports.push({ specifier: readLiteral(node.arguments[0]), isTypeOnly: false });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const lines = text.split("\n");
  const firstLine = (lines[0]?.startsWith("#!") ? lines[1] : lines[0]) ?? "";
  return { path: relative(root, file).replaceAll("\\", "/"), firstLine, imports };
}

const readLiteral = (node: ts.Node) => (ts.isStringLiteralLike(node) ? node.text : node.getText());

/** Returns one sentence per violation. */
export function findViolations(files: readonly SourceFile[]): string[] {
  return [
    ...files.flatMap(findFileViolations),
    ...files.flatMap(findFolderViolations),
    ...findCycles(files).map((cycle) => `${cycle.join(" → ")} is a cycle`),
  ];
}

function findFileViolations({ path, firstLine, imports }: SourceFile): string[] {
  const found: string[] = [];
  if (!/^\/\*\* .+/.test(firstLine))
    found.push(`${path} does not begin with a sentence that says what it does`);
  if (vagueNames.test(path)) found.push(`${path} needs a name that says what it contains`);
  const own = toPackageName(path);
  for (const { specifier, isTypeOnly } of imports) {
    const other = /^@loyalty-cards\/([\w-]+)/.exec(specifier)?.[1];
    if (other !== undefined && getLayer(other) >= getLayer(own))
      found.push(`${path} imports ${specifier}, which is not in a lower layer`);
    if (!/^(packages|internal)\/(?!test\/)/.test(path)) continue;
    for (const [what, mayImport] of reserved) {
      if (what.test(specifier) && !mayImport.test(path)) found.push(`${path} may not import ${specifier}`);
    }
    if (onlyAsTypes.test(specifier) && !isTypeOnly)
      found.push(`${path} imports ${specifier} at run time; only its types may be imported`);
  }
  return found;
}

/** Checks the imports between the folders of the mock server. */
function findFolderViolations(file: SourceFile): string[] {
  const own = toMockServerFolder(file.path);
  if (own === undefined) return [];
  return resolveRelativeImports(file).flatMap((target) => {
    const folder = toMockServerFolder(target);
    if (folder === undefined || folder === own) return [];
    const [layer, ownLayer] = [getLayer(folder, mockServerLayers), getLayer(own, mockServerLayers)];
    return layer < ownLayer ? [] : [`${file.path} imports ${target}, which is not in a lower folder`];
  });
}

const toMockServerFolder = (path: string) => /^packages\/mock-server\/src\/([\w-]+)/.exec(path)?.[1];

const toPackageName = (path: string) => path.replace(/^packages\//, "").split("/")[0] ?? "";

function getLayer(name: string, table = layers): number {
  const layer = table[name];
  if (layer === undefined) throw new Error(`${name} has no layer: add it to tools/docs/architecture.ts`);
  return layer;
}

/** Returns each cycle of relative imports once, starting with its first file in alphabetical order. */
function findCycles(files: readonly SourceFile[]): string[][] {
  const targets = new Map(files.map((file) => [file.path, resolveRelativeImports(file)]));
  const found = new Map<string, string[]>();
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      const cycle = trail.slice(start);
      const first = cycle.indexOf([...cycle].sort()[0] ?? "");
      const rotated = [...cycle.slice(first), ...cycle.slice(0, first)];
      found.set(rotated.join(), [...rotated, rotated[0] ?? ""]);
      return;
    }
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
  };
  for (const path of targets.keys()) visit(path, []);
  return [...found.values()];
}

function resolveRelativeImports({ path, imports }: SourceFile): string[] {
  return imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => relative(".", resolve(path, "..", specifier)).replaceAll("\\", "/"));
}
