/** What an import leaves behind when the machine fails it, and when two commands use the same files. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { args, type CommandResult, openShop, shortPhone, toCsv, toRows } from "./import-terminal.ts";

const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const isWindows = process.platform === "win32";

/** Starts the command as a process, after these commands of the shell. */
function spawnCommand(cwd: string, env: object, command: readonly string[], before = "") {
  const node = [process.execPath, "--conditions=@loyalty-cards/source", "--import", tsx, bin, ...command];
  return spawn("/bin/sh", ["-c", `${before} exec "$@"`, "sh", ...node], {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function runProcess(...start: Parameters<typeof spawnCommand>): Promise<CommandResult> {
  const child = spawnCommand(...start);
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (output.stdout += chunk));
  child.stderr.on("data", (chunk) => (output.stderr += chunk));
  const [exitCode] = await once(child, "close");
  return { exitCode, ...output };
}

it.skipIf(isWindows)(
  "sends nothing when the disk becomes full, and the same command works when it is not",
  async () => {
    const { folder, env, run, read, countCards } = await openShop({ "members.csv": toCsv(toRows(600)) });
    const command = ["import", "members.csv", ...args];
    // The same as a full disk: a write takes what fits, and the next one fails.
    const stopped = await runProcess(folder, env, command, "trap '' XFSZ; ulimit -f 700;");
    expect(stopped).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringMatching(/^loyalty-cards: members\.csv\.outbox cannot be used: .+\.\n$/),
    });
    expect((await run(command)).exitCode).toBe(0);
    expect([await countCards(), read("members.cards.csv").split("\n").length]).toEqual([600, 602]);
  },
);

it("ends with 3 when a result cannot be written, and the same command writes it", async () => {
  const { run, path, read, countCards } = await openShop({ "members.csv": toCsv(toRows(20)) });
  const command = ["import", "members.csv", ...args];
  const stopped = await run(command, {
    onOutput: (output) => {
      if (output.includes("First 10 rows") && !existsSync(path("members.cards.csv")))
        mkdirSync(path("members.cards.csv"));
    },
  });
  expect(stopped.exitCode).toBe(3);
  expect(stopped.stderr).toMatch(/\nloyalty-cards: members\.cards\.csv is a folder: move it away\.\n$/);
  rmSync(path("members.cards.csv"), { recursive: true });
  expect((await run(command)).exitCode).toBe(0);
  expect([await countCards(), read("members.cards.csv").split("\n").length]).toEqual([20, 22]);
});

it("goes on when nobody reads its messages", async () => {
  const { folder, env, countCards } = await openShop({ "members.csv": toCsv(toRows(30)) });
  const node = ["--conditions=@loyalty-cards/source", "--import", tsx, bin, "import", "members.csv", ...args];
  const child = spawn(process.execPath, node, {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.stderr.destroy();
  const [exitCode] = await once(child, "close");
  expect([exitCode, await countCards()]).toEqual([0, 30]);
});

it.each([
  [
    "a folder that does not exist",
    ["--cards", "nowhere/cards.csv"],
    "cards.csv cannot be written to its folder (ENOENT)",
  ],
  ["a folder in the place of the outbox", ["--outbox", "folder"], "folder is a folder: move it away."],
  ["a folder in the place of the cards", ["--cards", "folder"], "folder is a folder: move it away."],
])("sends nothing with %s", async (_name, options, message) => {
  const { run, path, requests } = await openShop({ "members.csv": toCsv(toRows(20)) });
  mkdirSync(path("folder"));
  const { exitCode, stderr } = await run(["import", "members.csv", ...args, ...options]);
  expect([exitCode, stderr, requests]).toEqual([2, expect.stringContaining(message), []]);
});

describe("a second command", () => {
  it("is refused while the first one asks its question", async () => {
    const { run, countCards } = await openShop({ "members.csv": toCsv(toRows(30)) });
    let second: Promise<CommandResult> | undefined;
    const first = await run(["import", "members.csv", ...args.slice(0, -1)], {
      columns: 80,
      isStdinOpen: true,
      onOutput: (output, interrupt) => {
        if (!output.includes("[y/N]")) return;
        second ??= run(["import", "members.csv", ...args]);
        void second.then(interrupt);
      },
    });
    expect(await second).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("cannot be used") });
    expect([first.exitCode, await countCards()]).toEqual([130, 10]);
  });
});

it("reads the list once, so that a change while rows are sent has no effect", async () => {
  const { run, path, countCards } = await openShop({ "members.csv": toCsv(toRows(20)) });
  const { exitCode } = await run(["import", "members.csv", ...args], {
    onOutput: (output) => {
      if (output.includes("20 valid")) writeFileSync(path("members.csv"), toCsv(toRows(15)));
    },
  });
  expect([exitCode, await countCards()]).toEqual([0, 20]);
});

describe("the results of the last run", () => {
  it("stay when --limit ends a run early", async () => {
    const { run, read } = await openShop({ "members.csv": toCsv([...toRows(20), `21,${shortPhone},x`]) });
    await run(["import", "members.csv", ...args]);
    const results = ["members.cards.csv", "members.rejected.csv"].map(read);
    expect((await run(["import", "members.csv", ...args, "--limit", "2"])).exitCode).toBe(0);
    expect(["members.cards.csv", "members.rejected.csv"].map(read)).toEqual(results);
  });

  it("leave nothing behind of a run that was killed while it wrote them", async () => {
    const { run, path } = await openShop({ "members.csv": toCsv(toRows(3)) });
    const id = createHash("sha256").update(path("members.csv.outbox")).digest("hex").slice(0, 8);
    writeFileSync(path(`members.rejected.csv.${id}.part`), "x");
    await run(["import", "members.csv", ...args]);
    expect(readdirSync(path("")).filter((name) => name.endsWith(".part"))).toEqual([]);
  });
});
