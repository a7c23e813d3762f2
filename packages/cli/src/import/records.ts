/** Records of an input file: CSV (RFC 4180) or NDJSON, each with its position and its original text. */
import { pipeline, Readable } from "node:stream";
import { type CsvError, Parser } from "csv-parse";
import { CommandError } from "../command-error.ts";
import { maxLineBytes, type TextSource } from "./text.ts";

export type Format = "csv" | "ndjson";

export interface Position {
  line: number;
  column: number;
}

export interface SourceRecord {
  /** The line in which the record begins. */
  line: number;
  /** The original text, without the end of the line. */
  raw: string;
  /** Why the whole record cannot be read. */
  malformed?: string;
  /** The names of the members of an NDJSON record. */
  members?: readonly string[];
  /** The value in a column; undefined when the record has no such column. */
  read(column: string): unknown;
  /** Where the value of a column begins. */
  locate(column?: string): Position;
}

export interface RecordSource {
  format: Format;
  /** The columns of the header; for NDJSON, the members of the first record. */
  columns: readonly string[];
  /** The original text of the header of a CSV file. */
  header: string;
  delimiter: string;
  endOfLine: "\n" | "\r\n";
  records: AsyncGenerator<SourceRecord, void>;
}

export interface RecordOptions {
  name: string;
  format: Format;
  /** Default: found in the header. */
  delimiter?: string | undefined;
}

/** @throws {CommandError} for a file without a header; `records` throws it for a file whose quotes are not closed. */
export async function openRecords({ blocks }: TextSource, options: RecordOptions): Promise<RecordSource> {
  const first = await blocks.next();
  const text = first.done ? "" : first.value;
  if (text.trim() === "") throw new CommandError(`${options.name} is empty.`);
  const endOfLine = /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
  async function* all() {
    yield text;
    yield* blocks;
  }
  if (options.format === "ndjson") return openNdjson(all(), options.name, endOfLine);
  const delimiter = options.delimiter ?? findDelimiter(text);
  return openCsv(all(), { ...options, delimiter, endOfLine });
}

async function openNdjson(
  blocks: AsyncIterable<string>,
  name: string,
  endOfLine: RecordSource["endOfLine"],
): Promise<RecordSource> {
  const records = readNdjson(blocks);
  const next = await records.next();
  if (next.done) throw new CommandError(`${name} is empty.`);
  const first = next.value;
  async function* all() {
    yield first;
    yield* records;
  }
  return {
    format: "ndjson",
    columns: first.members,
    header: "",
    delimiter: "",
    endOfLine,
    records: all(),
  };
}

type NdjsonRecord = SourceRecord & Required<Pick<SourceRecord, "members">>;

async function* readNdjson(blocks: AsyncIterable<string>): AsyncGenerator<NdjsonRecord, void> {
  let line = 0;
  for await (const block of blocks) {
    const lines = block.split("\n");
    if (block.endsWith("\n")) lines.pop();
    for (const text of lines) {
      line++;
      const raw = text.endsWith("\r") ? text.slice(0, -1) : text;
      if (raw.trim() !== "") yield toNdjsonRecord(raw, line);
    }
  }
}

function toNdjsonRecord(raw: string, line: number): NdjsonRecord {
  const value = parseObject(raw);
  return {
    line,
    raw,
    members: Object.keys(value ?? {}),
    ...(value === undefined && { malformed: "is not a JSON object" }),
    read: (column) => (value !== undefined && Object.hasOwn(value, column) ? value[column] : undefined),
    locate: (column) => ({
      line,
      column: column === undefined ? 1 : Math.max(0, raw.indexOf(`${JSON.stringify(column)}`)) + 1,
    }),
  };
}

/** @returns undefined for a text that is not a JSON object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the candidate that is most frequent in the first line, outside quotes; a comma when there is none. */
function findDelimiter(text: string): string {
  const [line = ""] = text.split("\n", 1);
  const plain = line.replace(/"[^"]*"/g, "");
  const count = (delimiter: string) => plain.split(delimiter).length;
  return [",", ";", "\t", "|"].reduce((best, other) => (count(other) > count(best) ? other : best));
}

