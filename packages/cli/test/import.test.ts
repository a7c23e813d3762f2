/** `import` against a service: results, rejected rows, resuming, and what stops it before anything is sent. */
import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formatRecord, parseRecord } from "../../issuing-client/src/bulk/checkpoint.ts";
import {
  args,
  type CommandResult,
  createFolder,
  openShop,
  shortPhone,
  toCsv,
  toPhone,
  toRows,
} from "./import-terminal.ts";

describe("import", () => {
  it("issues a card for each row, and writes the card id of each user", async () => {
    const { run, read, path, service, countCards } = await openShop({ "members.csv": toCsv(toRows(25)) });
    const { exitCode, stdout, stderr } = await run(["import", "members.csv", ...args]);
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Complete: 25 rows in \d+ s\n {2}issued +25 {2}members\.cards\.csv\n {2}rejected +0\n$/,
      ),
    ]);
    expect(stderr).toContain("First 10 rows: 10 issued, 0 rejected, 0 unknown.\n");
    const [header, ...lines] = read("members.cards.csv").trimEnd().split("\n");
    expect([header, lines.length, await countCards()]).toEqual(["user_id,card_id", 25, 25]);
    const cards = Object.fromEntries(lines.map((line) => line.split(",")));
    expect(service.cards.get(cards["7"])).toMatchObject({ fieldValues: {} });
    expect(existsSync(path("members.rejected.csv"))).toBe(false);
    expect(statSync(path("members.cards.csv")).mode & 0o777).toBe(0o600);
  });

  it("sends contacts, consents and field values as they are mapped", async () => {
    const { run, read, service } = await openShop({
      "members.csv":
        "id;tel;mail;full;news;terms;size;field.name\n" +
        "1; +48600100200 ;a@example.com;Anna;YES;true;12.5;A\n" +
        "2;;b@example.com;;no;1;;\n",
    });
    const maps = [
      "userId=id",
      "phone=tel",
      "email=mail",
      "name=full",
      "marketing=news",
      "privacy=terms",
      "field.shoeSize=size",
    ];
    const fields = [
      { key: "name", type: "name" },
      { key: "shoeSize", type: "number" },
    ] as const;
    service.templates.create({ id: "tpl_shoes", name: "Shoes", fields: [...fields] });
    const { exitCode, stderr } = await run([
      "import",
      "members.csv",
      ...args,
      ...maps.flatMap((map) => ["--map", map]),
      ...["--marketing-version", "news-3", "--number-field", "shoeSize"],
      ...["--template", "tpl_shoes"],
    ]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("2 valid")]);
    const ids = read("members.cards.csv")
      .trimEnd()
      .split("\n")
      .slice(1)
      .sort()
      .map((line) => line.split(";")[1] ?? "");
    expect(ids.map((id) => service.cards.get(id)?.fieldValues)).toEqual([{ name: "A", shoeSize: 12.5 }, {}]);
    const customers = JSON.stringify(service.snapshot(), (_key, value) =>
      value instanceof Map ? [...value] : value,
    );
    expect(customers).toContain('"privacyVersion":"2026-01"');
    expect(customers).toContain('"marketing":{"isGiven":true,"version":"news-3"}');
    expect(customers).toContain('"marketing":{"isGiven":false}');
  });

  it("prints one JSON value with --json", async () => {
    const { run } = await openShop({ "members.csv": toCsv(toRows(3)) });
    const { stdout } = await run(["import", "members.csv", ...args, "--json", "--quiet"]);
    expect(JSON.parse(stdout)).toEqual({
      rows: 3,
      issued: 3,
      replayed: 0,
      rejected: 0,
      unknown: 0,
      elapsedMs: expect.any(Number),
      ended: "complete",
      cards: "members.cards.csv",
      checkpoint: "members.csv.checkpoint",
    });
  });

  it("issues no second card when it runs again", async () => {
    const { run, countCards, read, requests } = await openShop({ "members.csv": toCsv(toRows(15)) });
    await run(["import", "members.csv", ...args]);
    const cards = read("members.cards.csv");
    requests.length = 0;
    const again = await run(["import", "members.csv", ...args]);
    expect([again.exitCode, requests, await countCards()]).toEqual([0, [], 15]);
    expect(again.stdout).toContain("issued before  15");
    expect(read("members.cards.csv").split("\n").sort()).toEqual(cards.split("\n").sort());
  });

  it("reads rows from standard input", async () => {
    const { run, countCards, read } = await openShop({});
    const files = ["--checkpoint", "c", "--rejected", "r.csv", "--cards", "cards.csv"];
    const stdin = toCsv([...toRows(12), "13,bad,"]);
    const { exitCode } = await run(["import", "-", ...args, ...files], { stdin });
    expect([exitCode, await countCards()]).toEqual([1, 12]);
    expect(read("r.csv")).toBe(
      'userId,phone,name,rejected_line,rejected_code,rejected_reason,rejected_key\n13,bad,,14,invalid-phone,"phone is not a phone number",\n',
    );
  });

  it("reads the template and the key from .env", async () => {
    const { run, path, countCards } = await openShop({ "members.csv": toCsv(toRows(1)) });
    writeFileSync(path(".env"), "LOYALTY_TEMPLATE_ID=tpl_mock\n");
    const { exitCode } = await run(["import", "members.csv", "--privacy", "1", "--yes"]);
    expect([exitCode, await countCards()]).toEqual([0, 1]);
  });

  it("imports only the first rows with --limit", async () => {
    const { run, countCards } = await openShop({ "members.csv": toCsv(toRows(20)) });
    const { exitCode } = await run(["import", "members.csv", ...args, "--limit", "12"]);
    expect([exitCode, await countCards()]).toEqual([0, 12]);
  });
});

