/** The example of every exported function compiles as it stands, and uses the function. */
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { published, root } from "../../published.ts";
import { readEntries } from "../../release/build.ts";

const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);

/** A type guard, whose name shows its use. */
const withoutExample = ["isIssuingError"];

/** The entry points by the file of their source. */
const entries = published.flatMap(({ name, folder, manifest }) =>
  Object.values(readEntries(manifest.exports ?? {})).map((source) => ({ name, path: join(folder, source) })),
);

/** Compiles programs that exist in memory only. @param before a program whose files are not parsed again. */
function compile(files: ReadonlyMap<string, string>, before: ts.Program): string[] {
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.getSourceFile = (path, language, ...more) => {
    const text = files.get(path);
    return text === undefined
      ? getSourceFile(path, language, ...more)
      : ts.createSourceFile(path, text, language, true);
  };
  const program = ts.createProgram([...files.keys()], options, host, before);
  return [...files.keys()].flatMap((path) => {
    const source = program.getSourceFile(path) as ts.SourceFile;
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText }) => `${path}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    );
  });
}

/** The programs of the `@example` tags of a declaration and of its members. */
function readExamples({ declarations = [] }: ts.Symbol): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    for (const { tagName, comment } of ts.getJSDocTags(node))
      if (tagName.text === "example") found.push(ts.getTextOfJSDocComment(comment) ?? "");
    ts.forEachChild(node, visit);
  };
  declarations.forEach(visit);
  return found.map((text) => /^```ts\n(.*)\n```$/s.exec(text.trim())?.[1] ?? `not a program: ${text}`);
}

it("every exported function has an example that uses it, and every example compiles", {
  timeout: 90_000,
}, () => {
  const program = ts.createProgram(
    entries.map(({ path }) => path),
    options,
  );
  const checker = program.getTypeChecker();
  const missing: string[] = [];
  const examples = new Map<string, string>();
  for (const { name, path } of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path) as ts.SourceFile) as ts.Symbol;
    for (const exported of checker.getExportsOfModule(module)) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      const own = readExamples(symbol);
      const isFunction =
        (symbol.flags & ts.SymbolFlags.Value) !== 0 &&
        checker.getTypeOfSymbol(symbol).getCallSignatures().length > 0;
      if (isFunction && !own[0]?.includes(exported.name) && !withoutExample.includes(exported.name))
        missing.push(`${name}: ${exported.name}`);
      for (const [index, example] of own.entries())
        examples.set(join(root, "packages", name, `test/example-${exported.name}-${index}.ts`), example);
    }
  }
  expect(missing).toEqual([]);
  expect(compile(examples, program)).toEqual([]);
});
