/**
 * Rules that every command follows: usage errors, exit codes, help and its width, no secret as an
 * option, what is loaded.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify, stripVTControlCharacters } from "node:util";
import { createFolder } from "@loyalty-cards/testing/resources";
import type { Option } from "commander";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import {
  commands,
  openMock,
  program,
  type Ran,
  run,
  sourceFlags,
  startProcess,
} from "./terminal.ts";

describe("an error of usage", () => {
  const keyMessage =
    "unknown option '--api-key'\n(Set LOYALTY_API_KEY in the environment or in .env: no option takes the key.)";

  it.each([
    ["isue", "unknown command 'isue'\n(Did you mean issue?)", ""],
    ["card x --jsn", "unknown option '--jsn'\n(Did you mean --json?)", "card "],
    ["consent x --sett yes", "unknown option '--sett'\n(Did you mean --set?)", "consent "],
    [
      "import chekc members.csv",
      "too many arguments for 'import'. Expected 1 argument but got 2.",
      "import ",
    ],
    ["card", "missing required argument 'card-id'", "card "],
    ["issue", "required option '--user-id <id>' not specified", "issue "],
    ["issue --userid 7", "unknown option '--userid'\n(Did you mean --user-id?)", "issue "],
    ["issue --user-id 7 --privacy 1 --api-key lk_1", keyMessage, "issue "],
    ["--api-key lk_1 card x", keyMessage, "card "],
    ["--api-key=lk_1 issue --user-id 7", keyMessage, "issue "],
    ["card x --apikey=lk_1", "unknown option '--apikey'", "card "],
    [
      "import members.csv --dry-run",
      "unknown option '--dry-run'\n(Did you mean loyalty-cards import check?)",
      "import ",
    ],
    [
      "trigger ping http://localhost:3000/",
      "too many arguments for 'trigger'. Expected 1 argument but got 2.\n(Did you mean --to <url>?)",
      "trigger ",
    ],
    [
      "trigger ping --url http://localhost:3000/",
      "unknown option '--url'\n(Did you mean --to for a receiver, or --base-url for the service?)",
      "trigger ",
    ],
    ["webhook sign b.json", "required option '--body <file>' not specified", "webhook sign "],
    [
      "dev 4179",
      "too many arguments for 'dev'. Expected 0 arguments but got 1.\n(Did you mean --port <number>?)",
      "dev ",
    ],
    [
      "webhook verify x --body b.json",
      "too many arguments for 'verify'. Expected 0 arguments but got 1.",
      "webhook verify ",
    ],
    [
      "webhook listen http://localhost:3000/",
      "too many arguments for 'listen'. Expected 0 arguments but got 1.\n(Did you mean --to <url>?)",
      "webhook listen ",
    ],
    [
      "webhook verify --body b.json --tolerance 86401",
      "option '--tolerance <seconds>' argument '86401' is invalid. It must be a whole number from 0 to 86400.",
      "webhook verify ",
    ],
    ["import check", "missing required argument 'file'", "import check "],
    ["webhook sing", "unknown command 'sing'\n(Did you mean sign?)", "webhook "],
    [
      "consent x --set maybe",
      "option '--set <answer>' argument 'maybe' is invalid. Allowed choices are yes, no.",
      "consent ",
    ],
    [
      "operations x --limit 0",
      "option '--limit <number>' argument '0' is invalid. It must be a whole number from 1 to 100.",
      "operations ",
    ],
  ])(
    "exits with 2, suggests the right spelling, and names the help: %s",
    async (line, message, command) => {
      const args = line.split(" ");
      const stderr = `loyalty-cards: ${message}\nSee loyalty-cards ${command}--help.\n`;
      expect(await run(args)).toEqual({ code: 2, stdout: "", stderr });
      const { stderr: json } = await run([...args, "--json"]);
      expect(JSON.parse(json).error.message).toContain(message.split("\n")[0]);
    },
  );

  it("is a blank option of `issue`, such as an unset variable of the shell", async () => {
    const reason = "is invalid. It must not be blank.\nSee loyalty-cards issue --help.\n";
    const privacy = await run(["issue", "--user-id", "7", "--privacy", ""]);
    const stderr = `loyalty-cards: option '--privacy <version>' argument '' ${reason}`;
    expect(privacy).toEqual({ code: 2, stdout: "", stderr });
    const user = await run(["issue", "--user-id", " ", "--privacy", "1"]);
    expect(user).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'--user-id <id>' argument ' '"),
    });
  });

  it.each([
    "issue --user-id 7 --privacy yes",
    "issue --user-id 7 --privacy 1 --marketing no",
    "consent card_1 --set yes --version true",
    "import members.csv --privacy True",
    "import members.csv --privacy 1 --marketing-version no",
    "import check members.csv --privacy FALSE",
  ])("is an answer in the place of a version, which would give a consent: %s", async (line) => {
    const { code, stderr } = await run(line.split(" "), { columns: 1_000 });
    const advice = "is invalid. It must be the version of the text that was accepted. Leave the";
    expect([code, stderr]).toEqual([2, expect.stringContaining(advice)]);
  });
});

it("prints the version, also beside another command", async () => {
  for (const args of [["--version"], ["card", "--version"]])
    expect(await run(args)).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: "" });
});

describe("an error of the service", () => {
  it("exits with 4 when it refuses the key, and does not print the key", async () => {
    const { env, service } = await openMock();
    const result = await run(["card", "x"], { env: { ...env, LOYALTY_API_KEY: "lk_wrong_key" } });
    expect(result).toMatchObject({
      code: 4,
      stdout: "",
      stderr: expect.stringContaining("doctor"),
    });
    expect(result.stderr).toContain("the apiKey (LOYALTY_API_KEY) was not accepted");
    expect(result.stderr).not.toContain("lk_wrong_key");
    service.faults.add({ phase: "before", kind: "status", status: 403 });
    expect(await run(["operations", "x"], { env })).toMatchObject({ code: 4, stdout: "" });
  });

  it("exits with 1 when it is away, and names its origin and doctor", async () => {
    const { env, url, close } = await openMock();
    await close();
    expect(await run(["card", "x", "--base-url", `${url}/path`], { env })).toMatchObject({
      code: 1,
      stderr: `loyalty-cards: The connection to ${url} failed (ECONNREFUSED): is the service running, and is this address correct?\n\`loyalty-cards doctor\` checks the configuration.\nSee https://loyalty-cards.github.io/loyalty-cards/errors#network\n`,
    });
  });

  it("exits with 1 after --timeout", { timeout: 20_000 }, async () => {
    const { env, service } = await openMock();
    service.faults.add({ phase: "before", kind: "hang" });
    // With the default of 10 seconds its three attempts would exceed the time limit of this test.
    expect(await run(["card", "x", "--timeout", "1"], { env })).toMatchObject({ code: 1 });
  });
});

describe("an error with --json", () => {
  it.each([
    ["an unknown command", ["isue"], "unknown command 'isue'"],
    ["no command", [], "a command is missing"],
    ["a missing configuration", ["card", "x"], "There is no address. Use --base-url"],
  ])("is one line of JSON on stderr for %s", async (_name, args, message) => {
    const { code, stdout, stderr } = await run([...args, "--json"]);
    expect([code, stdout, stderr.split("\n").length]).toEqual([2, "", 2]);
    expect(JSON.parse(stderr).error).toEqual({
      code: "usage",
      message: expect.stringContaining(message),
      exitCode: 2,
    });
  });

  it("has the code of the client", async () => {
    const { env } = await openMock();
    const { code, stderr } = await run(["card", "card_none", "--json"], { env });
    const message = expect.stringContaining("does not exist");
    expect([code, JSON.parse(stderr).error]).toEqual([
      1,
      { code: "not-found", message, exitCode: 1 },
    ]);
  });

  it("is text when --json is an argument of the command of exec", async () => {
    const { stderr } = await run(["exec", "--evnts", "x", "--", "echo", "--json"]);
    expect(stderr).toMatch(/^loyalty-cards: unknown option/);
  });
});

/** Ids and durations differ between two runs. */
const withoutId = (word: string) => word.replace(/evt_\w+/, "evt").replace(/^\d+$/, "1");

