/** Usage errors, exit codes, and where the configuration comes from. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { sourceFlags, startProcess } from "./process.ts";
import { createFolder, openMock, run } from "./terminal.ts";

describe("an error of usage", () => {
  it.each([
    ["isue", "unknown command 'isue'\n(Did you mean issue?)"],
    ["card x --jsn", "unknown option '--jsn'\n(Did you mean --json?)"],
    ["consent x --sett yes", "unknown option '--sett'\n(Did you mean --set?)"],
    ["import chekc members.csv", "too many arguments for 'import'. Expected 1 argument but got 2."],
    ["card", "missing required argument 'card-id'"],
    ["issue", "required option '--user-id <id>' not specified"],
    ["import check", "missing required argument 'file'"],
    ["webhook sing", "unknown command 'sing'\n(Did you mean sign?)"],
    [
      "consent x --set maybe",
      "option '--set <answer>' argument 'maybe' is invalid. Allowed choices are yes, no.",
    ],
    [
      "operations x --limit 0",
      "option '--limit <number>' argument '0' is invalid. It must be a whole number from 1 to 100.",
    ],
  ])("exits with 2, suggests the right spelling, and names the help: %s", async (line, message) => {
    const args = line.split(" ");
    const stderr = `loyalty-cards: ${message}\nSee --help.\n`;
    expect(await run(args)).toEqual({ code: 2, stdout: "", stderr });
    const { stderr: json } = await run([...args, "--json"]);
    expect(JSON.parse(json).error.message).toContain(message.split("\n")[0]);
  });

  it("is a blank option of `issue`, such as an unset variable of the shell", async () => {
    const reason = "is invalid. It must not be blank.\nSee --help.\n";
    const privacy = await run(["issue", "--user-id", "7", "--privacy", ""]);
    const stderr = `loyalty-cards: option '--privacy <version>' argument '' ${reason}`;
    expect(privacy).toEqual({ code: 2, stdout: "", stderr });
    const user = await run(["issue", "--user-id", " ", "--privacy", "1"]);
    expect(user).toMatchObject({ code: 2, stderr: expect.stringContaining("'--user-id <id>' argument ' '") });
  });
});

it("prints the version, also beside another command", async () => {
  for (const args of [["--version"], ["card", "--version"]])
    expect(await run(args)).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: "" });
});

describe("the configuration", () => {
  it("comes from .env in the working folder, before it from the environment, and before both from an option", async () => {
    const { env, url } = await openMock();
    const cwd = createFolder();
    const unknown = { code: 1, stderr: expect.stringContaining('card "card_none" does not exist') };
    const card = ["card", "card_none"];
    writeFileSync(join(cwd, ".env"), `LOYALTY_URL=${url}\nLOYALTY_API_KEY="${env.LOYALTY_API_KEY}"\n`);
    expect(await run(card, { cwd })).toMatchObject(unknown);
    writeFileSync(join(cwd, ".env"), "LOYALTY_URL=http://localhost:9\nLOYALTY_API_KEY=other\n");
    expect(await run(card, { cwd, env })).toMatchObject(unknown);
    const elsewhere = { ...env, LOYALTY_URL: "http://localhost:9" };
    expect(await run([...card, "--base-url", url], { env: elsewhere })).toMatchObject(unknown);
  });

  it("gets the key from a command that prints it", async () => {
    const { env } = await openMock();
    const { LOYALTY_API_KEY: key, ...others } = env;
    const runWith = (command: string) =>
      run(["card", "card_none"], { env: { ...others, LOYALTY_API_KEY_COMMAND: command } });
    expect((await runWith(`echo ${key}`)).stderr).toContain("does not exist");
    expect(await runWith("echo lk_secret; exit 1")).toEqual({
      code: 2,
      stdout: "",
      stderr: "loyalty-cards: LOYALTY_API_KEY_COMMAND failed. Run it by hand to see why.\n",
    });
    expect((await runWith("true")).stderr).toContain("printed nothing");
  });

  it.each(["Bearer lk_1", "bearer lk_1"])("says what to leave out of the key %s", async (key) => {
    const { env } = await openMock();
    for (const command of ["card", "doctor"]) {
      const args = command === "card" ? ["card", "x"] : ["doctor"];
      const { code, stdout, stderr } = await run(args, { env: { ...env, LOYALTY_API_KEY: key } });
      expect([code > 0, stdout + stderr]).toEqual([true, expect.stringContaining("Leave out Bearer")]);
      expect(stdout + stderr).not.toContain("lk_1");
    }
  });

  it.each([
    ["LOYALTY_URL", /There is no address\. Use --base-url/],
    ["LOYALTY_API_KEY", /There is no API key\. Set LOYALTY_API_KEY/],
  ])("exits with 2 and says what to set without %s", async (name, message) => {
    const { env } = await openMock();
    const result = await run(["card", "card_none"], { env: { ...env, [name]: "" } });
    expect(result).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
  });

  it.each([
    [
      "http://cards.example.com",
      "The address is http://cards.example.com, which would send the API key unencrypted: use https://.",
    ],
    [
      "localhost:4010",
      "The address has no scheme: write https:// before the host, or http:// for the mock service.",
    ],
    ["https://cards.example.com/api/v1", "The address must not end in /api/v1: the client appends it."],
  ])("says what is wrong with the address %s", async (address, message) => {
    const { env } = await openMock();
    const inEnvironment = { ...env, LOYALTY_URL: address };
    const option = ["--base-url", address];
    for (const [args, variables] of [
      [[], inEnvironment],
      [option, env],
    ] as const) {
      const { code, stderr } = await run(["card", "x", ...args], { env: variables });
      expect([code, stderr.split("\n")[0]]).toEqual([2, `loyalty-cards: ${message}`]);
      const doctor = await run(["doctor", ...args], { env: variables });
      expect(doctor.stdout).toContain(message);
      expect(doctor.stdout).toMatch(/\n– 5 checks need an address\n$/);
    }
  });
});

describe("an error of the service", () => {
  it("exits with 4 when it refuses the key, and does not print the key", async () => {
    const { env, service } = await openMock();
    const result = await run(["card", "x"], { env: { ...env, LOYALTY_API_KEY: "lk_wrong_key" } });
    expect(result).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining("doctor") });
    expect(result.stderr).toContain("LOYALTY_API_KEY was not accepted");
    expect(result.stderr).not.toContain("lk_wrong_key");
    service.faults.add({ phase: "before", kind: "status", status: 403 });
    expect(await run(["operations", "x"], { env })).toMatchObject({ code: 4, stdout: "" });
  });

  it("exits with 1 when it is away, and names its origin and doctor", async () => {
    const { env, url, close } = await openMock();
    await close();
    expect(await run(["card", "x", "--base-url", `${url}/path`], { env })).toMatchObject({
      code: 1,
      stderr: `loyalty-cards: The connection to ${url} failed (ECONNREFUSED): is the service running, and is the address correct?\n\`loyalty-cards doctor\` checks the configuration.\nSee https://loyalty-cards.github.io/loyalty-cards/errors#network\n`,
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
    expect([code, JSON.parse(stderr).error]).toEqual([1, { code: "not-found", message, exitCode: 1 }]);
  });

  it("is text when --json is an argument of the command of exec", async () => {
    const { stderr } = await run(["exec", "--evnts", "x", "--", "echo", "--json"]);
    expect(stderr).toMatch(/^loyalty-cards: unknown option/);
  });
});

it("ends without an error when the reader of its output has enough, as with `| head`", async () => {
  const { child, exit } = startProcess(["--help"]);
  child.stdout?.destroy();
  expect(await exit).toMatchObject({ code: 0, stderr: "" });
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

/** The examples of events are small: `trigger` lists their types in its help. */
const heavy =
  /\/(issuing-client|mock-server|webhook-verify|openapi\/(?!generated\/event-examples))|csv-parse/;

it.each([
  ["--version", false],
  ["--help", false],
  ["card x --base-url http://localhost:9", true],
])(
  "loads the client, the mock server and the CSV library only when they are needed: %s",
  async (line, isNeeded) => {
    const code = program(new URL("../src/main.ts", import.meta.url).href);
    const args = [...sourceFlags, "--input-type=module", "--eval", code, "--", ...line.split(" ")];
    const cwd = fileURLToPath(new URL("..", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
    const files = stdout.split("\n");
    expect(files.some((file) => file.includes("/cli/src/main.ts"))).toBe(true);
    expect(files.some((file) => heavy.test(file))).toBe(isNeeded);
  },
);
