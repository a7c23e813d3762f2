/**
 * `import` when the machine fails it or it is ended: Ctrl-C, a kill, a full disk, files that cannot
 * be written.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { command, openImportShop, toCsv, toRows } from "../import-shop.ts";
import { type ProcessOptions, startProcess } from "../terminal.ts";

/** A service, and a folder with a list of so many rows. */
async function openShopWithRows(count: number) {
  const shop = await openImportShop(toRows(count));
  const { countCards, env, folder, readLines } = shop;
  return {
    ...shop,
    start: (line: readonly string[] = command, options: ProcessOptions = {}) =>
      startProcess(line, { cwd: folder, env, ...options }),
    /** Resolves when so many cards are issued. */
    waitForCards: (wanted: number) =>
      expect.poll(countCards, { interval: 5 }).toBeGreaterThanOrEqual(wanted),
    readCards: () => readLines("members.cards.csv"),
  };
}

describe("SIGINT", () => {
  it("lets the requests end, ends with 130, and the next run issues the others", async () => {
    const { service, start, run, countCards, waitForCards, readCards } =
      await openShopWithRows(300);
    service.faults.add({ phase: "after-commit", kind: "latency", delayMs: 50 });
    const { child, exit } = start();
    await waitForCards(40);
    child.kill("SIGINT");
    const { code, stderr } = await exit;
    const issued = await countCards();
    expect([code, issued < 300, readCards().length]).toEqual([130, true, issued]);
    expect(stderr).toContain("To resume, run the same command again.\n");
    service.faults.clear();
    const resumed = await run();
    expect([resumed.code, await countCards(), readCards().length]).toEqual([0, 300, 300]);
  });

  it("ends it at once the second time, and the next run issues each card once", async () => {
    const { service, start, run, countCards, waitForCards, readCards } = await openShopWithRows(60);
    service.faults.add({ phase: "after-commit", kind: "hang", match: { operation: "issueCard" } });
    const { child, exit, waitFor } = start();
    await waitForCards(1);
    child.kill("SIGINT");
    await waitFor(/Ctrl-C again ends at once/);
    child.kill("SIGINT");
    expect((await exit).signal).toBe("SIGINT");
    service.faults.clear();
    expect((await run()).code).toBe(0);
    const cards = readCards();
    const ids = new Set(cards.map((line) => line.split(",")[1]));
    expect([await countCards(), cards.length, ids.size]).toEqual([60, 60, 60]);
  });

  it.each([
    ["import", command],
    ["import check", ["import", "check", "members.csv", "--privacy", "1"]],
  ])("ends %s at once while it reads the list", async (_, line) => {
    const { start, run, countCards, path } = await openShopWithRows(0);
    writeFileSync(path("members.csv"), toCsv(["0,invalid,", ...toRows(500_000)]));
    const { child, exit, waitFor } = start(line);
    await waitFor(/No column is mapped/); // right before the rows are read
    child.kill("SIGINT");
    expect([(await exit).signal, await countCards()]).toEqual(["SIGINT", 0]);
    writeFileSync(path("members.csv"), toCsv(toRows(20)));
    expect([(await run()).code, await countCards()]).toEqual([0, 20]);
  });
});

// G13
it("issues each card once after a SIGKILL", async () => {
  const { service, start, run, countCards, waitForCards, readCards } = await openShopWithRows(300);
  service.faults.add({ phase: "before", kind: "latency", delayMs: 60 });
  const { child, exit } = start();
  await waitForCards(100);
  child.kill("SIGKILL");
  expect((await exit).signal).toBe("SIGKILL");
  service.faults.clear();
  expect((await run()).code).toBe(0);
  expect([await countCards(), readCards().length]).toEqual([300, 300]);
});

const isWindows = process.platform === "win32";

it.skipIf(isWindows)(
  "sends nothing when the disk becomes full, and the same command works when it is not",
  async () => {
    const { start, run, countCards, readCards } = await openShopWithRows(600);
    // The same as a full disk: a write takes what fits, and the next one fails.
    expect(await start(command, { before: "trap '' XFSZ; ulimit -f 700;" }).exit).toEqual({
      code: 2,
      signal: null,
      stdout: "",
      stderr: expect.stringMatching(
        /^No column is mapped [^\n]+\nmembers\.csv: 600 rows, 600 valid, 0 problems\nloyalty-cards: members\.csv\.outbox cannot be used: .+\.\n$/,
      ),
    });
    expect((await run()).code).toBe(0);
    expect([await countCards(), readCards().length]).toEqual([600, 600]);
  },
);

it.skipIf(isWindows).each([
  ["import", 700, command],
  ["import check", 700, ["import", "check", "members.csv", "--privacy", "1"]],
  // SQLite also writes the file when it reads a row and needs memory for it.
  ["import check", 4000, ["import", "check", "members.csv", "--privacy", "1"]],
])("ends %s with 2 when the temporary folder is full after %d blocks", async (_, blocks, line) => {
  const { start, path, requests } = await openShopWithRows(0);
  const rows = toRows(80_000);
  const shuffled = rows.map((_row, at) => rows[(at * 7919) % rows.length] ?? "");
  writeFileSync(path("members.csv"), toCsv(shuffled));
  const { code, stderr } = await start(line, { before: `trap '' XFSZ; ulimit -f ${blocks};` }).exit;
  expect(stderr).toMatch(
    /\nloyalty-cards: The temporary folder cannot be used: .+\. Set SQLITE_TMPDIR \(Windows: TMP\) to a folder with more space\.\n$/,
  );
  expect([code, requests]).toEqual([2, []]);
});

it("goes on when nobody reads its messages", async () => {
  const { start, countCards } = await openShopWithRows(30);
  const { child, exit } = start();
  child.stderr?.destroy();
  expect([(await exit).code, await countCards()]).toEqual([0, 30]);
});

it("ends with 3 when a result cannot be written, and the same command writes it", async () => {
  const { run, path, countCards, readCards } = await openShopWithRows(20);
  const stopped = await run(command, {
    onOutput: (output) => {
      if (output.includes("First 10 rows") && !existsSync(path("members.cards.csv")))
        mkdirSync(path("members.cards.csv"));
    },
  });
  expect(stopped.code).toBe(3);
  expect(stopped.stderr).toMatch(
    /\nloyalty-cards: members\.cards\.csv cannot be used: .+\. Run the same command again: no row gets a second card\.\n$/,
  );
  rmSync(path("members.cards.csv"), { recursive: true });
  expect((await run()).code).toBe(0);
  expect([await countCards(), readCards().length]).toEqual([20, 20]);
});

it("reads the list once, so that a change while rows are sent has no effect", async () => {
  const { run, path, countCards } = await openShopWithRows(20);
  const { code } = await run(command, {
    onOutput: (output) => {
      if (output.includes("20 valid")) writeFileSync(path("members.csv"), toCsv(toRows(15)));
    },
  });
  expect([code, await countCards()]).toEqual([0, 20]);
});

it("leaves nothing behind of a run that was killed while it wrote its results", async () => {
  const { run, path } = await openShopWithRows(3);
  writeFileSync(path("members.rejected.csv.part"), "x");
  await run();
  const names = ["members.cards.csv", "members.csv", "members.csv.outbox", "members.rejected.csv"];
  expect(readdirSync(path(""))).toEqual(names);
});
