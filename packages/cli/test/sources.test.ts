/** The address and the key come from the same source, or the person is asked; and `.env` runs no command. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFolder, openMock, type RunOptions, runCommand } from "./run-command.ts";

/** A service that counts connections, so that a connection without a request is found too. */
async function openCounter() {
  const received: { connections: number; keys: (string | undefined)[] } = { connections: 0, keys: [] };
  const server = createServer((request, response) => {
    received.keys.push(request.headers.authorization);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "card_1", publicUrl: "https://cards.example.com/cards/1" }));
  });
  server.on("connection", () => received.connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { received, url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}` };
}

const format = (variables: Record<string, string>) =>
  Object.entries(variables)
    .map(([name, value]) => `${name}="${value}"\n`)
    .join("");

/** Runs a command in a folder whose `.env` has these variables. */
function runIn(file: Record<string, string>, args: readonly string[], options: RunOptions = {}) {
  const cwd = createFolder();
  writeFileSync(join(cwd, ".env"), format(file));
  return runCommand(args, { columns: 1_000, ...options, cwd }); // no message wraps
}

const card = ["card", "card_1"];
const key = { LOYALTY_API_KEY: "lk_1" };
const command = { LOYALTY_API_KEY_COMMAND: "echo lk_1" };

describe("LOYALTY_API_KEY_COMMAND in .env", () => {
  it.each(["with an address in .env", "with an address in the environment"])(
    "is not run, and the message says how to set it, %s",
    async (place) => {
      const { url, received } = await openCounter();
      const cwd = createFolder();
      const marker = join(cwd, "was-run");
      const commandInFile = { LOYALTY_API_KEY_COMMAND: `touch '${marker}'; echo lk_1` };
      const address = { LOYALTY_URL: url };
      const isInFile = place.endsWith(".env");
      const { code, stdout, stderr } = await runIn({ ...commandInFile, ...(isInFile && address) }, card, {
        env: isInFile ? {} : address,
        typed: ["y", "y"],
      });
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/LOYALTY_API_KEY_COMMAND in \.env is not run.*export LOYALTY_API_KEY_COMMAND=/);
      expect(existsSync(marker)).toBe(false);
      expect(received.connections).toBe(0);
    },
  );

  it("does not replace the command of the environment", async () => {
    const { url, received } = await openCounter();
    const { code } = await runIn({ LOYALTY_API_KEY_COMMAND: "echo lk_other" }, card, {
      env: { LOYALTY_URL: url, ...command },
    });
    expect([code, received.keys]).toEqual([0, ["Bearer lk_1"]]);
  });

  it("does not make a pair with an address in .env, even if it is the command of the environment", async () => {
    const { url, received } = await openCounter();
    const { code } = await runIn({ LOYALTY_URL: url, ...command }, card, { env: command });
    expect([code, received.connections]).toEqual([2, 0]);
  });
});

describe(".env", () => {
  it("is read in UTF-8 with a byte order mark, and a folder of this name is none", async () => {
    const { url, received } = await openCounter();
    const cwd = createFolder();
    writeFileSync(join(cwd, ".env"), `\ufeff${format({ LOYALTY_URL: url, ...key })}`);
    expect(await runCommand(card, { cwd })).toMatchObject({ code: 0, stderr: "" });
    expect(received.keys).toEqual(["Bearer lk_1"]);
    const project = createFolder();
    mkdirSync(join(project, ".env"));
    const { code, stderr } = await runCommand(card, { cwd: project, env: {} });
    expect([code, stderr]).toEqual([2, expect.stringContaining("There is no address")]);
  });

  it("is refused in UTF-16", async () => {
    const cwd = createFolder();
    writeFileSync(join(cwd, ".env"), Buffer.from(`\ufeff${format(key)}`, "utf16le"));
    const { code, stderr } = await runCommand(card, { cwd });
    expect([code, stderr]).toEqual([2, "loyalty-cards: .env is not UTF-8. Save it as UTF-8.\n"]);
  });
});

describe("an address and a key of one source", () => {
  it.each<[string, (url: string) => { file: Record<string, string>; env: Record<string, string> }]>([
    ["both in the environment", (url) => ({ file: {}, env: { LOYALTY_URL: url, ...key } })],
    ["both in .env", (url) => ({ file: { LOYALTY_URL: url, ...key }, env: {} })],
    [
      "the address and a key command in the environment",
      (url) => ({ file: {}, env: { LOYALTY_URL: url, ...command } }),
    ],
    [
      "both in .env, and the same address in the environment",
      (url) => ({ file: { LOYALTY_URL: url, ...key }, env: { LOYALTY_URL: url } }),
    ],
    [
      "both in .env, and the same key in the environment",
      (url) => ({ file: { LOYALTY_URL: url, ...key }, env: key }),
    ],
    [
      "both in the environment, and others in .env",
      (url) => ({
        file: { LOYALTY_URL: "http://127.0.0.1:9", LOYALTY_API_KEY: "lk_2" },
        env: { LOYALTY_URL: url, ...key },
      }),
    ],
  ])("are used without a question: %s", async (_name, configure) => {
    const { url, received } = await openCounter();
    const { file, env } = configure(url);
    const { code, stderr } = await runIn(file, card, { env, typed: [] });
    expect([code, stderr, received.keys]).toEqual([0, "", ["Bearer lk_1"]]);
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ["the environment", {}, key],
    [".env", key, {}],
    ["a command", {}, command],
    ["the environment, with another address in .env", { LOYALTY_URL: "http://127.0.0.1:9" }, key],
  ])("are an address of --base-url, which the person typed, and the key of %s", async (_name, file, env) => {
    const { url, received } = await openCounter();
    const { code, stderr } = await runIn(file, [...card, "--base-url", url], { env, typed: [] });
    expect([code, stderr, received.keys]).toEqual([0, "", ["Bearer lk_1"]]);
  });
});

/** Which of the two is in .env, and how the message names it. The address is loopback: another user of the machine can listen there. */
const mixed = [
  [
    "the address in .env and the key in the environment",
    (url: string) => ({ file: { LOYALTY_URL: url }, env: key }),
    "LOYALTY_URL is set in .env, and LOYALTY_API_KEY in the environment",
  ],
  [
    "the address in .env and a key command in the environment",
    (url: string) => ({ file: { LOYALTY_URL: url }, env: command }),
    "LOYALTY_URL is set in .env, and LOYALTY_API_KEY_COMMAND in the environment",
  ],
  [
    "the address in the environment and the key in .env",
    (url: string) => ({ file: key, env: { LOYALTY_URL: url } }),
    "LOYALTY_URL is set in the environment, and LOYALTY_API_KEY in .env",
  ],
  [
    "both in .env and another key in the environment",
    (url: string) => ({ file: { LOYALTY_URL: url, LOYALTY_API_KEY: "lk_2" }, env: key }),
    "LOYALTY_URL is set in .env, and LOYALTY_API_KEY in the environment",
  ],
] as const;

describe.each(mixed)("%s", (_name, configure, description) => {
  it.each([
    ["without a terminal", {}, []],
    ["with --no-input", { typed: ["y"] }, ["--no-input"]],
  ])("are refused with 2 %s, before anything is sent", async (_place, options, args) => {
    const { url, host, received } = await openCounter();
    const { file, env } = configure(url);
    const { code, stdout, stderr } = await runIn(file, [...card, ...args], { env, ...options });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      `loyalty-cards: ${description}: the key was not sent to ${host}. Set both in the environment or both in .env, or use --base-url.\n`,
    );
    expect(received.connections).toBe(0);
  });

  // G7
  it.each(["", "n", "no", "yess"])("are refused when the person replies %j", async (reply) => {
    const { url, host, received } = await openCounter();
    const { file, env } = configure(url);
    const { code, stderr } = await runIn(file, card, { env, typed: [reply] });
    expect(code).toBe(2);
    expect(stderr).toContain(`${description}. Send the key to ${host}? [y/N] `);
    expect(received.connections).toBe(0);
  });

  it("are used when the person replies yes", async () => {
    const { url, received } = await openCounter();
    const { file, env } = configure(url);
    const { code } = await runIn(file, card, { env, typed: ["y"] });
    expect([code, received.keys]).toEqual([0, ["Bearer lk_1"]]);
  });

  it("are a failed check of doctor, which sends nothing and exits with 2", async () => {
    const { url, received } = await openCounter();
    const { file, env } = configure(url);
    const { code, stdout } = await runIn(file, ["doctor", "--json"], { env, typed: ["y"] });
    expect(code).toBe(2);
    const checks = JSON.parse(stdout).checks as { name: string; status: string; detail: string }[];
    expect(checks.find(({ name }) => name === "API key")).toMatchObject({
      status: "failed",
      detail: description,
    });
    expect(received.connections).toBe(0);
  });
});

it.each([
  ["issue", "--template", "t", "--user-id", "7", "--privacy", "1"],
  ["operations", "card_1"],
  ["consent", "card_1"],
  ["consent", "card_1", "--set", "yes"],
  ["import", "members.csv", "--template", "t", "--privacy", "1", "--yes"],
])("%s refuses a key of another source too", async (...args) => {
  const { url, received } = await openCounter();
  const cwd = createFolder();
  writeFileSync(join(cwd, ".env"), format({ LOYALTY_URL: url }));
  writeFileSync(join(cwd, "members.csv"), "userId,phone\n1,+48600100200\n");
  const { code, stderr } = await runCommand(args, { cwd, env: key });
  expect([code, stderr, received.connections]).toEqual([2, expect.stringContaining("was not sent"), 0]);
});

it("needs no key and no question for a dry run", async () => {
  const args = ["issue", "--template", "t", "--user-id", "7", "--privacy", "1", "--dry-run"];
  const { code } = await runIn({ LOYALTY_URL: "http://127.0.0.1:9" }, args, { env: key });
  expect(code).toBe(0);
});

it("asks twice at the terminal: for the key, and after the first cards of an import", async () => {
  const { env, url } = await openMock();
  const cwd = createFolder();
  writeFileSync(join(cwd, ".env"), format({ LOYALTY_URL: url }));
  const rows = Array.from({ length: 12 }, (_, index) => `${index},+48600${100_000 + index}\n`);
  writeFileSync(join(cwd, "members.csv"), `userId,phone\n${rows.join("")}`);
  const args = ["import", "members.csv", "--template", "tpl_bakery", "--privacy", "1"];
  const { LOYALTY_URL: _, ...others } = env;
  const { code, stderr } = await runCommand(args, { cwd, env: others, typed: ["y", "y"] });
  expect([code, stderr.match(/\[y\/N\] /g)?.length]).toEqual([0, 2]);
});
