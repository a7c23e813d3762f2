/** `import` against a service: results, the question, and resuming. */
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { args, openShop, shortPhone, toCsv, toRows } from "./import-shop.ts";

describe("import", () => {
  it("issues a card for each row, and writes the card id of each user", async () => {
    const { run, read, path, service, countCards } = await openShop({ "members.csv": toCsv(toRows(25)) });
    const { code, stdout, stderr } = await run(["import", "members.csv", ...args]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Complete: 25 rows in \d+ s\n {2}issued +25 {2}members\.cards\.csv\n {2}rejected +0 +members\.rejected\.csv\n$/,
      ),
    ]);
    expect(stderr).toContain("First 10 rows: 10 issued, 0 rejected, 0 unknown.\n");
    const [header, ...lines] = read("members.cards.csv").trimEnd().split("\n");
    expect([header, lines.length, await countCards()]).toEqual(["user_id,card_id", 25, 25]);
    expect(lines.map((line) => Number(line.split(",")[0]))).toEqual(
      Array.from({ length: 25 }, (_, at) => at + 1),
    );
    const cards = Object.fromEntries(lines.map((line) => line.split(",")));
    expect(service.cards.get(cards["7"])).toMatchObject({ fieldValues: {} });
    expect(read("members.rejected.csv")).toBe("line,user_id,code,reason,key\n");
    expect(statSync(path("members.cards.csv")).mode & 0o777).toBe(0o600);
  });

  it("sends contacts, consents and field values as they are mapped", async () => {
    const { run, read, service } = await openShop({
      "members.csv":
        "sep=;\nid;tel;mail;full;news;terms;size;field.name\n" +
        "1; +48600100200 ;a@example.com;Anna;YES;true;12.5;A\n" +
        "2;;b@example.com;;no;1;;\n;;;;;;;\n",
    });
    const map =
      "userId=id phone=tel email=mail name=full marketing=news privacy=terms field.shoeSize=size".split(" ");
    const name = { key: "name", type: "name" } as const;
    const shoeSize = { key: "shoeSize", type: "number" } as const;
    service.templates.create({ id: "tpl_shoes", name: "Shoes", fields: [name, shoeSize] });
    const options = [
      "--template",
      "tpl_shoes",
      "--marketing-version",
      "news-3",
      "--number-field",
      "shoeSize",
    ];
    const maps = map.flatMap((one) => ["--map", one]);
    const { code, stderr } = await run(["import", "members.csv", ...args, ...maps, ...options]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("2 valid")]);
    const lines = read("members.cards.csv").trimEnd().split("\n").slice(1).sort();
    const ids = lines.map((line) => line.split(";")[1] ?? "");
    expect(ids.map((id) => service.cards.get(id)?.fieldValues)).toEqual([{ name: "A", shoeSize: 12.5 }, {}]);
    const customers = JSON.stringify(service.snapshot(), (_key, value) =>
      value instanceof Map ? [...value] : value,
    );
    expect(customers).toContain('"privacyVersion":"2026-01"');
    expect(customers).toContain('"marketing":{"isGiven":true,"version":"news-3"}');
    expect(customers).toContain('"marketing":{"isGiven":false}');
  });

  it("prints one JSON value with --json", async () => {
    const { run } = await openShop({ "members.csv": `userId,phone\n1,+48600100200\n2,${shortPhone}\n` });
    const { stdout } = await run(["import", "members.csv", ...args, "--json", "--quiet"]);
    expect(JSON.parse(stdout)).toEqual({
      ...{ rows: 2, issued: 1, rejected: 1, unknown: 0 },
      elapsedMs: expect.any(Number),
      ended: "complete",
      files: { cards: "members.cards.csv", rejected: "members.rejected.csv" },
      outbox: "members.csv.outbox",
    });
  });

  // G13
  it("issues no second card when it runs again", async () => {
    const { run, countCards, read, requests } = await openShop({ "members.csv": toCsv(toRows(15)) });
    await run(["import", "members.csv", ...args]);
    const cards = read("members.cards.csv");
    requests.length = 0;
    const again = await run(["import", "members.csv", ...args]);
    expect([again.code, requests, await countCards()]).toEqual([0, [], 15]);
    expect(read("members.cards.csv")).toBe(cards);
  });

  it("reads the template and the key from .env", async () => {
    const { run, path, countCards } = await openShop({ "members.csv": toCsv(toRows(1)) });
    writeFileSync(path(".env"), "LOYALTY_TEMPLATE_ID=tpl_mock\n");
    const { code } = await run(["import", "members.csv", "--privacy", "1", "--yes"]);
    expect([code, await countCards()]).toEqual([0, 1]);
  });
});

