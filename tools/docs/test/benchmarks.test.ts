/** Checks how results of the benchmarks are rendered, and that the committed page and plots are fresh. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../published.ts";
import { renderPlot } from "../benchmark-plots.ts";
import {
  type Benchmark,
  formatNumber,
  formatRatio,
  readBenchmarks,
  renderPage,
  toAnchor,
} from "../benchmarks.ts";
import { listPages, readFromRoot } from "../snippets.ts";

const benchmarks = await readBenchmarks();

describe("the committed results", () => {
  it("render to docs/benchmarks.md (npm run bench -- --page)", () => {
    expect(readFromRoot("docs/benchmarks.md")).toBe(renderPage(benchmarks));
  });

  it.each(benchmarks)("render to the plot of $name", (benchmark) => {
    const isFresh = readFromRoot(`docs/diagrams/benchmarks/${benchmark.name}.svg`) === renderPlot(benchmark);
    expect(isFresh, "npm run bench -- --page").toBe(true);
  });

  it("have no plot of a subject without a result", () => {
    const plots = readdirSync(join(root, "docs/diagrams/benchmarks"));
    expect(plots.sort()).toEqual(benchmarks.map(({ name }) => `${name}.svg`));
  });
});

describe("links to the page", () => {
  const subjects = readdirSync(join(root, "benchmarks/subjects"));
  const titles = subjects.map(
    (file) => /title: "(.+)"/.exec(readFromRoot(`benchmarks/subjects/${file}`))?.[1] ?? file,
  );
  const links = listPages().flatMap((page) =>
    [...readFromRoot(page).matchAll(/benchmarks\.md#([\w-]+)/g)].map(([, anchor = ""]) => ({ page, anchor })),
  );

  it.each(links)("of $page to $anchor name a subject", ({ anchor }) => {
    expect(titles.map(toAnchor)).toContain(anchor);
  });
});

describe("a benchmark", () => {
  const time = { label: "time", unit: "µs" };
  const benchmark: Benchmark = {
    name: "sample",
    subject: {
      title: "Sample",
      question: "Is a < b?",
      figures: { time, start: { label: "start", unit: "ms", compare: "difference" } },
      floor: "bare",
      own: ["ours"],
      panels: [{ name: "small" }],
      growth: [{ name: "More", unit: "cards", figures: ["time"] }],
    },
    result: {
      date: "2026-01-02",
      seconds: 3,
      machine: "2 × CPU",
      versions: { peer: "1.2.3" },
      panels: [
        {
          name: "small",
          rows: [
            { name: "peer", figures: { time: { value: [150, 200, 210], ratio: [1.5, 2, 2.1] } } },
            {
              name: "bare",
              figures: {
                time: { value: [90, 100, 110], ratio: [1, 1, 1] },
                start: { value: [30, 30, 30], difference: [0, 0, 0] },
              },
            },
            {
              name: "ours",
              figures: {
                time: { value: [40, 50, 60], ratio: [0.4, 0.5, 0.6] },
                start: { value: [29, 35, 36], difference: [-1, 5, 6] },
              },
            },
          ],
        },
      ],
      growth: [
        {
          name: "More",
          points: [100, 1_000].map((x) => ({
            x,
            rows: [{ name: "ours", figures: { time: { value: [x, x, x] }, start: { value: [1, 1, 1] } } }],
          })),
        },
      ],
    },
  };
  const page = renderPage([benchmark]);
  const plot = renderPlot(benchmark);

  it("has a table of ratios to the floor and differences from it, the best variant first", () => {
    expect(page).toContain(
      [
        "| Variant | Time | Start |",
        "| --- | ---: | ---: |",
        "| **ours** | 0.50 × (0.40–0.60) | +5 ms (−1 to 6) |",
        "| bare | 100 µs (90–110) | 30 ms |",
        "| peer | 2.00 × (1.50–2.10) |  |",
      ].join("\n"),
    );
  });

  it("has a table of its growth", () => {
    expect(page).toContain(
      [
        "| More: time | **ours** |",
        "| --- | ---: |",
        "| 100 cards | 100 µs |",
        "| 1\u202f000 cards | 1\u202f000 µs |",
      ].join("\n"),
    );
  });

  it("names the command, the commit, the date, the machine and the versions", () => {
    const measured = { ...benchmark, result: { ...benchmark.result, commit: "abc1234+" } };
    expect(renderPage([measured])).toContain(
      "`npm run bench -- sample`, commit abc1234+, 2026-01-02, 3 s, 2 × CPU. Beside peer 1.2.3.",
    );
  });

  it("names no commit when the result has none", () => {
    expect(page).toContain("`npm run bench -- sample`, 2026-01-02, 3 s, 2 × CPU. Beside peer 1.2.3.");
  });

  it("has a plot of the first figure, with a circle per variant and per point", () => {
    expect(plot.match(/<circle/g)).toHaveLength(3 + 2);
    expect(plot).toContain(">0.50</text>");
    expect(plot).not.toContain("start");
    expect(plot).toContain("Is a &lt; b?");
    expect(plot).not.toContain("NaN");
  });
});

describe("formatNumber", () => {
  it.each([
    [0, "0"],
    [3, "3"],
    [0.0712, "0.071"],
    [1.654, "1.65"],
    [62.04, "62.0"],
    [576.4, "576"],
    [24_030, "24\u202f030"],
    [1_234_567.8, "1\u202f234\u202f568"],
    [-0.5, "-0.500"],
  ])("%d is %s", (value, text) => expect(formatNumber(value)).toBe(text));
});

describe("formatRatio", () => {
  it.each([
    [0.4962, "0.50"],
    [9.949, "9.95"],
    [9.96, "10.0"],
    [123.4, "123"],
  ])("%d is %s", (value, text) => expect(formatRatio(value)).toBe(text));
});
