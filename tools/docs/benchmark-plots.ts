/** Draws the results of a benchmark: for each panel a chart of dots on a common scale, and lines for growth. */
import {
  type Benchmark,
  type Column,
  formatCompared,
  formatNumber,
  type Growth,
  getCompared,
  listColumns,
  listGrowth,
  listRows,
} from "./benchmarks.ts";

const width = 860;
const margin = 20;
const gap = 26;
const rowHeight = 22;
const headHeight = 46;
const lineHeight = 16;
const valueWidth = 58;
const chartsPerLine = 3;
/** On average, by class of the text. */
const characterWidths = { title: 7, small: 6 };

const style = `
    text { font: 13px system-ui, sans-serif; fill: #1f2933; }
    .title { font-weight: 600; }
    .small { font-size: 11.5px; fill: #52606d; }
    .paper { fill: #ffffff; }
    .stripe { fill: #f4f6f8; }
    .grid { stroke: #dde3e8; }
    .floor { stroke: #52606d; fill: #ffffff; stroke-width: 1.5; }
    .peer { stroke: #8a97a4; fill: #8a97a4; }
    .own { stroke: #1f6fd1; fill: #1f6fd1; }
    text.own { stroke: none; font-weight: 600; }
    text.peer, text.floor { stroke: none; fill: #1f2933; }
    .stem { stroke-width: 2; }
    .range { stroke-width: 7; stroke-opacity: 0.35; stroke-linecap: round; }
    path.line { fill: none; stroke-width: 2; }
    @media (prefers-color-scheme: dark) {
      text, text.peer, text.floor { fill: #e6edf3; }
      .paper { fill: #161b22; }
      .stripe { fill: #1d242d; }
      .grid { stroke: #303a45; }
      .small { fill: #9da7b3; }
      .floor { stroke: #9da7b3; fill: #161b22; }
      .peer { stroke: #75818e; fill: #75818e; }
      .own { stroke: #6cb0ff; fill: #6cb0ff; }
    }`;

/** Maps a value to a fraction of the width or height of a chart. */
interface Scale {
  at(value: number): number;
  ticks: readonly number[];
  isLog: boolean;
}

function createScale(values: readonly number[], isLog: boolean): Scale {
  if (isLog) {
    const low = Math.min(...values) / 1.15;
    const high = Math.max(...values) * 1.15;
    const base = high / low > 100 ? 10 : 2;
    const exponent = (value: number) => Math.log(value) / Math.log(base);
    const first = Math.ceil(exponent(low) - 1e-9);
    const ticks = Array.from(
      { length: Math.floor(exponent(high) + 1e-9) - first + 1 },
      (_, index) => base ** (first + index),
    );
    const step = Math.ceil(ticks.length / 6);
    const kept = ticks.filter((tick) => Math.round(exponent(tick)) % step === 0);
    return { at: (value) => Math.log(Math.max(value, low) / low) / Math.log(high / low), ticks: kept, isLog };
  }
  const high = Math.max(...values, 0) * 1.05 || 1;
  const rough = high / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const ticks = Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, index) => index * step);
  return { at: (value) => Math.max(0, value) / high, ticks, isLog };
}

const text = (x: number, y: number, content: string, attributes = "") =>
  `<text x="${round(x)}" y="${round(y)}"${attributes}>${escapeText(content)}</text>`;
const line = (x1: number, y1: number, x2: number, y2: number, kind: string) =>
  `<path class="${kind}" d="M${round(x1)} ${round(y1)}L${round(x2)} ${round(y2)}" />`;
const round = (value: number) => Math.round(value * 10) / 10;
const escapeText = (content: string) =>
  content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

type Kind = "own" | "peer" | "floor";

/** Returns the lines above a chart: its title, and below it what the chart shows and the unit. */
function toHead({ title, figure, compare, subtitle }: Column, size: number) {
  const unit = { ratio: "×\u00a0floor", difference: `${figure.unit} over floor`, none: figure.unit }[compare];
  const direction = figure.higherIsBetter ? ", higher is better" : "";
  const details = [subtitle, unit].filter(Boolean).join(", ") + direction;
  const toLines = (content: string, kind: keyof typeof characterWidths) =>
    wrap(content, size / characterWidths[kind]).map((words) => ({ words, kind }));
  return [...toLines(title, "title"), ...toLines(details, "small")];
}

/** Breaks a text into lines of at most `length` characters, and between words only. */
const wrap = (content: string, length: number) =>
  content.match(new RegExp(`\\S(.{0,${Math.floor(length) - 1}}|\\S*)(?= |$)`, "g")) ?? [];

