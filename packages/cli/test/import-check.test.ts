/** `import check`: every problem with its position, and nothing sent. */
import { describe, expect, it } from "vitest";
import { createFolder } from "./import-terminal.ts";

const header = "userId,phone,email,name,marketing";

/** Checks a file with these rows below the header. */
async function check(rows: string | readonly string[], ...args: string[]) {
  const text = typeof rows === "string" ? rows : `${[header, ...rows].join("\n")}\n`;
  const { run } = createFolder({ "members.csv": text });
  const { exitCode, stdout, stderr } = await run([
    "import",
    "check",
    "members.csv",
    "--privacy",
    "2026-01",
    ...args,
  ]);
  return { exitCode, stderr, lines: stdout.trimEnd().split("\n") };
}

describe("import check", () => {
  it("reports a valid file with exit code 0", async () => {
    const { exitCode, lines, stderr } = await check([
      "1,+48600100200,anna@example.com,Anna,yes",
      "2,600 100 300,,Jan,no",
      "3,,eva@example.com,Eva,",
    ]);
    expect([exitCode, lines, stderr]).toEqual([
      0,
      ["members.csv: 3 rows, 3 valid, 0 problems, 0 warnings"],
      "",
    ]);
  });

  it.each([
    ["a missing id", ",+48600100200,,,", "2:1        userId is missing"],
    [
      "an id with an invisible character",
      "7\u200b,+48600100200,,,",
      "2:1        userId has an invisible character: remove it",
    ],
    [
      "an email with an invisible character",
      "7,,a\u200b@example.com,,",
      "2:4        email has an invisible character: remove it",
    ],
    ["an id with spaces", " 7,+48600100200,,,", "2:1        userId has spaces around it"],
    [
      "an id in scientific notation",
      "1.2E+11,+48600100200,,,",
      "2:1        userId is in scientific notation and has lost digits",
    ],
    ["an id that became a date", "02-Jan,+48600100200,,,", "2:1        userId looks like a date"],
    ["an id that became a long date", "2024-01-02,+48600100200,,,", "2:1        userId looks like a date"],
    [
      "a phone in scientific notation",
      "1,4.86E+10,,,",
      "2:3        phone is in scientific notation and has lost digits",
    ],
    [
      "a phone in scientific notation with a comma",
      '1,"4,86E+10",,,',
      "2:3        phone is in scientific notation and has lost digits",
    ],
    [
      "a phone without its +",
      "1,48600100200,,,",
      "2:3        phone has 11 digits or more, and neither + nor 0 before them",
    ],
    ["a phone with letters", "1,call me,,,", "2:3        phone is not a phone number"],
    ["an email without a domain", "1,,anna@example,,", "2:4        email is not an email address"],
    ["two emails", "1,,anna@example.com;b@example.com,,", "2:4        email is not an email address"],
    ["an error value", "1,#NAME?,,,", "2:3        phone is an error value of a spreadsheet"],
    [
      "a text for an absent value",
      "1,+48600100200,,NULL,",
      "2:17       name is a text for an absent value: leave it empty",
    ],
    [
      "lost characters",
      "1,+48600100200,,Za\ufffd,",
      "2:17       name has lost characters (U+FFFD): export it again as UTF-8",
    ],
    [
      "an unclear consent",
      "1,+48600100200,,Anna,maybe",
      "2:22       marketing must be yes, true or 1, or no, false, 0 or empty",
    ],
    ["a row with too few values", "1,+48600100200", "2:1        the row has 2 values, and the header has 5"],
    [
      "a row without contacts",
      "1,,,Anna,",
      "2:1        warning: the row has no phone and no email to find the customer by",
    ],
  ])("reports %s", async (_, row, line) => {
    const { exitCode, lines } = await check([row]);
    expect([lines[0], exitCode]).toEqual([line, line.includes("warning") ? 0 : 1]);
  });

  it("reports all problems of a file and counts them by code", async () => {
    const { exitCode, lines } = await check([
      "1,+48600100200,,Anna,maybe",
      '2,"12",not an address,"Jan\nMaria",no',
      "3,+48600100300,,Eva,",
    ]);
    expect([exitCode, lines]).toEqual([
      1,
      [
        "2:22       marketing must be yes, true or 1, or no, false, 0 or empty",
        "3:3        phone is not a phone number",
        "3:8        email is not an email address",
        "members.csv: 3 rows, 1 valid, 3 problems, 0 warnings",
        "  unclear-consent  1",
        "  invalid-phone    1",
        "  invalid-email    1",
      ],
    ]);
  });

  it("reports duplicates by id and by person, whatever rows are between them", async () => {
    const { lines } = await check([
      "1,+48 600-100-200,anna@example.com,Anna,",
      "2,+48600100300,jan@example.com,Jan,",
      "1,+48600100400,eva@example.com,Eva,",
      "3,0048600100200,,Anna,",
      "4,+48600100300,ANNA@example.com,Anna,",
    ]);
    expect(lines.slice(0, 4)).toEqual([
      "4:1        userId is also in line 2",
      "5:3        phone is also in line 2: one person would get two cards",
      "6:3        phone is also in line 3: one person would get two cards",
      "6:16       email is also in line 2: one person would get two cards",
    ]);
  });

  it("finds a person by a phone with and without (0)", async () => {
    const { lines } = await check(["1,+48600100200,,Anna,", "2,+48 (0)600 100 200,,Anna,"]);
    expect(lines[0]).toBe("3:3        phone is also in line 2: one person would get two cards");
  });

  it("only warns of the same person with --allow-same-person", async () => {
    const { exitCode, lines } = await check(
      ["1,+48600100200,,,", "2,+48600100200,,,"],
      "--allow-same-person",
    );
    expect([exitCode, lines[0]]).toEqual([
      0,
      "3:3        warning: phone is also in line 2: one person would get two cards",
    ]);
  });

  it("finds duplicates among 20 000 rows", async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => `${index},+4860${1_000_000 + index},,,`);
    const { lines } = await check([...rows, rows[11_111] ?? ""]);
    expect(lines[0]).toBe("20002:1    userId is also in line 11113");
  });

  it.each([
    ["which spreadsheets round", ["1234567890123450000", "1234567890123460000"], 1],
    ["of which one has all digits", ["1234567890123450000", "1234567890123456789"], 0],
    ["of 15 digits", ["123456789012340", "123456789012350"], 0],
    ["with zeros at their beginning, which spreadsheets remove", ["0000000000000100", "0000000000000200"], 0],
  ])("warns of long ids %s", async (_kind, ids, warnings) => {
    const { lines, exitCode } = await check(["a1,,a@b.pl,,", ...ids.map((id) => `${id},,x${id}@b.pl,,`)]);
    expect(exitCode).toBe(0);
    if (warnings > 0) {
      expect(lines[0]).toBe(
        "3:1        warning: userId may be rounded: all ids of 16 digits or more have zeros after the fifteenth",
      );
      expect(lines.join("\n")).toContain("use --no-damage-check");
    }
    expect(lines.join("\n")).toContain(`0 problems, ${warnings} warning`);
  });

  it("warns of phones that may have lost a leading zero", async () => {
    const { lines } = await check(["1,0600100200,,,", "2,600100300,,,", "3,0600100400,,,"]);
    expect(lines[0]).toBe("3:3        warning: phone may have lost a leading zero, which others have");
  });

  it("does not look for damage by spreadsheets with --no-damage-check", async () => {
    const { exitCode } = await check(["1.2E+11,48600100200,,NULL,", "2-1-24,0600,,,"], "--no-damage-check");
    expect(exitCode).toBe(0);
  });

  it("quotes no value of the file", async () => {
    const { lines, stderr } = await check(["secret-1,secret-2,secret-3,secret-4,secret-5", "secret-6"]);
    expect(lines.join("\n") + stderr).not.toContain("secret");
  });

  it("prints a problem per line of JSON, and a summary, with --json", async () => {
    const { lines } = await check(["1,4.86E+10,,,"], "--json");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        line: 2,
        column: 3,
        severity: "problem",
        code: "scientific-notation",
        target: "phone",
        message: expect.any(String),
      },
      { summary: { rows: 1, valid: 0, problems: 1, warnings: 0, codes: { "scientific-notation": 1 } } },
    ]);
  });

  it("checks only the first rows with --limit", async () => {
    const { exitCode, lines } = await check(["1,+48600100200,,,", "2,bad,,,"], "--limit", "1");
    expect([exitCode, lines]).toEqual([0, ["members.csv: 1 row, 1 valid, 0 problems, 0 warnings"]]);
  });

  it("reads standard input", async () => {
    const { run } = createFolder();
    const result = await run(["import", "check", "-", "--privacy", "1"], { stdin: "userId,phone\n1,bad\n" });
    expect(result).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining("standard input: 1 row, 0 valid"),
    });
  });
});

