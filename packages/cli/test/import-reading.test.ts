/** Reading of lists: encodings, records, and the positions of values. */
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CommandError } from "../src/command-error.ts";
import { type ListRecord, openList } from "../src/import/list.ts";
import { createFolder } from "./terminal.ts";

async function readAll(content: string | Uint8Array) {
  const list = await openList(join(createFolder({ "members.csv": content }), "members.csv"));
  const records: ListRecord[] = [];
  for await (const record of list.records) records.push(record);
  return { list, records };
}

const readError = async (content: string | Uint8Array) => {
  const error = await readAll(content).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(CommandError);
  return (error as CommandError).message;
};

const toRows = (records: readonly ListRecord[]) =>
  records.map(({ line, values }) => [line, ...values.values()]);

describe("CSV", () => {
  it("has values and lines of quoted line ends, quoted quotes, empty lines, rows of delimiters, and each end of line", async () => {
    const text = 'id,name\r\n1,"Anna\nMaria"\n\r\n2,"says ""hi"", often"\r\n,\r\n3,\r\n\n4,last';
    const { list, records } = await readAll(text);
    expect(list).toMatchObject({ columns: ["id", "name"], delimiter: ",", isNdjson: false });
    expect(toRows(records)).toEqual([
      [2, "1", "Anna\nMaria"],
      [5, "2", 'says "hi", often'],
      [7, "3", ""],
      [9, "4", "last"],
    ]);
    expect(toRows((await readAll("id,name\r1,a\r2,b\r")).records)).toEqual([
      [2, "1", "a"],
      [3, "2", "b"],
    ]);
  });

  it("locates a value by line and column, also behind a quoted line end", async () => {
    const { records } = await readAll('id,name,phone\n1,"a, b\nc",5\n');
    expect(records[0]?.locate("name")).toEqual({ line: 2, column: 3 });
    expect(records[0]?.locate("phone")).toEqual({ line: 3, column: 4 });
    expect(records[0]?.locate()).toEqual({ line: 2, column: 1 });
  });

  it.each([
    [",", "id,name;x\n1,a\n"],
    [";", "id;name,x;phone\n1;a;b\n"],
    ["\t", "id\tname\n1\ta\n"],
    [",", "id\n1\n"],
    // The line of Excel names any other one.
    [";", "sep=;\r\nid;a,b,c\r\n1;2\r\n"],
    ["|", '"sep=|"\nid|name\n1|a\n'],
    ["\t", "\ufeffsep=\t\nid\tname\n1\ta\n"],
  ])("finds the delimiter %j in the first lines", async (delimiter, text) => {
    const { list, records } = await readAll(text);
    expect([list.delimiter, list.columns[0], records[0]?.values.get("id")]).toEqual([delimiter, "id", "1"]);
    expect(records[0]?.line).toBe(text.includes("sep=") ? 3 : 2);
  });

  it("marks a row with another number of values than the header", async () => {
    const { records } = await readAll("id,name\n1\n2,a,b\n3,c\n");
    const malformed = "has another number of values than the header";
    expect(records.map((record) => record.malformed)).toEqual([malformed, malformed, undefined]);
  });

  it("gives a second column of a name another name", async () => {
    const { list } = await readAll("phone,id,phone\n1,2,3\n");
    expect(list.columns).toEqual(["phone", "id", "phone (3)"]);
  });

  it.each([
    ['id,name\n1,a\n2,"b\n3,c\n', 3],
    [`id,name\n1,"${"line\n".repeat(300_000)}`, 2],
    ['id,name\n1,12" vinyl\n', 2],
    ['id,name\n1,a\n1,"a" b\n', 3],
  ])("refuses quotes that are not RFC 4180, and quotes no value", async (text, line) => {
    expect(await readError(text)).toBe(
      `members.csv line ${line}: a quoted value is not closed, or has a quote that is not written twice ("12"" vinyl").`,
    );
  });
});

