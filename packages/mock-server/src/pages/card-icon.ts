/** Draws the icon of a wallet pass as PNG: a loyalty card with a star of points, on the card's colour. */
import { adler32, crc32 } from "./checksums.ts";
import { joined } from "./zip.ts";

export type Colour = readonly [red: number, green: number, blue: number];

/** Points per side of a pixel that are asked whether they are inside; 4 × 4 give 17 shades, 16 of them used. */
const samples = 4;

export function cardIcon(size: number, ground: Colour): Uint8Array<ArrayBuffer> {
  const rows: Uint8Array[] = [];
  for (let y = 0; y < size; y += 1) {
    const row = new Uint8Array(1 + Math.ceil(size / 2)); // filter 0, then two pixels a byte
    for (let x = 0; x < size; x += 1) {
      const shade = Math.min(15, coverage(x / size, y / size, 1 / size));
      const index = 1 + (x >> 1);
      row[index] = (row[index] ?? 0) | (x % 2 === 0 ? shade << 4 : shade);
    }
    rows.push(row);
  }
  return png(size, shades(ground), joined(rows));
}

/** How many of the 16 sample points of a pixel the drawing covers. */
function coverage(left: number, top: number, side: number): number {
  let covered = 0;
  for (let i = 0; i < samples; i += 1) {
    for (let j = 0; j < samples; j += 1) {
      const x = left + ((i + 0.5) / samples) * side;
      const y = top + ((j + 0.5) / samples) * side;
      if (isInCard(x, y) && !isInStripe(x, y)) covered += 1;
    }
  }
  return covered;
}

/** A rounded rectangle in the unit square. */
function isInCard(x: number, y: number): boolean {
  const [halfWidth, halfHeight, radius] = [0.34, 0.24, 0.06];
  const dx = Math.max(Math.abs(x - 0.5) - (halfWidth - radius), 0);
  const dy = Math.max(Math.abs(y - 0.5) - (halfHeight - radius), 0);
  return dx * dx + dy * dy <= radius * radius;
}

const isInStripe = (x: number, y: number) =>
  (y > 0.37 && y < 0.46) || (x > 0.24 && x < 0.5 && y > 0.6 && y < 0.65);

/** From the ground to white. */
function shades(ground: Colour): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: 48 }, (_, index) => {
    const channel = ground[index % 3] ?? 0;
    return Math.round(channel + ((255 - channel) * Math.floor(index / 3)) / 15);
  });
}

function png(size: number, palette: Uint8Array, pixels: Uint8Array): Uint8Array<ArrayBuffer> {
  return joined([
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", Uint8Array.of(...big(size), ...big(size), 4, 3, 0, 0, 0)), // 4 bits a pixel, with a palette
    chunk("PLTE", palette),
    chunk("IDAT", zlibStored(pixels)),
    chunk("IEND", new Uint8Array()),
  ]);
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const typed = joined([new TextEncoder().encode(type), data]);
  return joined([Uint8Array.of(...big(data.length)), typed, Uint8Array.of(...big(crc32(typed)))]);
}

/** A zlib stream of one stored block, which holds up to 64 KiB: an icon has a few. */
function zlibStored(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  const header = [0x78, 0x01, 0x01, length & 0xff, length >> 8, ~length & 0xff, (~length >> 8) & 0xff];
  return joined([Uint8Array.from(header), bytes, Uint8Array.of(...big(adler32(bytes)))]);
}

const big = (number: number) => [number >>> 24, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff];
