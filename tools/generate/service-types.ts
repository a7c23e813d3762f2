/**
 * The types of a service's document, which `client.api` has, and how the document differs from
 * openapi.yaml: `openapi/service-comparison.ts` compares the types, and the compiler's errors there
 * are the differences.
 */
import { join } from "node:path";
import ts from "typescript";
import { type Json, recordIn } from "./document.ts";
import { schemaTypes, toBanner } from "./schema-types.ts";

/**
 * @param served the document of the service; undefined when none is stored
 * @throws {Error} when openapi-typescript cannot convert it
 */
export async function serviceTypes(served: Json | undefined): Promise<string> {
  if (served === undefined)
    return `${toBanner("openapi.yaml")}export type { paths, webhooks } from "./schema.ts";\n`;
  return schemaTypes(served, "service.json").catch((error) => {
    throw new Error(`The service's document cannot be converted: ${error.message}`);
  });
}

/** The events of openapi.yaml that the service's document does not describe. */
export function listUndescribedEvents(document: Json, served: Json): string[] {
  const described = recordIn(served, "webhooks");
  return Object.keys(recordIn(document, "webhooks")).filter(
    (type) => !Object.hasOwn(described, type),
  );
}

const comparison = "service-comparison.ts";
const options: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ["lib.es5.d.ts"], // the comparison needs no more: a second instead of six
  types: [],
  skipLibCheck: true, // half of the time
};

/**
 * Compiles the comparison.
 * @param folder of openapi.yaml and of the comparison
 * @param files the generated files, by their names in the folder; they need not be on the disk
 * @returns the differences, each with its place and what the compiler says
 */
export function findDifferences(folder: string, files: Readonly<Record<string, string>>): string[] {
  const host = ts.createCompilerHost(options);
  const texts = new Map(Object.entries(files).map(([name, text]) => [join(folder, name), text]));
  const getSourceFile: typeof host.getSourceFile = (path, target, ...rest) => {
    const text = texts.get(join(path));
    return text === undefined
      ? host.getSourceFile(path, target, ...rest)
      : ts.createSourceFile(path, text, target);
  };
  const program = ts.createProgram({
    rootNames: [join(folder, comparison)],
    options,
    host: { ...host, getSourceFile },
  });
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => formatDifference(diagnostic));
}

/** Leaves out the first line of several: it has both types in full. */
function formatDifference({ file, start = 0, messageText }: ts.Diagnostic): string {
  const [first = "", ...others] = ts.flattenDiagnosticMessageText(messageText, "\n").split("\n");
  const explanation = others.length > 0 ? others : [`  ${first}`];
  if (file === undefined) return explanation.join("\n");
  const { line } = file.getLineAndCharacterOfPosition(start);
  const [, name = file.fileName] = /([^/]+\/[^/]+)$/.exec(file.fileName) ?? [];
  const statement = file.text.split("\n")[line]?.trim();
  return [`${name}:${line + 1}: ${statement}`, ...explanation].join("\n");
}
