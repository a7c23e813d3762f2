/**
 * What an import reports: its progress on a terminal and in a log, and the rejected rows and their
 * corrections.
 */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { text as readText } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { listen } from "@loyalty-cards/testing/resources";
import { describe, expect, it } from "vitest";
import { createProgress } from "../src/import/progress.ts";
import type { ServiceState } from "../src/import/run-facts.ts";
import {
  args,
  command,
  openImportShop,
  shortPhone,
  toCsv,
  toPhone,
  toRows,
} from "./import-shop.ts";
import { openPrinter } from "./terminal.ts";

describe("the progress", () => {
  const all =
    "Issuing  25 %  125,000 of 500,000 · 1,200 per second · 5 min 13 s left · 12 rejected";

  function openProgress(columns?: number) {
    const { print, output } = openPrinter({ color: false }, {}, columns !== undefined, columns);
    let nowMs = 0;
    const progress = createProgress(print, () => nowMs);
    const counts = { rejected: 0, unknown: 0, undelivered: 0, paused: [] };
    progress.update({ ...counts, waiting: 495_000, issued: 5_000 }, {});
    /**
     * A quarter is done, at 1,200 rows per second when that took 100 s.
     * @returns what was printed by this update.
     */
    const update = (atMs: number, service: ServiceState = {}) => {
      nowMs = atMs;
      output.stderr = "";
      progress.update({ ...counts, waiting: 375_000, issued: 124_988, rejected: 12 }, service);
      return stripVTControlCharacters(output.stderr).trim();
    };
    return { output, update, stop: progress.stop };
  }

  it("shows counts, rate, remaining time and rejected rows on a terminal, and replaces them", () => {
    const { output, update } = openProgress(100);
    expect(output.stderr).toBe("Issuing  1 %  5,000 of 500,000\n");
    update(100_000);
    expect(output.stderr).toBe(`\r\u001b[1A\u001b[2K${all}\n`);
  });

  it("shows the failure of the last request", () => {
    const message = "The service responded 503 to issueCard.";
    const shown = openProgress(200).update(100_000, { failure: { status: 503, message } });
    expect(shown).toBe(`${all} · the last request failed, and is repeated: ${message}`);
  });

  it.each<[string, ServiceState]>([
    ["an outage", { outageSince: new Date() }],
    ["a wait for rows that failed", { isIdle: true }],
  ])("counts neither a question nor %s as time of sending", (_, service) => {
    const { update, stop } = openProgress(100);
    update(100_000);
    stop();
    expect(update(900_000)).toBe(all);
    update(900_000, service);
    expect(update(3_000_000)).toBe(all);
  });

  it("says that it waits for the rows that failed, and until when, if it knows", () => {
    const { update } = openProgress(200);
    const start = "Issuing  25 %  125,000 of 500,000 · waits to repeat requests";
    expect(update(100_000, { isIdle: true })).toBe(`${start} · 12 rejected`);
    const shown = update(100_000, { isIdle: true, lastRetryAt: today });
    expect(shown).toBe(`${start} until 14:02 · 12 rejected`);
  });

  const message = "The connection to http://127.0.0.1:4010 failed (ECONNREFUSED).";
  const today = new Date();
  today.setHours(14, 2);
  it.each([
    ["(503)", today, { status: 503, message: "" }, "14:02 (503)"],
    ["an address", today, { status: undefined, message }, `14:02: ${message}`],
    ["a day", new Date(2026, 0, 5, 14, 2), undefined, "Jan 5 14:02"],
  ])("says instead of an estimate since when the service fails, with %s", (...row) => {
    const [, outageSince, failure, since] = row;
    expect(openProgress(200).update(100_000, { outageSince, failure })).toBe(
      `Issuing  25 %  125,000 of 500,000 · waits for the service since ${since} · 12 rejected`,
    );
  });

  it("fits 40 columns without losing a value", () => {
    const lines = openProgress(40).update(100_000).split("\n");
    expect(lines.map((line) => line.length).filter((length) => length > 39)).toEqual([]);
    expect(lines.map((line) => line.trim()).join(" ")).toBe(all);
  });

  it("is a line every ten seconds where there is no terminal, without repetitions", () => {
    const { update } = openProgress();
    const start = all.split(" · ")[0];
    const lines: string[] = [];
    for (let atMs = 500; atMs <= 60_000; atMs += 500) {
      const isDown = atMs > 25_000;
      lines.push(update(atMs, isDown ? { outageSince: today } : {}));
    }
    const printed = lines.filter((line) => line !== "");
    expect(printed.map((line) => line.split(" · ")[0])).toEqual([start, start, start]);
    expect(printed[2]).toContain(" · waits for the service since 14:02 · ");
  });
});

const noReason =
  "The service responded 422 to issueCard: the response has no detail that says what to correct.";