interface CsvOptions extends RecordOptions {
  delimiter: string;
  endOfLine: RecordSource["endOfLine"];
}

async function openCsv(blocks: AsyncIterable<string>, options: CsvOptions): Promise<RecordSource> {
  const { name, delimiter, endOfLine } = options;
  const rows = parseCsv(blocks, options);
  const { value: header } = await rows.next();
  if (header === undefined) throw new CommandError(`${name} is empty.`);
  if (/\r(?!\n)/.test(header.raw))
    throw new CommandError(`${name} has lines that end with CR only: save it with LF or CRLF.`);
  const columns = header.cells.map((cell) => cell.trim());
  const indexes = new Map(columns.map((column, index) => [column, index]));

  async function* records(): AsyncGenerator<SourceRecord, void> {
    for await (const { cells, raw, line } of rows) {
      const hasAll = cells.length === columns.length;
      yield {
        line,
        raw,
        ...(!hasAll && { malformed: `has ${cells.length} values, and the header has ${columns.length}` }),
        read: (column) => cells[indexes.get(column) ?? -1],
        locate: (column) => locateCell(raw, line, delimiter, indexes.get(column ?? "") ?? 0),
      };
    }
  }
  return { format: "csv", columns, header: header.raw, delimiter, endOfLine, records: records() };
}

interface CsvRow {
  cells: string[];
  raw: string;
  line: number;
}

async function* parseCsv(
  blocks: AsyncIterable<string>,
  { name, delimiter }: CsvOptions,
): AsyncGenerator<CsvRow, void> {
  let lastLine = 0; // the last line of the last complete record
  const parser = new Parser({
    delimiter,
    raw: true,
    relax_column_count: true, // reported as a problem of that row
    record_delimiter: ["\r\n", "\n"],
    max_record_size: maxLineBytes,
    on_record: (record, { lines }) => {
      lastLine = lines;
      return record;
    },
  });
  let line = 1;
  try {
    // The parser emits the errors of both streams.
    pipeline(Readable.from(blocks), parser, () => {});
    for await (const { record, raw } of parser as AsyncIterable<{ record: string[]; raw: string }>) {
      const text = raw.replace(/\r?\n?$/, "");
      if (text !== "") yield { cells: record, raw: text, line };
      line += text.split("\n").length;
    }
  } catch (error) {
    throw (error as Error).name === "Error" && "code" in (error as Error)
      ? new CommandError(`${name} ${describeCsvError(error as CsvError & { lines?: number }, lastLine + 1)}`)
      : error;
  }
}

function describeCsvError({ code, lines }: CsvError & { lines?: number }, recordLine: number): string {
  switch (code) {
    case "CSV_QUOTE_NOT_CLOSED":
      return `line ${recordLine}: a quoted value is not closed.`;
    case "CSV_MAX_RECORD_SIZE":
      return `line ${recordLine}: the record is longer than 1 MiB. Is a quoted value not closed?`;
    default:
      return `line ${lines ?? recordLine}: a value that contains a quote must be in quotes, and the quote written twice: "12"" vinyl".`;
  }
}

/** Finds the offsets at which the cells of a record begin. */
function findCells(raw: string, delimiter: string): number[] {
  const starts = [0];
  let isQuoted = false;
  for (let at = 0; at < raw.length; at++) {
    if (raw[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && raw.startsWith(delimiter, at)) starts.push(at + delimiter.length);
  }
  return starts;
}

function locateCell(raw: string, line: number, delimiter: string, index: number): Position {
  const before = raw.slice(0, findCells(raw, delimiter)[index] ?? raw.length).split("\n");
  return { line: line + before.length - 1, column: (before.at(-1) ?? "").length + 1 };
}
