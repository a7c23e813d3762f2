/** Runs the commands of the guide, and compares what they print with the file that the guide quotes (`-u` updates them). */
import { execFile, spawn } from "node:child_process";
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import {
  memoryDedupe,
  signWebhookSync,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { readRegion } from "../../tools/docs/snippets.ts";

const commands = readFileSync(new URL("commands.sh", import.meta.url), "utf8");
const folder = mkdtempSync(join(tmpdir(), "command-line-"));
const secret = "whsec_guide";
const received: WebhookEvent[] = [];
const receiver = createServer(
  nodeReceiver({
    secret,
    dedupe: memoryDedupe(),
    handler: (event) => void received.push(event),
    log: () => {},
  }),
);

let mock: MockServer;
let cardId = "";
let receiverPort = 0;
let freePort = 0;

/** A free port below those that systems choose from for `listen(0)` and connections, so that no other test gets it meanwhile. */
function findPort(): Promise<number> {
  return new Promise((resolve) => {
    const candidate = 11_000 + Math.floor(Math.random() * 20_000);
    const server = createServer().listen(candidate, "127.0.0.1", () =>
      server.close(() => resolve(candidate)),
    );
    server.once("error", () => resolve(findPort()));
  });
}

beforeAll(async () => {
  // In the place of npx and of the installed command.
  const program = `exec node ${inject("bundledCli")}`;
  for (const [name, start] of [
    ["npx", "shift\n"],
    ["loyalty-cards", ""],
  ] as const) {
    const script = `#!/bin/bash\n${start}${program} "$@"\n`;
    writeFileSync(join(folder, name), script, { mode: 0o755 });
  }
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  receiverPort = (receiver.address() as AddressInfo).port;
  freePort = await findPort();
  mock = await startMockServer({
    templates: [{ id: "tpl_bakery", name: "Bakery" }],
  });
  await run("script");
  cardId = JSON.parse(readFileSync(join(folder, "card.json"), "utf8")).id;
  mock.service.cards.purchase(cardId, { points: 120 });
  mock.service.cards.redeem(cardId, { points: 30 });
});
afterAll(async () => {
  receiver.close();
  receiver.closeAllConnections();
  await mock.close();
  rmSync(folder, { recursive: true });
});

function prepare(region: string, settings: NodeJS.ProcessEnv = {}) {
  const program = readRegion(commands, "commands.sh", region)
    .replaceAll("card_8sT2kq", cardId)
    .replaceAll("localhost:3000", `localhost:${receiverPort}`)
    .replace("--port 4020", `--port ${freePort}`)
    .replace("--forward", "--port 0 --forward");
  const env = {
    ...process.env,
    PATH: `${folder}${delimiter}${process.env["PATH"]}`,
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: mock.service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: "tpl_bakery",
    LOYALTY_SIGNING_SECRET: secret,
    ...settings,
  };
  return { program, options: { cwd: folder, env } };
}

/** @returns what the commands of a region print, also when they fail. */
function run(region: string, settings: NodeJS.ProcessEnv = {}) {
  const { program, options } = prepare(region, settings);
  return new Promise<{ code: unknown; stdout: string }>((resolve) =>
    execFile("bash", ["-ec", program], options, (error, stdout) =>
      resolve({ code: error?.code ?? 0, stdout }),
    ),
  );
}

/** Starts a command that runs until it is stopped, and waits until it has printed a text. */
async function start(
  region: string,
  settings: NodeJS.ProcessEnv,
  text: string,
): Promise<string> {
  const { program, options } = prepare(region, settings);
  const child = spawn("bash", ["-c", `exec ${program}`], options);
  onTestFinished(() => void child.kill());
  let output = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output += chunk;
        if (output.includes(text)) resolve(output);
      });
    }
    child.once("exit", () => reject(new Error(`${region} ended: ${output}`)));
  });
}

