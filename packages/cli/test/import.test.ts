/**
 * `import` against a service: results, the question, resuming, and what stops it before anything is
 * sent.
 */
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  asking,
  command,
  openImportShop,
  shortPhone,
  toCsv,
  toPhone,
  toRows,
} from "./import-shop.ts";
import type { Ran } from "./terminal.ts";

describe("import", () => {
  it("issues a card for each row, and writes the card id of each user", async () => {
    const { run, read, path, service, countCards } = await openImportShop(toRows(25));
    const { code, stdout, stderr } = await run();
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Complete: 25 rows in \d+ s\n {2}issued +25 {2}members\.cards\.csv\n$/,
      ),
    ]);
    expect(stderr).toContain("First 10 rows: 10 issued, 0 rejected, 0 unknown.\n");
    const [header, ...lines] = read("members.cards.csv").trimEnd().split("\n");
    expect([header, await countCards()]).toEqual(["user_id,card_id,url", 25]);
    const results = lines.map((line) => line.split(","));
    const card = service.cards.get(results[6]?.[1] ?? "");
    expect(results[6]).toEqual(["7", card?.id, card?.publicUrl]);
    expect(results.map(([userId]) => Number(userId))).toEqual(
      Array.from({ length: 25 }, (_, at) => at + 1),
    );
    expect(card).toMatchObject({ fieldValues: {} });
    expect(read("members.rejected.csv")).toBe("line,user_id,code,reason,key\n");
    expect(statSync(path("members.cards.csv")).mode & 0o777).toBe(0o600);
  });

  it("sends contacts, consents and field values as they are mapped", async () => {
    const { run, readLines, readStored, service } = await openImportShop({
      "members.csv":
        "sep=;\nid;tel;mail;full;news;terms;size;field.name\n" +
        "1; +48600100200 ;a@example.com;Anna;YES;true;12.5;A\n" +
        "2;;b@example.com;;no;1; ; \n;;;;;;;\n",
    });
    const map =
      "userId=id phone=tel email=mail name=full marketing=news privacy=terms field.shoeSize=size".split(
        " ",
      );
    const name = { key: "name", type: "name" } as const;
    const shoeSize = { key: "shoeSize", type: "number" } as const;
    service.templates.create({ id: "tpl_shoes", name: "Shoes", fields: [name, shoeSize] });
    const options = "--template tpl_shoes --marketing-version news-3 --number-field shoeSize".split(
      " ",
    );
    const maps = map.flatMap((one) => ["--map", one]);
    const { code, stderr } = await run([...command, ...maps, ...options]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("2 valid")]);
    const lines = readLines("members.cards.csv").sort();
    const ids = lines.map((line) => line.split(";")[1] ?? "");
    expect(ids.map((id) => service.cards.get(id)?.fieldValues)).toEqual([
      { name: "A", shoeSize: 12.5 },
      {},
    ]);
    for (const stored of [
      '"privacyVersion":"2026-01"',
      '"marketing":{"isGiven":true,"isWithdrawn":false,"version":"news-3"}',
      '"marketing":{"isGiven":false}',
    ])
      expect(readStored()).toContain(stored);
  });

  it.each([
    ",userId,phone\n1,11,600100201\n2,12,600100202\n3,13,600100203\n", // as pandas writes it
    "userId,phone,\n11,600100201,yes\n12,600100202,yes\n13,600100203,yes\n",
    '{"":"yes","userId":11,"phone":"600100201"}\n',
  ])("reads nothing from a column without a name: %j", async (list) => {
    const { run, service } = await openImportShop({ "members.csv": list });
    expect(await run()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Columns that are not used: one without a name\n"),
    });
    for (const { requestBody = "" } of service.requests())
      expect(JSON.parse(requestBody).customer).toEqual({
        phone: expect.stringMatching(/^60010020\d$/),
        consents: { privacy: { version: "2026-01" } },
      });
    expect(service.requests().length).toBe(
      list.split("\n").length - (list.startsWith("{") ? 1 : 2),
    );
  });

  it("waits during an outage, says since when, and then issues the other cards", async () => {
    const { run, service, countCards } = await openImportShop(toRows(20));
    const { id } = service.faults.add({ phase: "before", kind: "status", status: 503 });
    let isDown = true;
    const { code, stderr } = await run(command, {
      isTTY: true,
      columns: 200,
      onOutput: (output) => {
        if (!isDown || !output.includes("waits for")) return;
        isDown = false;
        service.faults.remove(id);
      },
    });
    expect([code, await countCards()]).toEqual([0, 20]);
    expect(stderr).toMatch(/0 of 20 · waits for the service since \d\d:\d\d \(503\)\n/);
  });

  it("prints one JSON value with --json", async () => {
    const { run } = await openImportShop({
      "members.csv": `userId,phone\n1,+48600100200\n2,${shortPhone}\n`,
    });
    const { stdout } = await run([...command, "--json", "--quiet"]);
    expect(JSON.parse(stdout)).toEqual({
      rows: 2,
      issued: 1,
      issuedBefore: 0,
      differing: 0,
      rejected: 1,
      unknown: 0,
      elapsedMs: expect.any(Number),
      ended: "complete",
      files: { cards: "members.cards.csv", rejected: "members.rejected.csv" },
      outbox: "members.csv.outbox",
    });
  });

  // G13
  it("issues no second card when it runs again", async () => {
    const { run, countCards, read, requests } = await openImportShop(toRows(15));
    await run();
    const cards = read("members.cards.csv");
    requests.length = 0;
    const again = await run();
    expect([again.code, requests, await countCards()]).toEqual([0, [], 15]);
    expect(again.stderr).toContain(
      "15 had cards before this run; nothing was sent. Cards that exist keep their values.\n",
    );
    expect(read("members.cards.csv")).toBe(cards);
  });

  it("counts cards of earlier runs apart", async () => {
    const { run, path } = await openImportShop(toRows(3));
    await run();
    writeFileSync(path("members.csv"), toCsv(toRows(5)));
    const { stdout, stderr } = await run();
    expect(stdout).toMatch(/issued +5 /);
    expect(stderr).toContain("3 had cards before this run. Cards that exist keep their values.\n");
  });

  it("counts cards of earlier requests, which can be those of other people", async () => {
    const { run, path } = await openImportShop({
      "members.csv": "userId,phone,field.name\n1,+48600100200,Anna\n2,+48600100201,Jan\n",
    });
    const other = ["--user-id", "2", "--privacy", "1", "--field", "name=Eva"];
    await run(["issue", "--template", "tpl_mock", ...other]);
    const { code, stdout, stderr } = await run();
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/\n {2}issued +2 .*\n {2}differing +1 /),
    ]);
    expect(stderr).toContain("Differing cards have other field values than their rows: ");
    writeFileSync(path("members.csv"), "userId,phone,field.name\n1,,Anna\n2,,Jan\n");
    expect((await run()).stdout).not.toContain("differing");
  });

  it("sends nothing when the list has none of the user ids with cards, as with another mapping", async () => {
    const { run, path, countCards, requests } = await openImportShop(toRows(3));
    await run();
    requests.length = 0;
    writeFileSync(path("members.csv"), toCsv(toRows(6).slice(3)));
    const { code, stderr } = await run();
    expect([code, requests, await countCards()]).toEqual([2, [], 3]);
    expect(stderr).toContain(
      "Earlier runs requested 3 cards, and the list has none of their user ids",
    );
  });

  it("sends nothing without --yes when some of the users with cards are not in the list, as with lost zeros", async () => {
    const rows = ["7", "008", "009"].map((userId, at) => `${userId},${toPhone(at)},`);
    const { run, path, countCards, requests } = await openImportShop(rows);
    await run();
    requests.length = 0;
    writeFileSync(path("members.csv"), toCsv(rows.map((row) => row.replace(/^0+/, ""))));
    const problem = "The list does not have the user ids of 2 cards of earlier runs.";
    const asked = await run(asking, { isTTY: true, stdin: "y\n", columns: 300 });
    expect(await run(asking)).toEqual(asked); // without a terminal
    expect([asked.code, requests, await countCards()]).toEqual([2, [], 3]);
    expect(asked.stderr).not.toContain("There is no terminal");
    expect(asked.stderr).toContain(
      `${problem} With other ids, the same people would get second cards: correct the ids. If the rows were removed, use --yes.\n`,
    );
    expect(await run()).toMatchObject({ code: 0, stderr: expect.stringContaining(`${problem}\n`) });
    expect(requests).toHaveLength(2);
  });

  it("finds the user of a card in a row with too many values", async () => {
    const { run, path, requests, readLines } = await openImportShop(toRows(3));
    await run();
    writeFileSync(path("members.csv"), toCsv(toRows(4).with(1, `2 ,${toPhone(1)},Eva,more`)));
    requests.length = 0;
    const { code, stderr } = await run([...asking, "--skip-invalid"], {
      isTTY: true,
      stdin: "y\n",
    });
    expect([code, requests.length, stderr.includes("user ids")]).toEqual([1, 1, false]);
    expect(readLines("members.rejected.csv")).toEqual([
      "3,2 ,malformed-record,the row has more values than the header,",
    ]);
  });

  it("reads the list from stdin, and writes beside the outbox", async () => {
    const { run, readLines, countCards, requests } = await openImportShop(toRows(0));
    const line = ["import", "-", ...command.slice(2)];
    for (const name of ["-", "/dev/stdin", "/dev/fd/63"]) {
      const refused = await run(line.with(1, name), { stdin: toCsv(toRows(3)) });
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining("A list on stdin needs --outbox FILE"),
      ]);
    }
    const whole = [...line, "--outbox", "march.outbox"];
    for (const _ of [1, 2]) expect((await run(whole, { stdin: toCsv(toRows(3)) })).code).toBe(0);
    expect([await countCards(), requests.length]).toEqual([3, 3]);
    expect(readLines("march.cards.csv")).toHaveLength(3);
  });

  it("writes the results of CSV and NDJSON lists of one name to files of their own", async () => {
    const { run, readLines } = await openImportShop({
      "members.csv": toCsv(toRows(2)),
      "members.ndjson": '{"userId":"3","phone":"+48600100900"}\n',
    });
    await run();
    const line = ["import", "members.ndjson", ...command.slice(2), "--json"];
    expect(JSON.parse((await run(line)).stdout).files).toEqual({
      cards: "members.ndjson.cards.csv",
      rejected: "members.ndjson.rejected.csv",
    });
    expect(readLines("members.cards.csv")).toHaveLength(2);
    expect(readLines("members.ndjson.cards.csv")).toEqual([expect.stringMatching(/^3,/)]);
  });

  it("reads the template and the key from .env", async () => {
    const { run, path, countCards } = await openImportShop(toRows(1));
    writeFileSync(path(".env"), "LOYALTY_TEMPLATE_ID=tpl_mock\n");
    const { code } = await run(["import", "members.csv", "--privacy", "1", "--yes"]);
    expect([code, await countCards()]).toEqual([0, 1]);
  });
});