/**
 * Options that take a value which is a secret itself, and not the name of a file, variable or
 * command that has it.
 */
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
      /\nGlobal options: loyalty-cards --help\nGuide: https:\/\/loyalty-cards\.github\.io\/loyalty-cards\/guides\/command-line\n$/,
    );
    expect(stdout).not.toContain("errors only on stderr");
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
  const cwd = createFolder({ "members.csv": "userId,phone\n1,4.86E+10\n1,+48600100200\n" });
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

it("ends without an error when the reader of its output has enough, as with `| head`", async () => {
  const { child, exit } = startProcess(["--help"]);
  child.stdout?.destroy();
  expect(await exit).toMatchObject({ code: 0, stderr: "" });
});

const loader = (url: string) => `
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

/** The list of event types is small: `trigger` has it in its help. */
const heavy =
  /\/(issuing-client|mock-server|webhook-verify|openapi\/(?!generated\/events))|csv-parse/;

it.each([
  ["--version", false],
  ["--help", false],
  ["card x --base-url http://localhost:9", true],
])(
  "loads the client, the mock server and the CSV library only when they are needed: %s",
  async (line, isNeeded) => {
    const code = loader(new URL("../src/main.ts", import.meta.url).href);
    const args = [...sourceFlags, "--input-type=module", "--eval", code, "--", ...line.split(" ")];
    const cwd = fileURLToPath(new URL("..", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
    const files = stdout.split("\n");
    expect(files.some((file) => file.includes("/cli/src/main.ts"))).toBe(true);
    expect(files.some((file) => heavy.test(file))).toBe(isNeeded);
  },
);
