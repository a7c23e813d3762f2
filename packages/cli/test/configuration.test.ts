/**
 * Where the address and the key come from. A key of the environment is not sent to an address of
 * `.env`, and `.env` runs no command.
 */
import { existsSync, mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createFolder, listen } from "@loyalty-cards/testing/resources";
import { createVirtualClock } from "@loyalty-cards/testing/virtual-clock";
import { describe, expect, it } from "vitest";
import { createClient } from "../src/configuration.ts";
import { openMock, type RunOptions, run } from "./terminal.ts";

/** A service that counts connections, so that a connection without a request is found too. */
async function openCounter() {
  const received: { connections: number; keys: (string | undefined)[] } = {
    connections: 0,
    keys: [],
  };
  const server = createServer((request, response) => {
    received.keys.push(request.headers.authorization);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "card_1", publicUrl: "https://cards.example.com/cards/1" }));
  }).on("connection", () => received.connections++);
  const url = await listen(server);
  return { received, url };
}

const format = (variables: Record<string, string>) =>
  Object.entries(variables)
    .map(([name, value]) => `${name}="${value}"\n`)
    .join("");

/** Runs a command in a folder whose `.env` has these variables. */
const runIn = (file: Record<string, string>, args: readonly string[], options: RunOptions = {}) =>
  run(args, { columns: 1_000, ...options, cwd: createFolder({ ".env": format(file) }) }); // no message wraps

const card = ["card", "card_1"];
const key = { LOYALTY_API_KEY: "lk_1" };
const command = { LOYALTY_API_KEY_COMMAND: "echo lk_1" };
const other = { LOYALTY_URL: "http://127.0.0.1:9", LOYALTY_API_KEY: "lk_2" };

describe("LOYALTY_API_KEY_COMMAND", () => {
  it("prints the key, and only its first line is used", async () => {
    const { env } = await openMock();
    const { LOYALTY_API_KEY: _, ...others } = env;
    const runWith = (line: string) =>
      run(["card", "card_none"], { env: { ...others, LOYALTY_API_KEY_COMMAND: line } });
    expect((await runWith(`echo ${env.LOYALTY_API_KEY}; echo more`)).stderr).toContain(
      "does not exist",
    );
    expect(await runWith("echo lk_secret; exit 1")).toEqual({
      code: 2,
      stdout: "",
      stderr: "loyalty-cards: LOYALTY_API_KEY_COMMAND failed. Run it by hand to see why.\n",
    });
    expect((await runWith("true")).stderr).toContain("printed nothing");
  });

  it.each(["file", "environment"])(
    "is not run when it is in .env, and the message says how to set it, with an address in the %s",
    async (place) => {
      const { url: LOYALTY_URL, received } = await openCounter();
      const marker = join(createFolder(), "was-run");
      const file = { LOYALTY_API_KEY_COMMAND: `touch '${marker}'; echo lk_1` };
      const isInFile = place === "file";
      const { code, stdout, stderr } = await runIn(
        { ...file, ...(isInFile && { LOYALTY_URL }) },
        card,
        {
          env: isInFile ? {} : { LOYALTY_URL },
          isTTY: true,
          stdin: "y\n",
        },
      );
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain("or LOYALTY_API_KEY_COMMAND, not in .env, to a command");
      expect([existsSync(marker), received.connections]).toEqual([false, 0]);
    },
  );
});