describe("the question after ten rows", () => {
  it("continues after a yes", async () => {
    const { run, countCards } = await openImportShop(toRows(15));
    const { code, stderr } = await run(asking, { stdin: "y\n", isTTY: true });
    expect(stderr).toContain("Look at these cards in the service. Issue the other 5? [y/N]\n");
    expect([code, await countCards()]).toEqual([0, 15]);
  });

  it("stops after a no, and asks again, without more cards, until somebody says yes", async () => {
    const { run, countCards, readLines } = await openImportShop(toRows(15));
    const stopped = await run(asking, { stdin: "\n", isTTY: true });
    expect([stopped.code, await countCards()]).toEqual([3, 10]);
    expect(stopped.stdout).toContain("Stopped: 10 rows in");
    expect(stopped.stderr).toContain("To resume, run the same command again.\n");
    expect(readLines("members.cards.csv")).toHaveLength(10);
    expect((await run(asking)).stderr).toContain("There is no terminal to ask on");
    const again = await run(asking, { stdin: "n\n", isTTY: true });
    expect([again.code, await countCards()]).toEqual([3, 10]);
    const resumed = await run(asking, { stdin: "y\n", isTTY: true });
    expect(resumed.stderr).toContain("Issue the other 5? [y/N]\n");
    expect([resumed.code, await countCards()]).toEqual([0, 15]);
  });

  it("does not ask again after a yes", async () => {
    const { run, path, countCards } = await openImportShop(toRows(15));
    await run(asking, { stdin: "y\n", isTTY: true });
    writeFileSync(path("members.csv"), toCsv(toRows(30)));
    const { code, stderr } = await run(asking, { isTTY: true });
    expect([code, await countCards(), stderr.includes("?")]).toEqual([0, 30, false]);
  });

  it("stops with --yes when none of the ten rows is accepted", async () => {
    const rows = Array.from({ length: 20 }, (_, index) => `${index},${shortPhone}${index},`);
    const { run, requests } = await openImportShop(rows);
    const { code, stderr } = await run();
    expect([code, requests.length]).toEqual([3, 10]);
    expect(stderr).toMatch(
      /\nAll rows were rejected for one reason: The phone number is not valid[^\n]*\n/,
    );
  });
});