describe("NDJSON", () => {
  it("has members and lines, and marks lines that are no objects", async () => {
    const { list, records } = await readAll('{"id": 1, "name":"A"}\r\n\n[1]\n{"id":"2"}');
    expect(list).toMatchObject({ columns: ["id", "name"], isNdjson: true });
    expect(toRows(records)).toEqual([[1, 1, "A"], [3], [4, "2"]]);
    const malformed = "is not a JSON object: write one object per line";
    expect(records.map((record) => record.malformed)).toEqual([undefined, malformed, undefined]);
    expect(records[0]?.locate("name")).toEqual({ line: 1, column: 11 });
  });

  it.each(['[{"id":1}]', '\n  [\n{"id":1}\n]\n'])("is not a JSON array: %j", async (text) => {
    expect(await readError(text)).toBe(
      "members.csv is a JSON array, and must have one object per line: jq -c '.[]' members.csv > members.ndjson",
    );
  });
});

/** Encodes text as the file of a spreadsheet, with a byte order mark. */
function encode(text: string, encoding: "utf8" | "utf16le" | "utf16be"): Buffer {
  const bytes = Buffer.from(`\ufeff${text}`, encoding === "utf8" ? "utf8" : "utf16le");
  return encoding === "utf16be" ? bytes.swap16() : bytes;
}

describe("encodings", () => {
  it.each(["utf8", "utf16le", "utf16be"] as const)("finds %s by its byte order mark", async (encoding) => {
    const { list, records } = await readAll(encode("id,name\r\n1,Zażółć\r\n2,Łódź\n", encoding));
    expect([list.columns, toRows(records)]).toEqual([
      ["id", "name"],
      [
        [2, "1", "Zażółć"],
        [3, "2", "Łódź"],
      ],
    ]);
  });

  it.each<[string, Buffer, string]>([
    [
      "an encoding of older versions of Excel",
      Buffer.from("id,name\n1,a\n2,caf\xe9\n", "latin1"),
      "line 3 is not UTF-8",
    ],
    ["an unpaired surrogate", Buffer.from("\ufeffid\n1\n\ud800\n", "utf16le"), "line 3 is not UTF-16LE"],
    ["UTF-16 without a mark", Buffer.from("id\n1\n", "utf16le"), "line 1 is not UTF-8"],
    ["an Excel workbook", Buffer.from("PK\u0003\u0004\u0014\u0000\u0006\u0000rest"), "line 1 is not UTF-8"],
  ])("refuses %s, and says how to convert it", async (_, bytes, message) => {
    const error = await readError(bytes);
    expect(error.slice(0, `members.csv ${message}`.length)).toBe(`members.csv ${message}`);
    expect(error).toContain(
      'Save it as "CSV UTF-8", or convert it: iconv -f ENCODING -t UTF-8 members.csv >',
    );
    for (const name of ["WINDOWS-1252", "ANSI", "WINDOWS-1250", "CP1250", "Latin-2", "Unicode"])
      expect(error).toContain(name);
  });

  it.each(["", "\ufeff", "\n\n", "id,name\n", ";;\n"])("refuses %j, which has no rows", async (text) => {
    expect(await readError(text)).toBe("members.csv has no rows.");
  });
});

describe("values", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", "é", "Ł", "1", ",", ";", '"', "\n", "\r\n", " ") });
  const rows = fc.array(fc.tuple(cell, cell, fc.constantFrom("\n", "\r\n")), { minLength: 1, maxLength: 8 });
  const quote = (text: string) => (/[",;\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  it("are those of the file, and are where their position says, in any encoding and over any chunk", async () => {
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.constantFrom("utf8", "utf16le", "utf16be"),
        fc.boolean(),
        async (cells, encoding, isLong) => {
          const filler = isLong ? "ł".repeat(65_530) : ""; // the file has several chunks
          const lines = cells.map(([one, other, end]) => [`x${one}`, `${other}${filler}`, end] as const);
          const text = `id,name\n${lines.map(([one, other, end]) => `${quote(one)},${quote(other)}${end}`).join("")}`;
          const { records } = await readAll(encode(text, encoding));
          expect(toRows(records).map(([, ...values]) => values)).toEqual(
            lines.map(([one, other]) => [one, other].map((value) => value.replaceAll("\r\n", "\n"))),
          );
          for (const [index, record] of records.entries()) {
            const { line, column } = record.locate("name");
            const before = text
              .split("\n")
              .slice(0, line - 1)
              .map((one) => `${one}\n`)
              .join("");
            const found = text.slice(before.length + column - 1);
            expect(found.startsWith(quote(lines[index]?.[1] ?? ""))).toBe(true);
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});
