/** Checks that the page of the benchmarks and its plots are what the committed results render to. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../scripts/published.ts";
import { renderPlot } from "../benchmark-plots.ts";
import { readBenchmarks, renderPage } from "../benchmarks.ts";
import { readFromRoot } from "../snippets.ts";

const benchmarks = await readBenchmarks();

it("docs/benchmarks.md is what the results render to", () => {
  expect(readFromRoot("docs/benchmarks.md")).toBe(renderPage(benchmarks));
});

it("each subject with a result has a plot, and no other plot exists", () => {
  const plots = readdirSync(join(root, "docs/diagrams/benchmarks"));
  expect(plots.sort()).toEqual(benchmarks.map(({ name }) => `${name}.svg`));
});

it.each(benchmarks)("the plot of $name is what its result renders to", (benchmark) => {
  expect(readFromRoot(`docs/diagrams/benchmarks/${benchmark.name}.svg`)).toBe(renderPlot(benchmark));
});
