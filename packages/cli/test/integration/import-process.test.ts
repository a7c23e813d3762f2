/** `import` when the machine fails it or it is ended: Ctrl-C, a kill, a full disk, files that cannot be written. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { args, openShop as openImportShop, shortPhone, toCsv, toRows } from "../import-shop.ts";
import { type ProcessOptions, startProcess } from "../process.ts";

const command = ["import", "members.csv", ...args];
const outputs = ["--outbox", "outbox", "--rejected", "rejected.csv", "--cards", "cards.csv"];

/** A service, and a folder with a list of so many rows. */
async function openShop(count: number) {
  const shop = await openImportShop({ "members.csv": toCsv(toRows(count)) });
  const { countCards, env, folder, read } = shop;
  return {
    ...shop,
    start: (line: readonly string[] = command, options: ProcessOptions = {}) =>
      startProcess(line, { cwd: folder, env, ...options }),
    /** Resolves when so many cards are issued. */
    waitForCards: (wanted: number) => expect.poll(countCards, { interval: 5 }).toBeGreaterThanOrEqual(wanted),
    readCards: () => read("members.cards.csv").trimEnd().split("\n").slice(1),
  };
}

describe("SIGINT", () => {
  it("lets the requests end, ends with 130, and the next run issues the others", async () => {
    const { service, start, run, countCards, waitForCards, readCards } = await openShop(300);
    service.faults.add({ phase: "after-commit", kind: "latency", delayMs: 50 });
    const { child, exit } = start();
    await waitForCards(40);
    child.kill("SIGINT");
    const { code, stderr } = await exit;
    const issued = await countCards();
    expect([code, issued < 300, readCards().length]).toEqual([130, true, issued]);
    expect(stderr).toContain(
      `To resume, run the same command again:\n  loyalty-cards ${command.join(" ")}\n`,
    );
    service.faults.clear();
    const resumed = await run(command);
    expect([resumed.code, await countCards(), readCards().length]).toEqual([0, 300, 300]);
    expect(resumed.stdout).toMatch(new RegExp(`issued before +${issued} `));
  });

  it("ends it at once the second time, and the next run issues each card once", async () => {
    const { service, start, run, countCards, waitForCards, readCards } = await openShop(60);
    service.faults.add({ phase: "after-commit", kind: "hang", match: { operation: "issueCard" } });
    const { child, exit, waitFor } = start();
    await waitForCards(1);
    child.kill("SIGINT");
    await waitFor(/Ctrl-C again ends at once/);
    child.kill("SIGINT");
    expect((await exit).signal).toBe("SIGINT");
    service.faults.clear();
    expect((await run(command)).code).toBe(0);
    const cards = readCards();
    const ids = new Set(cards.map((line) => line.split(",")[1]));
    expect([await countCards(), cards.length, ids.size]).toEqual([60, 60, 60]);
  });

  it("asks for the same rows when it issued those of standard input", async () => {
    const { service, start, waitForCards } = await openShop(0);
    service.faults.add({ phase: "after-commit", kind: "latency", delayMs: 50 });
    const { child, exit } = start(["import", "-", ...args, ...outputs], { stdin: toCsv(toRows(300)) });
    await waitForCards(40);
    child.kill("SIGINT");
    const { code, stderr } = await exit;
    expect(code).toBe(130);
    expect(stderr).toContain(
      "To resume, run the same command again, with the same rows on standard input:\n  loyalty-cards import - ",
    );
  });

  it.each([
    ["import", command],
    ["import -", ["import", "-", ...args, ...outputs]],
    ["import check", ["import", "check", "members.csv", "--privacy", "1"]],
    ["import check -", ["import", "check", "-", "--privacy", "1"]],
  ])("while %s reads the list ends it with 130, and leaves neither an outbox nor a lock", async (_, line) => {
    const { folder, start, countCards, path } = await openShop(0);
    const invalid = "0,invalid,\n";
    writeFileSync(path("members.csv"), toCsv([invalid, ...toRows(500_000)]));
    const { child, exit, waitFor } = start(line, { stdin: { open: toCsv([invalid, ...toRows(10)]) } });
    await waitFor(/phone is not/); // of the first row, while the others are read
    child.kill("SIGINT");
    const { code, stderr } = await exit;
    expect([code, stderr]).toEqual([
      130,
      expect.stringMatching(
        /(^|\n)loyalty-cards: Interrupted while the list was read: nothing was sent\. Run the same command again\.\n$/,
      ),
    ]);
    expect([await countCards(), readdirSync(folder)]).toEqual([0, ["members.csv"]]);
  });
});

