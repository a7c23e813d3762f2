/** Reading of input files: encodings, records, positions and original text. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CommandError } from "../src/command-error.ts";
import { openRecords, type RecordOptions, type SourceRecord } from "../src/import/records.ts";
import { createEncoder, openText } from "../src/import/text.ts";

/** Chunks of a file, cut at the given positions. */
async function* cut(bytes: Uint8Array, positions: readonly number[] = []): AsyncGenerator<Uint8Array, void> {
  const ends = [...positions.map((position) => position % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  );
  let start = 0;
  for (const end of ends) {
    yield bytes.subarray(start, end);
    start = end;
  }
}

async function readAll(
  bytes: Uint8Array,
  { positions, ...more }: { positions?: number[] } & Partial<RecordOptions> = {},
) {
  const text = await openText(cut(bytes, positions), "members.csv");
  const source = await openRecords(text, { name: "members.csv", format: "csv", ...more });
  const records: SourceRecord[] = [];
  for await (const record of source.records) records.push(record);
  return { text, source, records };
}

const readError = async (...args: Parameters<typeof readAll>) => {
  const error = await readAll(...args).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(CommandError);
  return (error as CommandError).message;
};

const utf8 = (text: string) => Buffer.from(text, "utf8");

describe("CSV", () => {
  it("returns values, lines and original text for quoted line ends, quoted quotes, empty lines and both line ends", async () => {
    const { source, records } = await readAll(
      utf8('id,name\r\n1,"Anna\nMaria"\n\r\n2,"says ""hi"", often"\r\n3,\r\n4,last'),
    );
    expect(source).toMatchObject({
      columns: ["id", "name"],
      header: "id,name",
      delimiter: ",",
      endOfLine: "\r\n",
    });
    expect(records.map(({ line, raw, read }) => [line, raw, read("id"), read("name")])).toEqual([
      [2, '1,"Anna\nMaria"', "1", "Anna\nMaria"],
      [5, '2,"says ""hi"", often"', "2", 'says "hi", often'],
      [6, "3,", "3", ""],
      [7, "4,last", "4", "last"],
    ]);
  });

  it("locates a value by line and column, also behind a quoted line end", async () => {
    const { records } = await readAll(utf8('id,name,phone\n1,"a, b\nc",5\n'));
    expect(records[0]?.locate("name")).toEqual({ line: 2, column: 3 });
    expect(records[0]?.locate("phone")).toEqual({ line: 3, column: 4 });
    expect(records[0]?.locate()).toEqual({ line: 2, column: 1 });
  });

  it.each([
    [",", "id,name;x\n1,a\n", {}],
    [";", "id;name,x;phone\n1;a;b\n", {}],
    ["\t", "id\tname\n1\ta\n", {}],
    ["|", 'id|"a,b,c"\n1|2\n', {}],
    [",", "id\n1\n", {}],
    [":", "id,name:phone\n1:2\n", { delimiter: ":" }], // named by the user
  ])("finds the delimiter %j in the header", async (delimiter, text, options) => {
    const { source } = await readAll(utf8(text), options);
    expect([source.delimiter, source.header]).toEqual([delimiter, text.split("\n", 1)[0]]);
  });

  it("marks a row with another number of values than the header", async () => {
    const { records } = await readAll(utf8("id,name\n1\n2,a,b\n"));
    expect(records.map(({ malformed }) => malformed)).toEqual([
      "has 1 values, and the header has 2",
      "has 3 values, and the header has 2",
    ]);
  });

  const mustBeQuoted =
    'line 2: a value that contains a quote must be in quotes, and the quote written twice: "12"" vinyl".';

  it.each([
    ['id,name\n1,a\n2,"b\n3,c\n', "line 3: a quoted value is not closed."],
    [
      `id,name\n1,"${"line\n".repeat(300_000)}`,
      "line 2: the record is longer than 1 MiB. Is a quoted value not closed?",
    ],
    ['id,name\n1,12" vinyl\n', mustBeQuoted],
    ['id,name\n1,"a" b\n', mustBeQuoted],
  ])("refuses quotes that are not RFC 4180", async (text, message) => {
    expect(await readError(utf8(text))).toBe(`members.csv ${message}`);
  });
});

describe("NDJSON", () => {
  it("returns members, lines and original text, and marks lines that are no objects", async () => {
    const { source, records } = await readAll(utf8('{"id": 1, "name":"A"}\r\n\n[1]\n{"id":"2"}'), {
      format: "ndjson",
    });
    expect(source.columns).toEqual(["id", "name"]);
    expect(records.map(({ line, raw, malformed, read }) => [line, raw, malformed, read("id")])).toEqual([
      [1, '{"id": 1, "name":"A"}', undefined, 1],
      [3, "[1]", "is not a JSON object", undefined],
      [4, '{"id":"2"}', undefined, "2"],
    ]);
    expect(records[0]?.locate("name")).toEqual({ line: 1, column: 11 });
  });
});

describe("encodings", () => {
  const text = "id,name\r\n1,Zażółć\r\n2,Łódź\n";

  it.each([
    ["utf-8", [0xef, 0xbb, 0xbf]],
    ["utf-16le", [0xff, 0xfe]],
    ["utf-16be", [0xfe, 0xff]],
  ] as const)("finds %s by its byte order mark", async (encoding, mark) => {
    const { text: source, records } = await readAll(
      Buffer.concat([Buffer.from(mark), createEncoder(encoding)(text)]),
    );
    expect(source).toMatchObject({ encoding, hasByteOrderMark: true });
    expect(records.map(({ read }) => [read("id"), read("name")])).toEqual([
      ["1", "Zażółć"],
      ["2", "Łódź"],
    ]);
  });

  it.each<[string, Buffer, string]>([
    [
      "invalid UTF-8",
      Buffer.from("id,name\n1,a\n2,caf\xe9\n", "latin1"),
      "line 3 is not valid UTF-8: if Excel saved the file, convert it: iconv -f WINDOWS-1252 -t UTF-8 (Western Europe), or -f WINDOWS-1250 (Central Europe).",
    ],
    [
      "an unpaired surrogate",
      Buffer.from("\ufeffid\n1\n\ud800\n", "utf16le"),
      "line 3 is not valid UTF-16LE: is the file complete?",
    ],
    [
      "UTF-16 without a mark",
      Buffer.from("id\n1\n", "utf16le"),
      "line 1 has a NUL character: if the file is UTF-16 without a byte order mark, convert it: iconv -f UTF-16LE -t UTF-8.",
    ],
    [
      "an Excel workbook",
      utf8("PK\u0003\u0004rest"),
      "is an Excel workbook or a ZIP file: save it as CSV UTF-8.",
    ],
    ["a compressed file", Buffer.from([0x1f, 0x8b, 8, 0]), "is compressed: unpack it first."],
    ["an empty file", utf8(""), "is empty."],
    ["a byte order mark only", utf8("\ufeff"), "is empty."],
    ["blank lines only", utf8("\n\n"), "is empty."],
    [
      "a line of 10 MB",
      utf8(`id\n1\n${"x".repeat(10_000_000)}\n`),
      "line 3 is longer than 1 MiB: is it a CSV or NDJSON file?",
    ],
    [
      "lines that end with CR",
      utf8("id,name\r1,a\r".repeat(100_000)),
      "line 1 is longer than 1 MiB: its lines end with CR only: save it with LF or CRLF.",
    ],
  ])("refuses %s", async (_, bytes, message) => {
    // In chunks as a file stream has them.
    const chunks = Math.floor(bytes.length / 65_536);
    const positions = Array.from({ length: chunks }, (_, index) => (index + 1) * 65_536);
    expect(await readError(bytes, { positions })).toBe(`members.csv ${message}`);
  });
});

describe("chunks", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", "é", "Ł", "1", ",", ";", '"', "\n", "\r\n", " ") });
  const rows = fc.array(fc.tuple(cell, cell, fc.constantFrom("\n", "\r\n")), { maxLength: 8 });
  const quote = (text: string) => (/[",;\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  it("do not change the records, wherever they are cut, in any encoding", async () => {
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(fc.nat()),
        fc.constantFrom("utf-8", "utf-16le", "utf-16be"),
        async (cells, positions, encoding) => {
          const lines = cells.map(([one, other, end]) => [`x${one}`, other, end] as const);
          const text = `id,name\n${lines.map(([one, other, end]) => `${quote(one)},${quote(other)}${end}`).join("")}`;
          const bytes = createEncoder(encoding)(`${encoding === "utf-8" ? "" : "\ufeff"}${text}`);
          const { records } = await readAll(bytes, { positions });
          expect(records.map(({ read }) => [read("id"), read("name")])).toEqual(
            lines.map(([one, other]) => [one, other]),
          );
          expect(records.map(({ raw }) => raw)).toEqual(
            lines.map(([one, other]) => `${quote(one)},${quote(other)}`),
          );
          // The original text is where its position says, byte for byte.
          for (const { line, raw } of records) {
            const rest = text
              .split("\n")
              .slice(line - 1)
              .join("\n");
            expect(rest.startsWith(raw)).toBe(true);
          }
        },
      ),
    );
  });
});
