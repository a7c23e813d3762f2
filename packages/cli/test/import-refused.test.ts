/** What stops an import before anything is sent. */
import { appendFileSync, existsSync, mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { args, openShop, shortPhone, toCsv, toRows } from "./import-shop.ts";
import { type Ran, run } from "./terminal.ts";

describe("nothing is sent", () => {
  const valid = toCsv(toRows(2));

  it.each<[string, Record<string, string | Uint8Array>, string[], string]>([
    [
      "missing columns",
      { "members.csv": "id,phone\n1,+48600100200\n" },
      [],
      "No column of members.csv is mapped",
    ],
    [
      "a line of 10 MB",
      { "members.csv": `userId,phone\n1,${"5".repeat(10_000_000)}\n` },
      [],
      "members.csv line 2 is longer than 1 MiB: is it a CSV or NDJSON file?",
    ],
    [
      "another encoding",
      { "members.csv": Buffer.from("userId,name\n1,caf\xe9\n", "latin1") },
      [],
      "members.csv line 2 is not valid UTF-8",
    ],
    ["an empty file", { "members.csv": "" }, [], "members.csv is empty."],
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
      "Nothing was sent. Correct the rows, or use --skip-invalid to import the others.",
    ],
    [
      "a rejected file of another program",
      { "members.csv": valid, "members.rejected.csv": "a,b\n" },
      [],
      "members.rejected.csv exists, and is not the result of this import: move it away.",
    ],
    ["the input as rejected file", {}, ["--rejected", "members.csv"], "must be four different files"],
    ["a percentage that is none", {}, ["--abort-over", "x"], "It must be a percentage, such as 5%."],
    [
      "a folder that does not exist",
      {},
      ["--cards", "nowhere/cards.csv"],
      "cards.csv cannot be written to its folder (ENOENT)",
    ],
    ["a folder in the place of the outbox", {}, ["--outbox", "folder"], "folder is a folder: move it away."],
    ["a folder in the place of the cards", {}, ["--cards", "folder"], "folder is a folder: move it away."],
  ])("for %s", async (_, files, more, message) => {
    const { run, path, requests } = await openShop({ "members.csv": valid, ...files });
    mkdirSync(path("folder"));
    const { code, stdout, stderr } = await run(["import", "members.csv", ...args, ...more]);
    expect([code, requests, stdout, stderr]).toEqual([2, [], "", expect.stringContaining(message)]);
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
    // These are reported before what is not set.
    ["a file", ["nofile.csv"], "There is no file nofile.csv."],
    ["a name, such as an unset variable of the shell", [""], "The name of the file is empty."],
    ["a file, but with a folder", ["lists"], "lists is a folder, not a file."],
  ])("without %s", async (_, options, message) => {
    const { run, env, requests } = await openShop({ "members.csv": valid, "lists/members.csv": valid });
    const hasFile = options.length > 1;
    const own = hasFile ? env : { LOYALTY_URL: "", LOYALTY_API_KEY: "" };
    const commands = hasFile ? [["import", "members.csv"]] : [["import"], ["import", "check"]];
    for (const command of commands)
      expect(await run([...command, ...options], { env: own })).toEqual({
        code: 2,
        stdout: "",
        stderr: `loyalty-cards: ${message}\n`,
      });
    expect(requests).toEqual([]);
  });

  it("for standard input without names of files", async () => {
    const { run } = await openShop({});
    const { code, stderr } = await run(["import", "-", ...args], { stdin: "userId\n1\n" });
    expect([code, stderr]).toEqual([
      2,
      "loyalty-cards: Standard input has no name for the files beside it: use --outbox FILE, --rejected FILE and --cards FILE.\n",
    ]);
  });

  it("for standard input of a terminal that is interrupted before the first row; says how it ends", async () => {
    const check = ["import", "check", "-", "--privacy", "1"];
    const { code, stderr } = await run(check, {
      isTTY: true,
      columns: 200,
      isStdinOpen: true,
      onOutput: (_, interrupt) => setImmediate(interrupt),
    });
    expect([code, stderr]).toEqual([
      130,
      "Reading standard input. Ctrl-D ends it.\nloyalty-cards: Interrupted while the list was read: nothing was sent. Run the same command again.\n",
    ]);
    expect(await run(check, { stdin: valid })).toMatchObject({ code: 0, stderr: "" });
  });

  it("for an outbox of another mapping or template, or edited results of the last run, which stay", async () => {
    const { run, requests, read, path } = await openShop({
      "members.csv": toCsv([...toRows(2), `3,${shortPhone},`]),
    });
    const command = ["import", "members.csv", ...args];
    await run(command);
    appendFileSync(path("members.rejected.csv"), "\n");
    const results = [read("members.cards.csv"), read("members.rejected.csv")];
    requests.length = 0;
    const ran = [
      [["--template", "tpl_other"], "is of a run with another template"],
      [["--privacy", "2026-02"], "is of a run with another source or mapping"],
      [[], "members.rejected.csv was edited after the last run"],
    ] as const;
    for (const [more, message] of ran) {
      const { code, stderr } = await run([...command, ...more]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
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
    expect(await second).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be used") });
    expect([first.code, await countCards()]).toEqual([130, 10]);
  });

  it("with --dry-run, which prints the form of the first request", async () => {
    const { run, requests, path } = await openShop({ "members.csv": valid });
    const options = ["--template", "t", "--privacy", "2026-01", "--dry-run", "--json"];
    const { code, stdout } = await run(["import", "members.csv", ...options]);
    expect([code, requests, existsSync(path("members.csv.outbox"))]).toEqual([0, [], false]);
    const customer = {
      phone: "(text, 12 characters)",
      name: "(text, 8 characters)",
      consents: { privacy: { version: "(text, 7 characters)" } },
    };
    expect(JSON.parse(stdout)).toEqual({
      userId: "(text, 1 character)",
      request: { customer, fieldValues: {} },
    });
  });
});
