/** `webhook doctor` against right and wrong receivers, and against one that it starts and kills. */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFolder } from "./run-command.ts";
import { parseLines, run, secret, start, startReceiver, startResponding } from "./webhook-terminal.ts";

interface Report {
  passed: boolean;
  findings: { check: string; verdict: string }[];
}

const parseReport = (stdout: string) => parseLines(stdout)[0] as unknown as Report;

/** A port that was free a moment ago. */
async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A receiver that stores balances in a file, or only in memory. Relative to a temporary folder. */
const createProgram = (port: number, isDurable: boolean) => `
import { createServer } from "node:http";
import { readFileSync, writeFileSync, renameSync } from "node:fs";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
const read = () => { try { return JSON.parse(readFileSync("state.json", "utf8")); } catch { return {}; } };
let state = ${isDurable} ? read() : {};
const receive = nodeReceiver({ secret: ${JSON.stringify(secret)}, log: () => {}, handler: (event) => {
  if (event.type !== "balance.changed") return;
  const card = state[event.data.passId] ?? { balance: 0, effects: 0, seen: [], newest: "" };
  if (card.seen.includes(event.id)) return;
  card.seen.push(event.id);
  card.effects += 1;
  if (event.createdAt > card.newest) Object.assign(card, { newest: event.createdAt, balance: event.data.balance });
  state[event.data.passId] = card;
  writeFileSync("new.json", JSON.stringify(state));
  renameSync("new.json", "state.json");
} });
createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (url.pathname !== "/probe") return receive(request, response);
  const { balance, effects } = state[url.searchParams.get("card")] ?? {};
  response.end(JSON.stringify({ balance, effects }));
}).listen(${port}, "127.0.0.1");
`;

async function examine(isDurable: boolean, recoverySeconds: string) {
  const cwd = createFolder();
  const port = await findPort();
  // A module of the repository, so that the import is found; it is removed with the folder of the test.
  writeFileSync(
    join(cwd, "receiver.mts"),
    createProgram(port, isDurable).replace("@loyalty-cards/webhook-verify/node", nodeAdapter),
  );
  const command = `"${process.execPath}" --conditions=@loyalty-cards/source --import "${tsx}" receiver.mts`;
  const url = `http://127.0.0.1:${port}`;
  const args = [
    "webhook",
    "doctor",
    `${url}/webhooks`,
    "--probe",
    `${url}/probe`,
    "--run",
    command,
    "--json",
    "--recovery",
    recoverySeconds,
  ];
  const { code, stdout, stderr } = await run(args, { env: { LOYALTY_SIGNING_SECRET: secret }, cwd });
  const report = parseReport(stdout);
  return {
    code,
    stderr,
    url,
    failed: report.findings.filter(({ verdict }) => verdict !== "pass").map(({ check }) => check),
  };
}

const nodeAdapter = new URL("../../webhook-verify/src/adapters/node.ts", import.meta.url).href;
const tsx = import.meta.resolve("tsx");

describe("webhook doctor", () => {
  it("counts the one check of an address where nothing listens", async () => {
    const { env } = await startResponding(204);
    const { code, stdout } = await run(["webhook", "doctor", "http://127.0.0.1:1/"], { env });
    expect([code, stdout]).toEqual([1, expect.stringMatching(/\n1 check: 0 passed, 1 failed\.\n$/)]);
  });

  it("passes a right receiver with 0, and prints one line", async () => {
    const { url, env } = await startReceiver();
    const { code, stdout } = await run(["webhook", "doctor", url], { env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+ checks: \d+ passed\.\n$/)]);
  });

  it("prints all checks with --verbose, in a live terminal too, without the secret", async () => {
    const { url, env } = await startReceiver();
    const { code, stdout, stderr } = await run(["webhook", "doctor", url, "--verbose"], { env, isTTY: true });
    expect(code).toBe(0);
    expect(stdout).toMatch(/✓.*duplicate/);
    expect(stderr).toMatch(/checks done, the last one: oversized/);
    expect(stdout + stderr).not.toContain(secret);
  });

  it("fails a receiver that accepts everything with one diagnosis, what was sent and what to change in 80 columns", async () => {
    const { env } = await startResponding(204);
    const { code, stdout } = await run(["webhook", "doctor"], { env });
    expect(code).toBe(1);
    expect(stdout.match(/^✗/gm)).toHaveLength(1);
    expect(stdout).toMatch(/✗ tampered +accepted a changed body.*\n {4}Sent: .*\(spec 5\.7\)\.\n {4}\S/s);
    expect(stdout).toMatch(/\d+ checks: \d+ passed, 1 failed.*\.\n$/);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("stops at Ctrl-C with 130", async () => {
    const { url, env } = await startReceiver();
    const running = start(["webhook", "doctor", url, "--verbose"], { env });
    await running.waitFor(/valid/);
    running.interrupt();
    expect((await running.exit).code).toBe(130);
  });

  it("passes a receiver that it kills and that stores before it responds, and leaves no process", async () => {
    const { code, stderr, url, failed } = await examine(true, "20");
    expect([code, failed, stderr]).toEqual([0, [], ""]);
    await expect(fetch(url)).rejects.toThrow();
  });

  it("fails a receiver that it kills and that stores in memory", async () => {
    const { code, failed } = await examine(false, "3");
    expect(code).toBe(1);
    expect(failed).toContain("effect-after-kill");
  });

  it.each([
    ["--restart without --probe", ["--restart", "true"], /--restart needs --probe/],
    ["a probe that is no address", ["--probe", "probe"], /--probe is not an address/],
    ["--run and --restart", ["--run", "true", "--restart", "true"], /either --run or --restart/],
    ["a command that ends", ["--run", "exit 4"], /--run ended with 4/],
    [
      "an address in the network with http",
      ["--tolerance", "300"],
      /url must use https/,
      "http://shop.internal/",
    ],
  ])("exits with 2 for %s", async (_name, args, message, address = "http://127.0.0.1:9/") => {
    const { code, stderr } = await run(["webhook", "doctor", address, ...args], {
      env: { LOYALTY_SIGNING_SECRET: secret },
    });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it("does not start a receiver where one listens already", async () => {
    const { url, env } = await startReceiver();
    const { code, stderr } = await run(["webhook", "doctor", url, "--run", "true"], { env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/Something listens at http:\S+ already/)]);
  });
});

it("webhook listen closes the connection of a client that stops in the middle, after ten seconds", async () => {
  const { url, env } = await startReceiver();
  const running = start(["webhook", "listen", "--port", "0", "--to", url], { env });
  const tunnel = /http:\/\/127\.0\.0\.1:\d+/.exec(await running.waitFor(/Receiver/))?.[0] ?? "";
  const startedMs = performance.now();
  const sockets = ["POST / HT", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"].map((text) => {
    const socket = connect(Number(new URL(tunnel).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(text);
    return once(socket.resume(), "close");
  });
  await Promise.all(sockets);
  expect(performance.now() - startedMs).toBeLessThan(15_000);
});