describe("consents", () => {
  const checkConsents = async (text: string, ...args: string[]) => {
    const { run } = createFolder({ "members.csv": text });
    const { exitCode, stdout, stderr } = await run(["import", "check", "members.csv", ...args]);
    return { exitCode, first: (stdout + stderr).split("\n")[0] };
  };

  it.each([
    [
      "a missing version",
      "userId,privacy\n1,\n",
      [],
      "2:3        privacy has no version: a card needs this consent",
    ],
    [
      "an answer instead of a version",
      "userId,privacy\n1,yes\n",
      [],
      "2:3        privacy is yes or no, not the version of the text: add --privacy VERSION",
    ],
    [
      "a refusal",
      "userId,privacy\n1,no\n",
      ["--privacy", "2026-01"],
      "2:3        privacy is not accepted: a card needs this consent",
    ],
    [
      "an unclear answer",
      "userId,privacy\n1,2026-01\n",
      ["--privacy", "2026-01"],
      "2:3        privacy must be yes, true or 1, or no, false, 0 or empty",
    ],
  ])("of privacy are a problem for %s", async (_, text, args, line) => {
    expect(await checkConsents(text, ...args)).toEqual({ exitCode: 1, first: line });
  });

  it.each([
    [
      "userId\n1\n",
      [],
      "loyalty-cards: There is no privacy consent: use --privacy VERSION if all members accepted that version of the text, or --map privacy=COLUMN for a column with the version.",
    ],
    [
      "userId\n1\n",
      ["--privacy", " "],
      "loyalty-cards: --privacy is blank: give the version label of the text.",
    ],
    [
      "userId\n1\n",
      ["--privacy", "1", "--marketing-version", "2"],
      "loyalty-cards: --marketing-version needs a column that says who opted in: use --map marketing=COLUMN.",
    ],
  ])("need options that are complete", async (text, args, line) => {
    expect(await checkConsents(text, ...args)).toEqual({ exitCode: 2, first: line });
  });
});

