/**
 * `npm run terminal`: runs the sessions of `terminal-sessions.ts`, and draws what a terminal of 80 columns shows, as SVG with real text.
 * A file whose picture differs only in figures, such as durations, stays as it is.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import xterm from "@xterm/headless";
import { type Session, sessions } from "./terminal-sessions.ts";

const columns = 80;
/** Of one cell, in pixels. */
const cell = { width: 8, height: 18 };
const padding = 16;
const titleBar = 34;

/** Colors of ANSI 0 to 7 on the dark window; 8 to 15 are drawn alike. Each has a contrast of at least 4.5. */
const palette = ["#8b949e", "#ff8f8f", "#7ee787", "#e3b341", "#8ab8ff", "#d2a8ff", "#76e3ea", "#e6edf3"];
const foreground = "#e6edf3";
const dimmed = "#9aa4af";

/** Text of one style in one line. */
interface Run {
  column: number;
  text: string;
  color: string;
  isBold: boolean;
}

/** Draws the screen after the output of a session. */
export async function drawSession({ title, command, output }: Session & { output: string }): Promise<string> {
  const rows = 200;
  const terminal = new xterm.Terminal({ cols: columns, rows, convertEol: true, allowProposedApi: true });
  const text = `\u001b[32m$\u001b[39m ${command}\n${output}`;
  await new Promise<void>((resolve) => terminal.write(text, resolve));
  const runs: Run[][] = [];
  const blocks: string[] = [];
  for (let row = 0; row < rows; row++) {
    const line = readLine(terminal, row);
    runs.push(line.runs);
    blocks.push(...line.blocks);
  }
  terminal.dispose();
  while (runs.at(-1)?.length === 0) runs.pop();
  return toSvg(title, runs, blocks);
}

function readLine(terminal: xterm.Terminal, row: number): { runs: Run[]; blocks: string[] } {
  const runs: Run[] = [];
  const blocks: string[] = [];
  const line = terminal.buffer.active.getLine(row);
  for (let column = 0; column < columns; column++) {
    const each = line?.getCell(column);
    const characters = each?.getChars() ?? "";
    const block = toBlock(characters, column, row);
    if (block !== undefined) blocks.push(block);
    const color = each?.isDim()
      ? dimmed
      : each?.isFgPalette()
        ? (palette[each.getFgColor() % 8] ?? foreground)
        : foreground;
    const isBold = Boolean(each?.isBold());
    const last = runs.at(-1);
    const isSame =
      last !== undefined &&
      last.color === color &&
      last.isBold === isBold &&
      last.column + last.text.length === column;
    const text = block !== undefined || characters === "" ? " " : characters;
    if (isSame) last.text += text;
    else runs.push({ column, text, color, isBold });
  }
  // Viewers collapse spaces, so that each part between two of them has its own column.
  const parts = runs.flatMap((run) =>
    [...run.text.matchAll(/\S+(?: \S+)*/g)].map(({ 0: text, index }) => ({
      ...run,
      text,
      column: run.column + index,
    })),
  );
  return { runs: parts, blocks };
}

/** Block elements are drawn, so that QR codes and bars have no gaps in any font. */
function toBlock(character: string, column: number, row: number): string | undefined {
  const { width, height } = cell;
  const half = height / 2;
  const [offset, size] =
    { "█": [0, height], "░": [half - 1, 2], "▀": [0, half], "▄": [half, half] }[character] ?? [];
  if (offset === undefined) return undefined;
  return `M${padding + column * width} ${titleBar + row * height + offset}h${width}v${size}h-${width}z`;
}

function toSvg(title: string, lines: readonly (readonly Run[])[], blocks: readonly string[]): string {
  const width = columns * cell.width + 2 * padding;
  const height = titleBar + lines.length * cell.height + padding;
  const texts = lines.flatMap((runs, row) => runs.map((run) => toText(run, row)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
<title id="title">${escapeXml(title)}</title>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10" fill="#161b22" stroke="#484f58"/>
<circle cx="20" cy="17" r="5.5" fill="#ff5f57"/><circle cx="38" cy="17" r="5.5" fill="#febc2e"/><circle cx="56" cy="17" r="5.5" fill="#28c840"/>
<path d="${blocks.join("")}" fill="${foreground}" shape-rendering="crispEdges"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">
${texts.join("\n")}
</g>
</svg>
`;
}

function toText({ column, text, color, isBold }: Run, row: number): string {
  const x = padding + column * cell.width;
  const y = titleBar + row * cell.height + 13;
  const weight = isBold ? ' font-weight="bold"' : "";
  // textLength: columns stay aligned in every font.
  return `<text x="${x}" y="${y}" fill="${color}"${weight} textLength="${text.length * cell.width}" lengthAdjust="spacingAndGlyphs">${escapeXml(text)}</text>`;
}

const escapeXml = (text: string) =>
  text.replace(/[&<>]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[character] ?? "");

/** The picture without what differs from run to run: figures, and the drawn blocks. */
export const maskFigures = (svg: string): string =>
  svg
    .replace(/ d="[^"]*"/g, "")
    .replace(/[\d.,]+/g, "0")
    .replace(/0 min 0 s/g, "0 s")
    .replace(/ +/g, " ");

export const toPath = (name: string): string =>
  fileURLToPath(new URL(`../../docs/diagrams/terminal/${name}.svg`, import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const session of sessions) {
    const svg = await drawSession({ ...session, output: await session.run() });
    const path = toPath(session.name);
    if (existsSync(path) && maskFigures(readFileSync(path, "utf8")) === maskFigures(svg)) continue;
    writeFileSync(path, svg);
    console.log(`updated docs/diagrams/terminal/${session.name}.svg`);
  }
}