/** Addresses, ids and times as in the guide. */
const normalize = (text: string) =>
  text
    .replaceAll(mock.url, "https://cards.example.com")
    .replaceAll(`localhost:${receiverPort}`, "localhost:3000")
    .replace(/\bcard_\w{16}\b/g, "card_8sT2kq")
    .replace(/\bcus_\w{16}\b/g, "cus_3vPq81")
    .replace(/\/cards\/\w+/g, "/cards/8sT2kq")
    .replace(/evt_[\da-f]{8}\b/g, "evt_8sT2kq")
    .replace(/whsec_\w+/, "whsec_8sT2kq")
    .replace(/-30( .*)op_\w{16}/, "-30$1op_4bN1xe")
    .replace(/120( .*)op_\w{16}/, "120$1op_0tRm5c")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-11-22T10:15:00.000Z")
    .replace(/in \d+ ms/g, "in 41 ms")
    .replace(/ +\d+(?= ms {2})/g, "   9")
    .replace(/in \d+ s$/m, "in 1 s");

/** The regions of the file that the guide quotes. */
const recorded: string[] = [];
const record = (region: string, text: string) =>
  void recorded.push(
    `# #region ${region}\n${normalize(text).trimEnd()}\n# #endregion\n`,
  );

it.each(["doctor", "issue", "operations", "consent", "purchase"])(
  "runs %s",
  async (region) => {
    const { code, stdout } = await run(region);
    expect(code).toBe(0);
    record(region, stdout);
  },
);

it("imports a list, and a row that was corrected, as the guide shows", async () => {
  const list = join(folder, "members.csv");
  copyFileSync(new URL("members.csv", import.meta.url), list);
  for (const region of ["import-check", "import"]) {
    const { code, stdout } = await run(region);
    expect(code).toBe(1);
    record(region, stdout);
  }
  const corrected = readFileSync(list, "utf8").replace("4.86E+10", "+48600100302");
  writeFileSync(list, corrected);
  const { stdout } = await run("import");
  expect(stdout).toMatch(/\n {2}issued +3 .*\n {2}rejected +2 /);
});

it("prints a card", async () => {
  expect((await run("card")).stdout).toContain(`Card        ${cardId}\n`);
});

it("sends events to a receiver, and says whether it responded as it should", async () => {
  record("trigger", (await run("trigger")).stdout);
  expect(received.map(({ type }) => type)).toEqual(["balance.changed"]);
});

const toBody = (id: string) =>
  JSON.stringify({ id, type: "ping", createdAt: "2026-11-22T10:00:00Z", data: {} });

it("says why a captured delivery is rejected", async () => {
  const rawBody = toBody("evt_1");
  writeFileSync(join(folder, "captured.json"), `${rawBody}\n`);
  const settings = { SIGNATURE: signWebhookSync({ rawBody, secret }) };
  const { stdout, code } = await run("webhook-verify", settings);
  expect(code).toBe(1);
  record("webhook-verify", stdout);
});

it("examines a receiver", async () => {
  const { stdout } = await run("webhook-doctor");
  expect(stdout).toMatch(/^\d+ checks: \d+ passed\.\n$/);
}, 60_000);

it("passes signed deliveries on to the receiver", async () => {
  await start("webhook-listen", {}, `:${freePort}`);
  const rawBody = toBody("evt_listen");
  const headers = { "service-signature": signWebhookSync({ rawBody, secret }) };
  const url = `http://127.0.0.1:${freePort}/`;
  const { status } = await fetch(url, { method: "POST", body: rawBody, headers });
  expect(status).toBe(204);
  expect(received.at(-1)?.id).toBe("evt_listen");
});

it("signs a body, which curl delivers", async () => {
  writeFileSync(join(folder, "body.json"), `${toBody("evt_signed")}\n`);
  expect((await run("webhook-sign")).code).toBe(0);
  expect(received.at(-1)?.id).toBe("evt_signed");
});

it("runs a mock service, and a command with its address", async () => {
  const settings = { LOYALTY_SIGNING_SECRET: "", LOYALTY_URL: "" };
  const output = await start("dev", settings, "LOYALTY_SIGNING_SECRET=");
  const variables = output.match(/^LOYALTY_.*$/gm) ?? [];
  const shown = variables.map((line) => line.replace(/1:\d+$/, "1:4010"));
  record("dev", shown.join("\n"));
  expect((await run("exec")).stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/);
});

it("prints what the guide quotes", async () => {
  await expect(recorded.join("\n")).toMatchFileSnapshot("commands.output.txt");
});