describe("rejected rows", () => {
  it("are written with line, user, code, reason and key, in the delimiter of the list", async () => {
    const rows = ['1;+48600100200;"Zażółć ""A"""', `2;${shortPhone};"Łódź\nx"`, "1;bad;"];
    const { run, read, path, countCards } = await openImportShop({
      "members.csv": `\ufeffuserId;phone;name\r\n${rows.join("\r\n")}`,
    });
    const { code, stdout } = await run([...command, "--skip-invalid"]);
    expect([code, await countCards()]).toEqual([1, 1]);
    expect(stdout).toMatch(/^✗ Finished with rejected rows: 3 rows in \d+ s\n {2}issued +1 /);
    expect(statSync(path("members.rejected.csv")).mode & 0o777).toBe(0o600);
    expect(read("members.rejected.csv").split("\n")).toEqual([
      "line;user_id;code;reason;key",
      '5;1;invalid-phone;"phone is not a phone number; userId is also in line 2";',
      expect.stringMatching(/^3;2;validation;The phone number is not valid\..*;lc1_[\w-]{43}$/),
      "",
    ]);
  });

  it("of NDJSON are issued by the same command after a correction", async () => {
    const { run, read, readLines, countCards, path } = await openImportShop({
      "members.ndjson": `{"userId": 1, "phone":"+48600100200"}\n{"userId": 2, "phone":"${shortPhone}" }\nno\n`,
    });
    const line = ["import", "members.ndjson", ...args, "--skip-invalid"];
    expect((await run(line)).code).toBe(1);
    expect(read("members.ndjson.rejected.csv").split("\n")).toEqual([
      "line,user_id,code,reason,key",
      "3,,malformed-record,the row is not a JSON object: write one object per line,",
      expect.stringMatching(/^2,2,validation,.+,lc1_.+$/),
      "",
    ]);
    const corrected = read("members.ndjson")
      .replace(shortPhone, "+48600100300")
      .replace("no\n", "");
    writeFileSync(path("members.ndjson"), corrected);
    expect((await run(line)).code).toBe(0);
    expect([await countCards(), readLines("members.ndjson.rejected.csv")]).toEqual([2, []]);
    expect(readLines("members.ndjson.cards.csv").map((line) => line.split(",")[0])).toEqual([
      "1",
      "2",
    ]);
  });

  it.each([
    ["text/plain", "no", noReason],
    ["application/problem+json", '{"status":422}', noReason],
    ["application/problem+json", JSON.stringify({ detail: "long ".repeat(10_000) }), noReason],
    [
      "application/problem+json",
      JSON.stringify({ detail: "bad\u0000\u001b\r\nphone" }),
      "bad phone",
    ],
  ])("have the reason of the service in %s, or its status", async (type, body, reason) => {
    const { run, read, env } = await openImportShop(toRows(1));
    const LOYALTY_URL = await listen((request, response) => {
      request.resume().on("end", () => response.writeHead(422, { "content-type": type }).end(body));
    });
    await run(command, { env: { ...env, LOYALTY_URL } });
    expect(read("members.rejected.csv")).toContain(`,validation,${reason},`);
  });

  it("and cards have no formula for a spreadsheet, and keep numbers", async () => {
    const formula = '=HYPERLINK("http://127.0.0.1/?"&B2,"open") is no name.';
    const { run, readLines, env } = await openImportShop([
      `+48600100200,${shortPhone},Anna`,
      "@2,,Jan",
      "-3+4,,Eva",
    ]);
    const ids = ["=1+1", "\u0001=1+1"];
    const LOYALTY_URL = await listen(async (request, response) => {
      const { customer } = JSON.parse(await readText(request));
      const [status, body] = customer.phone
        ? [422, { detail: formula }]
        : [201, { id: ids.shift(), publicUrl: "https://cards.example/1" }];
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    await run(command, { env: { ...env, LOYALTY_URL } });
    expect(readLines("members.rejected.csv")).toEqual([
      expect.stringMatching(/^2,\+48600100200,validation,"'=HYPERLINK/),
    ]);
    expect(readLines("members.cards.csv")).toEqual([
      "'@2,'=1+1,https://cards.example/1",
      "'-3+4,' =1+1,https://cards.example/1",
    ]);
  });

  it("are not written when no row is valid, and nothing is sent", async () => {
    const { run, folder, requests } = await openImportShop(["1,bad,x"]);
    const { code } = await run([...command, "--skip-invalid"]);
    expect([code, requests, readdirSync(folder)]).toEqual([2, [], ["members.csv"]]);
  });

  it("are issued by the same command after they were corrected in the list, and the others stay", async () => {
    const rows = [...toRows(12), `13,${shortPhone},Anna`, `14,${shortPhone}5,Jan`, "15,bad,Eva"];
    const { run, readLines, countCards, path, requests } = await openImportShop(rows);
    const line = [...command, "--skip-invalid"];
    const first = await run(line);
    expect([first.code, await countCards()]).toEqual([1, 12]);
    expect(first.stderr).toContain(
      "Correct the rejected rows in the list, and run the same command again.\n",
    );
    const corrected = toCsv(rows)
      .replace(`${shortPhone},`, `${toPhone(500)},`)
      .replace("bad", toPhone(501));
    writeFileSync(path("members.csv"), corrected);
    requests.length = 0;
    expect([(await run(line)).code, await countCards(), requests.length]).toEqual([1, 14, 3]);
    expect(readLines("members.rejected.csv")).toEqual([
      expect.stringMatching(/^15,14,validation,The phone number is not valid\./),
    ]);
    writeFileSync(path("members.csv"), corrected.replace(`${shortPhone}5`, toPhone(502)));
    expect([(await run(line)).code, await countCards()]).toEqual([0, 15]);
    expect(readLines("members.rejected.csv")).toEqual([]);
    const users = readLines("members.cards.csv").map((row) => Number(row.split(",")[0]));
    expect(users.sort((one, other) => one - other)).toEqual(
      toRows(15).map((_, index) => index + 1),
    );
  });

  it("that were corrected to a person of another row are not issued without --allow-same-person", async () => {
    const { run, read, countCards, path } = await openImportShop([
      ...toRows(3),
      `4,${shortPhone},Same`,
    ]);
    await run();
    writeFileSync(path("members.csv"), read("members.csv").replace(shortPhone, "0048 600 100 001"));
    const refused = await run();
    expect([refused.code, await countCards()]).toEqual([2, 3]);
    expect(refused.stderr).toContain(
      "phone is also in line 3: one person would get two cards (see --allow-same-person)",
    );
    expect((await run([...command, "--allow-same-person"])).code).toBe(0);
    expect(await countCards()).toBe(4);
  });
});
