/** Rules that every command follows: description, example, width of the help, and no secret as an option. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { variables } from "../src/configuration.ts";
import { createProgram } from "../src/main.ts";
import type { Terminal } from "../src/terminal.ts";
import { runCommand } from "./run-command.ts";

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

/** Options that take a value which is a secret itself, and not the name of a file, variable or command that has it. */
const takesSecret = ({ flags, long = "" }: Option) =>
  /[<[]/.test(flags) &&
  /secret|token|password|api-?key|^--key$/i.test(flags) &&
  !/-(file|command|env|variable)$/.test(long);

describe.each(commands)("loyalty-cards $path", ({ path, command }) => {
  it("has a description in one sentence without a period", () => {
    expect(command.description()).toMatch(/^[a-z].*[^.]$/);
  });

  it("prints a help with an example that fits 80 columns", async () => {
    const { code, stdout, stderr } = await runCommand([...path.split(" "), "--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/\nExamples:\n {2}(loyalty-cards|source|echo|cat|curl) ?/);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("has the same help after the command `help`", async () => {
    expect(await runCommand(["help", ...path.split(" ")])).toEqual(
      await runCommand([...path.split(" "), "--help"]),
    );
  });

  it("has the options of its help in capabilities", async () => {
    const { stdout: help } = await runCommand([...path.split(" "), "--help"]);
    const { stdout } = await runCommand(["capabilities", "--json"]);
    interface Described {
      name: string;
      options: { name: string }[];
      commands: Described[];
    }
    const { commands: described, globalOptions } = JSON.parse(stdout) as {
      commands: Described[];
      globalOptions: { name: string }[];
    };
    const all = described.flatMap((parent) => [parent, ...parent.commands]);
    const own = all.find(({ name }) => name === path)?.options ?? [];
    const inHelp = [...help.matchAll(/^ {2}(?:-h, )?(--[\w-]+)/gm)].map(([, name = ""]) => name);
    // `--version` is that of the program, or of the command.
    const toNames = (names: string[]) => [...new Set([...names, "--help", "--version"])].sort();
    expect(toNames([...own, ...globalOptions].map(({ name }) => name))).toEqual(toNames(inHelp));
  });

  it("describes each argument and option", () => {
    const undescribed = [...command.registeredArguments, ...command.options].filter(
      ({ description }) => description === "",
    );
    expect(undescribed).toEqual([]);
  });

  it("takes no secret as an option", () => {
    expect(command.options.filter(takesSecret).map(({ flags }) => flags)).toEqual([]);
  });
});

it("prints a help that fits 80 columns and names the variables and exit codes", async () => {
  const { stdout } = await runCommand(["--help"]);
  expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(stdout).toContain("LOYALTY_API_KEY_COMMAND");
  expect(stdout).toMatch(/ 4 +the service rejected the API key/);
  expect(program.options.filter(takesSecret)).toEqual([]);
});

it("lists each variable that a command reads", () => {
  const folder = fileURLToPath(new URL("../src", import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const text = files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
  const read = [...text.matchAll(/\benvironment(?:\.|\[")(LOYALTY_\w+)/g)].map(([, name = ""]) => name);
  expect(read.length).toBeGreaterThan(3);
  expect(Object.keys(variables)).toEqual(expect.arrayContaining(read));
});

it("finds the commands", () => {
  expect(commands.length).toBeGreaterThanOrEqual(8);
});
