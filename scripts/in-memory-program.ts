/** Compiles a user's programs that are in memory only, so that a test can read what the compiler prints about them. */
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));

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

/** What the compiler prints about one file, one text per error, with the places that an error refers to. */
export function errorsOf(program: ts.Program, path: string): string[] {
  const file = program.getSourceFile(path) as ts.SourceFile;
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
    ({ messageText, relatedInformation = [] }) =>
      [messageText, ...relatedInformation.map((related) => related.messageText)]
        .map((text) => ts.flattenDiagnosticMessageText(text, "\n"))
        .join("\n"),
  );
}
