/** `import` as a process: Ctrl-C, a kill, and memory. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";

const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** A service, and a folder with a file of so many rows. */
async function openShop(count: number) {
  const { url, service, close } = await startMockServer();
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-import-"));
  onTestFinished(async () => {
    await close();
    rmSync(folder, { recursive: true });
  });
  const rows = Array.from({ length: count }, (_, index) => `${index + 1},m${index}@example.com`);
  writeFileSync(join(folder, "members.csv"), `userId,email\n${rows.join("\n")}\n`);

  function start(): ChildProcess {
    const command = ["import", "members.csv", "--template", "tpl_mock", "--privacy", "1", "--yes"];
    return spawn(process.execPath, ["--conditions=@loyalty-cards/source", "--import", tsx, bin, ...command], {
      cwd: folder,
      env: { PATH: process.env["PATH"], LOYALTY_URL: url, LOYALTY_API_KEY: service.apiKeys.website },
      stdio: ["ignore", "pipe", "pipe"],
    });
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
  return { service, start, countCards, waitForCards, readCards };
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
