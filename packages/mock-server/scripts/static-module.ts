/** Puts the files of static/ into one module, so that the pages travel with the service wherever it runs. */
import { readdirSync, readFileSync } from "node:fs";

const from = new URL("../static/", import.meta.url);

export function inlined(): string {
  const names = readdirSync(from, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.\w+$/.test(name))
    .sort();
  const entries = names.map((name) => {
    const content = readFileSync(new URL(name, from), "utf8").replaceAll("\r\n", "\n");
    const literal = content.replace(/[\\`]|\$\{/g, "\\$&");
    return `  [\n    ${JSON.stringify(name)},\n    \`${literal}\`,\n  ],\n`;
  });
  return `/** The files of static/, made by \`npm run generate\`. Change them there. */
export const staticFiles: ReadonlyMap<string, string> = new Map([
${entries.join("")}]);
`;
}
