/** Usage errors, exit codes, and where the configuration comes from. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { createFolder, openMock, run as runCommand } from "./terminal.ts";

describe("usage", () => {
  it("suggests the right spelling of a command", async () => {
    const { code, stdout, stderr } = await runCommand(["isue"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      "loyalty-cards: unknown command 'isue'\n(Did you mean issue?)\nSee loyalty-cards --help.\n",
    );
  });

  it("suggests the right spelling of an option, global ones included", async () => {
    expect((await runCommand(["card", "x", "--jsn"])).stderr).toContain("(Did you mean --json?)");
    expect((await runCommand(["consent", "x", "--sett", "yes"])).stderr).toContain("(Did you mean --set?)");
  });

  it("suggests the right spelling of a subcommand of import", async () => {
    const { code, stderr } = await runCommand(["import", "chekc", "members.csv"]);
    expect([code, stderr]).toEqual([
      2,
      "loyalty-cards: too many arguments for 'import'. Expected 1 argument but got 2.\n(Did you mean import check?)\nSee loyalty-cards import --help.\n",
    ]);
    const { stderr: other } = await runCommand(["import", "a.csv", "b.csv"]);
    expect(other).toBe(
      "loyalty-cards: too many arguments for 'import'. Expected 1 argument but got 2.\nSee loyalty-cards import --help.\n",
    );
  });

  it.each([
    [["card"], "missing required argument 'card-id'\nSee loyalty-cards card --help.\n"],
    [["issue"], "required option '--user-id <id>' not specified\nSee loyalty-cards issue --help.\n"],
    [["import", "check"], "missing required argument 'file'\nSee loyalty-cards import check --help.\n"],
    [
      ["webhook", "sing"],
      "unknown command 'sing'\n(Did you mean sign?)\nSee loyalty-cards webhook --help.\n",
    ],
  ])("names the help of the command after an error of usage: %j", async (args, message) => {
    expect(await runCommand(args)).toEqual({ code: 2, stdout: "", stderr: `loyalty-cards: ${message}` });
  });

  it.each([
    [["--userid", "7"], "unknown option '--userid'\n(Did you mean --user-id?)"],
    [["--user-id", "7", "--privcy", "1"], "unknown option '--privcy'\n(Did you mean --privacy?)"],
  ])("reports an unknown option before a missing one: issue %j", async (options, message) => {
    const { code, stderr } = await runCommand(["issue", ...options]);
    expect([code, stderr]).toEqual([2, `loyalty-cards: ${message}\nSee loyalty-cards issue --help.\n`]);
    const { stderr: json } = await runCommand(["issue", ...options, "--json"]);
    expect(JSON.parse(json).error.message).toContain(message.split("\n")[0]);
  });

  it("names the option of `issue` that is blank, such as an unset variable of the shell", async () => {
    const privacy = await runCommand(["issue", "--user-id", "7", "--privacy", ""]);
    expect(privacy).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "loyalty-cards: option '--privacy <version>' argument '' is invalid. It must not be blank.\nSee loyalty-cards issue --help.\n",
    });
    const { code, stderr } = await runCommand(["issue", "--user-id", " ", "--privacy", "1"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("'--user-id <id>' argument ' ' is invalid")]);
  });

  it.each([
    [["card"]],
    [["issue"]],
    [["consent", "x", "--set", "maybe"]],
    [["operations", "x", "--limit", "0"]],
    [[]],
  ])("exits with 2 and an empty stdout for %j", async (args) => {
    expect(await runCommand(args)).toMatchObject({ code: 2, stdout: "" });
  });

  it("prints the version, also beside another command", async () => {
    for (const args of [["--version"], ["card", "--version"]])
      expect(await runCommand(args)).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: "" });
  });
});

describe("the configuration", () => {
  it("comes from .env in the working folder", async () => {
    const { env, url } = await openMock();
    const cwd = createFolder();
    writeFileSync(join(cwd, ".env"), `LOYALTY_URL=${url}\nLOYALTY_API_KEY="${env["LOYALTY_API_KEY"]}"\n`);
    expect(await runCommand(["card", "card_none"], { cwd })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('card "card_none" does not exist'),
    });
  });

  it("comes from the environment rather than .env, and from an option rather than the environment", async () => {
    const { env, url } = await openMock();
    const cwd = createFolder();
    writeFileSync(join(cwd, ".env"), "LOYALTY_URL=http://localhost:9\nLOYALTY_API_KEY=other\n");
    expect(await runCommand(["card", "card_none"], { cwd, env })).toMatchObject({ code: 1 });
    const elsewhere = { ...env, LOYALTY_URL: "http://localhost:9" };
    expect(await runCommand(["card", "card_none", "--base-url", url], { env: elsewhere })).toMatchObject({
      stderr: expect.stringContaining("does not exist"),
    });
  });

  it("gets the key from a command that prints it", async () => {
    const { env } = await openMock();
    const { LOYALTY_API_KEY: key, ...others } = env;
    const run = (command: string) =>
      runCommand(["card", "card_none"], { env: { ...others, LOYALTY_API_KEY_COMMAND: command } });
    expect((await run(`echo ${key}`)).stderr).toContain("does not exist");
    expect(await run("echo lk_secret; exit 1")).toEqual({
      code: 2,
      stdout: "",
      stderr: "loyalty-cards: LOYALTY_API_KEY_COMMAND failed. Run it by hand to see why.\n",
    });
    expect((await run("true")).stderr).toContain("printed nothing");
  });

  it.each([
    ["LOYALTY_URL", /There is no address\. Use --base-url/],
    ["LOYALTY_API_KEY", /There is no API key\. Set LOYALTY_API_KEY/],
  ])("exits with 2 and says what to set without %s", async (name, message) => {
    const { env } = await openMock();
    const result = await runCommand(["card", "card_none"], { env: { ...env, [name]: "" } });
    expect(result).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
  });

  it("refuses http to another machine, before it sends the key", async () => {
    const { env } = await openMock();
    const result = await runCommand(["card", "x", "--base-url", "http://cards.example.com"], { env });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("https") });
  });

  it.each([
    [
      "http://cards.example.com",
      "LOYALTY_URL is http://cards.example.com, which would send the API key unencrypted: use https://.",
    ],
    ["localhost:4010", 'LOYALTY_URL has no scheme: write "http://localhost:4010".'],
    ["https://cards.example.com/api/v1", "LOYALTY_URL must not end in /api/v1: the client appends it."],
  ])("names LOYALTY_URL or --base-url, whichever it comes from, when it is %s", async (address, message) => {
    const { env } = await openMock();
    const { code, stderr } = await runCommand(["card", "x"], { env: { ...env, LOYALTY_URL: address } });
    expect([code, stderr.split("\n")[0]]).toEqual([2, `loyalty-cards: ${message}`]);
    const { stdout } = await runCommand(["doctor"], { env: { ...env, LOYALTY_URL: address } });
    expect(stdout).toContain(message);
    const own = message.replace("LOYALTY_URL", "--base-url");
    const card = await runCommand(["card", "x", "--base-url", address], { env });
    expect([card.code, card.stderr.split("\n")[0]]).toEqual([2, `loyalty-cards: ${own}`]);
    expect((await runCommand(["doctor", "--base-url", address], { env })).stdout).toContain(own);
  });
});

describe("errors of the service", () => {
  it("exits with 4 when it refuses the key, and does not print the key", async () => {
    const { env } = await openMock();
    const result = await runCommand(["card", "x"], { env: { ...env, LOYALTY_API_KEY: "lk_wrong_key" } });
    expect(result).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining("doctor") });
    expect(result.stderr).not.toContain("lk_wrong_key");
    expect(result.stderr).toContain("LOYALTY_API_KEY was not accepted");
    expect(result.stderr).not.toMatch(/apiKey|baseUrl/);
  });

  it("exits with 4 for a 403", async () => {
    const { env, service } = await openMock();
    service.faults.add({ phase: "before", kind: "status", status: 403 });
    expect(await runCommand(["operations", "x"], { env })).toMatchObject({ code: 4, stdout: "" });
  });

  it("exits with 1 when it is away, and names its origin and doctor", async () => {
    const { env, url, close } = await openMock();
    await close();
    expect(await runCommand(["card", "x", "--base-url", `${url}/path`], { env })).toMatchObject({
      code: 1,
      stderr: `loyalty-cards: The connection to ${url} failed (ECONNREFUSED).\n\`loyalty-cards doctor\` checks the configuration.\nSee https://loyalty-cards.github.io/loyalty-cards/errors/network\n`,
    });
  });

  it("applies --timeout to a request", { timeout: 20_000 }, async () => {
    const { env, service } = await openMock();
    service.faults.add({ phase: "before", kind: "hang" });
    // With the default of 10 seconds its three attempts would exceed the time limit of this test.
    expect(await runCommand(["card", "x", "--timeout", "1"], { env })).toMatchObject({ code: 1 });
  });
});

describe("errors with --json", () => {
  const readJson = async (args: string[], env = {}) => {
    const { code, stdout, stderr } = await runCommand([...args, "--json"], { env });
    expect(stdout).toBe("");
    expect(stderr.split("\n")).toHaveLength(2);
    return { code, ...JSON.parse(stderr) };
  };

  it.each([
    ["an unknown command", ["isue"], "unknown command 'isue'"],
    ["no command", [], "a command is missing"],
    ["an invalid value", ["operations", "x", "--limit", "0"], "whole number"],
    ["a missing configuration", ["card", "x"], "There is no address. Use --base-url"],
  ])("are one line of JSON on stderr for %s", async (_name, args, message) => {
    expect(await readJson(args)).toEqual({
      code: 2,
      error: { code: "usage", message: expect.stringContaining(message), exitCode: 2 },
    });
  });

  it("have the code of the client", async () => {
    const { env } = await openMock();
    expect(await readJson(["card", "card_none"], env)).toMatchObject({
      code: 1,
      error: { code: "not-found", message: expect.stringContaining("does not exist"), exitCode: 1 },
    });
  });

  it("are text when --json is an argument of the command of exec", async () => {
    const { stderr } = await runCommand(["exec", "--evnts", "x", "--", "echo", "--json"]);
    expect(stderr).toMatch(/^loyalty-cards: unknown option/);
  });
});

it("ends without an error when the reader of its output has enough, as with `| head`", async () => {
  const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
  const source = ["--conditions=@loyalty-cards/source", "--import", import.meta.resolve("tsx")];
  const child = spawn(process.execPath, [...source, bin, "--help"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect([stderr, code]).toEqual(["", 0]);
});

const program = (url: string) => `
import { Session } from "node:inspector";
const session = new Session();
session.connect();
session.post("Debugger.enable");
const scripts = [];
session.on("Debugger.scriptParsed", ({ params }) => scripts.push(params.url));
const { main } = await import(${JSON.stringify(url)});
const write = () => {};
const terminal = { stdin: process.stdin, stdout: { write }, stderr: { write }, env: {}, cwd: "." };
await main(process.argv.slice(1), terminal);
console.log(scripts.join("\\n"));
`;

/** @returns the files that a command line loads in a fresh process. */
async function listLoadedFiles(...args: string[]): Promise<string[]> {
  const source = ["--conditions=@loyalty-cards/source", "--import", import.meta.resolve("tsx")];
  const code = program(new URL("../src/main.ts", import.meta.url).href);
  const evaluate = ["--input-type=module", "--eval", code, "--", ...args];
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...source, ...evaluate], { cwd });
  return stdout.split("\n");
}

/** The examples of events are small: `trigger` lists their types in its help. */
const heavy =
  /\/(issuing-client|mock-server|webhook-verify|openapi\/(?!generated\/event-examples))|csv-(parse|stringify)|uqr/;

it.each([["--version"], ["--help"]])(
  "loads neither the client, the mock server nor a CSV library for %s",
  async (line) => {
    const files = await listLoadedFiles(...line.split(" "));
    expect(files.some((file) => file.includes("/cli/src/main.ts"))).toBe(true);
    expect(files.filter((file) => heavy.test(file))).toEqual([]);
  },
);

it("loads the client for a command that needs it", async () => {
  const files = await listLoadedFiles("card", "x", "--base-url", "http://localhost:9");
  expect(files.some((file) => heavy.test(file))).toBe(true);
});
