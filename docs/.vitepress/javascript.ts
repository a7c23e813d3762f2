/** JavaScript of the quoted TypeScript blocks: the same program without types, formatted again. */
import { format } from "prettier";
import blankTypes from "ts-blank-space";
import { listPages, readFromRoot } from "../../tools/docs/snippets.ts";

const block = /<!-- snippet: \S+ -->\n```ts\n([\s\S]*?)\n```/g;

/** By the text of the TypeScript block. Blocks without types are absent, and those that consist of types. */
export const javaScript: ReadonlyMap<string, string> = new Map(await convertPages());

async function convertPages(): Promise<[string, string][]> {
  const pages = listPages().map(readFromRoot).join("\n");
  const programs = new Set([...pages.matchAll(block)].map(([, program = ""]) => program));
  const converted: [string, string][] = [];
  for (const program of programs) {
    const blanked = blankTypes(program);
    if (blanked === program || blanked.trim() === "") continue;
    // Lines that had only types, such as an import, leave no gap.
    const lines = program.split("\n");
    const kept = blanked
      .split("\n")
      .filter((line, index) => line.trim() !== "" || lines[index]?.trim() === "");
    const named = kept.join("\n").replace(/^(\/\/ .*\.)ts\b/, "$1js"); // the comment with the name of the file
    converted.push([program, (await format(named, { parser: "babel", printWidth: 84 })).trimEnd()]);
  }
  return converted;
}
