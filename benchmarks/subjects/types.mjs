/** Type checking a program of about 20 lines with tsc, in a fresh process. */
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const own = ["issuing-client", "webhook-verify"];
const programs = ["empty file", ...own, "openapi-fetch", "stripe", "openai"];
const consumer = (name) =>
  fileURLToPath(new URL(`../consumers/${name.replace(" ", "-")}.ts`, import.meta.url));

export default {
  title: "Type checking",
  question: "How long does tsc take for a program of about 20 lines that uses the package?",
  notes: `The programs are in [benchmarks/consumers](https://github.com/loyalty-cards/loyalty-cards/tree/main/benchmarks/consumers). They are
checked with \`--strict --skipLibCheck --module nodenext\` and the types of Node, which are most of the time of the empty file. *Instantiations*
are how often TypeScript instantiated a generic type.`,
  figures: {
    cpu: { label: "processor time", unit: "ms", compare: "difference", plot: true },
    time: { label: "time", unit: "ms", compare: "difference" },
    instantiations: { label: "instantiations", unit: "", compare: "none", plot: true },
    memory: { label: "memory", unit: "MB", compare: "difference", plot: true },
  },
  floor: "empty file",
  own,
  panels: [{ name: "tsc", starts: 1, rounds: 5 }],
  packages: ["typescript", "openapi-fetch", "stripe", "openai"],
  async open() {
    return { variants: Object.fromEntries(programs.map((name) => [name, () => checkTypes(consumer(name))])) };
  },
};

/** Checks a file in a fresh process. @returns the figures. */
export function checkTypes(file) {
  const program = `process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  console.log("Processor time: " + (user + system) / 1000);
});
require(${JSON.stringify(createRequire(import.meta.url).resolve("typescript/lib/tsc.js"))});`;
  const flags =
    "--noEmit --strict --skipLibCheck --target es2022 --module nodenext --types node --extendedDiagnostics";
  const startedMs = performance.now();
  const output = execFileSync(process.execPath, ["--eval", program, "tsc", ...flags.split(" "), file], {
    encoding: "utf8",
  });
  const time = performance.now() - startedMs;
  const read = (label) => Number(new RegExp(`^${label}: +([\\d.]+)`, "m").exec(output)?.[1]);
  const memory = read("Memory used") / 1000;
  return { time, cpu: read("Processor time"), instantiations: read("Instantiations"), memory };
}
