/** `dev`, `exec` and `webhook listen` as processes of their own: signals and exit codes. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFolder } from "../run-command.ts";
import { findEndpoints, listen } from "../webhook-terminal.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const flags = ["--conditions=@loyalty-cards/source", "--import", "tsx", "packages/cli/src/bin.ts"];

/** From the repository's folder, where `tsx` is found. */
function start(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [...flags, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const written = { stdout: "", stderr: "" };
  let check = () => {};
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk) => {
      written[name] += chunk;
      check();
    });
  }
  const exit = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, ...written })),
  );
  const waitFor = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve) => {
      check = () => {
        const match = pattern.exec(written.stdout + written.stderr);
        if (match !== null) resolve(match);
      };
      check();
    });
  return { child, exit, waitFor };
}

const node = (program: string) => ["--", process.execPath, "-e", program];

describe("dev in a process", () => {
  it("starts, prints, forwards, and ends by SIGINT with 0, also while the receiver does not respond", async () => {
    let arrived = (_type: unknown) => {};
    const arrival = new Promise<unknown>((resolve) => {
      arrived = resolve;
    });
    const url = await listen((request) => arrived(request.resume().headers["service-event"]));
    const { child, exit, waitFor } = start(["dev", "--port", "0", "--forward", url]);
    const [, baseUrl] = await waitFor(/LOYALTY_URL=(.*)\n/);
    const [endpoint] = await findEndpoints(String(baseUrl));
    await fetch(`${baseUrl}/_mock/webhooks/endpoints/${endpoint?.id}/test`, { method: "POST" });
    expect(await arrival).toBe("ping");
    child.kill("SIGINT");
    const { code, stdout, stderr } = await exit;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/LOYALTY_SIGNING_SECRET=whsec_\w+\n/)]);
    expect(stderr).toMatch(/Stopped\.\n$/);
  });
});

describe("exec", () => {
  it("sets the environment of the command, and exits with its exit code", async () => {
    const program = `
      const { LOYALTY_URL: url, LOYALTY_API_KEY: key, LOYALTY_TEMPLATE_ID: template, LOYALTY_SIGNING_SECRET: secret } = process.env;
      const body = JSON.stringify({ customer: { consents: { privacy: { version: "1" } } } });
      const headers = { authorization: "Bearer " + key, "content-type": "application/json" };
      fetch(url + "/api/v1/templates/" + template + "/passes", { method: "POST", headers, body })
        .then((response) => { console.log(response.status, secret.slice(0, 6)); process.exit(7); });`;
    const { exit } = start(["exec", "--forward", "http://127.0.0.1:9/", ...node(program)]);
    expect(await exit).toEqual({
      code: 7,
      stdout: "201 whsec_\n", // the command's own output and nothing else
      stderr: expect.stringMatching(/201 +\d+ ms {2}← POST \/templates\/tpl_mock\/passes/),
    });
  });

  it("sets the secret of the address of --forward, also when the data file has an older endpoint", async () => {
    const folder = createFolder();
    const print = "console.log(process.env.LOYALTY_SIGNING_SECRET)";
    const exec = async (port: number) => {
      const url = `http://127.0.0.1:${port}/`;
      return (await start(["exec", "--data", `${folder}/data.json`, "--forward", url, ...node(print)]).exit)
        .stdout;
    };
    const first = await exec(9);
    const second = await exec(10);
    expect([first, second]).toEqual([expect.stringMatching(/^whsec_/), expect.stringMatching(/^whsec_/)]);
    expect(second).not.toBe(first);
    expect(await exec(9)).toBe(first);
  });

  it("passes options after the dashes to the command, and SIGTERM too", async () => {
    const program =
      'process.on("SIGTERM", () => process.exit(3)); console.log(process.argv.slice(1).join()); setInterval(() => {}, 1000)';
    const { child, exit, waitFor } = start([
      "exec",
      "--quiet",
      ...node(program),
      "--",
      "--json",
      "--port",
      "x",
    ]);
    await waitFor(/--json,--port,x/);
    child.kill("SIGTERM");
    expect(await exit).toEqual({ code: 3, stdout: "--json,--port,x\n", stderr: "" });
  });

  it("exits with 127 when the command does not exist", async () => {
    const { code, stderr } = await start(["exec", "--", "no-such-command-here"]).exit;
    expect([code, stderr]).toEqual([
      127,
      "loyalty-cards: The command cannot be run: spawn no-such-command-here ENOENT.\n",
    ]);
  });

  it("exits with 2 without a command", async () => {
    const { code, stderr } = await start(["exec"]).exit;
    expect([code, stderr]).toEqual([2, expect.stringContaining("missing required argument 'command'")]);
  });
});

it("webhook listen ends by SIGTERM with 0", async () => {
  const args = ["webhook", "listen", "--port", "0", "--to", "http://127.0.0.1:9/"];
  const { child, exit, waitFor } = start(args, { LOYALTY_SIGNING_SECRET: "whsec_only_for_tests" });
  await waitFor(/Receiver/);
  child.kill("SIGTERM");
  expect((await exit).code).toBe(0);
});