describe("the reason of the rejected rows", () => {
  const isInvalid = "The phone number is not valid";
  const short = (index: number) => `${index},${shortPhone}${index},`;

  it.each([
    ["in the words of the service when several rows have it", [1, 2], [isInvalid]],
    ["without text of the service, which can quote a customer, when one row has it", [1], []],
  ])("is said before the question and at the end, %s", async (_name, indexes, quoted) => {
    const { run } = await openImportShop([...indexes.map(short), ...toRows(12).slice(2)]);
    const { stderr } = await run(asking, { stdin: "n\n", isTTY: true, columns: 300 });
    const reason = `Reason for the rejection: ${quoted[0] ?? "The service responded 422 to issueCard: /customer/phone."}`;
    const [before = "", after = ""] = stderr.split("Look at these cards");
    expect([before, after]).toEqual([
      expect.stringContaining(`\n${reason}`),
      expect.stringContaining(`\n${reason}`),
    ]);
    expect(stderr.split(isInvalid).length - 1).toBe(2 * quoted.length);
  });

  it("is not said when they have several", async () => {
    const { run } = await openImportShop([short(1), "2,bad,", ...toRows(3).slice(2)]);
    const { code, stderr } = await run([...command, "--skip-invalid"]);
    expect([code, stderr]).toEqual([1, expect.not.stringContaining("Reason")]);
  });
});

