/** A QR code as the path of an SVG. */
import { encode } from "uqr";

/** Light modules around a QR code, which scanners need. */
const quietZone = 4;

/**
 * @returns the path of the dark modules, in a square of `size` units, which includes the light
 * margin.
 */
export function toQrPath(text: string): { size: number; path: string } {
  const { data, size } = encode(text, { ecc: "M", border: quietZone });
  const path = data
    .flatMap((row, y) =>
      getDarkRuns(row).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`),
    )
    .join("");
  return { size, path };
}

function getDarkRuns(row: readonly boolean[]): [x: number, length: number][] {
  const runs: [number, number][] = [];
  for (let x = 0; x < row.length; x += 1) {
    if (!row[x]) continue;
    const start = x;
    while (row[x + 1]) x += 1;
    runs.push([start, x - start + 1]);
  }
  return runs;
}
