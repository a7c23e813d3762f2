/**
 * The list of an import: encodings, records and positions of values, and every problem that
 * `import check` reports; nothing is sent.
 */
import { join } from "node:path";
import { Readable } from "node:stream";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { createFolder } from "@loyalty-cards/testing/resources";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CommandError } from "../src/command-error.ts";
import { type ListRecord, openList } from "../src/import/list.ts";
import { createIndex, type ListIndex } from "../src/import/list-index.ts";
import { parseLines, run } from "./terminal.ts";

const readAll = (content: string | Uint8Array) =>
  readRecords(openList(join(createFolder({ "members.csv": content }), "members.csv")));

async function readRecords(opened: ReturnType<typeof openList>) {
  const list = await opened;
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

describe("reading CSV", () => {
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

  it("locates a value by line and character, also behind a quoted line end", async () => {
    const { records } = await readAll('id,name,phone\n1,"a, b\nc",5\n');
    expect(records[0]?.locate("name")).toEqual({ line: 2, character: 3 });
    expect(records[0]?.locate("phone")).toEqual({ line: 3, character: 4 });
    expect(records[0]?.locate()).toEqual({ line: 2, character: 1 });
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
    expect([list.delimiter, list.columns[0], records[0]?.values.get("id")]).toEqual([
      delimiter,
      "id",
      "1",
    ]);
    expect(records[0]?.line).toBe(text.includes("sep=") ? 3 : 2);
  });

  it("finds the format of a list whose first chunk ends within the first line", async () => {
    async function* toChunks(text: string) {
      yield* [text.slice(0, 3), text.slice(3)].map((part) => new TextEncoder().encode(part));
    }
    const csv = await openList("stdin", toChunks("id;name\n1;a\n"));
    expect([csv.delimiter, csv.columns]).toEqual([";", ["id", "name"]]);
    expect(await openList("stdin", toChunks('   {"id":"1"}\n'))).toMatchObject({ isNdjson: true });
  });

  it("marks a row with more values than the header, and reads one without its last values", async () => {
    const { records } = await readAll("id,name\n1\n2,a,b\n3,c\n4,d,,\n");
    const malformed = "has more values than the header";
    expect(records.map((record) => record.malformed)).toEqual([
      undefined,
      malformed,
      undefined,
      undefined, // its further values are empty
    ]);
    expect([records[0]?.values.get("name"), records[0]?.locate("name")]).toEqual([
      "",
      { line: 2, character: 2 },
    ]);
  });

  it.each(["phone,id,phone", "phone,id,phone ", " phone,id,phone"])(
    "gives a second column of a name another name in %j",
    async (names) => {
      const { list, records } = await readAll(`${names}\n1,2,3\n`);
      expect(list.columns).toEqual(["phone", "id", "phone (3)"]);
      expect(records[0]?.values.get("phone")).toBe("1");
    },
  );

  it("has the columns of the header, in its order, also those that the first row leaves out", async () => {
    const { list, records } = await readAll("id,2026,1,name,toString\n7\n8,a,b,c,d\n");
    expect(list.columns).toEqual(["id", "2026", "1", "name", "toString"]);
    expect(toRows(records)).toEqual([
      [2, "7", "", "", "", ""],
      [3, "8", "a", "b", "c", "d"],
    ]);
  });

  it("refuses a line of more than 1 MiB, also of empty values", async () => {
    const error = "members.csv line 2 is longer than 1 MiB: write one row or object per line.";
    for (const character of [",", "a", " "])
      expect(await readError(`id,name\n1${character.repeat(2 ** 20)}\n2,b\n`)).toBe(error);
  });

  it.each([
    ['id,name\n1,a\n2,"b\n3,c\n', 3],
    [`id,name\n1,"${"line\n".repeat(300_000)}`, 2],
    ['id,name\n1,12" vinyl\n', 2],
    ['id,na"me\n1,a\n', 1],
    ['sep=;\nid;na"me\n1;a\n', 2],
    ['\n\nid,na"me\n1,a\n', 3],
    ['sep=;\nid;name\n1;a"b\n', 3],
    ['id,name\n1,a\n1,"a" b\n', 3],
  ])("refuses quotes that are not RFC 4180, and quotes no value", async (text, line) => {
    expect(await readError(text)).toBe(
      `members.csv line ${line}: a quoted value is not closed, or has a quote that is not written twice ("12"" vinyl").`,
    );
  });
});

describe("reading NDJSON", () => {
  it("has members and lines, and marks lines that are no objects", async () => {
    const { list, records } = await readAll('{"id": 1, "name":"A"}\r\n\n[1]\n{"id":"2"}');
    expect(list).toMatchObject({ columns: ["id", "name"], isNdjson: true });
    expect(toRows(records)).toEqual([[1, 1, "A"], [3], [4, "2"]]);
    const malformed = "is not a JSON object: write one object per line";
    expect(records.map((record) => record.malformed)).toEqual([undefined, malformed, undefined]);
    expect(records[0]?.locate("name")).toEqual({ line: 1, character: 11 });
  });

  it("locates a value by its key, and the whole record at its start", async () => {
    const text = String.raw`{"note":"phone","":"","say \"":"","phone" : "", "imi\u0119":"A"}`;
    const [record] = (await readAll(text)).records;
    const names = ["note", "", 'say "', "phone", "imię", undefined, "email"];
    expect(names.map((name) => record?.locate(name).character)).toEqual([2, 17, 23, 35, 49, 1, 1]);
  });

  it("is refused when its first line is no object, as in indented JSON", async () => {
    expect(await readError('{\n  "id": 1\n}\n')).toBe(
      "members.csv line 1 is not a JSON object: write one object per line.",
    );
  });

  it.each([
    ["in one line", '[{"id":1}]'],
    ["indented", '\n  [\n{"id":1}\n]\n'],
    ["in one line of more than 1 MiB", `[${'{"id":1},'.repeat(200_000)}]`],
  ])("is not a JSON array: %s", async (_what, text) => {
    expect(await readError(text)).toBe(
      "members.csv is a JSON array, and must have one object per line: jq -c '.[]' members.csv > members.ndjson",
    );
  });

  it.each([
    ["", 1],
    ['{"id":1}\n', 2],
  ])("refuses a line of more than 1 MiB, behind %j", async (before, line) => {
    const member = '{"id":1},';
    const text = `${before}{"members":[${member.repeat(2 ** 20 / member.length + 10_000)}]}`;
    expect(await readError(text)).toBe(
      `members.csv line ${line} is longer than 1 MiB: write one row or object per line.`,
    );
  });
});

/** Encodes text as the file of a spreadsheet, with a byte order mark. */
function encode(text: string, encoding: "utf8" | "utf16le" | "utf16be"): Buffer {
  const bytes = Buffer.from(`\ufeff${text}`, encoding === "utf8" ? "utf8" : "utf16le");
  return encoding === "utf16be" ? bytes.swap16() : bytes;
}

describe("encodings", () => {
  it.each(["utf8", "utf16le", "utf16be"] as const)(
    "finds %s by its byte order mark",
    async (encoding) => {
      const { list, records } = await readAll(encode("id,name\r\n1,Zażółć\r\n2,Łódź\n", encoding));
      expect([list.columns, toRows(records)]).toEqual([
        ["id", "name"],
        [
          [2, "1", "Zażółć"],
          [3, "2", "Łódź"],
        ],
      ]);
    },
  );

  it.each<[string, Buffer, string]>([
    [
      "an encoding of older versions of Excel",
      Buffer.from("id,name\n1,a\n2,caf\xe9\n", "latin1"),
      "line 3 is not UTF-8",
    ],
    [
      "an unpaired surrogate",
      Buffer.from("\ufeffid\n1\n\ud800\n", "utf16le"),
      "line 3 is not UTF-16LE",
    ],
    ["UTF-16 without a mark", Buffer.from("id\n1\n", "utf16le"), "line 1 is not UTF-8"],
    ["a wrong last byte", Buffer.from("id,name\n1,Jos\xe9", "latin1"), "line 2 is not UTF-8"],
    ["half a character", encode("id\n1\n", "utf16le").subarray(0, -1), "line 2 is not UTF-16LE"],
  ])("refuses %s, and says how to convert it", async (_, bytes, message) => {
    const error = await readError(bytes);
    expect(error.slice(0, `members.csv ${message}`.length)).toBe(`members.csv ${message}`);
    expect(error).toContain(
      'Save it as "CSV UTF-8", or convert it: iconv -f ENCODING -t UTF-8 members.csv >',
    );
    for (const name of ["WINDOWS-1252", "ANSI", "WINDOWS-1250", "CP1250", "Latin-2", "Unicode"])
      expect(error).toContain(name);
  });

  it.each(["utf16le", "utf16be"] as const)(
    "reads %s by its mark, also from a pipe whose first chunks have one byte each",
    async (encoding) => {
      const bytes = encode("id,name\n1,Łucja\n", encoding);
      for (const end of [1, 2, 3]) {
        const chunks = [...bytes.subarray(0, end)].map((byte) => Uint8Array.of(byte));
        const pipe = Readable.from([...chunks, bytes.subarray(end)]);
        const { records } = await readRecords(openList("stdin", pipe));
        expect(toRows(records)).toEqual([[2, "1", "Łucja"]]);
      }
    },
  );

  it("refuses a workbook whose bytes arrive one by one, and reads a list of two bytes", async () => {
    const workbook = Readable.from([..."PK\u0003\u0004abc"].map((text) => Buffer.from(text)));
    await expect(openList("stdin", workbook)).rejects.toThrow(/stdin is an Excel file/);
    const list = openList("stdin", Readable.from([Buffer.from("{"), Buffer.from("}")]));
    expect(await list).toMatchObject({ isNdjson: true });
  });

  it("refuses a wrong byte in its line, wherever a chunk of the file ends", async () => {
    const bytes = Buffer.from("id,name\n1,Jos\xc3\xa9\n2,Andr\xe9\n3,Eva\n", "latin1");
    for (let end = 1; end < bytes.length; end++) {
      const chunks = Readable.from([bytes.subarray(0, end), bytes.subarray(end)]);
      const reading = readRecords(openList("members.csv", chunks));
      await expect(reading, `${end} bytes`).rejects.toThrow("members.csv line 3 is not UTF-8");
    }
  });

  it.each(["", "\ufeff", "\n\n", "id,name\n", ";;\n"])(
    "refuses %j, which has no rows",
    async (text) => {
      expect(await readError(text)).toBe("members.csv has no rows.");
    },
  );
});

describe("values", () => {
  const cell = fc.string({
    unit: fc.constantFrom("a", "é", "Ł", "1", ",", ";", '"', "\n", "\r\n", " "),
  });
  const rows = fc.array(fc.tuple(cell, cell, fc.constantFrom("\n", "\r\n")), {
    minLength: 1,
    maxLength: 4,
  });
  const quote = (text: string) =>
    /[",;\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

  it("are those of the file, and are where their position says, in any encoding and over any chunk", async () => {
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.constantFrom("utf8", "utf16le", "utf16be"),
        fc.boolean(),
        async (cells, encoding, isLong) => {
          const filler = isLong ? "ł".repeat(65_530) : ""; // the file has several chunks
          const lines = cells.map(
            ([one, other, end]) => [`x${one}`, `${other}${filler}`, end] as const,
          );
          const text = `id,name\n${lines.map(([one, other, end]) => `${quote(one)},${quote(other)}${end}`).join("")}`;
          const { records } = await readAll(encode(text, encoding));
          expect(toRows(records).map(([, ...values]) => values)).toEqual(
            lines.map(([one, other]) =>
              [one, other].map((value) => value.replaceAll("\r\n", "\n")),
            ),
          );
          for (const [index, record] of records.entries()) {
            const { line, character } = record.locate("name");
            const before = text
              .split("\n")
              .slice(0, line - 1)
              .map((one) => `${one}\n`)
              .join("");
            const found = text.slice(before.length + character - 1);
            expect(found.startsWith(quote(lines[index]?.[1] ?? ""))).toBe(true);
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});

const header = "userId,phone,email,name,marketing";

/**
 * Checks a file.
 * @param text its rows below the header, or the whole file.
 */
async function check(text: string | Buffer | readonly string[], ...args: string[]) {
  const content = Array.isArray(text)
    ? `${[header, ...text].join("\n")}\n`
    : (text as string | Buffer);
  const name = content.toString().startsWith("{") ? "members.ndjson" : "members.csv";
  const cwd = createFolder({ [name]: content });
  const options = args.some((arg) => arg === "--privacy" || arg === "")
    ? args
    : ["--privacy", "1", ...args];
  const { code, stdout, stderr } = await run(
    ["import", "check", name, ...options.filter(Boolean)],
    { cwd },
  );
  return { code, stderr, lines: stdout.trimEnd().split("\n") };
}

/** @returns each problem as `line:character  message`, without the summary. */
async function checkEach(text: Parameters<typeof check>[0], ...args: string[]) {
  const { code, stderr, lines } = await check(text, "--json", ...args);
  const problems = lines.slice(0, -1).map((line) => {
    const problem = JSON.parse(line);
    return `${problem.line}:${problem.character}  ${problem.message}`;
  });
  return { code, stderr, problems };
}

it("reports a valid file with exit code 0, and says when no field of a card is mapped", async () => {
  const rows = [
    "1,+48600100200,anna@example.com,Anna,yes",
    "2,600 100 300,,Jan,no",
    "3,,eva@example.com,Eva,",
    "4,600100400", // Excel and Outlook leave out the empty values at the end
    "1E5,,,'s Gravenmoer,",
  ];
  expect(await check(rows)).toEqual({
    code: 0,
    lines: ["members.csv: 5 rows, 5 valid, 0 problems"],
    stderr: expect.stringMatching(
      /^No column is mapped to field\.KEY: the cards will have no field/,
    ),
  });
});

it("reads a list from stdin", async () => {
  const stdin = "userId,field.name\n1,Anna\n2.0,Jan\n";
  const { code, stdout } = await run(["import", "check", "-", "--privacy", "1"], { stdin });
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(
      /^stdin: 2 rows, 1 valid, 1 problem\n✗ 1 row: line 3: userId ends with \.0: .*\n$/,
    ),
  ]);
});

it("reports each problem with its line and character with --json, counts them by code, and quotes no value", async () => {
  const changed = "is in scientific notation: a spreadsheet changed it";
  const decimal = "ends with .0: a program read the column as numbers, so export it as text";
  const mark = "begins with the quote mark that a spreadsheet uses for text: remove it";
  const formula = 'is a formula (="…"): export the value without it';
  const rows: [row: string, ...problems: string[]][] = [
    [",+48600100200,,,", "1  userId is missing"],
    ["7\u200b,+48600100201,,,", "1  userId has an invisible character (U+200B): remove it"],
    ["8,,a\u200b@example.com,,", "4  email has an invisible character (U+200B): remove it"],
    ["9,\u202a+48600100202\u202c,,,", "3  phone has an invisible character (U+202A): remove it"],
    ["1.2E+11,+48600100203,,,", `1  userId ${changed}`],
    ["10,4.86E+10,,,", `4  phone ${changed}`],
    ['11,"4,87E+10",,,', `4  phone ${changed}`],
    ["13,call secret,,,", "4  phone is not a phone number"],
    ["14,,secret@example,,", "5  email is not an email address"],
    ["15,,secret@example.com;b@example.com,,", "5  email is not an email address"],
    ["16,#NAME?,,,", "4  phone is an error value of a spreadsheet"],
    ["17,+48600100206,,NULL,", "18  name is a text for an absent value: leave it empty"],
    [
      "18,+48600100207,,Za\ufffd,",
      "18  name has lost characters (U+FFFD): export it again as UTF-8",
    ],
    [
      "19,+48600100208,,Anna,secret",
      "23  marketing must be yes, true or 1, or no, false, 0 or empty",
    ],
    ["null,+48600100210,,,", "1  userId is a text for an absent value: leave it empty"],
    [`${"secret".repeat(50)},+48600100209,,,`, "1  userId is too long or not Unicode"],
    ["20,,,secret,,more", "1  the row has more values than the header"],
    ["6.00100207E8,,,,", `1  userId ${changed}`],
    ["42.0,,,,", `1  userId ${decimal}`],
    ["23,+4915112345678.0,,,", `4  phone ${decimal}`],
    ['"=""0045""",,,,', `1  userId ${formula}`],
    ["'0046,,,,", `1  userId ${mark}`],
    [header, "1  the row is the header again: remove the line"],
    ["21,,,Anna,"],
    [
      '22,"12",no,"Jan\nMaria",',
      "4  phone is not a phone number",
      "9  email is not an email address",
    ],
  ];
  const list = rows.map(([row]) => row);
  const { code, problems, stderr } = await checkEach(list);
  const expected = rows.flatMap(([, ...found], index) =>
    found.map((problem) => `${index + 2}:${problem}`),
  );
  expect([code, problems]).toEqual([1, expected]);
  const { lines } = await check(list, "--json");
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    summary: {
      rows: 25,
      valid: 1,
      problems: 25,
      codes: { "scientific-notation": 4, "unclear-consent": 1 },
    },
  });
  const text = await check(list);
  expect([text.code, text.lines.slice(0, 5)]).toEqual([
    1,
    [
      "members.csv: 25 rows, 1 valid, 25 problems",
      "✗ 3 rows: email is not an email address, lines 10, 11, 26",
      `✗ 2 rows: userId ${changed}, lines 6, 19`,
      `✗ 2 rows: phone ${changed}, lines 7, 8`,
      "✗ 2 rows: phone is not a phone number, lines 9, 26",
    ],
  ]);
  expect([...text.lines, ...problems].join("\n") + stderr).not.toContain("secret");
});

it("groups the rows by cause, the most frequent first, and names the first of them", async () => {
  const rows = Array.from({ length: 1_200 }, (_, index) => `${index},bad,,,`);
  const list = ["1E+5,,,,", "5,+48600100200,,,", "5,+48600100300,,,", "5,+48600100400,,,", ...rows];
  const cwd = createFolder({
    "members.csv": `userId,phone,email,name,marketing\n${list.join("\n")}\n`,
  });
  const line = ["import", "check", "members.csv", "--privacy", "1"];
  const { stdout } = await run(line, { cwd, isTTY: true, env: { NO_COLOR: "1" } });
  expect(stdout.split("\n")).toEqual([
    "members.csv: 1,204 rows, 1 valid, 1,204 problems",
    "✗ 1,200 rows: phone is not a phone number, lines 6, 7, 8, 9, 10 …",
    "✗ 3 rows:     userId is also in an earlier line, lines 4, 5, 11",
    "✗ 1 row:      line 2: userId is in scientific notation: a spreadsheet changed it",
    "`import check --json` prints each problem.",
    "",
  ]);
});

it("names the column of the list when its name is not that of the target", async () => {
  const cwd = createFolder({
    "members.csv": "userId,mobile,mail\n1,bad,a@example.com\n2,bad,a@example\n",
  });
  const maps = ["--map", "phone=mobile", "--map", "email=mail", "--privacy", "1"];
  const line = ["import", "check", "members.csv", ...maps];
  expect((await run(line, { cwd })).stdout.split("\n").slice(1)).toEqual([
    '✗ 2 rows: phone is not a phone number, column "mobile", lines 2, 3',
    '✗ 1 row:  line 3, column "mail": email is not an email address',
    "",
  ]);
  const [first] = parseLines((await run([...line, "--json"], { cwd })).stdout);
  expect(first).toEqual({
    line: 2,
    character: 3,
    column: "mobile",
    code: "invalid-phone",
    target: "phone",
    message: "phone is not a phone number",
  });
});

it.each<[string, (index: ListIndex) => unknown]>([
  ["findLine", (index) => index.findLine("user 1")],
  ["hasUser", (index) => index.hasUser("1")],
  ["findValidRow", (index) => index.findValidRow("1")],
  ["readBatches", (index) => [...index.readBatches(1)]],
])("names the temporary folder when the index cannot be read: %s", (_, read) => {
  const database = openSqlite("");
  const fail = () => {
    throw new Error("disk I/O error");
  };
  const index = createIndex({
    exec: (sql) => database.exec(sql),
    prepare: (sql) => ({ ...database.prepare(sql), get: fail, all: fail }),
    close: () => database.close(),
  });
  expect(() => read(index)).toThrow(/^The temporary folder cannot be used: disk I\/O error/);
  index.close();
});

describe("duplicates", () => {
  it("are reported by id and by person, whatever rows are between them and however a phone is written", async () => {
    const rows = [
      "1,+48 600-100-200,anna@example.com,Anna,",
      "2,+48600100300,jan@example.com,Jan,",
      "1,+48600100400,eva@example.com,Eva,",
      "3,0048600100200,,Anna,",
      "4,+48 (0)600 100 300,ANNA@example.com,Anna,",
    ];
    const two = "one person would get two cards (see --allow-same-person)";
    expect((await checkEach(rows)).problems).toEqual([
      "4:1  userId is also in line 2",
      `5:3  phone is also in line 2: ${two}`,
      `6:3  phone is also in line 3: ${two}`,
      `6:22  email is also in line 2: ${two}`,
    ]);
    expect((await check(rows)).lines).toContain(
      `✗ 2 rows: phone is also in an earlier line: ${two}, lines 5, 6`,
    );
    const allowed = await checkEach(rows, "--allow-same-person");
    expect(allowed.problems).toEqual(["4:1  userId is also in line 2"]);
  });

  it("are reported for rows of which the first has another problem", async () => {
    const rows = ["1,bad,anna@example.com,,", "1,+48600100200,,,", "2,,Anna@example.com,,"];
    expect((await checkEach(rows)).problems).toEqual([
      "2:3  phone is not a phone number",
      "3:1  userId is also in line 2",
      "4:4  email is also in line 2: one person would get two cards (see --allow-same-person)",
    ]);
  });
});

describe("consents", () => {
  it.each([
    ["userId,privacy\n1,\n", [""], "privacy is not accepted: a card needs this consent"],
    ...["yes", "0", "f", "N", "nein", "n/a", "-"].map((answer) => [
      `userId,privacy\n1,${answer}\n`,
      [""],
      "privacy is no version such as 2026-01: for a column of yes or no add --privacy VERSION",
    ]),
    ["userId,privacy\n1,no\n", [], "privacy is not accepted: a card needs this consent"],
    ["userId,privacy\n1,2026-01\n", [], "privacy must be yes, true or 1, or no, false, 0 or empty"],
  ])("of privacy are a problem of the row in %j", async (text, args, problem) => {
    const { code, problems } = await checkEach(text, ...args);
    expect([code, problems[0]]).toEqual([1, `2:3  ${problem}`]);
  });

  it.each(["1\n2\n", "1\n2,yes\n", "1,\n2,yes\n"])(
    "of privacy are not given by a first row that leaves out the value: %j",
    async (rows) => {
      const { code, stderr, lines } = await check(`userId,privacy\n${rows}`);
      expect([code, stderr]).toEqual([1, expect.not.stringContaining("not used")]);
      expect(lines.join()).toContain("privacy is not accepted: a card needs this consent");
    },
  );

  it("need a source", async () => {
    expect(await check("userId\n1\n", "")).toMatchObject({
      code: 2,
      stderr:
        "loyalty-cards: There is no privacy consent: use --privacy VERSION if all members accepted that version of the text, or --map privacy=COLUMN for a column with the version.\n",
    });
  });

  it.each([
    ["--privacy", ""],
    ["--privacy", " "],
    ["--privacy", "1", "--marketing-version", " "],
  ])(
    "refuse a blank version, such as an unset variable of the shell: %s %j %s %s",
    async (...args) => {
      const cwd = createFolder({ "members.csv": "userId,privacy,marketing\n1,yes,yes\n" });
      expect(await run(["import", "check", "members.csv", ...args], { cwd })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("It must not be blank."),
      });
    },
  );
});

describe("mapping", () => {
  const unmapped = "No column of members.csv is mapped to userId: use --map userId=COLUMN.";

  it.each<[string, string[], string]>([
    ["id,name\n1,a\n", [], `${unmapped} Its columns are "id", "name".`],
    [
      "id,mobile\n1,a\n",
      ["--map", "userId=id", "--map", "phone=moblie"],
      'members.csv has no column "moblie". Its columns are "id", "mobile".',
    ],
    ...[
      ["userId", ""],
      ["userid=id", " Did you mean userId?"],
      ["fild.name=id", " Did you mean field.name?"],
    ].map(([map, hint]): [string, string[], string] => [
      "id\n1\n",
      ["--map", map as string],
      `--map "${map}" must be TARGET=COLUMN, such as userId=id.${hint} Targets are userId, phone, email, name, privacy, marketing and field.KEY.`,
    ]),
    [
      "userId,a,b\n1,2,3\n",
      ["--map", "phone=a", "--map", "phone=b"],
      "--map phone=… is given twice: keep one.",
    ],
    [
      "userId,field.points\n1,5\n",
      ["--number-field", "point"],
      '--number-field "point": no column of members.csv is mapped to field.point. Its columns are "userId", "field.points".',
    ],
    // It quotes nothing of a file without a header.
    [
      "1001,Anna,anna@example.com\n1002,Jan,jan@example.com\n",
      [],
      `${unmapped} Its first line looks like data: it must be a header with the names of the columns.`,
    ],
  ])("of %j with %j is refused with exit code 2", async (text, args, message) => {
    expect(await check(text, ...args)).toEqual({
      code: 2,
      lines: [""],
      stderr: `loyalty-cards: ${message}\n`,
    });
  });

  it("names columns that are not used, and values of --number-field that are no number", async () => {
    const text = 'userId,Phone,phone,field.points\n1,2,+48600100200,"1,5"\n';
    const { stderr, problems } = await checkEach(text, "--number-field", "points");
    expect(stderr).toBe(
      "Columns that are not used: Phone\nFields of the card: points. Check their spelling: only the service knows the fields of the template.\n",
    );
    expect(problems).toEqual([
      "2:18  field.points is not a number such as 12 or 12.5, of at most 15 digits",
    ]);
  });

  it("finds no number in a cell of one space, as in an empty one", async () => {
    const text = "userId,field.points\n1, \n2,\n";
    expect(await checkEach(text, "--number-field", "points")).toMatchObject({
      code: 0,
      problems: [],
    });
  });
});

describe("NDJSON", () => {
  it("has numbers and booleans as text, and reports other members and lines", async () => {
    const text =
      '{"userId":9007199254740993,"phone":48600100200}\n{"userId":2,"phone":{}}\n{"userId":3,"phone":null}\nno\n';
    expect((await checkEach(text)).problems).toEqual([
      "1:2  userId must be a text",
      "2:13  phone must be a text",
      "4:1  the row is not a JSON object: write one object per line",
    ]);
    expect((await check(text)).lines[0]).toBe("members.ndjson: 4 rows, 1 valid, 3 problems");
  });

  it("reports an object that no text can be made of", async () => {
    const { problems } = await checkEach(
      '{"userId":{"toString":1},"phone":{"toString":1}}\n{"userId":2,"phone":{"toString":1}}\n',
    );
    expect(problems).toEqual([
      "1:2  userId must be a text",
      "1:26  phone must be a text",
      "2:13  phone must be a text",
    ]);
  });

  it("whose first record has fewer members is not imported without the others", async () => {
    const text =
      '{"userId":1,"phone":"+48600100200"}\n{"userId":2,"email":"a@b.pl","field.points":1}\n';
    const { code, problems } = await checkEach(text);
    expect([code, problems]).toEqual([
      1,
      [
        "2:1  the row has email: add --map email=email",
        "2:1  the row has field.points: add --map field.points=field.points",
      ],
    ]);
    const maps = ["--map", "email=email", "--map", "field.points=field.points"];
    expect((await check(text, ...maps)).code).toBe(0);
  });

  it.each([
    ["12345678901234567890", "field.points is not a number such as"],
    ["1e400", "field.points is not a number such as"],
    ["9007199254740991", ": 1 row, 1 valid"],
  ])("has the number %s exactly, or not at all", async (number, found) => {
    const { code, lines } = await check(
      `{"userId":1,"phone":"+48600100200","field.points":${number}}\n`,
    );
    expect([code, lines.join("\n")]).toEqual([
      found.startsWith(":") ? 0 : 1,
      expect.stringContaining(found),
    ]);
  });
});