describe(".env", () => {
  it("is read in UTF-8 with a byte order mark, and a folder of this name is none", async () => {
    const { url, received } = await openCounter();
    const cwd = createFolder({ ".env": `\ufeff${format({ LOYALTY_URL: url, ...key })}` });
    expect(await run(card, { cwd })).toMatchObject({ code: 0, stderr: "" });
    expect(received.keys).toEqual(["Bearer lk_1"]);
    const project = createFolder();
    mkdirSync(join(project, ".env"));
    const { code, stderr } = await run(card, { cwd: project });
    expect([code, stderr]).toEqual([2, expect.stringContaining("There is no address")]);
  });

  it("may have tabs around a name and its value", async () => {
    const { url, received } = await openCounter();
    const cwd = createFolder({
      ".env": `\tLOYALTY_URL=${url}\n\texport\tLOYALTY_API_KEY\t=\tlk_1\t\n`,
    });
    expect(await run(card, { cwd })).toMatchObject({ code: 0, stderr: "" });
    expect(received.keys).toEqual(["Bearer lk_1"]);
  });

  it.each([
    [
      "LOYALTY_BASE_URL=http://localhost:1\nLOYALTY_KEY=k",
      "No command reads LOYALTY_BASE_URL, LOYALTY_KEY: rename",
    ],
    [
      "LOYALTY_URL=http://localhost:1\nLOYALTY_APIKEY=lk_1",
      "No command reads LOYALTY_APIKEY: rename",
    ],
    [
      "A=1\nLOYALTY_URL: http://localhost:1\n",
      '.env line 2 has no "=" after the name. Write NAME=value.',
    ],
  ])("with a misspelt name or line is explained: %j", async (text, message) => {
    const { code, stderr } = await run(card, {
      columns: 1_000,
      cwd: createFolder({ ".env": text }),
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain("lk_1");
  });

  it("is refused in UTF-16", async () => {
    const cwd = createFolder({ ".env": Buffer.from(`\ufeff${format(key)}`, "utf16le") });
    const { code, stderr } = await run(card, { cwd });
    expect([code, stderr]).toEqual([2, "loyalty-cards: .env is not UTF-8. Save it as UTF-8.\n"]);
  });
});

interface Configuration {
  file?: Record<string, string>;
  env?: Record<string, string>;
}

it.each<[string, (url: string) => Configuration, string[]?]>([
  ["both in the environment", (url) => ({ env: { LOYALTY_URL: url, ...key } })],
  ["both in .env", (url) => ({ file: { LOYALTY_URL: url, ...key } })],
  [
    "the address and a key command in the environment",
    (url) => ({ env: { LOYALTY_URL: url, ...command } }),
  ],
  [
    "the address in the environment and the key in .env",
    (url) => ({ file: key, env: { LOYALTY_URL: url } }),
  ],
  [
    "both in .env, and a key command in the environment",
    (url) => ({
      file: { LOYALTY_URL: url, ...key },
      env: { LOYALTY_API_KEY_COMMAND: "echo lk_2" },
    }),
  ],
  [
    "both in the environment, and others in .env",
    (url) => ({ file: other, env: { LOYALTY_URL: url, ...key } }),
  ],
  [
    "the address and a key command in the environment, and another one in .env",
    (url) => ({
      file: { LOYALTY_API_KEY_COMMAND: "echo lk_2" },
      env: { LOYALTY_URL: url, ...command },
    }),
  ],
  // The person has typed this address.
  ["--base-url and a key in the environment", () => ({ env: key }), ["--base-url"]],
  ["--base-url and a key in .env", () => ({ file: key }), ["--base-url"]],
  ["--base-url and a key command", () => ({ env: command }), ["--base-url"]],
  [
    "--base-url and a key in the environment, with others in .env",
    () => ({ file: other, env: key }),
    ["--base-url"],
  ],
])("sends the key to the address: %s", async (_name, configure, options = []) => {
  const { url, received } = await openCounter();
  const { file = {}, env = {} } = configure(url);
  const args = options.flatMap((option) => [option, url]);
  const { code, stderr } = await runIn(file, [...card, ...args], { env, isTTY: true });
  expect([code, stderr, received.keys]).toEqual([0, "", ["Bearer lk_1"]]);
});

// The address is loopback: another user of the machine can listen there.
// G7
it.each<[string, Configuration, string]>([
  ["a key", { env: key }, "LOYALTY_API_KEY"],
  ["a key command", { env: command }, "LOYALTY_API_KEY_COMMAND"],
  [
    "a key, also with another key in .env",
    { file: { LOYALTY_API_KEY: "lk_2" }, env: key },
    "LOYALTY_API_KEY",
  ],
  ["a key command, which .env has too", { file: command, env: command }, "LOYALTY_API_KEY_COMMAND"],
])(
  "sends %s of the environment to no address of .env, and exits with 2",
  async (_name, more, name) => {
    const { url, received } = await openCounter();
    const { env = {} } = more;
    const file = { LOYALTY_URL: url, ...more.file };
    const { code, stdout, stderr } = await runIn(file, card, { env, isTTY: true, stdin: "y\n" });
    const description = `LOYALTY_URL is set in .env, and ${name} in the environment`;
    const place = name === "LOYALTY_API_KEY" ? " or both in .env" : "";
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      `loyalty-cards: ${description}. The key was not sent to ${new URL(url).host}: set both in the environment${place}, or use --base-url.\n`,
    );
    const doctor = await runIn(file, ["doctor", "--json"], { env });
    const checks = JSON.parse(doctor.stdout).checks as { name: string }[];
    expect(doctor.code).toBe(1);
    expect(checks.find((check) => check.name === "API key")).toMatchObject({
      status: "failed",
      detail: description,
    });
    expect(received.connections).toBe(0);
  },
);

it.each([
  ["issue", "--template", "t", "--user-id", "7", "--privacy", "1"],
  ["operations", "card_1"],
  ["consent", "card_1"],
  ["consent", "card_1", "--set", "yes"],
  ["import", "members.csv", "--template", "t", "--privacy", "1", "--yes"],
])("%s sends it to none too", async (...args) => {
  const { url, received } = await openCounter();
  const cwd = createFolder({
    ".env": format({ LOYALTY_URL: url }),
    "members.csv": "userId,phone\n1,+48600100200\n",
  });
  const { code, stderr } = await run(args, { cwd, env: key });
  expect([code, stderr, received.connections]).toEqual([
    2,
    expect.stringContaining("was not sent"),
    0,
  ]);
});

it.each(["Bearer lk_1", "bearer lk_1"])(
  "says what to leave out of the key %s",
  async (LOYALTY_API_KEY) => {
    const { env } = await openMock();
    for (const args of [["card", "x"], ["doctor"]]) {
      const { code, stdout, stderr } = await run(args, { env: { ...env, LOYALTY_API_KEY } });
      expect([code > 0, stdout + stderr]).toEqual([
        true,
        expect.stringContaining("Leave out Bearer"),
      ]);
      expect(stdout + stderr).not.toContain("lk_1");
    }
  },
);

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
    "baseUrl (LOYALTY_URL) is http://cards.example.com, which would send the API key unencrypted: use https://. For a service on a private network, a program can set allowInsecureHttp: true.",
  ],
  [
    "localhost:4010",
    "The address has no scheme. Write https:// before the host, or http:// for a program on this machine.",
  ],
  [
    "https://cards.example.com/api/v1",
    "baseUrl (LOYALTY_URL) must not end in /api/v1: the client appends it.",
  ],
])("says what is wrong with the address %s", async (address, message) => {
  for (const [args, env] of [
    [[], { ...key, LOYALTY_URL: address }],
    [["--base-url", address], key],
  ] as const) {
    const { code, stderr } = await run(["card", "x", ...args], { env });
    expect([code, stderr.split("\n")[0]]).toEqual([2, `loyalty-cards: ${message}`]);
    const doctor = await run(["doctor", ...args], { env });
    expect(doctor.stdout.replace(/\n {12}/, ". ")).toContain(message); // the fix is on its own line
    expect(doctor.stdout).toMatch(/\n– \d checks need an address\n$/);
  }
});