describe("mapping", () => {
  const refuse = async (text: string, ...args: string[]) => {
    const { exitCode, stderr, lines } = await check(text, ...args);
    expect([exitCode, lines]).toEqual([2, [""]]);
    return stderr;
  };

  it.each([
    [
      "id,name\n1,a\n",
      [],
      'loyalty-cards: No column of members.csv is mapped to userId: use --map userId=COLUMN. Its columns are "id", "name".\n',
    ],
    [
      "user_id,name\n1,a\n",
      [],
      'loyalty-cards: No column of members.csv is mapped to userId: use --map userId=COLUMN. Did you mean "user_id"? Its columns are "user_id", "name".\n',
    ],
    [
      "id,mobile\n1,a\n",
      ["--map", "userId=id", "--map", "phone=moblie"],
      'loyalty-cards: members.csv has no column "moblie". Did you mean "mobile"? Its columns are "id", "mobile".\n',
    ],
    [
      "id\n1\n",
      ["--map", "userid=id"],
      'loyalty-cards: --map "userid=id": there is no target "userid". Did you mean userId? Targets are userId, phone, email, name, privacy, marketing and field.KEY.\n',
    ],
    [
      "id\n1\n",
      ["--map", "userId"],
      'loyalty-cards: --map "userId" must be TARGET=COLUMN, such as userId=id.\n',
    ],
    [
      "id\n1\n",
      ["--map", "userId=id", "--map", "userId=id"],
      "loyalty-cards: --map userId is given twice.\n",
    ],
    [
      "userId,phone,phone\n1,2,3\n",
      [],
      'loyalty-cards: members.csv has two columns "phone", and one is mapped to phone: rename one.\n',
    ],
    [
      "userId\n1\n",
      ["--number-field", "points"],
      "loyalty-cards: --number-field points: no column is mapped to field.points. Use --map field.points=COLUMN.\n",
    ],
  ])("of %j with %j is refused with exit code 2", async (text, args, message) => {
    expect(await refuse(text, ...args)).toBe(message);
  });

  it("does not quote the first line of a file without a header", async () => {
    const message = await refuse("1001,Anna,anna@example.com\n");
    expect(message).toBe(
      "loyalty-cards: No column of members.csv is mapped to userId: use --map userId=COLUMN. Its first line looks like data: it must be a header with the names of the columns.\n",
    );
  });

  it("of a header with 140,000 names takes no longer than reading it", async () => {
    const names = Array.from({ length: 140_000 }, (_, index) => index.toString(36));
    const startedAtMs = performance.now();
    const { exitCode } = await check(`userId,${names}\n1${",".repeat(names.length)}\n`);
    expect(exitCode).toBe(0);
    expect(performance.now() - startedAtMs).toBeLessThan(5_000); // each name compared with each: over 20 s
  });

  it("names columns that are not used", async () => {
    const { stderr } = await check("userId,Phone,phone\n1,2,+48600100200\n");
    expect(stderr).toBe("Columns that are not used: Phone\n");
  });

  it("reports a value of --number-field that is no number", async () => {
    const { lines } = await check(
      'userId,phone,field.points\n1,+48600100200,"1,5"\n',
      "--number-field",
      "points",
    );
    expect(lines[0]).toBe("2:16       field.points is not a number such as 12 or 12.5, of at most 15 digits");
  });

  it("reports members of NDJSON that have another type, and mapped members that no record has", async () => {
    const { run } = createFolder({
      "members.ndjson": '{"userId":9007199254740993,"phone":48600100200}\n{"userId":true}\nno\n',
    });
    const args = ["import", "check", "members.ndjson", "--privacy", "1", "--map", "email=mail"];
    const { stdout } = await run(args);
    expect(stdout.split("\n").slice(0, 6)).toEqual([
      "1:2        userId must be a text, not a number",
      "1:28       phone must be a text, not a number",
      "2:2        userId must be a text, not a boolean",
      "2:1        warning: the row has no phone and no email to find the customer by",
      "3:1        the row is not a JSON object",
      '1:1        no record has the member "mail", which is mapped',
    ]);
  });
});

