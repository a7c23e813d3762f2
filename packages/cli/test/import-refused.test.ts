/** What stops an import before anything is sent. */
import { appendFileSync, existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { args, type CommandResult, openShop, shortPhone, toCsv, toRows } from "./import-terminal.ts";

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
      "another file in the place of the outbox",
      { "members.csv": toCsv(toRows(1)), "members.csv.outbox": "something else\n" },
      [],
      2,
      "members.csv.outbox cannot be used: file is not a database.",
    ],
    [
      "rows with problems",
      { "members.csv": toCsv(["1,bad,x"]) },
      [],
      2,
      "Nothing was sent. Correct the rows, or use --skip-invalid to import the others.",
    ],
    [
      "a rejected file of another program",
      { "members.csv": toCsv(toRows(1)), "members.rejected.csv": "a,b\n" },
      [],
      2,
      "members.rejected.csv exists, and is not the result of this import: move it away.",
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

  it.each([
    ["a file that does not exist", "nofile.csv", "There is no file nofile.csv."],
    ["an empty name, such as an unset variable of the shell", "", "The name of the file is empty."],
    ["a folder", "lists", "lists is a folder, not a file."],
  ])("for %s, which is reported before what is not set", async (_, file, message) => {
    const { run, requests } = await openShop({ "lists/members.csv": toCsv(toRows(1)) });
    const env = { LOYALTY_URL: "", LOYALTY_API_KEY: "" };
    for (const command of [["import"], ["import", "check"]]) {
      const { exitCode, stdout, stderr } = await run([...command, file], { env });
      expect([exitCode, stdout, stderr]).toEqual([2, "", `loyalty-cards: ${message}\n`]);
    }
    expect(requests).toEqual([]);
  });

  it("for standard input without names of files", async () => {
    const { run } = await openShop({});
    const { exitCode, stderr } = await run(["import", "-", ...args], { stdin: "userId\n1\n" });
    expect([exitCode, stderr]).toEqual([
      2,
      "loyalty-cards: Standard input has no name for the files beside it: use --outbox FILE, --rejected FILE and --cards FILE.\n",
    ]);
  });

  it("for standard input of a terminal that is interrupted before the first row; says how it ends", async () => {
    const { run } = await openShop({});
    const check = ["import", "check", "-", "--privacy", "1"];
    const { exitCode, stderr } = await run(check, {
      columns: 200,
      isStdinOpen: true,
      onOutput: (_, interrupt) => setImmediate(interrupt),
    });
    expect([exitCode, stderr]).toEqual([
      130,
      "Reading standard input. Ctrl-D ends it.\nloyalty-cards: Interrupted while the list was read: nothing was sent. Run the same command again.\n",
    ]);
    const piped = await run(check, { stdin: toCsv(toRows(1)) });
    expect([piped.exitCode, piped.stderr]).toEqual([0, ""]);
  });

  it("for an outbox of another mapping or template, and the results of the last run stay", async () => {
    const { run, requests, read } = await openShop({
      "members.csv": toCsv([...toRows(2), `3,${shortPhone},`]),
    });
    await run(["import", "members.csv", ...args]);
    const results = [read("members.cards.csv"), read("members.rejected.csv")];
    requests.length = 0;
    const template = await run(["import", "members.csv", ...args, "--template", "tpl_other"]);
    const version = await run(["import", "members.csv", ...args, "--privacy", "2026-02"]);
    expect([template.exitCode, version.exitCode, requests]).toEqual([2, 2, []]);
    expect(template.stderr).toContain("is of a run with another template");
    expect(version.stderr).toContain("is of a run with another source or mapping");
    expect([read("members.cards.csv"), read("members.rejected.csv")]).toEqual(results);
  });

  it("for a second run on the outbox of a run that has not ended", async () => {
    const { run, countCards, service } = await openShop({ "members.csv": toCsv(toRows(60)) });
    service.faults.add({ phase: "before", kind: "latency", delayMs: 20 });
    let second: Promise<CommandResult> | undefined;
    // One request after the other: at least a second, longer than the second run takes.
    const first = await run(["import", "members.csv", ...args, "--concurrency", "1"], {
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
    appendFileSync(path("members.rejected.csv"), "\n");
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
    expect([exitCode, requests, existsSync(path("members.csv.outbox"))]).toEqual([0, [], false]);
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
