/** What an editor shows about each function that a package exports: a sentence, and an example that compiles. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { compilerOptions, errorsOf, inMemoryProgram } from "../../scripts/in-memory-program.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packages = ["issuing-client", "webhook-verify", "webhook-inbox", "mock-server"];

/** Interfaces whose methods are what a user calls first; each method needs an example too. */
const mainInterfaces = ["issuing-client IssuingClient"];

/** Type guards whose use their name shows. */
const withoutExample = ["issuing-client isIssuingError"];

interface Exported {
  /** Package, entry point and name: `issuing-client/otel withOpenTelemetry`. */
  name: string;
  symbol: ts.Symbol;
  checker: ts.TypeChecker;
  /** A function's own name, or a method's after a period; what its example has to use. */
  used: string;
}

/** Everything that the entry points export, with the methods of the main interfaces. */
function everyExport(): Exported[] {
  const entries = packages.flatMap((name) => {
    const folder = `${root}packages/${name}`;
    const { exports } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    return Object.entries<Record<string, string>>(exports).flatMap(([entry, conditions]) => {
      const source = conditions["@loyalty-cards/source"];
      return source === undefined ? [] : [{ name: name + entry.slice(1), path: `${folder}/${source}` }];
    });
  });
  const program = ts.createProgram(
    entries.map(({ path }) => path),
    compilerOptions,
  );
  const checker = program.getTypeChecker();
  return entries.flatMap(({ name: entry, path }) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path) as ts.SourceFile);
    return checker.getExportsOfModule(module as ts.Symbol).flatMap((exported) => {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      const name = `${entry} ${exported.name}`;
      const methods = mainInterfaces.includes(name)
        ? [...(symbol.members?.values() ?? [])].map((method) => ({
            name: `${name}.${method.name}`,
            symbol: method,
            checker,
            used: `\\.${method.name}\\b`,
          }))
        : [];
      return [
        { name, symbol, checker, used: `^import .*\\b${exported.name}\\b.* from "@loyalty-cards/` },
        ...methods,
      ];
    });
  });
}

const isFunction = ({ symbol, checker }: Exported) =>
  (symbol.flags & ts.SymbolFlags.Value) !== 0 &&
  checker.getTypeOfSymbol(symbol).getCallSignatures().length > 0;

const isMethod = ({ name }: Exported) => name.includes(".");

/** The texts of all `@example` tags of a declaration and of its members. */
function examplesOf({ symbol }: Pick<Exported, "symbol">): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    for (const { tagName, comment } of ts.getJSDocTags(node))
      if (tagName.text === "example") found.push(ts.getTextOfJSDocComment(comment) ?? "");
    ts.forEachChild(node, visit);
  };
  for (const declaration of symbol.declarations ?? []) visit(declaration);
  return found;
}

const programIn = (example: string) => /^```ts\n(.*)\n```$/s.exec(example.trim())?.[1];

const everything = everyExport();
const documented = everything.filter((one) => isFunction(one) || isMethod(one));

describe("every exported function", () => {
  it.each(documented.filter(({ name }) => !withoutExample.includes(name)))(
    "$name has a sentence and an example",
    ({ symbol, checker, used }) => {
      expect(ts.displayPartsToString(symbol.getDocumentationComment(checker))).toMatch(/^\S.*\.(\s|$)/s);
      expect(programIn(examplesOf({ symbol })[0] ?? "")).toMatch(new RegExp(used, "m"));
    },
  );

  it("exists under the name by which it needs no example", () => {
    expect(documented.map(({ name }) => name)).toEqual(expect.arrayContaining(withoutExample));
  });
});

it("every example of an exported declaration or of its members compiles as it stands", () => {
  const examples = new Map<string, string>();
  for (const one of everything) {
    for (const [index, example] of examplesOf(one).entries()) {
      const [folder = ""] = one.name.split(/[/ ]/);
      const file = `example-of-${one.name.replace(/\W/g, "-")}-${index}.ts`;
      examples.set(
        `${root}packages/${folder}/test/${file}`,
        programIn(example) ?? "not a program in a fence",
      );
    }
  }
  expect(examples.size).toBeGreaterThan(documented.length);
  const program = inMemoryProgram(examples);
  const errors = [...examples].flatMap(([path, example]) =>
    errorsOf(program, path).map((message) => ({ message, example })),
  );
  expect(errors).toEqual([]);
}, 60_000);
