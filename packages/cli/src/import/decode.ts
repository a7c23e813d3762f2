/** The text of a list: UTF-8, or UTF-16 by its mark. An error names the line that is not text. */
import { CommandError } from "../command-error.ts";

/**
 * Decodes the file: UTF-16 by its byte order mark, else UTF-8. All lines of the text end with LF.
 * @throws {CommandError} for bytes that are not text.
 */
export async function* decode(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<string, void> {
  let decodeNext: ReturnType<typeof createDecoder> | undefined;
  for await (const chunk of joinStart(chunks)) {
    if (decodeNext === undefined && isArchive(chunk))
      throw new CommandError(`${name} is an Excel file: save it as "CSV UTF-8".`);
    decodeNext ??= createDecoder(getEncoding(chunk), name);
    yield decodeNext(chunk);
  }
  decodeNext?.(); // the file can end within a character
  yield "\n";
}

/** A workbook is known by its first four bytes, and UTF-16 by two. */
const startLength = 4;

/** Joins the first chunks until they have the whole start: a pipe can begin with a shorter one. */
async function* joinStart(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let start: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    if (start.length >= startLength) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length >= startLength) yield start;
  }
  if (start.length < startLength) yield start; // the whole file
}

/** Creates a function that decodes the next chunk, or without one checks that the file is whole. */
function createDecoder(encoding: string, name: string) {
  const decoder = new TextDecoder(encoding);
  const strictDecoder = new TextDecoder(encoding, { fatal: true });
  let line = 1;
  let rest = "";
  return (chunk?: Uint8Array): string => {
    const options = { stream: chunk !== undefined };
    let text = decoder.decode(chunk, options);
    let wrongAt = text.indexOf("\0"); // a workbook and UTF-16 without a mark have NUL characters
    try {
      strictDecoder.decode(chunk, options);
    } catch {
      wrongAt = text.indexOf("\ufffd"); // replaces the wrong bytes, also those of the last chunk
    }
    if (wrongAt >= 0) {
      const place = `${name} line ${line + countLines(text.slice(0, wrongAt))}`;
      throw new CommandError(
        `${place} is not ${encoding.toUpperCase()}. Save it as "CSV UTF-8", or convert it: iconv -f ENCODING -t UTF-8 ${name} > members-utf8.csv. Usual encodings are WINDOWS-1252 (also called CP1252 and ANSI; Western Europe), WINDOWS-1250 (CP1250; Central Europe), ISO-8859-2 (Latin-2), MACINTOSH and UTF-16LE ("Unicode").`,
      );
    }
    text = rest + text;
    rest = text.endsWith("\r") ? "\r" : ""; // the next chunk may begin with LF
    text = text.slice(0, text.length - rest.length).replace(/\r\n?/g, "\n");
    line += countLines(text);
    return text;
  };
}

function getEncoding([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** A workbook is a ZIP archive, which begins with `PK`. */
const isArchive = ([p, k, three, four]: Uint8Array): boolean =>
  p === 0x50 && k === 0x4b && three === 3 && four === 4;

/** How many lines end in a text. */
export const countLines = (text: string) => text.split("\n").length - 1;