describe("a run that stops", () => {
  it("shows why no card was issued when Ctrl-C comes before the first one", async () => {
    const { run, path, service } = await openImportShop(toRows(20));
    service.faults.add({ phase: "before", kind: "status", status: 429 });
    const { code, stdout, stderr } = await run(command, {
      isTTY: true,
      columns: 200,
      onOutput: (output, interrupt) => {
        if (output.includes("waits for")) setImmediate(interrupt);
      },
    });
    expect([code, stdout]).toEqual([130, expect.stringMatching(/^Interrupted: 0 rows in/)]);
    expect(existsSync(path("members.csv.outbox"))).toBe(false);
    expect(stderr).toMatch(/0 of 20 · waits for the service since \d\d:\d\d \(429\)\n/);
  });

  it("ends at Ctrl-C while the last row waits for minutes, and says until when", async () => {
    const { run, service } = await openImportShop(toRows(5));
    const busy = { kind: "status", status: 429, retryAfterSeconds: 600, times: 1 } as const;
    service.faults.add({ phase: "before", ...busy });
    const { code, stdout, stderr } = await run(command, {
      isTTY: true,
      columns: 200,
      onOutput: (output, interrupt) => {
        if (output.includes("waits to repeat requests")) setImmediate(interrupt);
      },
    });
    expect([code, stdout]).toEqual([130, expect.stringMatching(/^Interrupted: 4 rows in/)]);
    expect(stderr).toMatch(
      /4 of 5 · waits to repeat requests until (?:[A-Z][a-z]+ \d+ )?\d\d:\d\d[ \n]/,
    );
  });

  it("says how to resume at Ctrl-C at the question", async () => {
    const { run, countCards } = await openImportShop(toRows(30));
    let isInterrupted = false;
    const { code, stdout, stderr } = await run(asking, {
      isTTY: true,
      isStdinOpen: true,
      onOutput: (output, interrupt) => {
        if (isInterrupted || !output.includes("[y/N]")) return;
        isInterrupted = true;
        setImmediate(interrupt); // a person is slower than the command
      },
    });
    expect([code, await countCards()]).toEqual([130, 10]);
    expect(stdout).toMatch(/^Interrupted: 10 rows in \d+ s\n {2}issued +10 /);
    expect(stderr).toContain("To resume, run the same command again.\n");
  });

  it("exits with 4 when the API key is refused", async () => {
    const { run, folder, requests } = await openImportShop(toRows(40));
    const { code, stderr } = await run(command, {
      env: { LOYALTY_API_KEY: "wrong" },
    });
    expect([code, requests.length <= 10]).toEqual([4, true]);
    expect(stderr).toContain("the apiKey (LOYALTY_API_KEY) was not accepted");
    expect(stderr).not.toContain("wrong");
    // Nothing is left, so that a run with the right key, address and template begins anew.
    expect(readdirSync(folder)).toEqual(["members.csv"]);
  });

  it("exits with 4 when the API key is revoked, and says that the same command resumes", async () => {
    const { run, service, countCards } = await openImportShop(toRows(40));
    const { code, stderr } = await run(command, {
      onOutput: (output) => {
        if (output.includes("First 10 rows"))
          service.faults.add({ phase: "before", kind: "status", status: 401 });
      },
    });
    expect([code, await countCards()]).toEqual([4, 10]);
    expect(stderr).toMatch(/\nRun the same command again: no row gets a second card\.\n$/);
    service.faults.clear();
    expect([(await run()).code, await countCards()]).toEqual([0, 40]);
  });
});

