/**
 * The guarantees of docs/guarantees.md, the checks of the simulation and the marks in tests, such
 * as `// G6`, agree in both directions.
 */
import { posix } from "node:path";
import { expect, it } from "vitest";
import { checks } from "../../../compat/simulation/checks.ts";
import { listFiles, readFromRoot } from "../snippets.ts";

const page = "docs/guarantees.md";
const simulation = "compat/simulation/checks.ts";

/** The sections whose heading begins with a number, with the files that their last line links. */
const guarantees = readFromRoot(page)
  .split("\n### ")
  .filter((section) => /^G\d/.test(section))
  .map((section) => {
    const [number = ""] = section.split(" ");
    const [, checks = ""] = /^- \*\*Checks:\*\* (.+)$/m.exec(section) ?? [];
    const targets = checks.matchAll(/\]\(([^)]+)\)/g);
    return { number, files: Array.from(targets, ([, target = ""]) => posix.join("docs", target)) };
  });

/** Programs with the guarantees that their marks name: lines such as `// G6` and `// G1, G9`. */
const marks = new Map(
  ["compat", "examples", "packages"]
    .flatMap(listFiles)
    .filter((file) => /\.(ts|tsx|mjs)$/.test(file))
    .map((file) => {
      const found = readFromRoot(file).matchAll(/^[ \t]*\/\/ (G\d+(?:, G\d+)*)$/gm);
      return [file, [...found].flatMap(([, list = ""]) => list.split(", "))] as const;
    })
    .filter(([, found]) => found.length > 0),
);
for (const number of Object.keys(checks))
  marks.set(simulation, [...(marks.get(simulation) ?? []), number]);

it("links exactly the files whose tests have the mark, and the simulation where it has a check", () => {
  expect(guarantees.length).toBeGreaterThan(20);
  expect(guarantees.filter(({ files }) => files.length === 0)).toEqual([]);
  const linked = guarantees.flatMap(({ number, files }) =>
    files.map((file) => `${number} ${file}`),
  );
  const marked = [...marks].flatMap(([file, found]) => found.map((number) => `${number} ${file}`));
  const withoutMark = linked.filter((one) => !marked.includes(one));
  const withoutLink = marked.filter((one) => !linked.includes(one));
  expect(
    { withoutMark, withoutLink },
    `A link in ${page}, or a mark in the file, is missing.`,
  ).toEqual({
    withoutMark: [],
    withoutLink: [],
  });
});
