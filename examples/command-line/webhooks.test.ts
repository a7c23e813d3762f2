/** Runs the commands of the guide that need a webhook receiver, and compares what they print with the file that the guide quotes. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  memoryDedupe,
  signWebhookSync,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readRegion } from "../../tools/docs/snippets.ts";

const commands = readFileSync(new URL("commands.sh", import.meta.url), "utf8");
const bin = fileURLToPath(
  new URL("../../packages/cli/src/bin.ts", import.meta.url),
);
const folder = mkdtempSync(join(tmpdir(), "command-line-webhooks-"));
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
let port = 0;
let freePort = 0;
let child: ChildProcess | undefined;

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
  const program = `exec node --conditions=@loyalty-cards/source --import ${import.meta.resolve("tsx")} ${JSON.stringify(bin)}`;
  writeFileSync(join(folder, "npx"), `#!/bin/bash\nshift\n${program} "$@"\n`, {
    mode: 0o755,
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  port = (receiver.address() as AddressInfo).port;
  freePort = await findPort();
});
afterAll(() => {
  child?.kill();
  receiver.close();
  receiver.closeAllConnections();
  rmSync(folder, { recursive: true });
});

const options = (more: NodeJS.ProcessEnv = {}) => ({
  cwd: folder,
  env: {
    ...process.env,
    PATH: `${folder}${delimiter}${process.env["PATH"]}`,
    LOYALTY_SIGNING_SECRET: secret,
    ...more,
  },
});
const readCommand = (region: string) =>
  readRegion(commands, "commands.sh", region)
    .replaceAll("localhost:3000", `localhost:${port}`)
    .replace("--port 4020", `--port ${freePort}`)
    .replace("--forward", "--port 0 --forward");

/** @returns what the commands of a region print, also when they exit with 1. */
async function run(
  region: string,
  more: NodeJS.ProcessEnv = {},
): Promise<{ stdout: string; code?: number }> {
  const running = promisify(execFile)(
    "bash",
    ["-c", readCommand(region)],
    options(more),
  );
  return running.catch((error: { stdout: string; code: number }) => error);
}

/** Starts a command that runs until it is stopped, and waits until it has printed a text. */
async function start(
  region: string,
  more: NodeJS.ProcessEnv,
  text: string | RegExp,
): Promise<string> {
  child?.kill();
  const started = spawn(
    "bash",
    ["-c", `exec ${readCommand(region)}`],
    options(more),
  );
  child = started;
  let output = "";
  return new Promise((resolve, reject) => {
    for (const stream of [started.stdout, started.stderr]) {
      stream.on("data", (chunk) => {
        output += chunk;
        if (output.search(text) >= 0) resolve(output);
      });
    }
    started.once("exit", (code) =>
      reject(new Error(`${region} ended with ${code}: ${output}`)),
    );
  });
}

const normalize = (text: string) =>
  text
    .replaceAll(`localhost:${port}`, "localhost:3000")
    .replace(/ +\d+(?= ms)/g, "   9")
    .replace(/evt_[\da-f]{8}\b/g, "evt_8sT2kq");

/** The regions of the file that the guide quotes. */
const recorded: string[] = [];
const record = (region: string, text: string) =>
  void recorded.push(`# #region ${region}\n${text.trimEnd()}\n# #endregion\n`);

it("sends events to a receiver, and says whether it responded as it should", async () => {
  const { stdout } = await run("trigger");
  record("trigger", normalize(stdout));
  expect(received.map(({ type }) => type)).toEqual(["balance.changed"]);
});

it("says why a captured delivery is rejected", async () => {
  const body =
    '{"id":"evt_1","type":"ping","createdAt":"2026-11-22T10:00:00Z","data":{}}';
  writeFileSync(join(folder, "captured.json"), `${body}\n`);
  const { stdout, code } = await run("webhook-verify", {
    SIGNATURE: signWebhookSync({ rawBody: body, secret }),
  });
  expect(code).toBe(1);
  record("webhook-verify", stdout);
});

it("examines a receiver", async () => {
  expect((await run("webhook-doctor")).stdout).toMatch(
    /^\d+ checks: \d+ passed\.\n$/,
  );
}, 60_000);

it("passes signed deliveries on to the receiver", async () => {
  await start("webhook-listen", {}, `:${freePort}`);
  const rawBody =
    '{"id":"evt_listen","type":"ping","createdAt":"2026-11-22T10:00:00Z","data":{}}';
  const headers = { "service-signature": signWebhookSync({ rawBody, secret }) };
  const { status } = await fetch(`http://127.0.0.1:${freePort}/`, {
    method: "POST",
    body: rawBody,
    headers,
  });
  expect(status).toBe(204);
  expect(received.at(-1)?.id).toBe("evt_listen");
});

it("signs a body, which curl delivers", async () => {
  const body =
    '{"id":"evt_signed","type":"ping","createdAt":"2026-11-22T10:00:00Z","data":{}}\n';
  writeFileSync(join(folder, "body.json"), body);
  expect((await run("webhook-sign")).code).toBeUndefined();
  expect(received.at(-1)?.id).toBe("evt_signed");
});

it("runs a mock service, and a command with its address", async () => {
  const output = await start(
    "dev",
    { LOYALTY_SIGNING_SECRET: "" },
    "LOYALTY_SIGNING_SECRET=",
  );
  const variables = output
    .split("\n")
    .filter((line) => line.startsWith("LOYALTY_"));
  const shown = variables.map((line) =>
    normalize(line)
      .replace(/whsec_\w+/, "whsec_8sT2kq")
      .replace(/:\d+$/, ":4010"),
  );
  record("dev", shown.join("\n"));
  expect((await run("exec")).stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/);
});

it("prints what the guide quotes", async () => {
  await expect(recorded.join("\n")).toMatchFileSnapshot("webhooks.output.txt");
});
