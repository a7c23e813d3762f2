/** The guarantees of docs/guarantees.md, the checks of the simulation and the marks in tests, such as `// G6`, agree in every direction. */
import { existsSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, it } from "vitest";
import { checks } from "../../../compat/simulation/checks.ts";
import { root } from "../../published.ts";
import { readFromRoot } from "../snippets.ts";

const pageFile = "docs/guarantees.md";
const simulationFile = "compat/simulation/checks.ts";

interface Guarantee {
  number: string;
  text: string;
  /** Whether the simulation checks it. */
  isSimulated: boolean;
  /** The files that hold it, relative to the root. */
  files: string[];
}

/** Reads the sections `## G1 …` of the page. */
function parseGuarantees(page: string): Guarantee[] {
  return page
    .split(/^(?=## )/m)
    .filter((section) => /^## G\d/.test(section))
    .map((text) => {
      const [, number = ""] = /^## (G\d+) \S/.exec(text) ?? [];
      const [, list = ""] = /^\*\*Checks\.\*\* (.+)$/m.exec(text) ?? [];
      const links = [...list.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, name, target = ""]) => ({
        name,
        file: posix.join("docs", target),
      }));
      return {
        ...{ number, text },
        isSimulated: links.some(({ name }) => name === "simulation"),
        files: links.filter(({ name }) => name !== "simulation").map(({ file }) => file),
      };
    });
}

/** The numbers of the marks of a file: lines such as `// G6` and `// G1, G9`. */
const parseMarks = (program: string) =>
  [...program.matchAll(/^[ \t]*\/\/ (G\d+(?:, G\d+)*)$/gm)].flatMap(([, list = ""]) => list.split(", "));

function listPrograms(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return /^(node_modules|dist|\.\w+)$/.test(entry.name) ? [] : listPrograms(path);
    return /\.(ts|tsx|mjs)$/.test(entry.name) ? [path] : [];
  });
}

const guarantees = parseGuarantees(readFromRoot(pageFile));
const numbers = guarantees.map(({ number }) => number);
const marks = new Map(
  ["compat", "examples", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}/test`)]
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap(listPrograms)
    .map((file) => [file, parseMarks(readFromRoot(file))] as const)
    .filter(([, found]) => found.length > 0),
);

it("numbers at most 30 guarantees in order", () => {
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => `G${index + 1}`));
  expect(numbers.length).toBeLessThanOrEqual(30);
});

it.each(guarantees)(
  "$number has conditions, what voids it, and checks that exist",
  ({ number, text, files, isSimulated }) => {
    for (const part of ["Conditions", "Voided by", "Checks"])
      expect(text, `Write a paragraph in ${number}: **${part}.** …`).toContain(`\n**${part}.** `);
    expect(isSimulated || files.length > 0, `Link a check in ${number}.`).toBe(true);
    for (const file of files)
      expect(
        existsSync(join(root, file)),
        `${number} links ${file}, which does not exist: correct the link.`,
      ).toBe(true);
  },
);

it("links the simulation for exactly the guarantees that it checks", () => {
  const simulated = guarantees.filter(({ isSimulated }) => isSimulated).map(({ number }) => number);
  const link = `[simulation](../${simulationFile})`;
  const problems = [
    ...Object.keys(checks)
      .filter((number) => !simulated.includes(number))
      .map(
        (number) => `Write ${link} under Checks of ${number}, or remove ${number} from ${simulationFile}.`,
      ),
    ...simulated
      .filter((number) => !Object.hasOwn(checks, number))
      .map((number) => `Add ${number} to ${simulationFile}, or remove ${link} from ${number}.`),
  ];
  expect(problems).toEqual([]);
});

it("names the files whose tests have its mark", () => {
  const problems = [
    ...guarantees.flatMap(({ number, files }) =>
      files
        .filter((file) => !marks.get(file)?.includes(number))
        .map(
          (file) =>
            `Write // ${number} above the test in ${file} that holds it, or remove the link from ${number}.`,
        ),
    ),
    ...[...marks].flatMap(([file, found]) =>
      found
        .filter(
          (number) => !guarantees.find((guarantee) => guarantee.number === number)?.files.includes(file),
        )
        .map((number) =>
          numbers.includes(number)
            ? `Link ${file} under Checks of ${number} in ${pageFile}, or remove // ${number} from the file.`
            : `${file} has the mark // ${number}, and ${pageFile} has no ${number}: correct the mark.`,
        ),
    ),
  ];
  expect(problems).toEqual([]);
});

it("reads marks on lines of their own only", () => {
  expect(parseMarks("// G1\n  // G2, G30\nit(1); // G3\n// G4: why\n/** G5 */")).toEqual(["G1", "G2", "G30"]);
});

it("reads the number and the checks of a section", () => {
  const page =
    "# Guarantees\n\n## G1 One\n\nText.\n\n**Checks.** [simulation](../compat/simulation/checks.ts) · [a](../a.test.ts)\n\n## Other\n";
  expect(parseGuarantees(page)).toMatchObject([{ number: "G1", isSimulated: true, files: ["a.test.ts"] }]);
});
