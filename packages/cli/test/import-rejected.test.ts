/** The rejected rows of an import, and their retry. */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { args, openShop, shortPhone, toCsv, toPhone, toRows } from "./import-terminal.ts";

const noReason =
  "The service responded 422 to issueCard: the response has no detail that says what to correct.";

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

  it("keep all members of NDJSON that a program has sorted", async () => {
    const { run, read, path } = await openShop({
      "members.ndjson": `{"phone":"bad","userId":"7","seit":1}\n{"phone":"+48600100200","userId":"8"}\n`,
    });
    await run(["import", "members.ndjson", ...args, "--skip-invalid"]);
    const { phone, ...others } = JSON.parse(read("members.rejected.ndjson"));
    writeFileSync(path("members.rejected.ndjson"), `${JSON.stringify({ ...others, phone })}\n`);
    await run(["import", "retry-rejected", "members.ndjson", ...args, "--skip-invalid"]);
    const again = JSON.parse(read("members.rejected.ndjson"));
    expect(again).toMatchObject({ userId: "7", phone: "bad", seit: 1, rejected_line: 1 });
    expect(again.rejected_code).toBe("invalid-phone");
  });

  it("need no list when its import had none", async () => {
    const { run, path } = await openShop({ "members.csv": toCsv(toRows(1)) });
    await run(["import", "members.csv", ...args]);
    rmSync(path("members.csv"));
    const { exitCode, stderr } = await run(["import", "retry-rejected", "members.csv", ...args]);
    expect([exitCode, stderr]).toEqual([
      0,
      "members.rejected.csv does not exist: members.csv has no rejected rows.\n",
    ]);
  });

  it("of NDJSON are mapped like the first record of the import", async () => {
    const { run, path, read, countCards } = await openShop({
      "members.ndjson": `{"userId":"1","phone":"+48600100200","name":"A"}\n{"userId":"2","phone":"bad"}\n`,
    });
    await run(["import", "members.ndjson", ...args, "--skip-invalid"]);
    const rejected = read("members.rejected.ndjson");
    writeFileSync(path("members.rejected.ndjson"), rejected.replace("bad", "+48600100300"));
    const { exitCode, stderr } = await run(["import", "retry-rejected", "members.ndjson", ...args]);
    expect([exitCode, await countCards()]).toEqual([0, 2]);
    expect(stderr).not.toContain("Columns that are not used");
  });

  it("of two files whose names differ only by the extension do not share a file", async () => {
    const content = toCsv(["1,bad,x", ...toRows(3).slice(1)]);
    const { run, read } = await openShop({
      members: content,
      "members.csv": content.replace("bad", "worse"),
    });
    await run(["import", "members", ...args, "--skip-invalid"]);
    await run(["import", "members.csv", ...args, "--skip-invalid"]);
    expect(read("members.rejected")).toContain("1,bad,x");
    expect(read("members.rejected.csv")).toContain("1,worse,x");
    expect([read("members.cards"), read("members.cards.csv")]).toEqual([
      expect.stringContaining("user_id,card_id\n2,"),
      expect.stringContaining("user_id,card_id\n2,"),
    ]);
  });

  it.each([
    ["text/plain", "no", noReason],
    ["application/problem+json", '{"status":422}', noReason],
    ["application/problem+json", JSON.stringify({ detail: "long ".repeat(10_000) }), noReason],
    ["application/problem+json", JSON.stringify({ detail: "bad\u0000\u001b\r\nphone" }), "bad phone"],
  ])("have the reason of the service in %s, or its status", async (type, body, reason) => {
    const { run, read, env } = await openShop({ "members.csv": toCsv(toRows(1)) });
    const server = createServer((request, response) => {
      request.resume().on("end", () => response.writeHead(422, { "content-type": type }).end(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    await run(["import", "members.csv", ...args], {
      env: { ...env, LOYALTY_URL: `http://127.0.0.1:${port}` },
    });
    expect(read("members.rejected.csv")).toContain(`,validation,"${reason}",`);
  });

  it("are rebuilt by each run, without duplicates", async () => {
    const { run, read } = await openShop({ "members.csv": toCsv([...toRows(12), `13,${shortPhone},`]) });
    await run(["import", "members.csv", ...args]);
    const rejected = read("members.rejected.csv");
    await run(["import", "members.csv", ...args]);
    // After a 422 the row is sent with another key.
    const withoutKey = (text: string) => text.replace(/lc1_.*/, "");
    expect(withoutKey(read("members.rejected.csv"))).toBe(withoutKey(rejected));
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
    expect([exitCode, requests, read("members.rejected.csv").split("\n").length]).toEqual([2, [], 3]);
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
    expect([refused.exitCode, await countCards()]).toEqual([2, 3]);
    expect(refused.stderr).toContain(
      "the row was rejected as same-person: remove it, or empty its rejected_code",
    );
    writeFileSync(path("members.rejected.csv"), read("members.rejected.csv").replace("same-person", ""));
    expect([
      (await run(["import", "retry-rejected", "members.csv", ...args])).exitCode,
      await countCards(),
    ]).toEqual([0, 4]);
  });

  it("that were corrected to a person of another row are issued only after a decision", async () => {
    const rows = [...toRows(3), `4,${shortPhone},Same`];
    const { run, read, countCards, path } = await openShop({ "members.csv": toCsv(rows) });
    await run(["import", "members.csv", ...args]);
    const retry = ["import", "retry-rejected", "members.csv", ...args];
    const corrected = read("members.rejected.csv").replace(shortPhone, "0048 600 100 001");
    writeFileSync(path("members.rejected.csv"), corrected);
    const refused = await run(retry);
    expect([refused.exitCode, await countCards()]).toEqual([2, 3]);
    expect(refused.stderr).toContain(
      "phone is also in line 3 of members.csv: one person would get two cards; if they are two people, empty rejected_code",
    );
    writeFileSync(path("members.rejected.csv"), corrected.replace("validation", ""));
    expect([(await run(retry)).exitCode, await countCards()]).toEqual([0, 4]);
  });

  it("are retried without their first file, which is said", async () => {
    const { run, read, path } = await openShop({ "members.csv": toCsv([`4,${shortPhone},x`]) });
    await run(["import", "members.csv", ...args]);
    writeFileSync(path("members.rejected.csv"), read("members.rejected.csv").replace(shortPhone, toPhone(1)));
    rmSync(path("members.csv"));
    const { exitCode, stderr } = await run(["import", "retry-rejected", "members.csv", ...args]);
    expect([exitCode, stderr]).toEqual([
      0,
      expect.stringContaining("not compared with the people in members.csv, which cannot be read again"),
    ]);
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
