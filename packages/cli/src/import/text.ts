/** Text of an input file: finds its encoding, decodes whole lines, and rejects bytes that are not text. Encodes text for the result files. */
import { CommandError } from "../command-error.ts";

type Encoding = "utf-8" | "utf-16le" | "utf-16be";

/** A longer line is a sign of another kind of file, or of a quoted value that is not closed. */
export const maxLineBytes = 1024 * 1024;

export interface TextSource {
  encoding: Encoding;
  hasByteOrderMark: boolean;
  /** Each block ends at the end of a line, or at the end of the file. */
  blocks: AsyncGenerator<string, void>;
}

const byteOrderMarks: readonly (readonly [Encoding, Buffer])[] = [
  ["utf-8", Buffer.from([0xef, 0xbb, 0xbf])],
  ["utf-16le", Buffer.from([0xff, 0xfe])],
  ["utf-16be", Buffer.from([0xfe, 0xff])],
];

/** Other formats that users pass instead of CSV, by their first bytes. */
const otherFormats: readonly (readonly [string, Buffer])[] = [
  ["is an Excel workbook or a ZIP file: save it as CSV UTF-8", Buffer.from("PK\u0003\u0004")],
  ["is an old Excel workbook: save it as CSV UTF-8", Buffer.from([0xd0, 0xcf, 0x11, 0xe0])],
  ["is compressed: unpack it first", Buffer.from([0x1f, 0x8b])],
];

/**
 * UTF-16 by its byte order mark, otherwise UTF-8.
 * @param name of the file, for messages.
 * @throws {CommandError} for an empty file, another file format, and text in another encoding; `blocks` throws it too.
 */
export async function openText(bytes: AsyncIterable<Uint8Array>, name: string): Promise<TextSource> {
  const iterator = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < 4) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  if (head.length === 0) throw new CommandError(`${name} is empty.`);
  for (const [text, signature] of otherFormats) {
    if (startsWith(head, signature)) throw new CommandError(`${name} ${text}.`);
  }
  const mark = byteOrderMarks.find(([, signature]) => startsWith(head, signature));
  const encoding = mark?.[0] ?? "utf-8";

  async function* chunks() {
    try {
      yield mark === undefined ? head : head.subarray(mark[1].length);
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      await iterator.return?.();
    }
  }
  return { encoding, hasByteOrderMark: mark !== undefined, blocks: decodeLines(chunks(), name, encoding) };
}

const startsWith = (bytes: Buffer, start: Buffer) => bytes.subarray(0, start.length).equals(start);

async function* decodeLines(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  encoding: Encoding,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  let line = 1;
  const decode = (bytes: Uint8Array): string => {
    try {
      return decoder.decode(bytes);
    } catch {
      const lenient = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
      const problem = `${name} line ${line + countLines(lenient, "\ufffd")} is not valid ${encoding.toUpperCase()}`;
      const advice =
        encoding === "utf-8"
          ? "if Excel saved the file, convert it: iconv -f WINDOWS-1252 -t UTF-8 (Western Europe), or -f WINDOWS-1250 (Central Europe)."
          : "is the file complete?";
      throw new CommandError(`${problem}: ${advice}`);
    }
  };
  const read = (bytes: Uint8Array): string => {
    const text = decode(bytes);
    if (text.includes("\0")) {
      throw new CommandError(
        `${name} line ${line + countLines(text, "\0")} has a NUL character: if the file is UTF-16 without a byte order mark, convert it: iconv -f UTF-16LE -t UTF-8.`,
      );
    }
    line += countLines(text);
    return text;
  };
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = findEndOfLastLine(bytes, encoding);
    if (end > 0) yield read(bytes.subarray(0, end));
    rest = bytes.subarray(end);
    if (rest.length <= maxLineBytes) continue;
    const hint = rest.includes(0x0d)
      ? "its lines end with CR only: save it with LF or CRLF."
      : "is it a CSV or NDJSON file?";
    throw new CommandError(`${name} line ${line} is longer than 1 MiB: ${hint}`);
  }
  if (rest.length > 0) yield read(rest);
}

function findEndOfLastLine(bytes: Uint8Array, encoding: Encoding): number {
  if (encoding === "utf-8") return bytes.lastIndexOf(0x0a) + 1;
  const low = encoding === "utf-16le" ? 0 : 1;
  for (let at = bytes.length - (bytes.length % 2) - 2; at >= 0; at -= 2) {
    if (bytes[at + low] === 0x0a && bytes[at + 1 - low] === 0) return at + 2;
  }
  return 0;
}

/** Counts the lines that end before the first occurrence of a character, or before the end. */
function countLines(text: string, character = ""): number {
  const end = character === "" ? text.length : text.indexOf(character);
  return text.slice(0, Math.max(0, end)).split("\n").length - 1;
}

/** Creates the inverse of the decoder. */
export function createEncoder(encoding: Encoding): (text: string) => Buffer {
  if (encoding === "utf-8") return (text) => Buffer.from(text, "utf8");
  if (encoding === "utf-16le") return (text) => Buffer.from(text, "utf16le");
  return (text) => Buffer.from(text, "utf16le").swap16();
}