describe("the question after ten rows", () => {
  it("continues after a yes", async () => {
    const { run, countCards } = await openShop({ "members.csv": toCsv(toRows(15)) });
    const { code, stderr } = await run(["import", "members.csv", ...args.slice(0, -1)], {
      stdin: "y\n",
      isTTY: true,
    });
    expect(stderr).toContain("Look at these cards in the service. Issue the other 5? [y/N]\n");
    expect([code, await countCards()]).toEqual([0, 15]);
  });

  it("stops after a no, and the same command continues without a question", async () => {
    const { run, countCards, read } = await openShop({ "members.csv": toCsv(toRows(15)) });
    const command = ["import", "members.csv", ...args.slice(0, -1)];
    const stopped = await run(command, { stdin: "\n", isTTY: true });
    expect([stopped.code, await countCards()]).toEqual([3, 10]);
    expect(stopped.stdout).toContain("Stopped: 10 rows in");
    expect(stopped.stderr).toContain("To resume, run the same command again.\n");
    expect(read("members.cards.csv").split("\n")).toHaveLength(12);
    const resumed = await run(command, { isTTY: true });
    expect([resumed.code, await countCards(), resumed.stderr.includes("?")]).toEqual([0, 15, false]);
  });

  it("stops with --yes when none of the ten rows is accepted", async () => {
    const rows = Array.from({ length: 20 }, (_, index) => `${index},${shortPhone}${index},`);
    const { run, requests } = await openShop({ "members.csv": toCsv(rows) });
    const { code } = await run(["import", "members.csv", ...args]);
    expect([code, requests.length]).toEqual([3, 10]);
  });
});

describe("a run that stops", () => {
  it("shows why no card was issued when Ctrl-C comes before the first one", async () => {
    const { run, path, service } = await openShop({ "members.csv": toCsv(toRows(20)) });
    service.faults.add({ phase: "before", kind: "status", status: 429 });
    const { code, stdout, stderr } = await run(["import", "members.csv", ...args], {
      isTTY: true,
      columns: 200,
      onOutput: (output, interrupt) => {
        if (output.includes("of 20")) setImmediate(interrupt);
      },
    });
    expect([code, stdout]).toEqual([130, expect.stringMatching(/^Interrupted: 0 rows in/)]);
    expect(existsSync(path("members.csv.outbox"))).toBe(false);
    expect(stderr).toContain("· the last request failed, and is repeated: The service responded 429");
  });

  it("says how to resume at Ctrl-C at the question", async () => {
    const { run, countCards } = await openShop({ "members.csv": toCsv(toRows(30)) });
    const command = ["import", "members.csv", ...args.filter((argument) => argument !== "--yes")];
    let isInterrupted = false;
    const { code, stdout, stderr } = await run(command, {
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
    const { run, folder, requests } = await openShop({ "members.csv": toCsv(toRows(40)) });
    const { code, stderr } = await run(["import", "members.csv", ...args], {
      env: { LOYALTY_API_KEY: "wrong" },
    });
    expect([code, requests.length <= 10]).toEqual([4, true]);
    expect(stderr).toContain("LOYALTY_API_KEY was not accepted");
    expect(stderr).not.toContain("wrong");
    // Nothing is left, so that a run with the right key, address and template begins anew.
    expect(readdirSync(folder)).toEqual(["members.csv"]);
  });
});
