/** Every exported function has a sentence and an example that compiles, which an editor can show. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { compilerOptions, getErrors, inMemoryProgram } from "../../checks/in-memory-program.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const packages = ["issuing-client", "webhook-verify", "issuing-outbox", "webhook-inbox", "mock-server"];

/** Interfaces whose methods need an example too, because users call them first. */
const mainInterfaces = ["issuing-client IssuingClient"];

/** Type guards that need no example: their name shows their use. */
const withoutExample = ["issuing-client isIssuingError"];

interface Exported {
  /** Package, entry point and name: `issuing-client/links cardLinks`. */
  name: string;
  symbol: ts.Symbol;
  checker: ts.TypeChecker;
  /** What its example must use: the name of a function, or of a method after a period. */
  used: string;
}

/** Returns what the entry points export, with the methods of the main interfaces. */
function readExports(): Exported[] {
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

/** Returns the texts of all `@example` tags of a declaration and of its members. */
function readExamples({ symbol }: Pick<Exported, "symbol">): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    for (const { tagName, comment } of ts.getJSDocTags(node))
      if (tagName.text === "example") found.push(ts.getTextOfJSDocComment(comment) ?? "");
    ts.forEachChild(node, visit);
  };
  for (const declaration of symbol.declarations ?? []) visit(declaration);
  return found;
}

const readProgram = (example: string) => /^```ts\n(.*)\n```$/s.exec(example.trim())?.[1];

const allExports = readExports();
const documented = allExports.filter((one) => isFunction(one) || isMethod(one));

describe("every exported function", () => {
  it.each(documented.filter(({ name }) => !withoutExample.includes(name)))(
    "$name has a sentence and an example",
    ({ symbol, checker, used }) => {
      expect(ts.displayPartsToString(symbol.getDocumentationComment(checker))).toMatch(/^\S.*\.(\s|$)/s);
      expect(readProgram(readExamples({ symbol })[0] ?? "")).toMatch(new RegExp(used, "m"));
    },
  );

  it("the functions that need no example exist", () => {
    expect(documented.map(({ name }) => name)).toEqual(expect.arrayContaining(withoutExample));
  });
});

it("the glossary names only types that are exported", () => {
  const glossary = readFileSync(`${root}docs/glossary.md`, "utf8");
  const named = [...glossary.matchAll(/`([A-Z]\w+)`/g)].map(([, name = ""]) => name);
  const exported = new Set(allExports.map(({ name }) => name.split(" ")[1]));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !exported.has(name))).toEqual([]);
});

it("every example of an exported declaration or of its members compiles as it stands", () => {
  const examples = new Map<string, string>();
  for (const one of allExports) {
    for (const [index, example] of readExamples(one).entries()) {
      const [folder = ""] = one.name.split(/[/ ]/);
      const file = `example-of-${one.name.replace(/\W/g, "-")}-${index}.ts`;
      examples.set(
        `${root}packages/${folder}/test/${file}`,
        readProgram(example) ?? "not a program in a fence",
      );
    }
  }
  expect(examples.size).toBeGreaterThan(documented.length);
  const program = inMemoryProgram(examples);
  const errors = [...examples].flatMap(([path, example]) =>
    getErrors(program, path).map((message) => ({ message, example })),
  );
  expect(errors).toEqual([]);
}, 60_000);