describe("the question after ten rows", () => {
  it("continues after a yes", async () => {
    const { run, countCards } = await openShop({ "members.csv": toCsv(toRows(15)) });
    const { exitCode, stderr } = await run(["import", "members.csv", ...args.slice(0, -1)], {
      stdin: "y\n",
      columns: 80,
    });
    expect(stderr).toContain("Look at these cards in the service. Issue the other 5? [y/N] ");
    expect([exitCode, await countCards()]).toEqual([0, 15]);
  });

  it("stops after a no, and the same command continues without a question", async () => {
    const { run, countCards, read } = await openShop({ "members.csv": toCsv(toRows(15)) });
    const command = ["import", "members.csv", ...args.slice(0, -1)];
    const stopped = await run(command, { stdin: "\n", columns: 80 });
    expect([stopped.exitCode, await countCards()]).toEqual([3, 10]);
    expect(stopped.stdout).toContain("Stopped after the first rows: 10 rows in");
    expect(stopped.stderr).toContain(
      "To resume, run the same command again:\n  loyalty-cards import members.csv --template tpl_mock --privacy 2026-01\n",
    );
    expect(read("members.cards.csv").split("\n")).toHaveLength(12);
    const resumed = await run(command, { columns: 80 });
    expect([resumed.exitCode, await countCards(), resumed.stderr.includes("?")]).toEqual([0, 15, false]);
  });

  it("stops with --yes when none of the ten rows is accepted", async () => {
    const rows = Array.from({ length: 20 }, (_, index) => `${index},${shortPhone}${index},`);
    const { run, requests } = await openShop({ "members.csv": toCsv(rows) });
    const { exitCode } = await run(["import", "members.csv", ...args]);
    expect([exitCode, requests.length]).toEqual([3, 10]);
  });
});