describe("nothing is sent", () => {
  it.each<[string, Record<string, string | Uint8Array>, string[], string | RegExp]>([
    [
      "an Excel file",
      { "members.csv": Buffer.from("PK\u0003\u0004\u0014\u0000\u0006\u0000") },
      [],
      'members.csv is an Excel file: save it as "CSV UTF-8".',
    ],
    [
      "another file in the place of the outbox",
      { "members.csv.outbox": "something else\n" },
      [],
      "members.csv.outbox cannot be used: file is not a database.",
    ],
    [
      "rows with problems",
      { "members.csv": "userId,phone\n1,bad\n" },
      [],
      /^No column is mapped to field\.KEY: [^\n]+\nmembers\.csv: 1 row, 0 valid, 1 problem\n✗ 1 row: line 2: phone is not a phone number\nloyalty-cards: Nothing was sent\. Correct the rows\.\n$/,
    ],
    [
      "another file in the place of the cards",
      { "members.cards.csv": "user_id,card_number\n1,2\n" },
      [],
      "members.cards.csv was not written by an import: rename it, or move it away.",
    ],
    [
      "a folder in the place of the cards",
      { "members.cards.csv/file": "" },
      [],
      "members.cards.csv was not written by an import: rename it, or move it away.",
    ],
    [
      "another file in the place of the rejected rows",
      { "members.rejected.csv": "" },
      [],
      "members.rejected.csv was not written by an import: rename it, or move it away.",
    ],
    [
      "--marketing-version without a column of answers",
      {},
      ["--marketing-version", "3"],
      '--marketing-version needs a column with the answers: use --map marketing=COLUMN. Its columns are "userId", "phone", "name".',
    ],
    [
      "a folder in the place of the outbox",
      { "members.csv.outbox/file": "" },
      [],
      /^loyalty-cards: members\.csv\.outbox cannot be used: [^\n]+\n$/,
    ],
  ])("for %s", async (_, files, more, message) => {
    const { run, requests } = await openImportShop({ "members.csv": toCsv(toRows(2)), ...files });
    const { code, stdout, stderr } = await run([...command, ...more]);
    const said =
      typeof message === "string" ? `loyalty-cards: ${message}\n` : expect.stringMatching(message);
    expect([code, requests, stdout, stderr]).toEqual([2, [], "", said]);
  });

  it("without a template", async () => {
    const { run, requests } = await openImportShop(toRows(2));
    expect(await run(["import", "members.csv", "--privacy", "1", "--yes"])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "loyalty-cards: There is no template: use --template, or set LOYALTY_TEMPLATE_ID in the environment or in .env. The service's console shows the ids of your templates.\n",
    });
    expect(requests).toEqual([]);
  });

  it("without a terminal or --yes, after the problems were printed", async () => {
    const { run, requests, folder } = await openImportShop([...toRows(2), "3,bad,Eva"]);
    const { code, stdout, stderr } = await run(asking);
    expect([code, stdout, requests, readdirSync(folder)]).toEqual([2, "", [], ["members.csv"]]);
    expect(stderr.split("\n").slice(1)).toEqual([
      "members.csv: 3 rows, 2 valid, 1 problem",
      "✗ 1 row: line 4: phone is not a phone number",
      "loyalty-cards: Nothing was sent. Correct the rows, or use --skip-invalid to import the others. There is no terminal to ask on: use --yes to import without a question.",
      "",
    ]);
  });

  it.each([
    // Before what is not set.
    ["nofile.csv", "nofile.csv cannot be used: no such file or directory (ENOENT)."],
    ["lists", '"lists" is a folder: name the list in it.'],
    ["", '"" is a folder: name the list in it.'], // an unset variable of the shell
  ])("without a file, but with %j", async (file, message) => {
    const { run } = await openImportShop({ "lists/members.csv": "" });
    for (const command of [["import"], ["import", "check"]])
      expect(
        await run([...command, file], { env: { LOYALTY_URL: "", LOYALTY_API_KEY: "" } }),
      ).toMatchObject({
        code: 2,
        stderr: `loyalty-cards: ${message}\n`,
      });
  });

  it("for the outbox of another template, and the results stay", async () => {
    const { run, requests, read } = await openImportShop([...toRows(2), `3,${shortPhone},`]);
    await run();
    const results = [read("members.cards.csv"), read("members.rejected.csv")];
    requests.length = 0;
    expect(await run([...command, "--template", "tpl_other"])).toMatchObject({
      code: 2,
      stderr:
        "loyalty-cards: members.csv.outbox has the cards of template tpl_mock: use that template, or move the file away.\n",
    });
    expect([requests, read("members.cards.csv"), read("members.rejected.csv")]).toEqual([
      [],
      ...results,
    ]);
  });

  it("by a second run on the outbox of a run that asks its question", async () => {
    const { run, countCards } = await openImportShop(toRows(30));
    let second: Promise<Ran> | undefined;
    const first = await run(asking, {
      isTTY: true,
      isStdinOpen: true,
      onOutput: (output, interrupt) => {
        if (!output.includes("[y/N]")) return;
        second ??= run();
        void second.then(interrupt);
      },
    });
    expect(await second).toMatchObject({
      code: 2,
      stderr:
        "loyalty-cards: members.csv.outbox is used by another run: wait for it, or stop it.\n",
    });
    expect([first.code, await countCards()]).toEqual([130, 10]);
  });
});
