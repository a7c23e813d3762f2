/** What stops an import before anything is sent. */
import { describe, expect, it } from "vitest";
import { args, openShop, shortPhone, toCsv, toRows } from "./import-shop.ts";
import type { Ran } from "./terminal.ts";

describe("nothing is sent", () => {
  const valid = toCsv(toRows(2));

  it.each<[string, Record<string, string | Uint8Array>, string[], string | RegExp]>([
    [
      "missing columns",
      { "members.csv": "id,phone\n1,+48600100200\n" },
      [],
      'No column of members.csv is mapped to userId: use --map userId=COLUMN. Its columns are "id", "phone".',
    ],
    [
      "another encoding",
      { "members.csv": Buffer.from("userId,name\n1,caf\xe9\n", "latin1") },
      [],
      /^loyalty-cards: members\.csv line 2 is not UTF-8\. Save it as [^\n]+\n$/,
    ],
    ["an empty file", { "members.csv": "" }, [], "members.csv has no rows."],
    [
      "another file in the place of the outbox",
      { "members.csv": valid, "members.csv.outbox": "something else\n" },
      [],
      "members.csv.outbox cannot be used: file is not a database.",
    ],
    [
      "rows with problems",
      { "members.csv": toCsv(["1,bad,x"]) },
      [],
      /^2:3 +phone is not a phone number\nmembers\.csv: 1 row, 0 valid, 1 problem\n +invalid-phone +1\nNothing was sent\. Correct the rows, or use --skip-invalid to import the others\.\n$/,
    ],
    [
      "another file in the place of the cards",
      { "members.csv": valid, "members.cards.csv": "user_id,card_number\n1,2\n" },
      [],
      "members.cards.csv was not written by an import: rename it, or move it away.",
    ],
    [
      "another file in the place of the rejected rows",
      { "members.csv": valid, "members.rejected.csv": "" },
      [],
      "members.rejected.csv was not written by an import: rename it, or move it away.",
    ],
    [
      "--marketing-version without a column of answers",
      { "members.csv": valid },
      ["--marketing-version", "3"],
      '--marketing-version needs a column with the answers: use --map marketing=COLUMN. Its columns are "userId", "phone", "name".',
    ],
    [
      "a JSON array",
      { "members.csv": '[{"userId":1}]' },
      [],
      "members.csv is a JSON array, and must have one object per line: jq -c '.[]' members.csv > members.ndjson",
    ],
    [
      "a folder in the place of the outbox",
      { "members.csv.outbox/file": "" },
      [],
      /^loyalty-cards: members\.csv\.outbox cannot be used: [^\n]+\n$/,
    ],
  ])("for %s", async (_, files, more, message) => {
    const { run, requests } = await openShop({ "members.csv": valid, ...files });
    const { code, stdout, stderr } = await run(["import", "members.csv", ...args, ...more]);
    const said = typeof message === "string" ? `loyalty-cards: ${message}\n` : expect.stringMatching(message);
    expect([code, requests, stdout, stderr]).toEqual([2, [], "", said]);
  });

  it.each([
    [
      "a template",
      ["--privacy", "1", "--yes"],
      "There is no template: use --template, or set LOYALTY_TEMPLATE_ID in the environment or in .env. The service's console shows the ids of your templates.",
    ],
    [
      "--yes without a terminal",
      ["--privacy", "1", "--template", "t"],
      "There is no terminal to ask on: use --yes to import without a question.",
    ],
  ])("without %s", async (_, options, message) => {
    const { run, requests } = await openShop({ "members.csv": valid });
    expect(await run(["import", "members.csv", ...options])).toEqual({
      code: 2,
      stdout: "",
      stderr: `loyalty-cards: ${message}\n`,
    });
    expect(requests).toEqual([]);
  });

  it.each([
    // Before what is not set.
    ["nofile.csv", "nofile.csv cannot be used: no such file or directory (ENOENT)."],
    ["lists", "A file cannot be used: illegal operation on a directory (EISDIR)."],
    ["", "A file cannot be used: illegal operation on a directory (EISDIR)."], // an unset variable of the shell
  ])("without a file, but with %j", async (file, message) => {
    const { run } = await openShop({ "lists/members.csv": valid });
    for (const command of [["import"], ["import", "check"]])
      expect(await run([...command, file], { env: { LOYALTY_URL: "", LOYALTY_API_KEY: "" } })).toMatchObject({
        code: 2,
        stderr: `loyalty-cards: ${message}\n`,
      });
  });

  it("for the outbox of another template, and the results stay", async () => {
    const { run, requests, read } = await openShop({
      "members.csv": toCsv([...toRows(2), `3,${shortPhone},`]),
    });
    const command = ["import", "members.csv", ...args];
    await run(command);
    const results = [read("members.cards.csv"), read("members.rejected.csv")];
    requests.length = 0;
    expect(await run([...command, "--template", "tpl_other"])).toMatchObject({
      code: 2,
      stderr:
        "loyalty-cards: members.csv.outbox has the cards of template tpl_mock: use that template, or move the file away.\n",
    });
    expect([requests, read("members.cards.csv"), read("members.rejected.csv")]).toEqual([[], ...results]);
  });

  it("by a second run on the outbox of a run that asks its question", async () => {
    const { run, countCards } = await openShop({ "members.csv": toCsv(toRows(30)) });
    let second: Promise<Ran> | undefined;
    const first = await run(["import", "members.csv", ...args.slice(0, -1)], {
      isTTY: true,
      isStdinOpen: true,
      onOutput: (output, interrupt) => {
        if (!output.includes("[y/N]")) return;
        second ??= run(["import", "members.csv", ...args]);
        void second.then(interrupt);
      },
    });
    expect(await second).toMatchObject({
      code: 2,
      stderr: "loyalty-cards: members.csv.outbox is used by another run: wait for it, or stop it.\n",
    });
    expect([first.code, await countCards()]).toEqual([130, 10]);
  });
});
