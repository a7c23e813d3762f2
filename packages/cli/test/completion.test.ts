/** `completion` in real shells, the candidates, and `capabilities`. */
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createFolder, runCommand } from "./run-command.ts";

/** @returns the values that can follow the words. */
async function complete(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runCommand(["complete", "--", ...words]);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

describe("the candidates", () => {
  it("are the commands, without hidden ones", async () => {
    const all = await complete("");
    expect(all).toEqual(expect.arrayContaining(["issue", "card", "doctor", "drift", "completion", "help"]));
    expect(all).not.toContain("complete");
    expect(await complete("op")).toEqual(["operations"]);
  });

  it("are the options of the command and the global ones", async () => {
    expect(await complete("consent", "x", "--")).toEqual(
      expect.arrayContaining(["--set", "--version", "--json", "--base-url"]),
    );
    expect(await complete("issue", "--he")).toEqual(["--help"]);
    expect(await complete("issue", "--ma")).toEqual(["--marketing"]);
    expect(await complete("--js")).toEqual(["--json"]);
  });

  it("are the values of an option, after a space or an equals sign", async () => {
    expect(await complete("consent", "--set", "")).toEqual(["yes", "no"]);
    expect(await complete("consent", "--set=n")).toEqual(["--set=no"]);
    expect(await complete("drift", "--fail-on", "b")).toEqual(["breaking"]);
  });

  it("are the values of an argument, also after global options", async () => {
    expect(await complete("--base-url", "http://localhost", "completion", "z")).toEqual(["zsh"]);
    expect(await complete("--json", "completion", '""')).toEqual(["bash", "zsh", "fish", "powershell"]);
  });

  it("are none for the value of an option without choices, and file names after --", async () => {
    expect(await complete("issue", "--phone", "")).toEqual([]);
    expect(await complete("card", "")).toEqual([]);
    expect(await complete("issue", "--", "")).toEqual([":files"]);
  });
});

/** A folder with the command, for the PATH of a shell. */
function createPath(): string {
  const folder = createFolder();
  const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
  const program = `exec node --conditions=@loyalty-cards/source --import ${import.meta.resolve("tsx")} ${JSON.stringify(bin)} "$@"`;
  writeFileSync(join(folder, "loyalty-cards"), `#!/bin/bash\n${program}\n`, { mode: 0o755 });
  return folder;
}

const exists = (shell: string) => spawnSync(shell, ["-c", "true"]).status === 0;

/** @returns what the shell prints for a program. */
async function runShell(shell: string, program: string): Promise<string[]> {
  const folder = createPath();
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"]}` };
  const { stdout } = await promisify(execFile)(shell, ["-c", program], { env, cwd: folder });
  return stdout.trim().split("\n");
}

describe("the script", { timeout: 60_000 }, () => {
  it.skipIf(!exists("bash"))("completes in bash, where an equals sign is a word of its own", async () => {
    const lines = [
      ["op"],
      ["consent", "x", "--set", "="],
      ["consent", "x", "--set", "=", "n"],
      ["issue", "--", "loyal"],
    ];
    const programs = lines.map(
      (words) => `
        COMP_WORDS=(loyalty-cards ${words.join(" ")}) COMP_CWORD=${words.length}
        _loyalty_cards
        echo "\${COMPREPLY[*]}"`,
    );
    const program = `source <(loyalty-cards completion bash)\n${programs.join("\n")}`;
    expect(await runShell("bash", program)).toEqual(["operations", "yes no", "no", "loyalty-cards"]);
  });

  it.skipIf(!exists("fish"))("completes in fish, with descriptions", async () => {
    const program = 'loyalty-cards completion fish | source; complete --do-complete "loyalty-cards op"';
    expect(await runShell("fish", program)).toEqual([
      "operations\tprint the operations of a card, newest first",
    ]);
  });

  it.skipIf(!exists("zsh"))("is valid in zsh, and registers itself", async () => {
    const program = `autoload -Uz compinit; compinit -D; source <(loyalty-cards completion zsh); print $_comps[loyalty-cards]`;
    expect(await runShell("zsh", program)).toEqual(["_loyalty_cards"]);
  });

  it("exists for PowerShell", async () => {
    const { stdout } = await runCommand(["completion", "powershell"]);
    expect(stdout).toContain("Register-ArgumentCompleter -Native -CommandName loyalty-cards");
  });

  it("exists for no other shell", async () => {
    expect(await runCommand(["completion", "tcsh"])).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("capabilities", () => {
  it("describes every command with its arguments and options, as the help has them", async () => {
    const { stdout } = await runCommand(["capabilities", "--json"]);
    const { commands, globalOptions, exitCodes, environment } = JSON.parse(stdout);
    const consent = commands.find(({ name }: { name: string }) => name === "consent");
    expect(consent).toMatchObject({
      usage: "consent [options] <card-id>",
      arguments: [{ name: "card-id", required: true }],
      options: [{ name: "--set", takesValue: true, choices: ["yes", "no"] }, { name: "--version" }],
    });
    expect(globalOptions).toContainEqual(expect.objectContaining({ name: "--json", takesValue: false }));
    expect(exitCodes).toContainEqual({ code: 4, description: "the service rejected the API key" });
    expect(environment).toContainEqual({ name: "LOYALTY_API_KEY", description: "API key" });
    expect(commands.map(({ name }: { name: string }) => name)).not.toContain("complete");
  });

  it("prints the names and descriptions for people", async () => {
    const { stdout } = await runCommand(["capabilities"]);
    expect(stdout).toMatch(/^issue +issue a card to one user/m);
  });
});