describe("rejected rows", () => {
  it.each([
    ["UTF-8 with CRLF", "utf8", "\r\n", ""],
    ["UTF-16 with a byte order mark", "utf16le", "\n", "\ufeff"],
  ] as const)(
    "are written byte for byte in %s, with line, code, reason and key",
    async (_, encoding, end, mark) => {
      const rows = [
        '1,+48600100200,"Zażółć ""A"""',
        `2,${shortPhone},"Łódź, ${end}x"`,
        "3,+48600100300,last",
      ];
      const content = Buffer.from(`${mark}${["userId,phone,name", ...rows].join(end)}`, encoding);
      const { run, path } = await openShop({ "members.csv": content });
      const { exitCode } = await run(["import", "members.csv", ...args]);
      expect(exitCode).toBe(1);
      const rejected = readFileSync(path("members.rejected.csv"));
      expect(statSync(path("members.rejected.csv")).mode & 0o777).toBe(0o600);
      const [header, line] = [
        Buffer.from(
          `${mark}userId,phone,name,rejected_line,rejected_code,rejected_reason,rejected_key${end}`,
          encoding,
        ),
        Buffer.from(`${rows[1]},3,validation,`, encoding),
      ];
      expect(rejected.subarray(0, header.length)).toEqual(header);
      expect(rejected.subarray(header.length, header.length + line.length)).toEqual(line);
      expect(rejected.subarray(header.length + line.length).toString(encoding)).toMatch(
        new RegExp(`^"The phone number is not valid\\."?.*,lc1_[\\w-]{43}${end}$`),
      );
    },
  );

  it("keep the members of NDJSON, and are imported again after a correction", async () => {
    const { run, read, countCards, path } = await openShop({
      "members.ndjson": `{"userId": 1, "phone":"+48600100200"}\n{"userId": 2, "phone":"${shortPhone}" }\n`,
    });
    expect((await run(["import", "members.ndjson", ...args])).exitCode).toBe(1);
    const rejected = read("members.rejected.ndjson");
    expect(rejected).toMatch(
      /^\{"userId": 2, "phone":"\+481234","rejected_line":2,"rejected_code":"validation","rejected_reason":".+","rejected_key":"lc1_.+"\}\n$/,
    );
    writeFileSync(path("members.rejected.ndjson"), rejected.replace(shortPhone, "+48600100300"));
    expect((await run(["import", "retry-rejected", "members.ndjson", ...args])).exitCode).toBe(0);
    expect([await countCards(), existsSync(path("members.rejected.ndjson"))]).toEqual([2, false]);
    expect(
      read("members.cards.ndjson")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).user_id),
    ).toEqual(["1", "2"]);
  });

  it("are rebuilt by each run, without duplicates", async () => {
    const { run, read } = await openShop({ "members.csv": toCsv([...toRows(12), `13,${shortPhone},`]) });
    await run(["import", "members.csv", ...args]);
    const rejected = read("members.rejected.csv");
    await run(["import", "members.csv", ...args]);
    expect(read("members.rejected.csv")).toBe(rejected);
  });

  it("include rows with problems, with --skip-invalid", async () => {
    const { run, read, countCards } = await openShop({ "members.csv": toCsv([...toRows(12), "1,bad,x"]) });
    const { exitCode } = await run(["import", "members.csv", ...args, "--skip-invalid"]);
    expect([exitCode, await countCards()]).toEqual([1, 12]);
    expect(read("members.rejected.csv")).toContain(
      '1,bad,x,14,invalid-phone,"phone is not a phone number; userId is also in line 2",\n',
    );
  });

  it("are all rows when none is valid, and nothing is sent", async () => {
    const { run, read, requests } = await openShop({ "members.csv": toCsv(["1,bad,x"]) });
    const { exitCode } = await run(["import", "members.csv", ...args, "--skip-invalid"]);
    expect([exitCode, requests, read("members.rejected.csv").split("\n").length]).toEqual([1, [], 3]);
  });

  it("are imported again after they were corrected, and the others stay", async () => {
    const rows = [...toRows(12), `13,${shortPhone},Anna`, `14,${shortPhone}5,Jan`];
    const { run, read, countCards, path } = await openShop({ "members.csv": toCsv(rows) });
    await run(["import", "members.csv", ...args]);
    writeFileSync(
      path("members.rejected.csv"),
      read("members.rejected.csv").replace(`${shortPhone},`, "+48600999999,"),
    );
    const retried = await run(["import", "retry-rejected", "members.csv", ...args]);
    expect([retried.exitCode, await countCards()]).toEqual([1, 13]);
    expect(retried.stderr).toContain(
      "Correct the rows in members.rejected.csv, then:\n  loyalty-cards import retry-rejected members.csv",
    );
    expect(read("members.rejected.csv").split("\n").slice(1)).toEqual([
      expect.stringMatching(`^14,\\${shortPhone}5,Jan,15,validation,"The phone number is not valid\\."`),
      "",
    ]);
    const users = read("members.cards.csv")
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((line) => Number(line.split(",")[0]));
    expect(users.sort((one, other) => one - other)).toEqual(
      Array.from({ length: 13 }, (_, index) => index + 1),
    );
  });

  it("of one person twice are issued by a retry only after a decision", async () => {
    const rows = [...toRows(3), `4,${toPhone(0)},Same`];
    const { run, read, countCards, path } = await openShop({ "members.csv": toCsv(rows) });
    await run(["import", "members.csv", ...args, "--skip-invalid"]);
    const refused = await run(["import", "retry-rejected", "members.csv", ...args]);
    expect([refused.exitCode, await countCards()]).toEqual([1, 3]);
    expect(refused.stderr).toContain(
      "the row was rejected as same-person: remove it, or empty its rejected_code",
    );
    writeFileSync(path("members.rejected.csv"), read("members.rejected.csv").replace("same-person", ""));
    expect([
      (await run(["import", "retry-rejected", "members.csv", ...args])).exitCode,
      await countCards(),
    ]).toEqual([0, 4]);
  });

  it("are nothing to do when there are none", async () => {
    const { run } = await openShop({ "members.csv": toCsv(toRows(1)) });
    expect(await run(["import", "retry-rejected", "members.csv", ...args])).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "members.rejected.csv does not exist: members.csv has no rejected rows.\n",
    });
  });
});