it.each([
  ["a file that does not exist", {}, "loyalty-cards: There is no file members.csv.\n"],
  ["an empty file", { "members.csv": "" }, "loyalty-cards: members.csv is empty.\n"],
  [
    "a file with a header only",
    { "members.csv": "userId\n" },
    "loyalty-cards: members.csv has a header and no rows.\n",
  ],
  [
    "a file in another encoding",
    { "members.csv": Buffer.from("userId,name\n1,caf\xe9\n", "latin1") },
    "loyalty-cards: members.csv line 2 is not valid UTF-8: if Excel saved the file, convert it: iconv -f WINDOWS-1252 -t UTF-8 (Western Europe), or -f WINDOWS-1250 (Central Europe).\n",
  ],
])("exits with 2 for %s", async (_, files, message) => {
  const { run } = createFolder(files);
  const result = await run(["import", "check", "members.csv", "--privacy", "1"]);
  expect(result).toEqual({ exitCode: 2, stdout: "", stderr: message });
});

describe("NDJSON whose first record has fewer members", () => {
  it("is not imported without the others", async () => {
    const { run } = createFolder({
      "members.ndjson":
        '{"userId":1,"phone":"+48600100200"}\n{"userId":2,"email":"a@b.pl","field.points":1}\n',
    });
    const command = ["import", "check", "members.ndjson", "--privacy", "1"];
    const { exitCode, stdout } = await run(command);
    expect([exitCode, stdout.split("\n").slice(0, 2)]).toEqual([
      1,
      [
        "2:1        the first record has no email: add --map email=email",
        "2:1        the first record has no field.points: add --map field.points=field.points",
      ],
    ]);
    const maps = ["--map", "email=email", "--map", "field.points=field.points"];
    expect((await run([...command, ...maps])).exitCode).toBe(0);
  });
});

it.each([
  ["12345678901234567890", "must be a text, not a number"],
  ["1e400", "must be a text, not a number"],
  ["9007199254740991", undefined],
])("the number %s in NDJSON is sent exactly, or not at all", async (number, problem) => {
  const { run } = createFolder({
    "members.ndjson": `{"userId":1,"phone":"+48600100200","field.points":${number}}\n`,
  });
  const { exitCode, stdout } = await run(["import", "check", "members.ndjson", "--privacy", "1"]);
  expect(exitCode).toBe(problem === undefined ? 0 : 1);
  if (problem !== undefined) expect(stdout).toContain(`field.points ${problem}`);
});
