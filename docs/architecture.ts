/** Import rules: reads the imports of every source file and reports violations. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import ts from "typescript";

/** A package imports packages of lower layers only, `import type` included. */
export const layers: Readonly<Record<string, number>> = {
  openapi: 1,
  "issuing-client": 2,
  "webhook-verify": 2,
  "webhook-inbox": 3,
  "mock-server": 3,
  cli: 4,
  examples: 5,
};

export interface Import {
  specifier: string;
  isTypeOnly: boolean;
}

export interface SourceFile {
  /** From the root of the repository, with slashes. */
  path: string;
  firstLine: string;
  imports: readonly Import[];
}

/** Modules that only certain files may import. */
const reserved: [what: RegExp, mayImport: RegExp][] = [
  [/^openapi-(fetch|typescript-helpers)(\/|$)/, /^packages\/issuing-client\/src\/api\.ts$/],
  [/^msw(\/|$)/, /^packages\/mock-server\/src\/hosts\/msw\.ts$/],
  [/^@opentelemetry\//, /^packages\/[\w-]+\/src\/otel\.ts$/],
  [/^libsql$/, /^packages\/webhook-inbox\/src\/sqlite\/database-node\.ts$/],
  [/^node:/, /(^|\/)(bin|pg-boss|[\w-]*node[\w-]*)\.ts$/],
];

/** Frameworks and engines are arguments of the user; only their types are imported, so that they stay optional. */
const onlyAsTypes =
  /^(express|fastify|koa|next|undici|@nestjs\/.*|pg|postgres|drizzle-orm|kysely|@prisma\/.*|pg-boss|bullmq|ioredis)(\/|$)/;
const vagueNames = /(^|\/)(utils|helpers|types|constants|interfaces|common)\.ts$/;

export function sourceFiles(root: string): SourceFile[] {
  const folders = ["examples", "openapi/scripts"];
  for (const name of readdirSync(join(root, "packages"))) folders.push(`packages/${name}/src`);
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/node_modules|\.next\//.test(file))
      .map((file) => read(root, join(root, folder, file))),
  );
}

function read(root: string, file: string): SourceFile {
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
      imports.push({ specifier: textOf(node.moduleSpecifier), isTypeOnly });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      imports.push({ specifier: textOf(node.argument.literal), isTypeOnly: true });
    } else if (
      ts.isCallExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      node.arguments[0]
    ) {
      imports.push({ specifier: textOf(node.arguments[0]), isTypeOnly: false });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const lines = text.split("\n");
  const firstLine = (lines[0]?.startsWith("#!") ? lines[1] : lines[0]) ?? "";
  return { path: relative(root, file).replaceAll("\\", "/"), firstLine, imports };
}

const textOf = (node: ts.Node) => (ts.isStringLiteralLike(node) ? node.text : node.getText());

/** One sentence per violation. */
export function violations(files: readonly SourceFile[]): string[] {
  return [...files.flatMap(violationsOf), ...cycles(files).map((cycle) => `${cycle.join(" → ")} is a cycle`)];
}

function violationsOf({ path, firstLine, imports }: SourceFile): string[] {
  const found: string[] = [];
  if (!/^\/\*\* .+/.test(firstLine)) found.push(`${path} does not begin with a sentence about its purpose`);
  if (vagueNames.test(path)) found.push(`${path} needs a name that says what it contains`);
  const own = packageOf(path);
  for (const { specifier, isTypeOnly } of imports) {
    const other = /^@loyalty-cards\/([\w-]+)/.exec(specifier)?.[1];
    if (other !== undefined && layerOf(other) >= layerOf(own))
      found.push(`${path} imports ${specifier}, which is not below`);
    if (!path.startsWith("packages/")) continue;
    for (const [what, mayImport] of reserved) {
      if (what.test(specifier) && !mayImport.test(path)) found.push(`${path} may not import ${specifier}`);
    }
    if (onlyAsTypes.test(specifier) && !isTypeOnly)
      found.push(`${path} imports ${specifier} for more than its types`);
  }
  return found;
}

const packageOf = (path: string) => path.replace(/^packages\//, "").split("/")[0] ?? "";

function layerOf(name: string): number {
  const layer = layers[name];
  if (layer === undefined) throw new Error(`${name} has no layer: add it to docs/architecture.ts`);
  return layer;
}

/** Every cycle of relative imports, once, beginning with its first file in alphabetical order. */
function cycles(files: readonly SourceFile[]): string[][] {
  const targets = new Map(files.map((file) => [file.path, relativeTargets(file)]));
  const found = new Map<string, string[]>();
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      const cycle = trail.slice(start);
      const first = cycle.indexOf([...cycle].sort()[0] ?? "");
      const rotated = [...cycle.slice(first), ...cycle.slice(0, first)];
      found.set(rotated.join(), [...rotated, rotated[0] ?? ""]);
      return;
    }
    for (const target of targets.get(path) ?? []) walk(target, [...trail, path]);
  };
  for (const path of targets.keys()) walk(path, []);
  return [...found.values()];
}

function relativeTargets({ path, imports }: SourceFile): string[] {
  return imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => relative(".", resolve(path, "..", specifier)).replaceAll("\\", "/"));
}