describe("a run that stops", () => {
  it("finishes what is in flight at Ctrl-C, prints the command that resumes, and resumes", async () => {
    const { run, countCards, read, service } = await openShop({ "members.csv": toCsv(toRows(400)) });
    service.faults.add({ phase: "before", kind: "latency", delayMs: 5 });
    let isInterrupted = false;
    const command = ["import", "members.csv", ...args, "--concurrency", "4"];
    const stopped = await run(command, {
      columns: 80,
      onOutput: (output, interrupt) => {
        if (isInterrupted || !output.includes("of 400")) return;
        isInterrupted = true;
        interrupt();
      },
    });
    const issued = await countCards();
    expect(stopped.exitCode).toBe(130);
    expect(stopped.stderr).toContain(
      "Stopping when the requests in flight have ended. Ctrl-C again ends at once.",
    );
    expect(stopped.stderr).toContain(`  loyalty-cards ${command.join(" ")}\n`);
    expect(issued).toBeLessThan(400);
    // Everything that was issued is known.
    expect(read("members.cards.csv").trimEnd().split("\n")).toHaveLength(issued + 1);
    service.faults.clear();
    const resumed = await run(command);
    expect([resumed.exitCode, await countCards()]).toEqual([0, 400]);
    expect(resumed.stdout).toMatch(new RegExp(`issued before +${issued} `));
  });

  it("prints the command that resumes at Ctrl-C at the question", async () => {
    const { run, countCards } = await openShop({ "members.csv": toCsv(toRows(30)) });
    const command = ["import", "members.csv", ...args.filter((argument) => argument !== "--yes")];
    let isInterrupted = false;
    const { exitCode, stdout, stderr } = await run(command, {
      columns: 80,
      isStdinOpen: true,
      onOutput: (output, interrupt) => {
        if (isInterrupted || !output.includes("[y/N]")) return;
        isInterrupted = true;
        setImmediate(interrupt); // a person is slower than the command
      },
    });
    expect([exitCode, await countCards()]).toEqual([130, 10]);
    expect(stdout).toMatch(/^Interrupted: 10 rows in \d+ s\n {2}issued +10 /);
    expect(stderr).toContain(
      `To resume, run the same command again:\n  loyalty-cards ${command.join(" ")}\n`,
    );
  });

  it("exits with 3 when more rows are rejected than --abort-over allows", async () => {
    const rows = toRows(400).map((row, index) =>
      index % 10 === 9 ? row.replace(/\+\d+/, `${shortPhone}`) : row,
    );
    const { run, requests, read } = await openShop({ "members.csv": toCsv(rows) });
    const { exitCode, stdout } = await run([
      "import",
      "members.csv",
      ...args,
      "--allow-same-person",
      "--abort-over",
      "5%",
    ]);
    expect([exitCode, stdout]).toEqual([
      3,
      expect.stringContaining("Stopped: more rows are rejected than --abort-over allows"),
    ]);
    expect(requests.length).toBeLessThan(400);
    expect(read("members.rejected.csv").trimEnd().split("\n").length).toBeGreaterThanOrEqual(10);
  });

  it("exits with 4 when the API key is refused", async () => {
    const { run, requests } = await openShop({ "members.csv": toCsv(toRows(40)) });
    const { exitCode, stderr } = await run(["import", "members.csv", ...args], {
      env: { LOYALTY_API_KEY: "wrong" },
    });
    expect([exitCode, requests.length <= 10]).toEqual([4, true]);
    expect(stderr).toContain("the apiKey was not accepted");
    expect(stderr).not.toContain("wrong");
  });
});

