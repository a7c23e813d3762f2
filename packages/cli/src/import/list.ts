/**
 * Reads a list of members: CSV or NDJSON, in UTF-8 or UTF-16 by its mark, with the line and the
 * character at which each value begins.
 */
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { pipeline, Readable } from "node:stream";
import { Parser } from "csv-parse";
import { CommandError } from "../command-error.ts";

export interface ListRecord {
  line: number;
  values: ReadonlyMap<string, unknown>;
  /** Why the whole record cannot be read. */
  malformed?: string | undefined;
  /** Where the value of a column begins; without a name, where the record begins. */
  locate(columnName?: string): { line: number; character: number };
}

export interface List {
  name: string;
  isNdjson: boolean;
  delimiter: string;
  /** The columns of the header; for NDJSON, the members of the first record. */
  columns: readonly string[];
  records: AsyncIterable<ListRecord>;
}

const maxRecordLength = 1024 * 1024;

/**
 * @param chunks the content, when it is not that of the file.
 * @throws {CommandError} for a file without rows or in another format; `records` throws it too.
 */
export async function openList(
  path: string,
  chunks: AsyncIterable<Uint8Array> = createReadStream(path),
): Promise<List> {
  const name = basename(path);
  const texts = decode(chunks, name);
  let start = "";
  // The first chunk of a pipe can be short.
  while (!start.includes("\n") && start.length < maxRecordLength) {
    const { value } = await texts.next();
    if (value === undefined) break;
    start += value;
  }
  if (/^\s*\[/.test(start))
    throw new CommandError(
      `${name} is a JSON array, and must have one object per line: jq -c '.[]' ${name} > members.ndjson`,
    );
  // Excel writes the line "sep=;", and does not show it. It becomes an empty line.
  const separatorLine = /^"?sep=(.)"?[,;\t]*(?=\n)/i.exec(start);
  const content = prepend(start.slice(separatorLine?.[0].length ?? 0), texts);
  const isNdjson = /^\s*\{/.test(start);
  const delimiter = separatorLine?.[1] ?? findDelimiter(start);
  const records: AsyncGenerator<ListRecord, void> = isNdjson
    ? readNdjson(content, name)
    : readCsv(content, name, delimiter);
  const { value: first } = await records.next();
  if (first === undefined) throw new CommandError(`${name} has no rows.`);
  const columns = [...first.values.keys()];
  if (columns.length === 0 && first.malformed !== undefined)
    throw new CommandError(`${name} line ${first.line} ${first.malformed}.`);
  return { name, isNdjson, delimiter, columns, records: prepend(first, records) };
}

/** Puts back the first value of a generator, which was read to see what follows. */
async function* prepend<Value>(
  first: Value,
  rest: AsyncIterable<Value>,
): AsyncGenerator<Value, void> {
  yield first;
  yield* rest;
}

/**
 * Decodes the file: UTF-16 by its byte order mark, else UTF-8. All lines of the text end with LF.
 * @throws {CommandError} for bytes that are not text.
 */
async function* decode(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<string, void> {
  let decodeNext: ReturnType<typeof createDecoder> | undefined;
  for await (const chunk of chunks) {
    if (decodeNext === undefined && isArchive(chunk))
      throw new CommandError(`${name} is an Excel file: save it as "CSV UTF-8".`);
    decodeNext ??= createDecoder(getEncoding(chunk), name);
    yield decodeNext(chunk);
  }
  decodeNext?.(); // the file can end within a character
  yield "\n";
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
    if (wrongAt >= 0)
      throw new CommandError(
        `${name} line ${line + countLines(text.slice(0, wrongAt))} is not ${encoding.toUpperCase()}. Save it as "CSV UTF-8", or convert it: iconv -f ENCODING -t UTF-8 ${name} > members-utf8.csv. Usual encodings are WINDOWS-1252 (also called CP1252 and ANSI; Western Europe), WINDOWS-1250 (CP1250; Central Europe), ISO-8859-2 (Latin-2), MACINTOSH and UTF-16LE ("Unicode").`,
      );
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

const countLines = (text: string) => text.split("\n").length - 1;

/**
 * Returns the candidate that is most frequent in the first line, outside quotes; a comma when there
 * is none.
 */
function findDelimiter(text: string): string {
  const [line = ""] = text.trimStart().split("\n", 1);
  const plain = line.replace(/"[^"]*"/g, "");
  const count = (delimiter: string) => plain.split(delimiter).length;
  return [",", ";", "\t"].reduce((best, other) => (count(other) > count(best) ? other : best));
}

async function* readCsv(texts: AsyncIterable<string>, name: string, delimiter: string) {
  let columns: string[] = [];
  /** The last line of the last complete record. */
  let lastLine = 1;
  const parser = new Parser({
    delimiter,
    record_delimiter: "\n",
    raw: true,
    info: true,
    skip_records_with_empty_values: true, // spreadsheets write rows of delimiters
    relax_column_count: true, // programs leave out empty values at the end of a row
    max_record_size: maxRecordLength, // a quoted value is not closed
    columns(header: string[]) {
      columns = header.map((column, at) =>
        header.indexOf(column) === at ? column.trim() : `${column} (${at + 1})`,
      );
      return columns;
    },
    on_record(record, { lines }) {
      lastLine = lines;
      return record;
    },
  });
  type Parsed = {
    record: object;
    raw: string;
    info: { lines: number; error?: { record: readonly string[] } };
  };
  try {
    pipeline(Readable.from(texts), parser, () => {}); // the parser emits the errors of both streams
    for await (const { record, raw, info } of parser as AsyncIterable<Parsed>) {
      const text = raw.replace(/\n$/, "");
      const line = info.lines - countLines(text);
      const isLonger = info.error?.record.slice(columns.length).some((value) => value !== "");
      yield {
        line,
        values: new Map(Object.entries(record)),
        malformed: isLonger ? "has more values than the header" : undefined,
        locate: (columnName?: string) =>
          locateCell(text, line, delimiter, columns.indexOf(columnName as string)),
      };
    }
  } catch (error) {
    if (!/^(?:CSV|INVALID)_/.test(String((error as { code?: unknown }).code))) throw error;
    // The message of the parser quotes the value.
    throw new CommandError(
      `${name} line ${lastLine + 1}: a quoted value is not closed, or has a quote that is not written twice ("12"" vinyl").`,
    );
  }
}

function locateCell(text: string, line: number, delimiter: string, index: number) {
  let isQuoted = false;
  let at = 0;
  for (let cell = 0; cell < index && at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && text[at] === delimiter) cell++;
  }
  const before = text.slice(0, at).split("\n");
  return { line: line + before.length - 1, character: (before.at(-1) ?? "").length + 1 };
}

async function* readNdjson(
  texts: AsyncIterable<string>,
  name: string,
): AsyncGenerator<ListRecord, void> {
  let line = 0;
  let rest = "";
  for await (const text of texts) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const one of lines) {
      line++;
      if (one.trim() !== "") yield parseLine(one, line);
    }
    if (rest.length > maxRecordLength)
      throw new CommandError(
        `${name} line ${line + 1} is longer than 1 MiB: write one object per line.`,
      );
  }
}

function parseLine(text: string, line: number): ListRecord {
  const locate = (columnName = "") => ({
    line,
    character: Math.max(0, text.indexOf(JSON.stringify(columnName))) + 1,
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {}
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return { line, locate, values: new Map(Object.entries(value)) };
  return {
    line,
    locate,
    values: new Map(),
    malformed: "is not a JSON object: write one object per line",
  };
}
