/**
 * Reads a list of members: CSV or NDJSON, in UTF-8 or UTF-16 by its mark, with the line and the
 * character at which each value begins.
 */
import { createReadStream, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pipeline, Readable } from "node:stream";
import { Parser } from "csv-parse";
import type { Context } from "../command.ts";
import { CommandError } from "../command-error.ts";
import { countLines, decode } from "./decode.ts";

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

const maxLineLength = 1024 * 1024;

/** Opens a file, or stdin for `-`. */
export async function openListFile(
  { stdin, cwd }: Context["terminal"],
  file: string,
): Promise<List> {
  if (file === "-") return openList("stdin", stdin);
  const path = resolve(cwd, file);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandError(`"${file}" is a folder: name the list in it.`);
  return openList(path);
}

/**
 * @param chunks the content, when it is not that of the file.
 * @throws {CommandError} for a file without rows or in another format; `records` throws it too.
 */
export async function openList(
  path: string,
  // The rows of a chunk are in memory together: with chunks of 64 KiB it takes 25 MB more.
  chunks: AsyncIterable<Uint8Array> = createReadStream(path, { highWaterMark: 8 * 1024 }),
): Promise<List> {
  const name = basename(path);
  const texts = limitLines(decode(chunks, name), name);
  const start = await readFirstLine(texts);
  if (/^\s*\[/.test(start))
    throw new CommandError(
      `${name} is a JSON array, and must have one object per line: jq -c '.[]' ${name} > members.ndjson`,
    );
  // Excel writes the line "sep=;", and does not show it. It becomes an empty line.
  const separatorLine = /^"?sep=(.)"?[,;\t]*(?=\n)/i.exec(start);
  const [skipped = "", delimiter = findDelimiter(start)] = separatorLine ?? [];
  const beginning = start.slice(skipped.length);
  const content = prepend(beginning, texts);
  const isNdjson = /^\s*\{/.test(start);
  const records = isNdjson ? readNdjson(content) : readCsv(content, name, { delimiter, beginning });
  const { value: first } = await records.next();
  if (first === undefined) throw new CommandError(`${name} has no rows.`);
  const columns = [...first.values.keys()];
  if (columns.length === 0 && first.malformed !== undefined)
    throw new CommandError(`${name} line ${first.line} ${first.malformed}.`);
  return { name, isNdjson, delimiter, columns, records: prepend(first, records) };
}

/** @throws {CommandError} for a line that is too long: a row is in memory as a whole. */
async function* limitLines(
  texts: AsyncIterable<string>,
  name: string,
): AsyncGenerator<string, void> {
  let line = 1;
  let begun = 0; // the length of the line that has not ended
  for await (const text of texts) {
    const [first = 0, ...others] = text.split("\n").map(({ length }) => length);
    const lengths = [begun + first, ...others];
    const longAt = lengths.findIndex((length) => length > maxLineLength);
    if (longAt >= 0)
      throw new CommandError(
        `${name} line ${line + longAt} is longer than 1 MiB: write one row or object per line.`,
      );
    line += others.length;
    begun = lengths.at(-1) ?? 0;
    yield text;
  }
}

/** Reads until the first line has ended, or is known to be of another format. */
async function readFirstLine(texts: AsyncGenerator<string, void>): Promise<string> {
  let start = "";
  while (!start.includes("\n") && !/^\s*\[/.test(start)) {
    const { value } = await texts.next();
    if (value === undefined) break;
    start += value;
  }
  return start;
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
 * Returns the candidate that is most frequent in the first line, outside quotes; a comma when there
 * is none.
 */
function findDelimiter(text: string): string {
  const [line = ""] = text.trimStart().split("\n", 1);
  const plain = line.replace(/"[^"]*"/g, "");
  const count = (delimiter: string) => plain.split(delimiter).length;
  return [",", ";", "\t"].reduce((best, other) => (count(other) > count(best) ? other : best));
}

type Records = AsyncGenerator<ListRecord, void>;

/** @param beginning of the content: blank lines before the header have no record. */
async function* readCsv(
  texts: AsyncIterable<string>,
  name: string,
  { delimiter, beginning }: { delimiter: string; beginning: string },
): Records {
  let columns: string[] = [];
  /** The last line of the last complete record. */
  let lastLine = countLines(/^\s*/.exec(beginning)?.[0] ?? "");
  const parser = new Parser({
    delimiter,
    record_delimiter: "\n",
    raw: true,
    info: true,
    skip_records_with_empty_values: true, // spreadsheets write rows of delimiters
    relax_column_count: true, // programs leave out empty values at the end of a row
    max_record_size: maxLineLength, // a quoted value is not closed
    columns(header: string[]) {
      lastLine = parser.info.lines;
      const names = header.map((column) => column.trim());
      columns = names.map((name, at) =>
        names.indexOf(name) === at ? name : `${name} (${at + 1})`,
      );
      return columns;
    },
    on_record(record, { lines }) {
      lastLine = lines;
      return record;
    },
  });
  type Parsed = {
    record: Record<string, string>;
    raw: string;
    info: { lines: number; error?: { record: readonly string[] } };
  };
  try {
    pipeline(Readable.from(texts), parser, () => {}); // the parser emits the errors of both streams
    for await (const { record, raw, info } of parser as AsyncIterable<Parsed>) {
      const text = raw.replace(/\n$/, "");
      const line = info.lines - countLines(text);
      // Values at the end that are empty do not count.
      const isLonger = info.error?.record.slice(columns.length).some((value) => value !== "");
      yield {
        line,
        // The record has no values that the row leaves out, and the first row decides the columns.
        values: new Map(
          columns.map((name) => [name, Object.hasOwn(record, name) ? record[name] : ""]),
        ),
        malformed: isLonger ? "has more values than the header" : undefined,
        locate: (columnName?: string) =>
          locateCell({ text, line, delimiter, column: columns.indexOf(columnName as string) }),
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

/** @param row its text, the line where it begins, and the index of the column. */
function locateCell(row: { text: string; line: number; delimiter: string; column: number }) {
  const { text, line, delimiter, column } = row;
  let isQuoted = false;
  let at = 0;
  for (let cell = 0; cell < column && at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && text[at] === delimiter) cell++;
  }
  const before = text.slice(0, at).split("\n");
  return { line: line + before.length - 1, character: (before.at(-1) ?? "").length + 1 };
}

async function* readNdjson(texts: AsyncIterable<string>): Records {
  let line = 0;
  let rest = "";
  for await (const text of texts) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const one of lines) {
      line++;
      if (one.trim() !== "") yield parseLine(one, line);
    }
  }
}

function parseLine(text: string, line: number): ListRecord {
  const locate = (columnName?: string) => ({ line, character: findKey(text, columnName) + 1 });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {}
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return { line, locate, values: new Map(Object.entries(value)) };
  const malformed = "is not a JSON object: write one object per line";
  return { line, locate, values: new Map(), malformed };
}

/** @returns where the key of a member begins in the text of an object; 0 when there is none. */
function findKey(text: string, name: string | undefined): number {
  if (name === undefined) return 0;
  for (const { 0: string, 1: colon, index } of text.matchAll(/"(?:[^"\\]|\\.)*"(?=(\s*:)?)/g))
    if (colon !== undefined && JSON.parse(string) === name) return index;
  return 0;
}