describe("import that is resumed late", () => {
  it("reports the rows whose outcome is unknown for more than 24 hours, and sends the others", async () => {
    const { run, read, path, requests, countCards } = await openShop({ "members.csv": toCsv(toRows(30)) });
    await run(["import", "members.csv", ...args]);
    // What a machine leaves that stopped yesterday, after it had sent rows: the records without their outcomes.
    const [header = "", ...lines] = read("members.csv.checkpoint").trimEnd().split("\n");
    const sent = lines
      .map(parseRecord)
      .flatMap((record) => (record !== undefined && record.outcome === undefined ? [record] : []))
      .slice(0, 4)
      .map((record) => formatRecord({ ...record, firstAttemptAt: record.firstAttemptAt - 25 * 3_600_000 }));
    expect(sent).toHaveLength(4);
    writeFileSync(path("members.csv.checkpoint"), `${header}\n${sent.join("")}`);
    requests.length = 0;
    const { exitCode, stdout, stderr } = await run(["import", "members.csv", ...args]);
    expect([exitCode, requests.length]).toEqual([3, 26]);
    expect(stdout).toMatch(/issued +26 .*\n {2}rejected +0 .*\n {2}unknown +4\n/);
    expect(stdout + stderr).toContain("loyalty-cards import members.csv");
    expect(await countCards()).toBe(30);
  });
});