/** A chart with one dot per row, below its title. The labels of the rows are to the left of the first chart of a line. */
function drawChart(
  column: Column,
  scale: Scale,
  names: readonly string[],
  getKind: (name: string) => Kind,
  left: number,
  rowsTop: number,
  size: number,
): string[] {
  const { figure, compare } = column;
  const x = (value: number) => left + scale.at(value) * (size - valueWidth);
  const bottom = rowsTop + names.length * rowHeight;
  const parts: string[] = [];
  let labelsEnd = Number.NEGATIVE_INFINITY;
  for (const tick of scale.ticks) {
    parts.push(line(x(tick), rowsTop - 4, x(tick), bottom, "grid"));
    const label = formatTick(tick);
    const half = (label.length * characterWidths.small) / 2;
    if (x(tick) - half < labelsEnd + 6) continue; // no room beside the last label
    labelsEnd = x(tick) + half;
    parts.push(text(x(tick), bottom + 15, label, ' class="small" text-anchor="middle"'));
  }
  const origin = compare === "ratio" ? x(1) : left;
  if (compare === "ratio") parts.push(line(origin, rowsTop - 4, origin, bottom, "floor"));
  for (const [index, name] of names.entries()) {
    const row = column.rows.find((one) => one.name === name);
    const quartiles = row && getCompared(column, row);
    if (row === undefined || quartiles === undefined) continue;
    const [low, middle, high] = quartiles;
    const y = rowsTop + (index + 0.5) * rowHeight;
    const kind = getKind(name);
    if (kind !== "floor") {
      parts.push(
        line(origin, y, x(middle), y, scale.isLog && compare === "none" ? "grid" : `stem ${kind}`),
        line(x(low), y, x(high), y, `range ${kind}`),
      );
    }
    parts.push(`<circle class="${kind}" cx="${round(x(middle))}" cy="${round(y)}" r="4.5" />`);
    const label =
      kind === "floor"
        ? `${formatNumber(row.figures[column.key]?.value[1] ?? 0)} ${figure.unit}`.trim()
        : formatCompared(column, middle);
    parts.push(text(left + size, y + 4.5, label, ` class="${kind}" text-anchor="end"`));
  }
  return parts;
}

const formatTick = (value: number) => formatNumber(value).replace(/\.0+$|(\.\d*?)0+$/, "$1");

/** The charts of all plotted columns, in lines. @returns the parts, and the height. */
function drawCharts({ subject, ...rest }: Benchmark, top: number): { parts: string[]; bottom: number } {
  const columns = listColumns({ subject, ...rest }).filter(({ isPlotted }) => isPlotted);
  const scales = new Map<string, Scale>();
  for (const { key, compare } of columns) {
    const same = columns.filter((column) => column.key === key && column.compare === compare);
    const values = same.flatMap((column) => column.rows.flatMap((row) => getCompared(column, row) ?? []));
    const positive = values.filter((value) => value > 0);
    const isWide = Math.max(...positive) / Math.min(...positive) > 50;
    const isLog = compare === "ratio" || (compare === "none" && isWide);
    // The scale always includes 0.5 to 2, so that small differences look small.
    const around = compare === "ratio" ? [0.5, 1, 2] : [];
    scales.set(key + compare, createScale([...positive, ...around], isLog));
  }
  const parts: string[] = [];
  for (const group of groupCharts(columns)) {
    const names = listRows(group);
    const getKind = (name: string): Kind => {
      if (subject.own.includes(name)) return "own";
      return group.some(({ floor }) => floor === name) ? "floor" : "peer";
    };
    const labelWidth = 20 + 7.4 * Math.max(...names.map((name) => name.length));
    const size = (width - 2 * margin - labelWidth - gap * (group.length - 1)) / group.length;
    const heads = group.map((column) => toHead(column, size));
    const rowsTop = top + 14 + lineHeight * Math.max(...heads.map(({ length }) => length));
    for (const [index, name] of names.entries()) {
      if (index % 2 === 0)
        parts.push(
          `<rect class="stripe" x="${margin - 8}" y="${rowsTop + index * rowHeight}" width="${width - 2 * margin + 16}" height="${rowHeight}" rx="3" />`,
        );
      parts.push(text(margin, rowsTop + (index + 0.5) * rowHeight + 4.5, name, ` class="${getKind(name)}"`));
    }
    for (const [index, column] of group.entries()) {
      const left = margin + labelWidth + index * (size + gap);
      for (const [number, { words, kind }] of (heads[index] ?? []).entries())
        parts.push(text(left, top + 14 + number * lineHeight, words, ` class="${kind}"`));
      const scale = scales.get(column.key + column.compare);
      if (scale) parts.push(...drawChart(column, scale, names, getKind, left, rowsTop, size));
    }
    top = rowsTop + names.length * rowHeight + 44;
  }
  return { parts, bottom: top };
}

