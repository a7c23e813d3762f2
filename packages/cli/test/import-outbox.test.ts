/**
 * What an import has in its outbox between two runs: edited, removed and expired rows, and moved
 * files.
 */
import {
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
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

describe("a row that was edited between two runs", () => {
  it("is sent as it is now when it was not sent, or was rejected, and not again when its card was issued", async () => {
    const rows = [`1,${shortPhone},Anna`, ...toRows(20).slice(1)];
    const { run, stopAfterTen, path, readStored, readLines, countCards } =
      await openImportShop(rows);
    expect((await stopAfterTen()).code).toBe(3);
    rows[0] = `1,${toPhone(500)},Anna`;
    rows[1] = `2,${toPhone(501)},Issued`;
    rows[19] = `20,${toPhone(502)},Other`;
    writeFileSync(path("members.csv"), toCsv(rows));
    expect([(await run()).code, await countCards()]).toEqual([0, 20]);
    const phones = [500, 501, 502, 1, 19].filter((index) => readStored().includes(toPhone(index)));
    expect([phones, readLines("members.cards.csv").length]).toEqual([[500, 502, 1], 20]);
  });

  it("is sent as it is now after it was rejected while a lost request could run, in one run", async () => {
    const list = [`1,${shortPhone},Anna`];
    const { run, service, path, readLines, countCards } = await openImportShop(list);
    service.faults.add({ phase: "before", kind: "status", status: 503, times: 1 });
    expect([(await run()).code, await countCards()]).toEqual([1, 0]);
    const database = openSqlite(path("members.csv.outbox"));
    const columns = ["added", "due", "firstattempt", "lastattempt", "uncertain", "ended"];
    const anHourEarlier = columns.map((name) => `${name} = ${name} - 3600000`);
    database.exec(`UPDATE issuing_outbox_entries SET ${anHourEarlier}`);
    database.close();
    writeFileSync(path("members.csv"), toCsv(toRows(1)));
    expect([(await run()).code, await countCards()]).toEqual([0, 1]);
    expect(readLines("members.rejected.csv")).toEqual([]);
  });

  it("is sent by another mapping when it was not sent", async () => {
    const { run, stopAfterTen, readStored, countCards } = await openImportShop(toRows(20));
    await stopAfterTen();
    expect([(await run([...command, "--map", "name=phone"])).code, await countCards()]).toEqual([
      0, 20,
    ]);
    const stored = readStored();
    expect([stored.includes("Member 10"), stored.includes("Member 11")]).toEqual([true, false]);
  });
});

it("does not send rows that were removed from the list, and sends them when they are back", async () => {
  const { run, stopAfterTen, path, readLines, requests, countCards } = await openImportShop([
    ...toRows(30),
    `31,${shortPhone},Anna`,
  ]);
  await stopAfterTen();
  writeFileSync(path("members.csv"), toCsv(toRows(15)));
  expect([(await run()).code, await countCards()]).toEqual([0, 15]);
  writeFileSync(path("members.csv"), toCsv([...toRows(30), `31,${shortPhone},Anna`].reverse()));
  expect([(await run()).code, await countCards()]).toEqual([1, 30]);
  writeFileSync(path("members.csv"), toCsv(toRows(30)));
  expect([(await run()).code, requests.length]).toEqual([0, 31]);
  expect(readLines("members.cards.csv")).toHaveLength(30);
  expect(readLines("members.rejected.csv")).toEqual([]);
});

it("sends a rejected row that left the list and is back with another key than before", async () => {
  const rejected = `1,${shortPhone},Anna`;
  const { run, path, readLines, countCards } = await openImportShop(
    [rejected, "2,+48600100300,Ben"],
    {
      storeRefusals: true, // a service that repeats its 422 for the same key
    },
  );
  expect((await run()).code).toBe(1);
  writeFileSync(path("members.csv"), toCsv(["2,+48600100300,Ben"]));
  const shorter = await run();
  expect([shorter.code, readLines("members.rejected.csv")]).toEqual([0, []]);
  expect(shorter.stdout).not.toContain("rejected");
  writeFileSync(path("members.csv"), toCsv(["1,+48600100301,Anna", "2,+48600100300,Ben"]));
  expect([(await run()).code, await countCards()]).toEqual([0, 2]);
});

describe("rows whose outcome is unknown for more than 24 hours", () => {
  it("are not sent again, and are reported while they are in the list", async () => {
    const { run, path, readLines, service, requests, countCards } = await openImportShop(
      toRows(30),
    );
    service.faults.add({ phase: "after-commit", kind: "hang", match: { operation: "issueCard" } });
    let isInterrupted = false;
    await run([...command, "--timeout", "1", "--concurrency", "2"], {
      isTTY: true,
      onOutput: (output, interrupt) => {
        if (isInterrupted || !output.includes("the last request failed")) return;
        isInterrupted = true;
        interrupt();
      },
    });
    service.faults.clear();
    const database = openSqlite(path("members.csv.outbox"));
    // A day later.
    const day = `UPDATE issuing_outbox_entries SET firstattempt = firstattempt - 90000000 WHERE firstattempt IS NOT NULL`;
    const sent = Number(database.prepare(day).run().changes);
    database.close();
    requests.length = 0;
    const resumed = await run();
    expect([resumed.code, requests.length, await countCards()]).toEqual([1, 30 - sent, 30]);
    expect(resumed.stdout).toMatch(
      new RegExp(`issued +${30 - sent} .*\\n {2}unknown +${sent} +members\\.rejected\\.csv\\n`),
    );
    const rejected = readLines("members.rejected.csv");
    const reason = /,idempotency-expired,A card may exist: look in the service's console\.,lc1_/;
    expect(rejected.filter((line) => reason.test(line))).toHaveLength(sent);
    expect((await run()).code).toBe(1);
    const unknown = rejected.map((line) => line.split(",")[1]);
    const rows = toRows(30).filter((row) => !unknown.includes(row.split(",")[0]));
    writeFileSync(path("members.csv"), toCsv(rows));
    const shorter = await run();
    expect([shorter.code, requests.length]).toEqual([0, 30 - sent]);
    expect(shorter.stdout).toContain(`Complete: ${30 - sent} rows in`);
    expect(readLines("members.rejected.csv")).toEqual([]);
    writeFileSync(path("members.csv"), toCsv(toRows(30)));
    expect([(await run()).code, requests.length, await countCards()]).toEqual([1, 30 - sent, 30]);
    expect(readLines("members.rejected.csv")).toEqual(rejected);
  });
});

it("resumes on a copy of its files", async () => {
  const { run, path, countCards } = await openImportShop({ "list/members.csv": toCsv(toRows(30)) });
  const start = (list: string, more: object = {}) =>
    run(["import", `${list}/members.csv`, ...asking.slice(2)], { isTTY: true, ...more });
  expect((await start("list", { stdin: "n\n" })).code).toBe(3);
  cpSync(path("list"), path("copy"), { recursive: true });
  expect([(await start("copy", { stdin: "y\n" })).code, await countCards()]).toEqual([0, 30]);
});

it("erases what the rows contain when each has a card", async () => {
  const { run, stopAfterTen, path } = await openImportShop([...toRows(20), "22,bad,Anna Invalid"]);
  const contains = (text: string) =>
    ["", "-wal"].some(
      (suffix) =>
        existsSync(path(`members.csv.outbox${suffix}`)) &&
        readFileSync(path(`members.csv.outbox${suffix}`)).includes(text),
    );
  await stopAfterTen(["--skip-invalid"]);
  expect(contains("Member 20")).toBe(true);
  await run([...command, "--skip-invalid"]);
  expect([contains("Member"), contains("+48600"), contains("Anna Invalid")]).toEqual([
    false,
    false,
    false,
  ]);
  expect(statSync(path("members.csv.outbox")).mode & 0o777).toBe(0o600);
});

it("removes an outbox of which nothing was sent", async () => {
  const { run, path } = await openImportShop([...toRows(20), "21,bad,x"]);
  await run();
  const wrong = await run([...command, "--skip-invalid", "--template", "tpl_wrong"]);
  expect([wrong.code, existsSync(path("members.csv.outbox"))]).toEqual([2, false]);
  expect(wrong.stderr).toContain('template "tpl_wrong" does not exist or is archived.');
  expect((await run([...command, "--skip-invalid"])).code).toBe(1);
});

it("sends nothing by another mapping when the cards of an earlier run are not known", async () => {
  const list = "userId,code,phone\n1,A,+48600100201\n2,B,+48600100202\n3,C,+48600100203\n";
  const { run, service, requests, countCards } = await openImportShop({ "members.csv": list });
  service.faults.add({ phase: "after-commit", kind: "hang", match: { operation: "issueCard" } });
  await run([...command, "--timeout", "1"], {
    isTTY: true,
    onOutput: (output, interrupt) => {
      if (/the last request failed|waits for the service/.test(output)) setImmediate(interrupt);
    },
  });
  service.faults.clear();
  requests.length = 0;
  const { code, stderr } = await run([...command, "--map", "userId=code"]);
  expect([code, requests, await countCards()]).toEqual([2, [], 3]);
  expect(stderr).toContain("Earlier runs requested 3 cards, and the list has none of their user");
  expect([(await run()).code, await countCards()]).toEqual([0, 3]);
});

it.each([
  ["other user ids", toRows(40).slice(30), "has none of their user ids"],
  ["a row with a problem", [...toRows(40), "41,bad,x"], "Correct the rows"],
])("changes nothing in the outbox when it refuses a list with %s", async (_, rows, message) => {
  const { run, stopAfterTen, path, requests } = await openImportShop(toRows(30));
  await stopAfterTen();
  const readEntries = () => {
    const database = openSqlite(path("members.csv.outbox"));
    const entries = database.prepare("SELECT * FROM issuing_outbox_entries ORDER BY id").all();
    database.close();
    return entries;
  };
  const before = readEntries();
  writeFileSync(path("members.csv"), toCsv(rows));
  const { code, stderr } = await run();
  expect([code, stderr, requests.length]).toEqual([2, expect.stringContaining(message), 10]);
  expect(readEntries()).toEqual(before);
});

it("does not use the outbox of a shop", async () => {
  const { run, path, env, requests } = await openImportShop(toRows(3));
  const client = createIssuingClient({ baseUrl: env.LOYALTY_URL, apiKey: env.LOYALTY_API_KEY });
  const customer = { phone: toPhone(9), consents: { privacy: { version: "1" } } };
  const entry = { userId: 9, template: "tpl_mock", request: { customer } };
  const openOutbox = () => sqliteOutbox({ client, file: path("shop.db"), log: () => {} });
  const outbox = openOutbox();
  await outbox.write((database) => outbox.add(database, entry));
  await outbox.close();
  const { code, stderr } = await run([...command, "--outbox", "shop.db"]);
  expect([code, stderr]).toEqual([
    2,
    "loyalty-cards: shop.db cannot be used: it is the database of another program.\n",
  ]);
  const after = openOutbox();
  expect([await after.count(), requests]).toEqual([expect.objectContaining({ waiting: 1 }), []]);
  await after.close();
});

it("keeps an outbox of which an earlier run sent rows, when a later one sends nothing", async () => {
  const { run, path, countCards } = await openImportShop([`1,${shortPhone},Anna`]);
  expect((await run()).code).toBe(1);
  writeFileSync(path("members.csv"), toCsv([`1,${toPhone(1)},Anna`]));
  expect([(await run(asking)).code, existsSync(path("members.csv.outbox"))]).toEqual([2, true]);
  expect([(await run()).code, await countCards()]).toEqual([0, 1]);
});

it("does not write to a file of others through a link in the place of a result", async () => {
  const { run, stopAfterTen, path, read, readLines } = await openImportShop({
    "members.csv": toCsv(toRows(20)),
    precious: "precious",
  });
  await stopAfterTen();
  rmSync(path("members.cards.csv"));
  for (const name of ["members.cards.csv", "members.cards.csv.part"])
    symlinkSync(path("precious"), path(name));
  expect([(await run()).code, read("precious")]).toEqual([0, "precious"]);
  expect(readLines("members.cards.csv")).toHaveLength(20);
});

it.each([
  ["LOYALTY_URL", "baseUrl", (url: string) => url.replace("127.0.0.1", "localhost")],
  ["LOYALTY_IDEMPOTENCY_NAMESPACE", "idempotencyNamespace", () => "staging"],
])(
  "ends with 2 and says so when %s has changed since the outbox was created",
  async (name, option, change) => {
    const { run, stopAfterTen, env, requests } = await openImportShop(toRows(20));
    await stopAfterTen();
    requests.length = 0;
    const other = { ...env, [name]: change(env.LOYALTY_URL) };
    const { code, stdout, stderr } = await run(command, { env: other });
    expect([code, stdout, requests]).toEqual([2, "", []]);
    expect(stderr).toMatch(
      RegExp(
        `members.csv.outbox cannot be used: This outbox issues cards with the ${option} \\(${name}\\) "`,
      ),
    );
  },
);
