/** Compiles programs that exist in memory only, so that a test can read the compiler's errors. */
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The options of this repository: packages are found through their sources. */
export const compilerOptions: ts.CompilerOptions = (() => {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
  return ts.convertCompilerOptionsFromJson(config.compilerOptions, root).options;
})();

/** @param files the text of each program by its absolute path; packages are looked up from there. */
export function inMemoryProgram(files: ReadonlyMap<string, string>): ts.Program {
  const host = ts.createCompilerHost(compilerOptions);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.getSourceFile = (path, language, ...more) => {
    const text = files.get(path);
    return text === undefined
      ? getSourceFile(path, language, ...more)
      : ts.createSourceFile(path, text, language, true);
  };
  return ts.createProgram([...files.keys()], compilerOptions, host);
}

/** The compiler's errors in one file, each with the related places. */
export function getErrors(program: ts.Program, path: string): string[] {
  const file = program.getSourceFile(path) as ts.SourceFile;
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
    ({ messageText, relatedInformation = [] }) =>
      [messageText, ...relatedInformation.map((related) => related.messageText)]
        .map((text) => ts.flattenDiagnosticMessageText(text, "\n"))
        .join("\n"),
  );
}