// G13
it("issues each card once after a SIGKILL", async () => {
  const { service, start, run, countCards, waitForCards, readCards } = await openShop(300);
  service.faults.add({ phase: "before", kind: "latency", delayMs: 60 });
  const { child, exit } = start();
  await waitForCards(100);
  child.kill("SIGKILL");
  expect((await exit).signal).toBe("SIGKILL");
  service.faults.clear();
  const { code, stdout } = await run(command);
  expect([code, await countCards(), readCards().length]).toEqual([0, 300, 300]);
  expect(stdout).toMatch(/issued before +\d/);
});

const isWindows = process.platform === "win32";

it.skipIf(isWindows)(
  "sends nothing when the disk becomes full, and the same command works when it is not",
  async () => {
    const { start, run, countCards, readCards } = await openShop(600);
    // The same as a full disk: a write takes what fits, and the next one fails.
    expect(await start(command, { before: "trap '' XFSZ; ulimit -f 700;" }).exit).toEqual({
      code: 2,
      signal: null,
      stdout: "",
      stderr: expect.stringMatching(/^loyalty-cards: members\.csv\.outbox cannot be used: .+\.\n$/),
    });
    expect((await run(command)).code).toBe(0);
    expect([await countCards(), readCards().length]).toEqual([600, 600]);
  },
);

it("goes on when nobody reads its messages", async () => {
  const { start, countCards } = await openShop(30);
  const { child, exit } = start();
  child.stderr?.destroy();
  expect([(await exit).code, await countCards()]).toEqual([0, 30]);
});

it("ends with 3 when a result cannot be written, and the same command writes it", async () => {
  const { run, path, countCards, readCards } = await openShop(20);
  const stopped = await run(command, {
    onOutput: (output) => {
      if (output.includes("First 10 rows") && !existsSync(path("members.cards.csv")))
        mkdirSync(path("members.cards.csv"));
    },
  });
  expect(stopped.code).toBe(3);
  expect(stopped.stderr).toMatch(/\nloyalty-cards: members\.cards\.csv is a folder: move it away\.\n$/);
  rmSync(path("members.cards.csv"), { recursive: true });
  expect((await run(command)).code).toBe(0);
  expect([await countCards(), readCards().length]).toEqual([20, 20]);
});

it("reads the list once, so that a change while rows are sent has no effect", async () => {
  const { run, path, countCards } = await openShop(20);
  const { code } = await run(command, {
    onOutput: (output) => {
      if (output.includes("20 valid")) writeFileSync(path("members.csv"), toCsv(toRows(15)));
    },
  });
  expect([code, await countCards()]).toEqual([0, 20]);
});

it("keeps the results of the last run when --limit ends a run early", async () => {
  const { run, read, path } = await openShop(0);
  writeFileSync(path("members.csv"), toCsv([...toRows(20), `21,${shortPhone},x`]));
  await run(command);
  const results = ["members.cards.csv", "members.rejected.csv"].map(read);
  expect((await run([...command, "--limit", "2"])).code).toBe(0);
  expect(["members.cards.csv", "members.rejected.csv"].map(read)).toEqual(results);
});

it("leaves nothing behind of a run that was killed while it wrote its results", async () => {
  const { run, path } = await openShop(3);
  const id = createHash("sha256").update(path("members.csv.outbox")).digest("hex").slice(0, 8);
  writeFileSync(path(`members.rejected.csv.${id}.part`), "x");
  await run(command);
  expect(readdirSync(path("")).filter((name) => name.endsWith(".part"))).toEqual([]);
});
