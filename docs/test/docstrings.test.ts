/** What an editor shows about each function that a package exports: a sentence, and an example that compiles. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { compilerOptions, errorsOf, inMemoryProgram } from "../../scripts/in-memory-program.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packages = ["webhook-verify", "webhook-inbox"];

/** The functions of every entry point, by "package/entry name". */
function exportedFunctions(): Map<string, { folder: string; symbol: ts.Symbol; checker: ts.TypeChecker }> {
  const entries = packages.flatMap((name) => {
    const folder = `${root}packages/${name}`;
    const { exports } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    return Object.entries<Record<string, string>>(exports).flatMap(([entry, conditions]) => {
      const source = conditions["@loyalty-cards/source"];
      return source === undefined
        ? []
        : [{ name: name + entry.slice(1), folder, path: `${folder}/${source}` }];
    });
  });
  const program = ts.createProgram(
    entries.map(({ path }) => path),
    compilerOptions,
  );
  const checker = program.getTypeChecker();
  const found = new Map();
  for (const { name, folder, path } of entries) {
    const file = program.getSourceFile(path) as ts.SourceFile;
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(file) as ts.Symbol)) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      if ((symbol.flags & ts.SymbolFlags.Value) === 0) continue;
      if (checker.getTypeOfSymbol(symbol).getCallSignatures().length === 0) continue;
      found.set(`${name} ${exported.name}`, { folder, symbol, checker });
    }
  }
  return found;
}

const functions = exportedFunctions();
const exampleOf = (name: string) => {
  const { symbol, checker } = functions.get(name) ?? {};
  const tag = symbol?.getJsDocTags(checker).find((each) => each.name === "example");
  return /```ts\n(.*)\n```/s.exec(ts.displayPartsToString(tag?.text))?.[1];
};

describe("every exported function", () => {
  it.each([...functions.keys()])("%s has a sentence and an example", (name) => {
    const { symbol, checker } = functions.get(name) ?? {};
    expect(ts.displayPartsToString(symbol?.getDocumentationComment(checker))).toMatch(/^\S.*\.(\s|$)/s);
    expect(exampleOf(name)).toMatch(
      new RegExp(`^import .*\\b${name.split(" ")[1]}\\b.* from "@loyalty-cards/`, "m"),
    );
  });

  it("has an example that compiles as it stands", () => {
    const examples = new Map(
      [...functions].map(([name, { folder }], index) => [
        `${folder}/test/docstring-${index}.ts`,
        exampleOf(name) ?? "",
      ]),
    );
    const program = inMemoryProgram(examples);
    const errors = [...examples].flatMap(([path, example]) =>
      errorsOf(program, path).map((message) => ({ message, example })),
    );
    expect(errors).toEqual([]);
  }, 60_000);
});
