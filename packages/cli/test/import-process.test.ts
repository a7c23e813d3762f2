/** `import` as a process: Ctrl-C, a kill, and memory. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { describe, expect, it, onTestFinished } from "vitest";

const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

const toRows = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index + 1},m${index}@example.com\n`).join("");

/** A service, and a folder with a file of so many rows. */
async function openShop(count: number) {
  const { url, service, close } = await startMockServer();
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-import-"));
  onTestFinished(async () => {
    await close();
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, "members.csv"), `userId,email\n${toRows(count)}`);

  const options = ["--template", "tpl_mock", "--privacy", "1", "--yes"];
  function start(command = ["import", "members.csv"], stdin: "ignore" | "pipe" = "ignore"): ChildProcess {
    return spawn(
      process.execPath,
      ["--conditions=@loyalty-cards/source", "--import", tsx, bin, ...command, ...options],
      {
        cwd: folder,
        env: { PATH: process.env["PATH"], LOYALTY_URL: url, LOYALTY_API_KEY: service.apiKeys.website },
        stdio: [stdin, "pipe", "pipe"],
      },
    );
  }
  const countCards = async () => {
    const response = await fetch(`${url}/_mock/cards`);
    return ((await response.json()) as { total: number }).total;
  };
  /** Resolves when so many cards are issued. */
  async function waitForCards(count: number): Promise<void> {
    while ((await countCards()) < count) await new Promise((resolve) => setImmediate(resolve));
  }
  const readCards = () =>
    readFileSync(join(folder, "members.cards.csv"), "utf8").trimEnd().split("\n").slice(1);
  return { folder, service, start, countCards, waitForCards, readCards };
}

async function readEnd(child: ChildProcess) {
  let output = "";
  child.stdout?.on("data", (chunk) => (output += chunk));
  child.stderr?.on("data", (chunk) => (output += chunk));
  const [exitCode, signal] = await once(child, "close");
  return { exitCode, signal, output };
}

it("finishes its requests at SIGINT, ends with 130, and loses no card in the next run", async () => {
  const { service, start, countCards, waitForCards, readCards } = await openShop(300);
  service.faults.add({ phase: "after-commit", kind: "latency", delayMs: 50 });
  const child = start();
  const ended = readEnd(child);
  await waitForCards(40);
  child.kill("SIGINT");
  const { exitCode, output } = await ended;
  const issued = await countCards();
  expect([exitCode, issued < 300, readCards().length]).toEqual([130, true, issued]);
  expect(output).toContain(
    "To resume, run the same command again:\n  loyalty-cards import members.csv --template tpl_mock --privacy 1 --yes\n",
  );
  service.faults.clear();
  expect((await readEnd(start())).exitCode).toBe(0);
  expect([await countCards(), readCards().length]).toEqual([300, 300]);
});

it("ends at once at the second SIGINT, and the next run issues each card once", async () => {
  const { service, start, countCards, waitForCards, readCards } = await openShop(60);
  service.faults.add({ phase: "after-commit", kind: "hang", match: { operation: "issueCard" } });
  const child = start();
  const ended = readEnd(child);
  await waitForCards(1);
  child.kill("SIGINT");
  await new Promise<void>((resolve) =>
    child.stderr?.on("data", (chunk) => {
      if (String(chunk).includes("Ctrl-C again ends at once")) resolve();
    }),
  );
  child.kill("SIGINT");
  expect((await ended).signal).toBe("SIGINT");
  service.faults.clear();
  expect((await readEnd(start())).exitCode).toBe(0);
  const cards = readCards();
  expect([await countCards(), cards.length, new Set(cards.map((line) => line.split(",")[1])).size]).toEqual([
    60, 60, 60,
  ]);
});

const outputs = ["--outbox", "outbox", "--rejected", "rejected.csv", "--cards", "cards.csv"];

describe.each([
  ["import", ["import", "members.csv"]],
  ["import -", ["import", "-", ...outputs]],
  ["import check", ["import", "check", "members.csv"]],
  ["import check -", ["import", "check", "-"]],
])("%s, at SIGINT while it reads the list", (_, command) => {
  it("says that nothing was sent, ends with 130, and leaves neither an outbox nor a lock", async () => {
    const { folder, start, countCards } = await openShop(0);
    const invalid = "userId,email\n1,invalid\n";
    writeFileSync(join(folder, "members.csv"), invalid + toRows(500_000));
    const child = start(command, "pipe");
    child.stdin?.write(invalid + toRows(10)); // and more rows may follow
    const ended = readEnd(child);
    // The problem of the first row, while the others are read.
    await Promise.race([once(child.stdout as Readable, "data"), once(child.stderr as Readable, "data")]);
    child.kill("SIGINT");
    const { exitCode, output } = await ended;
    expect([exitCode, output]).toEqual([
      130,
      expect.stringMatching(
        /\nloyalty-cards: Interrupted while the list was read: nothing was sent\. Run the same command again\.\n$/,
      ),
    ]);
    expect([await countCards(), readdirSync(folder)]).toEqual([0, ["members.csv"]]);
  });
});

it("asks for the same rows when it was interrupted while it issued those of standard input", async () => {
  const { service, start, waitForCards } = await openShop(0);
  service.faults.add({ phase: "after-commit", kind: "latency", delayMs: 50 });
  const child = start(["import", "-", ...outputs], "pipe");
  child.stdin?.end(`userId,email\n${toRows(300)}`);
  const ended = readEnd(child);
  await waitForCards(40);
  child.kill("SIGINT");
  const { exitCode, output } = await ended;
  expect([exitCode, output]).toEqual([
    130,
    expect.stringContaining(
      "To resume, run the same command again, with the same rows on standard input:\n  loyalty-cards import - ",
    ),
  ]);
});

// G13
it("issues each card once after a SIGKILL", async () => {
  const { service, start, countCards, waitForCards, readCards } = await openShop(300);
  service.faults.add({ phase: "before", kind: "latency", delayMs: 60 });
  const child = start();
  const ended = readEnd(child);
  await waitForCards(100);
  child.kill("SIGKILL");
  expect((await ended).signal).toBe("SIGKILL");
  service.faults.clear();
  const { exitCode, output } = await readEnd(start());
  expect([exitCode, await countCards(), readCards().length]).toEqual([0, 300, 300]);
  expect(output).toMatch(/issued before +\d/);
});