/** Charts share the labels of their rows if most of the rows are the same, in lines of about equal length. */
function groupCharts(columns: readonly Column[]): Column[][] {
  const groups: Column[][] = [];
  for (const column of columns) {
    const last = groups.at(-1);
    const names = new Set(last?.[0]?.rows.map(({ name }) => name));
    const shared = column.rows.filter(({ name }) => names.has(name)).length;
    if (last !== undefined && shared * 2 >= names.size) last.push(column);
    else groups.push([column]);
  }
  return groups.flatMap((group) => {
    const perLine = Math.ceil(group.length / Math.ceil(group.length / chartsPerLine));
    const lines = Math.ceil(group.length / perLine);
    return Array.from({ length: lines }, (_, index) => group.slice(index * perLine, (index + 1) * perLine));
  });
}

const growthHeight = 150;
const growthAxis = 46;

/** Lines of how a figure grows with the number of rows, on a logarithmic axis. */
function drawGrowth(
  growth: Growth,
  getKind: (name: string) => Kind,
  left: number,
  top: number,
  size: number,
) {
  const { name, unit, figure, xs, series } = growth;
  const values = series.flatMap(({ medians }) => medians.filter((value) => value !== undefined));
  const isLog = Math.max(...values) / Math.min(...values) > 30;
  const scale = createScale(values, isLog);
  const [first = 1, last = 1] = [xs[0], xs.at(-1)];
  const namesWidth = 24 + 6.9 * Math.max(...series.map((one) => one.name.length));
  const plotWidth = size - growthAxis - namesWidth;
  const x = (value: number) =>
    left + growthAxis + (Math.log(value / first) / Math.log(last / first)) * plotWidth;
  const bottom = top + headHeight + growthHeight;
  const y = (value: number) => bottom - scale.at(value) * growthHeight;
  const parts = [
    text(left, top + 14, name, ' class="title"'),
    text(left, top + 31, `${figure.label}, ${figure.unit}`, ' class="small"'),
  ];
  for (const tick of scale.ticks) {
    parts.push(line(left + growthAxis, y(tick), x(last), y(tick), "grid"));
    parts.push(
      text(left + growthAxis - 7, y(tick) + 4, formatTick(tick), ' class="small" text-anchor="end"'),
    );
  }
  for (const value of xs)
    parts.push(text(x(value), bottom + 20, formatNumber(value), ' class="small" text-anchor="middle"'));
  parts.push(text(x(last) + 36, bottom + 20, unit, ' class="small"'));
  let labelY = Number.NEGATIVE_INFINITY;
  const sorted = [...series].sort((one, other) => (other.medians.at(-1) ?? 0) - (one.medians.at(-1) ?? 0));
  for (const { name: label, medians } of sorted) {
    const kind = getKind(label);
    const dots = medians.flatMap((value, index) =>
      value === undefined ? [] : [[round(x(xs[index] ?? 1)), round(y(value))] as const],
    );
    parts.push(`<path class="line ${kind}" d="M${dots.map((dot) => dot.join(" ")).join("L")}" />`);
    for (const [dotX, dotY] of dots)
      parts.push(`<circle class="${kind}" cx="${dotX}" cy="${dotY}" r="3.5" />`);
    const [endX, endY] = dots.at(-1) ?? [x(last), bottom];
    labelY = Math.max(endY + 4.5, labelY + 16); // below the label of the line above
    parts.push(text(endX + 11, labelY, label, ` class="${kind}"`));
  }
  return parts;
}

/** Two charts per line. */
function drawAllGrowth(benchmark: Benchmark, top: number): { parts: string[]; bottom: number } {
  const { subject } = benchmark;
  const charts = listGrowth(benchmark);
  const floors = new Set([subject.floor, ...(subject.panels ?? []).map(({ floor }) => floor)]);
  const getKind = (name: string): Kind =>
    subject.own.includes(name) ? "own" : floors.has(name) ? "floor" : "peer";
  const size = (width - 2 * margin - gap) / 2;
  const chartHeight = headHeight + growthHeight + 44;
  const parts = charts.flatMap((growth, index) => {
    const left = margin + (index % 2) * (size + gap);
    return drawGrowth(growth, getKind, left, top + Math.floor(index / 2) * chartHeight, size);
  });
  return { parts, bottom: top + Math.ceil(charts.length / 2) * chartHeight };
}

/** The plot of a subject. */
export function renderPlot(benchmark: Benchmark): string {
  const charts = drawCharts(benchmark, margin);
  const growth = drawAllGrowth(benchmark, charts.bottom);
  const height = growth.bottom - 16;
  const { title, question } = benchmark.subject;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc">`,
    `  <title id="title">${escapeText(title)}</title>`,
    `  <desc id="desc">${escapeText(question)} The table on the page has the figures.</desc>`,
    `  <style>${style}\n  </style>`,
    `  <rect width="${width}" height="${height}" rx="8" class="paper" />`,
    ...[...charts.parts, ...growth.parts].map((part) => `  ${part}`),
    "</svg>\n",
  ].join("\n");
}