describe("import status", () => {
  it("prints what the checkpoint has", async () => {
    const { run } = await openShop({ "members.csv": toCsv([...toRows(3), `4,${shortPhone},`]) });
    await run(["import", "members.csv", ...args]);
    expect(await run(["import", "status", "members.csv"])).toEqual({
      exitCode: 0,
      stdout:
        "issued               3\nrejected             1\nunknown              0\nsent, no result yet  0\n",
      stderr: "",
    });
    expect(JSON.parse((await run(["import", "status", "members.csv", "--json"])).stdout)).toEqual({
      checkpoint: "members.csv.checkpoint",
      issued: 3,
      rejected: 1,
      unknown: 0,
      running: 0,
    });
  });

  it.each([
    [{}, "There is no checkpoint members.csv.checkpoint: was the file imported with --checkpoint?"],
    [{ "members.csv.checkpoint": "else\n" }, "is not a checkpoint"],
  ])("exits with 2 without a checkpoint in %j", async (files, message) => {
    const { run } = createFolder(files);
    const { exitCode, stderr } = await run(["import", "status", "members.csv"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("nothing is sent", () => {
  const oneLongLine = `userId,phone\n1,${"5".repeat(10_000_000)}\n`;

  it.each<[string, Record<string, string | Uint8Array>, string[], number, string]>([
    [
      "missing columns",
      { "members.csv": "id,phone\n1,+48600100200\n" },
      [],
      2,
      "No column of members.csv is mapped to userId",
    ],
    [
      "a line of 10 MB",
      { "members.csv": oneLongLine },
      [],
      2,
      "members.csv line 2 is longer than 1 MiB: is it a CSV or NDJSON file?",
    ],
    [
      "another encoding",
      { "members.csv": Buffer.from("userId,name\n1,caf\xe9\n", "latin1") },
      [],
      2,
      "members.csv line 2 is not valid UTF-8",
    ],
    ["an empty file", { "members.csv": "" }, [], 2, "members.csv is empty."],
    ["a file that does not exist", {}, [], 2, "There is no file members.csv."],
    [
      "an unreadable checkpoint",
      { "members.csv": toCsv(toRows(1)), "members.csv.checkpoint": "something else\n" },
      [],
      2,
      "is not a checkpoint",
    ],
    [
      "rows with problems",
      { "members.csv": toCsv(["1,bad,x"]) },
      [],
      1,
      "Nothing was sent. Correct the rows, or use --skip-invalid to import the others.",
    ],
    [
      "a rejected file of another program",
      { "members.csv": toCsv(toRows(1)), "members.rejected.csv": "a,b\n" },
      [],
      2,
      "members.rejected.csv exists, and is not the result of an import: move it away.",
    ],
    [
      "the input as rejected file",
      { "members.csv": toCsv(toRows(1)) },
      ["--rejected", "members.csv"],
      2,
      "must be four different files",
    ],
    [
      "a percentage that is none",
      { "members.csv": toCsv(toRows(1)) },
      ["--abort-over", "x"],
      2,
      "It must be a percentage, such as 5%.",
    ],
  ])("for %s", async (_, files, more, exitCode, message) => {
    const { run, requests } = await openShop(files);
    const result = await run(["import", "members.csv", ...args, ...more]);
    expect([result.exitCode, requests, result.stdout]).toEqual([exitCode, [], ""]);
    expect(result.stderr).toContain(message);
  });

  it.each([
    [
      "a template",
      ["--privacy", "1", "--yes"],
      "There is no template: use --template, or set LOYALTY_TEMPLATE_ID in the environment or in .env. The console of the service shows the ids of your templates.",
    ],
    [
      "--yes without a terminal",
      ["--privacy", "1", "--template", "t"],
      "There is no terminal to ask on: use --yes to import without a question.",
    ],
  ])("without %s", async (_, options, message) => {
    const { run, requests } = await openShop({ "members.csv": toCsv(toRows(1)) });
    const { exitCode, stderr } = await run(["import", "members.csv", ...options]);
    expect([exitCode, stderr, requests]).toEqual([2, `loyalty-cards: ${message}\n`, []]);
  });

  it("for standard input without names of files", async () => {
    const { run } = await openShop({});
    const { exitCode, stderr } = await run(["import", "-", ...args], { stdin: "userId\n1\n" });
    expect([exitCode, stderr]).toEqual([
      2,
      "loyalty-cards: Standard input has no name for the files beside it: use --checkpoint FILE, --rejected FILE and --cards FILE.\n",
    ]);
  });

  it("for a checkpoint of another mapping or template, and the results of the last run stay", async () => {
    const { run, requests, read, path } = await openShop({
      "members.csv": toCsv([...toRows(2), `3,${shortPhone},`]),
    });
    await run(["import", "members.csv", ...args]);
    // The time of a file has a fraction of a millisecond, and a Date has none.
    utimesSync(path("members.csv.checkpoint"), 1_700_000_000.0001, 1_700_000_000.0001);
    utimesSync(path("members.rejected.csv"), 1_700_000_000.001, 1_700_000_000.001);
    const results = [read("members.cards.csv"), read("members.rejected.csv")];
    requests.length = 0;
    const template = await run(["import", "members.csv", ...args, "--template", "tpl_other"]);
    const version = await run(["import", "members.csv", ...args, "--privacy", "2026-02"]);
    expect([template.exitCode, version.exitCode, requests]).toEqual([2, 2, []]);
    expect(template.stderr).toContain("is of a run with another template");
    expect(version.stderr).toContain("is of a run with another source or mapping");
    expect([read("members.cards.csv"), read("members.rejected.csv")]).toEqual(results);
  });

  it("for a second run on the checkpoint of a run that has not ended", async () => {
    const { run, countCards } = await openShop({ "members.csv": toCsv(toRows(60)) });
    let second: Promise<CommandResult> | undefined;
    const first = await run(["import", "members.csv", ...args], {
      columns: 80,
      onOutput: (output) => {
        if (output.includes("of 60")) second ??= run(["import", "members.csv", ...args]);
      },
    });
    expect([first.exitCode, await countCards()]).toEqual([0, 60]);
    expect(await second).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("cannot be used") });
  });

  it("for rejected rows that were edited after the last run", async () => {
    const { run, requests, path } = await openShop({ "members.csv": toCsv([`1,${shortPhone},x`]) });
    await run(["import", "members.csv", ...args]);
    requests.length = 0;
    const later = new Date(Date.now() + 60_000);
    utimesSync(path("members.rejected.csv"), later, later);
    const { exitCode, stderr } = await run(["import", "members.csv", ...args]);
    expect([exitCode, requests]).toEqual([2, []]);
    expect(stderr).toContain("members.rejected.csv was edited after the last run");
  });

  it("with --dry-run, which prints the form of the first request", async () => {
    const { run, requests, path } = await openShop({ "members.csv": toCsv(toRows(2)) });
    const { exitCode, stdout } = await run([
      "import",
      "members.csv",
      "--template",
      "t",
      "--privacy",
      "2026-01",
      "--dry-run",
      "--json",
    ]);
    expect([exitCode, requests, existsSync(path("members.csv.checkpoint"))]).toEqual([0, [], false]);
    expect(JSON.parse(stdout)).toEqual({
      userId: "(text, 1 character)",
      request: {
        customer: {
          phone: "(text, 12 characters)",
          name: "(text, 8 characters)",
          consents: { privacy: { version: "(text, 7 characters)" } },
        },
        fieldValues: {},
      },
    });
  });
});
