/**
 * The guarantees of docs/guarantees.md have tests: each number of the page is a mark in a test, such
 * as `// G6`; and each mark, and each check of the simulation, has its section.
 */
import { expect, it } from "vitest";
import { checks } from "../../../compat/simulation/checks.ts";
import { listFiles, readFromRoot } from "../snippets.ts";

const page = "docs/guarantees.md";
const sections = Array.from(
  readFromRoot(page).matchAll(/^### (G\d+) /gm),
  ([, number = ""]) => number,
);

/** The numbers in lines such as `// G6` and `// G1, G9`. */
const marks = ["compat", "examples", "packages"]
  .flatMap(listFiles)
  .filter((file) => /\.(ts|tsx|mjs)$/.test(file))
  .flatMap((file) => [...readFromRoot(file).matchAll(/^[ \t]*\/\/ (G\d+(?:, G\d+)*)$/gm)])
  .flatMap(([, list = ""]) => list.split(", "));

it("has a test for each guarantee, and a section for each mark and check", () => {
  const tested = new Set([...Object.keys(checks), ...marks]);
  expect(sections.length).toBeGreaterThan(20);
  expect(
    {
      withoutTest: sections.filter((number) => !marks.includes(number)),
      withoutSection: [...tested].filter((number) => !sections.includes(number)),
    },
    `A section of ${page} has no test with its mark, such as \`// G6\`, or a mark has no section.`,
  ).toEqual({ withoutTest: [], withoutSection: [] });
});
