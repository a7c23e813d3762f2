/** A key of the environment is not sent to an address of `.env`, and `.env` runs no command. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFolder, type RunOptions, run as runCommand } from "./terminal.ts";

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
        isTTY: true,
        stdin: "y\n",
      });
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain("LOYALTY_API_KEY_COMMAND in the environment, and not in .env,");
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

it.each<[string, (url: string) => { file: Record<string, string>; env?: Record<string, string> }, string[]?]>(
  [
    ["both in the environment", (url) => ({ file: {}, env: { LOYALTY_URL: url, ...key } })],
    ["both in .env", (url) => ({ file: { LOYALTY_URL: url, ...key } })],
    [
      "the address and a key command in the environment",
      (url) => ({ file: {}, env: { LOYALTY_URL: url, ...command } }),
    ],
    [
      "the address in the environment and the key in .env",
      (url) => ({ file: key, env: { LOYALTY_URL: url } }),
    ],
    [
      "both in .env, and a key command in the environment",
      (url) => ({ file: { LOYALTY_URL: url, ...key }, env: { LOYALTY_API_KEY_COMMAND: "echo lk_2" } }),
    ],
    [
      "both in the environment, and others in .env",
      (url) => ({
        file: { LOYALTY_URL: "http://127.0.0.1:9", LOYALTY_API_KEY: "lk_2" },
        env: { LOYALTY_URL: url, ...key },
      }),
    ],
    // The person has typed this address.
    ["--base-url and a key in the environment", () => ({ file: {}, env: key }), ["--base-url"]],
    ["--base-url and a key in .env", () => ({ file: key }), ["--base-url"]],
    ["--base-url and a key command", () => ({ file: {}, env: command }), ["--base-url"]],
    [
      "--base-url and a key in the environment, with another address in .env",
      () => ({ file: { LOYALTY_URL: "http://127.0.0.1:9" }, env: key }),
      ["--base-url"],
    ],
  ],
)("sends the key to the address: %s", async (_name, configure, options = []) => {
  const { url, received } = await openCounter();
  const { file, env = {} } = configure(url);
  const args = options.flatMap((option) => [option, url]);
  const { code, stderr } = await runIn(file, [...card, ...args], { env, isTTY: true });
  expect([code, stderr, received.keys]).toEqual([0, "", ["Bearer lk_1"]]);
});

// The address is loopback: another user of the machine can listen there.
// G7
it.each([
  ["a key", (url: string) => ({ file: { LOYALTY_URL: url }, env: key }), "LOYALTY_API_KEY"],
  [
    "a key command",
    (url: string) => ({ file: { LOYALTY_URL: url }, env: command }),
    "LOYALTY_API_KEY_COMMAND",
  ],
  [
    "a key, also with another key in .env",
    (url: string) => ({ file: { LOYALTY_URL: url, LOYALTY_API_KEY: "lk_2" }, env: key }),
    "LOYALTY_API_KEY",
  ],
  [
    "a key command, which .env has too",
    (url: string) => ({ file: { LOYALTY_URL: url, ...command }, env: command }),
    "LOYALTY_API_KEY_COMMAND",
  ],
])("sends %s of the environment to no address of .env, and exits with 2", async (_name, configure, name) => {
  const { url, host, received } = await openCounter();
  const { file, env } = configure(url);
  const { code, stdout, stderr } = await runIn(file, card, { env, isTTY: true, stdin: "y\n" });
  const description = `LOYALTY_URL is set in .env, and ${name} in the environment`;
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toBe(
    `loyalty-cards: ${description}. The key was not sent to ${host}: set both in the environment or both in .env, or use --base-url.\n`,
  );
  const doctor = await runIn(file, ["doctor", "--json"], { env });
  const checks = JSON.parse(doctor.stdout).checks as { name: string }[];
  expect(doctor.code).toBe(1);
  expect(checks.find((check) => check.name === "API key")).toMatchObject({
    status: "failed",
    detail: description,
  });
  expect(received.connections).toBe(0);
});

it.each([
  ["issue", "--template", "t", "--user-id", "7", "--privacy", "1"],
  ["operations", "card_1"],
  ["consent", "card_1"],
  ["consent", "card_1", "--set", "yes"],
  ["import", "members.csv", "--template", "t", "--privacy", "1", "--yes"],
])("%s sends it to none too", async (...args) => {
  const { url, received } = await openCounter();
  const cwd = createFolder();
  writeFileSync(join(cwd, ".env"), format({ LOYALTY_URL: url }));
  writeFileSync(join(cwd, "members.csv"), "userId,phone\n1,+48600100200\n");
  const { code, stderr } = await runCommand(args, { cwd, env: key });
  expect([code, stderr, received.connections]).toEqual([2, expect.stringContaining("was not sent"), 0]);
});
