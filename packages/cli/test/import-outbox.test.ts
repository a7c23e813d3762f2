/** What an import keeps in its outbox between two runs: edited, removed and expired rows, moved files, and files of others. */
import { cpSync, existsSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { describe, expect, it } from "vitest";
import { args, openShop, shortPhone, toCsv, toPhone, toRows } from "./import-shop.ts";
import type { Ran } from "./terminal.ts";

const command = ["import", "members.csv", ...args];
/** Without `--yes`: the run stops after ten cards. */
const declined = command.slice(0, -1);

describe("a row that was edited between two runs", () => {
  it("is sent as it is now when it was not sent, or was rejected", async () => {
    const rows = [`1,${shortPhone},Anna`, ...toRows(20).slice(1)];
    const { run, path, service, read } = await openShop({ "members.csv": toCsv(rows) });
    expect((await run(declined, { isTTY: true, stdin: "n\n" })).code).toBe(3);
    rows[0] = `1,${toPhone(500)},Anna`;
    rows[19] = `20,${toPhone(501)},Other`;
    writeFileSync(path("members.csv"), toCsv(rows));
    expect((await run(command)).code).toBe(0);
    const phones = JSON.stringify(service.snapshot(), (_, value) =>
      value instanceof Map ? [...value] : value,
    );
    expect([
      phones.includes(toPhone(500)),
      phones.includes(toPhone(501)),
      phones.includes(toPhone(19)),
    ]).toEqual([true, true, false]);
    expect(read("members.cards.csv").trimEnd().split("\n")).toHaveLength(21);
  });

  it("is rejected when its card was issued", async () => {
    const rows = toRows(20);
    const { run, path, read, countCards } = await openShop({ "members.csv": toCsv(rows) });
    await run(declined, { isTTY: true, stdin: "n\n" });
    writeFileSync(path("members.csv"), toCsv([`1,${toPhone(500)},Anna`, ...rows.slice(1)]));
    expect([(await run(command)).code, await countCards()]).toEqual([1, 20]);
    expect(read("members.rejected.csv")).toMatch(
      /\n1,\+48600100500,Anna,2,idempotency-mismatch,"The row has changed since it was sent, .+",\n$/,
    );
    writeFileSync(path("members.csv"), toCsv(rows));
    expect([(await run(command)).code, await countCards()]).toEqual([0, 20]);
    expect(read("members.cards.csv").trimEnd().split("\n")).toHaveLength(21);
  });
});

it("does not send rows that were removed from the list, or are behind --limit, and keeps what they had for when they are back", async () => {
  const { run, path, read, requests, countCards } = await openShop({ "members.csv": toCsv(toRows(30)) });
  const readUsers = () => read("members.cards.csv").trimEnd().split("\n").slice(1);
  await run(declined, { isTTY: true, stdin: "n\n" });
  expect([(await run([...command, "--limit", "12"])).code, await countCards()]).toEqual([0, 12]);
  writeFileSync(path("members.csv"), toCsv(toRows(15)));
  expect([(await run(command)).code, await countCards()]).toEqual([0, 15]);
  writeFileSync(path("members.csv"), toCsv(toRows(2)));
  const cards = readUsers();
  expect([(await run(command)).code, readUsers()]).toEqual([0, cards.slice(0, 2)]);
  writeFileSync(path("members.csv"), toCsv(toRows(30).reverse()));
  expect([(await run(command)).code, await countCards(), requests.length]).toEqual([0, 30, 30]);
  expect(readUsers()).toEqual(expect.arrayContaining(cards));
});

describe("rows whose outcome is unknown for more than 24 hours", () => {
  it("are not sent again, and the import is not complete before they are removed from the list", async () => {
    const { run, path, read, service, requests, countCards } = await openShop({
      "members.csv": toCsv(toRows(30)),
    });
    service.faults.add({ phase: "after-commit", kind: "hang", match: { operation: "issueCard" } });
    let isInterrupted = false;
    await run([...command, "--timeout", "1", "--concurrency", "2"], {
      isTTY: true,
      onOutput: (output, interrupt) => {
        if (isInterrupted || !output.includes("paused, trying")) return;
        isInterrupted = true;
        interrupt();
      },
    });
    service.faults.clear();
    const database = openSqlite(path("members.csv.outbox"));
    // A day later.
    const day = `UPDATE issuing_outbox_entries SET started = started - 90000000 WHERE started IS NOT NULL`;
    const sent = Number(database.prepare(day).run().changes);
    database.close();
    requests.length = 0;
    const resumed = await run(command);
    expect([resumed.code, requests.length, await countCards()]).toEqual([3, 30 - sent, 30]);
    expect(resumed.stdout).toMatch(
      new RegExp(`issued +${30 - sent} .*\\n {2}rejected +0 .*\\n {2}unknown +${sent}\\n`),
    );
    expect(resumed.stderr).toContain("Look in the console whether these customers have a card");
    const rejected = read("members.rejected.csv");
    expect(rejected.match(/,idempotency-expired,"The row was sent, .+",lc1_/g)).toHaveLength(sent);
    expect((await run(command)).code).toBe(3);
    const unknown = rejected
      .split("\n")
      .slice(1, -1)
      .map((line) => line.split(",")[0]);
    const rows = toRows(30).filter((row) => !unknown.includes(row.split(",")[0]));
    writeFileSync(path("members.csv"), toCsv(rows));
    expect([(await run(command)).code, requests.length]).toEqual([0, 30 - sent]);
    expect(existsSync(path("members.rejected.csv"))).toBe(false);
  });
});

it("resumes on a copy of its files", async () => {
  const { run, path, countCards } = await openShop({ "list/members.csv": toCsv(toRows(30)) });
  const start = (list: string, more: object = {}) =>
    run(["import", `${list}/members.csv`, ...declined.slice(2)], { isTTY: true, ...more });
  expect((await start("list", { stdin: "n\n" })).code).toBe(3);
  cpSync(path("list"), path("copy"), { recursive: true });
  expect([(await start("copy")).code, await countCards()]).toEqual([0, 30]);
});

it("erases what the rows contain when each has a result", async () => {
  const { run, path } = await openShop({
    "members.csv": toCsv([...toRows(20), `21,${shortPhone},Anna Rejected`, "22,bad,Anna Invalid"]),
  });
  const contains = (text: string) =>
    ["", "-wal"].some(
      (suffix) =>
        existsSync(path(`members.csv.outbox${suffix}`)) &&
        readFileSync(path(`members.csv.outbox${suffix}`)).includes(text),
    );
  await run([...declined, "--skip-invalid"], { isTTY: true, stdin: "n\n" });
  expect([contains("Member 20"), contains("Anna Invalid")]).toEqual([true, true]);
  await run([...command, "--skip-invalid"]);
  expect([contains("Member"), contains("+48600"), contains("Anna Invalid")]).toEqual([false, false, false]);
  expect(statSync(path("members.csv.outbox")).mode & 0o777).toBe(0o600);
});

it("removes an outbox of which nothing was sent", async () => {
  const { run, path } = await openShop({ "members.csv": toCsv([...toRows(20), "21,bad,x"]) });
  await run(command);
  const wrong = await run([...command, "--skip-invalid", "--template", "tpl_wrong"]);
  expect([wrong.code, existsSync(path("members.csv.outbox"))]).toEqual([2, false]);
  expect(wrong.stderr).toContain('template "tpl_wrong" does not exist or is archived.');
  expect((await run([...command, "--skip-invalid"])).code).toBe(1);
});

describe("files of others", () => {
  it.each(["members.cards.csv", "members.rejected.csv", "members.csv.outbox", "members.csv.outbox-wal"])(
    "are not written through a link in the place of %s",
    async (name) => {
      const { run, path, read, requests } = await openShop({
        "members.csv": toCsv(toRows(2)),
        precious: "precious",
      });
      symlinkSync(path("precious"), path(name));
      expect(await run(command)).toMatchObject({
        code: 2,
        stderr: `loyalty-cards: ${name} is a symbolic link: move it away.\n`,
      });
      expect([requests, read("precious")]).toEqual([[], "precious"]);
    },
  );

  it("are not written through a link that appears while rows are sent", async () => {
    const { run, path, read } = await openShop({ "members.csv": toCsv(toRows(20)), precious: "precious" });
    const { code } = await run(command, {
      onOutput: (output) => {
        if (output.includes("First 10 rows") && !existsSync(path("members.cards.csv")))
          symlinkSync(path("precious"), path("members.cards.csv"));
      },
    });
    expect([code, read("precious")]).toEqual([3, "precious"]);
  });

  it("stay when two imports have the same result file, and the second one ends with 3", async () => {
    const { run, read, path } = await openShop({
      "a.csv": toCsv(toRows(400)), // it is running for long enough
      "b.csv": toCsv(toRows(410).slice(400)),
    });
    const start = (list: string, more: object = {}) =>
      run(["import", list, ...args, "--cards", "cards.csv", "--rejected", `${list}.rejected`], more);
    let other: Promise<Ran> | undefined;
    const first = await start("a.csv", {
      onOutput: (output: string) => {
        if (output.includes("First 10 rows")) other ??= start("b.csv");
      },
    });
    const second = await other;
    expect([first.code, second?.code].sort()).toEqual([0, 3]);
    expect(first.stderr + second?.stderr).toContain(
      "cards.csv was written by another program while the import ran, and was left as it is.",
    );
    const users = read("cards.csv").trimEnd().split("\n").length - 1;
    expect(users).toBe(first.code === 0 ? 400 : 10);
    // Afterwards too: the file belongs to one of them.
    const lost = first.code === 0 ? "b.csv" : "a.csv";
    expect(await start(lost)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        "cards.csv exists, and is not the result of this import: move it away.",
      ),
    });
    renameSync(path("cards.csv"), path("other.csv"));
    expect((await start(lost)).code).toBe(0);
  });
});

it.each([
  ["LOYALTY_URL", (url: string) => url.replace("127.0.0.1", "localhost")],
  ["LOYALTY_IDEMPOTENCY_NAMESPACE", () => "staging"],
])("ends with 2 and names %s when it has changed since the outbox was created", async (name, change) => {
  const { run, env, requests } = await openShop({ "members.csv": toCsv(toRows(20)) });
  await run(declined, { isTTY: true, stdin: "n\n" });
  requests.length = 0;
  const other = { ...env, [name]: change(env.LOYALTY_URL) };
  const { code, stdout, stderr } = await run(command, { env: other });
  expect([code, stdout, requests]).toEqual([2, "", []]);
  expect(stderr).toMatch(
    RegExp(`members.csv.outbox cannot be used: This outbox issues cards with (the )?${name} "`),
  );
});