// Nobody who wrote .env gets signatures that the real receiver accepts.
it.each([
  ["trigger", "balance.changed"],
  ["webhook", "doctor"],
  ["webhook", "listen", "--port", "0"],
])(
  "%s sends nothing signed to an address of .env with a secret of the environment",
  async (...args) => {
    const { url, received } = await openCounter();
    const file = { LOYALTY_WEBHOOK_URL: url };
    const env = { LOYALTY_SIGNING_SECRET: "whsec_1" };
    const { code, stderr } = await runIn(file, args, { env });
    expect([code, received.connections]).toEqual([2, 0]);
    expect(stderr).toBe(
      `loyalty-cards: LOYALTY_WEBHOOK_URL is set in .env, and LOYALTY_SIGNING_SECRET in the environment. Nothing was sent to ${new URL(url).host}: set both in the environment or both in .env, or add the address to the command.\n`,
    );
  },
);

it("sends again after a Retry-After that is longer than a short --timeout", async () => {
  const clock = createVirtualClock();
  const responses = [
    new Response("", { status: 429, headers: { "retry-after": "10" } }),
    Response.json({ id: "card_1", publicUrl: "https://a.b" }),
  ];
  const client = await createClient(
    "https://cards.test",
    { process: {}, file: {}, all: key },
    { timeoutMs: 1_000, fetch: async () => responses.shift() as Response, testing: { clock } },
  );
  expect(await clock.run(client.getCard("card_1"))).toMatchObject({ id: "card_1" });
});

it("waits for a slow response as long as --timeout says, also longer than the client by default", async () => {
  const clock = createVirtualClock();
  const timeoutMs = 60_000;
  const client = await createClient(
    "https://cards.test",
    { process: {}, file: {}, all: key },
    {
      timeoutMs,
      fetch: () =>
        clock.wait(timeoutMs - 1, Response.json({ id: "card_1", publicUrl: "https://a.b" })),
      testing: { clock },
    },
  );
  expect(await clock.run(client.getCard("card_1"))).toMatchObject({ id: "card_1" });
});
