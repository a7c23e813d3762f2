/** Draws a QR code as SVG: one path, crisp at every size, dark on light whatever the page looks like. */
import { encode } from "uqr";
import { html, type Markup } from "./html.ts";

/** Modules of light around the code, which readers need. */
const quietZone = 4;

export function qrCode(text: string, label: string): Markup {
  const { data, size } = encode(text, { ecc: "M", border: quietZone });
  const path = data
    .flatMap((row, y) => darkRuns(row).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`))
    .join("");
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img" aria-label="${label}"><path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path fill="#000" d="${path}"/></svg>`;
}

function darkRuns(row: readonly boolean[]): [x: number, length: number][] {
  const runs: [number, number][] = [];
  for (let x = 0; x < row.length; x += 1) {
    if (!row[x]) continue;
    const start = x;
    while (row[x + 1]) x += 1;
    runs.push([start, x - start + 1]);
  }
  return runs;
}
