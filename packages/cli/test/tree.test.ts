/** Rules that every command follows: description, example, width of the help, and no secret as an option. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import type { Command, Option } from "commander";
import ts from "typescript";
import { expect, it } from "vitest";
import { variables } from "../src/configuration.ts";
import { createProgram } from "../src/main.ts";
import type { Terminal } from "../src/printer.ts";
import { createFolder, expectNamesOfVariables, openMock, type Ran, run } from "./terminal.ts";

const stream = { write: () => undefined };
const terminal = { stdout: stream, stderr: stream, env: {} } as unknown as Terminal;
const program = createProgram({ terminal, args: [], exitCode: 0 });

interface Named {
  path: string;
  command: Command;
}

const listCommands = (command: Command, path: readonly string[] = []): Named[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== "help")
    .flatMap((child) => {
      const names = [...path, child.name()];
      return [{ path: names.join(" "), command: child }, ...listCommands(child, names)];
    });

const commands = listCommands(program);

/** Ids and durations differ between two runs. */
const withoutId = (word: string) => word.replace(/evt_\w+/, "evt").replace(/^\d+$/, "1");

/** Options that take a value which is a secret itself, and not the name of a file, variable or command that has it. */
const takesSecret = ({ flags, long = "" }: Option) =>
  /[<[]/.test(flags) &&
  /secret|token|password|api-?key|^--key$/i.test(flags) &&
  !/-(file|command|env|variable)$/.test(long);

it.each(commands)(
  "loyalty-cards $path describes itself, and takes no secret as an option",
  async ({ path, command }) => {
    const names = path.split(" ");
    expect(command.description()).toMatch(/^[a-z].*[^.]$/);
    const help = await run([...names, "--help"]);
    const { code, stdout, stderr } = help;
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/\nExamples:\n {2}(loyalty-cards|curl) ?/);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toMatch(
      /\nGuide: https:\/\/loyalty-cards\.github\.io\/loyalty-cards\/guides\/command-line\n$/,
    );
    expect(await run(["help", ...names])).toEqual(help);
    const declared = [...command.registeredArguments, ...command.options];
    expect(declared.filter(({ description }) => description === "")).toEqual([]);
    expect(command.options.filter(takesSecret).map(({ flags }) => flags)).toEqual([]);
  },
);

it("prints a help of at most 40 lines, which fits the terminal and begins with `dev`", async () => {
  const { stdout } = await run(["--help"]);
  expect(stdout.split("\n").length).toBeLessThanOrEqual(40);
  expect(stdout).toMatch(/\nExamples:\n {2}loyalty-cards dev /);
  const { stdout: wide } = await run(["exec", "--help"], { columns: 120 });
  expect(Math.max(...wide.split("\n").map((line) => line.length))).toBeGreaterThan(80);
  expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(program.options.filter(takesSecret)).toEqual([]);
});

it("prints the variables and the exit codes with `help environment`", async () => {
  const { code, stdout } = await run(["help", "environment"]);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/LOYALTY_API_KEY_COMMAND .*\n[\s\S]* 4 {4}the service rejected/),
  ]);
  expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
});

/** Lines that wrap at no width: commands to paste, addresses, and single words. */
const isWhole = (line: string) =>
  /^(Usage:|Guide:| {2}(loyalty-cards|curl|cloudflared)\b| {4}-)/.test(line) ||
  /^ *(-h, )?\S+( [<[]\S+[>\]])*$/.test(line);

it.each([70, 120])("wraps the help of each command between words at %i columns", async (columns) => {
  for (const path of ["", ...commands.map((command) => command.path)]) {
    const args = [...path.split(" ").filter(Boolean), "--help"];
    const { stdout } = await run(args, { columns });
    const lines = stdout.split("\n");
    expect(lines.filter((line) => line.length > columns && !isWhole(line))).toEqual([]);
    const toWords = (text: string) => text.split(/(?:\s+#?)+/);
    // No word is broken or lost.
    expect(toWords(stdout)).toEqual(toWords((await run(args, { columns: 1_000 })).stdout));
  }
});

it.each([
  ["an error of usage", ["isue"]],
  ["a missing address", ["card", "x"]],
  ["doctor", ["doctor"]],
  ["trigger", ["trigger", "ping", "--to", "http://127.0.0.1:1/"]],
  ["import check", ["import", "check", "members.csv", "--privacy", "2026-01"]],
  ["purchase", ["purchase", "card_none", "120"]],
  ["webhook doctor", ["webhook", "doctor"]],
])("wraps the output of %s between words at 40 columns", async (name, args) => {
  const { env } = await openMock();
  const own = name === "a missing address" ? {} : { ...env, LOYALTY_SIGNING_SECRET: "whsec_1" };
  const cwd = createFolder();
  writeFileSync(join(cwd, "members.csv"), "userId,phone\n1,4.86E+10\n1,+48600100200\n");
  const runAt = (columns: number) => run(args, { columns, isTTY: true, env: own, cwd });
  const toLines = (ran: Ran) => stripVTControlCharacters(ran.stdout + ran.stderr).split("\n");
  const lines = toLines(await runAt(40));
  expect(lines.filter((line) => line.length > 40 && / /.test(line.trim()))).toEqual([]);
  const toWords = (texts: string[]) => texts.join(" ").split(/\s+/).map(withoutId);
  expect(toWords(lines)).toEqual(toWords(toLines(await runAt(1_000))));
});

it("lists the options of `import check` as its own, and explains --map", async () => {
  const { stdout } = await run(["import", "check", "--help"]);
  expect(stdout).toMatch(/\n {2}--map <.*\n {2}--number-field <key>/s);
  expect(stdout).toContain("\nTargets of --map: userId (required)");
});

it("names in the help of a command where the global options are listed", async () => {
  for (const { path } of commands) {
    const { stdout } = await run([...path.split(" "), "--help"]);
    expect(stdout).toContain("\nGlobal options: loyalty-cards --help\n");
    expect(stdout).not.toContain("errors only on stderr");
  }
});

const readSources = () => {
  const folder = fileURLToPath(new URL("../src", import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith(".ts")).map((file) => readFileSync(join(folder, file), "utf8"));
};

it("lists each variable that a command reads", () => {
  const text = readSources().join("\n");
  const read = [...text.matchAll(/\benvironment(?:\.|\[")(LOYALTY_\w+)/g)].map(([, name = ""]) => name);
  expect(read.length).toBeGreaterThan(3);
  expect(Object.keys(variables)).toEqual(expect.arrayContaining(read));
});

it("says in no sentence the name of an option of the client: a person at a terminal sets variables", () => {
  const sentences: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node)) sentences.push(node.text);
    ts.forEachChild(node, visit);
  };
  for (const source of readSources()) visit(ts.createSourceFile("", source, ts.ScriptTarget.Latest));
  const found = sentences.filter((sentence) => sentence.includes(" "));
  expect(found.length).toBeGreaterThan(200);
  for (const sentence of found) expectNamesOfVariables(sentence);
});
