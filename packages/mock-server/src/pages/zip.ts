/** Packs a handful of small files into a ZIP archive, stored as they are. */
import { crc32 } from "./checksums.ts";

export interface ZipEntry {
  /** ASCII. */
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** @param at what the archive says its files were written at; in UTC, to two seconds. */
export function zip(entries: readonly ZipEntry[], at: Date): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const nameBytes = new TextEncoder().encode(name);
    const common = [
      ...little(2, 20, 0, 0, dosTime(at), dosDate(at)), // version 2.0, no flags, stored
      ...little(4, crc32(bytes), bytes.length, bytes.length),
      ...little(2, nameBytes.length, 0),
    ];
    const local = Uint8Array.of(...little(4, 0x04034b50), ...common, ...nameBytes);
    directory.push(
      Uint8Array.of(
        ...little(4, 0x02014b50),
        ...little(2, 20),
        ...common,
        ...little(2, 0, 0, 0), // no comment, first disk, no internal attributes
        ...little(4, 0, offset),
        ...nameBytes,
      ),
    );
    parts.push(local, bytes);
    offset += local.length + bytes.length;
  }
  const directoryLength = lengthOf(directory);
  const end = Uint8Array.of(
    ...little(4, 0x06054b50),
    ...little(2, 0, 0, entries.length, entries.length),
    ...little(4, directoryLength, offset),
    ...little(2, 0),
  );
  return joined([...parts, ...directory, end]);
}

/** Whole numbers of `size` bytes each, the lowest byte first. */
function little(size: number, ...numbers: readonly number[]): number[] {
  return numbers.flatMap((number) =>
    Array.from({ length: size }, (_, index) => (number >>> (8 * index)) & 0xff),
  );
}

const dosTime = (at: Date) =>
  (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
/** Years from 1980 to 2107; a clock beyond that is written as the nearest of them. */
const dosDate = (at: Date) =>
  (Math.min(Math.max(at.getUTCFullYear() - 1980, 0), 127) << 9) |
  ((at.getUTCMonth() + 1) << 5) |
  at.getUTCDate();

const lengthOf = (parts: readonly Uint8Array[]) => parts.reduce((length, part) => length + part.length, 0);

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(lengthOf(parts));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
