/** The rejected rows of an import, and their corrections. */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { args, openShop, shortPhone, toCsv, toPhone, toRows } from "./import-shop.ts";
import { listen } from "./terminal.ts";

const noReason =
  "The service responded 422 to issueCard: the response has no detail that says what to correct.";

describe("rejected rows", () => {
  it("are written with line, user, code, reason and key, in the delimiter of the list", async () => {
    const rows = ['1;+48600100200;"Zażółć ""A"""', `2;${shortPhone};"Łódź\nx"`, "x;bad;"];
    const { run, read, path } = await openShop({
      "members.csv": `\ufeffuserId;phone;name\r\n${rows.join("\r\n")}`,
    });
    expect((await run(["import", "members.csv", ...args, "--skip-invalid"])).code).toBe(1);
    expect(statSync(path("members.rejected.csv")).mode & 0o777).toBe(0o600);
    expect(read("members.rejected.csv").split("\n")).toEqual([
      "line;user_id;code;reason;key",
      "5;;invalid-phone;phone is not a phone number;",
      expect.stringMatching(/^3;2;validation;The phone number is not valid\..*;lc1_[\w-]{43}$/),
      "",
    ]);
  });

  it("of NDJSON are issued by the same command after a correction", async () => {
    const { run, read, countCards, path } = await openShop({
      "members.ndjson": `{"userId": 1, "phone":"+48600100200"}\n{"userId": 2, "phone":"${shortPhone}" }\nno\n`,
    });
    const command = ["import", "members.ndjson", ...args, "--skip-invalid"];
    expect((await run(command)).code).toBe(1);
    expect(read("members.rejected.csv").split("\n")).toEqual([
      "line,user_id,code,reason,key",
      "3,,malformed-record,the row is not a JSON object: write one object per line,",
      expect.stringMatching(/^2,2,validation,.+,lc1_.+$/),
      "",
    ]);
    const corrected = read("members.ndjson").replace(shortPhone, "+48600100300").replace("no\n", "");
    writeFileSync(path("members.ndjson"), corrected);
    expect((await run(command)).code).toBe(0);
    expect([await countCards(), read("members.rejected.csv").split("\n").length]).toEqual([2, 2]);
    const users = read("members.cards.csv").trimEnd().split("\n").slice(1);
    expect(users.map((line) => line.split(",")[0])).toEqual(["1", "2"]);
  });

  it.each([
    ["text/plain", "no", noReason],
    ["application/problem+json", '{"status":422}', noReason],
    ["application/problem+json", JSON.stringify({ detail: "long ".repeat(10_000) }), noReason],
    ["application/problem+json", JSON.stringify({ detail: "bad\u0000\u001b\r\nphone" }), "bad phone"],
  ])("have the reason of the service in %s, or its status", async (type, body, reason) => {
    const { run, read, env } = await openShop({ "members.csv": toCsv(toRows(1)) });
    const LOYALTY_URL = await listen((request, response) => {
      request.resume().on("end", () => response.writeHead(422, { "content-type": type }).end(body));
    });
    await run(["import", "members.csv", ...args], { env: { ...env, LOYALTY_URL } });
    expect(read("members.rejected.csv")).toContain(`,validation,${reason},`);
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
    const { code } = await run(["import", "members.csv", ...args, "--skip-invalid"]);
    expect([code, await countCards()]).toEqual([1, 12]);
    expect(read("members.rejected.csv")).toContain(
      "14,,invalid-phone,phone is not a phone number; userId is also in line 2,\n",
    );
  });

  it("are not written when no row is valid, and nothing is sent", async () => {
    const { run, folder, requests } = await openShop({ "members.csv": toCsv(["1,bad,x"]) });
    const { code } = await run(["import", "members.csv", ...args, "--skip-invalid"]);
    expect([code, requests, readdirSync(folder)]).toEqual([2, [], ["members.csv"]]);
  });

  it("are issued by the same command after they were corrected in the list, and the others stay", async () => {
    const rows = [...toRows(12), `13,${shortPhone},Anna`, `14,${shortPhone}5,Jan`, "15,bad,Eva"];
    const { run, read, countCards, path, requests } = await openShop({ "members.csv": toCsv(rows) });
    const command = ["import", "members.csv", ...args, "--skip-invalid"];
    const first = await run(command);
    expect([first.code, await countCards()]).toEqual([1, 12]);
    expect(first.stderr).toContain(
      "Correct the rejected rows in the list, and run the same command again.\n",
    );
    const corrected = toCsv(rows)
      .replace(`${shortPhone},`, `${toPhone(500)},`)
      .replace("bad", toPhone(501));
    writeFileSync(path("members.csv"), corrected);
    requests.length = 0;
    expect([(await run(command)).code, await countCards(), requests.length]).toEqual([1, 14, 3]);
    expect(read("members.rejected.csv").split("\n").slice(1)).toEqual([
      expect.stringMatching(/^15,14,validation,The phone number is not valid\./),
      "",
    ]);
    writeFileSync(path("members.csv"), corrected.replace(`${shortPhone}5`, toPhone(502)));
    expect([(await run(command)).code, await countCards()]).toEqual([0, 15]);
    expect(read("members.rejected.csv").split("\n")).toHaveLength(2);
    const users = read("members.cards.csv").trimEnd().split("\n").slice(1);
    expect(users.map((line) => Number(line.split(",")[0])).sort((one, other) => one - other)).toEqual(
      Array.from({ length: 15 }, (_, index) => index + 1),
    );
  });

  it("that were corrected to a person of another row are not issued without --allow-same-person", async () => {
    const { run, read, countCards, path } = await openShop({
      "members.csv": toCsv([...toRows(3), `4,${shortPhone},Same`]),
    });
    const command = ["import", "members.csv", ...args];
    await run(command);
    writeFileSync(path("members.csv"), read("members.csv").replace(shortPhone, "0048 600 100 001"));
    const refused = await run(command);
    expect([refused.code, await countCards()]).toEqual([2, 3]);
    expect(refused.stderr).toContain(
      "phone is also in line 3: one person would get two cards (see --allow-same-person)",
    );
    expect((await run([...command, "--allow-same-person"])).code).toBe(0);
    expect(await countCards()).toBe(4);
  });
});
