/** `dev`, `exec`, `issue` and `webhook listen` as processes of their own: signals and exit codes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFolder, findEndpoints, listen } from "../terminal.ts";

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

it("issue ends by SIGINT with 130, and says that the same command is safe, while the service does not respond", async () => {
  let arrived = () => {};
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const url = await listen((request) => request.resume().on("end", arrived));
  const issue = ["issue", "--user-id", "7", "--privacy", "1", "--phone", "+48600100200"];
  const env = { LOYALTY_URL: url, LOYALTY_API_KEY: "lk_1", LOYALTY_TEMPLATE_ID: "tpl_1" };
  const { child, exit } = start(issue, env);
  await arrival;
  child.kill("SIGINT");
  expect(await exit).toEqual({
    code: 130,
    stdout: "",
    stderr:
      "loyalty-cards: Interrupted before the service responded.\nA card may have been issued. Run the same command again within 24 hours: its key is the same, so there is one card.\n",
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

  it("sets the keys, the address of the console, and the secret of a seed file", async () => {
    const seed = join(createFolder(), "seed.json");
    const endpoint = { url: "http://127.0.0.1:9/", events: ["ping"], secret: "whsec_seed" };
    writeFileSync(seed, JSON.stringify({ templates: [{ name: "Bakery" }], endpoints: [endpoint] }));
    const names = ["LOYALTY_API_KEY", "LOYALTY_FULL_API_KEY", "LOYALTY_SIGNING_SECRET"];
    const program = `
      const { LOYALTY_URL: url, LOYALTY_CONSOLE_URL: page } = process.env;
      console.log(...${JSON.stringify(names)}.map((name) => process.env[name]), page === url + "/console")`;
    const { exit } = start(["exec", "--seed", seed, ...node(program)]);
    expect(await exit).toEqual({
      code: 0,
      stdout: "mock_website_key mock_full_key whsec_seed true\n",
      stderr: "",
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
      'process.on("SIGTERM", () => { console.log("bye"); process.exit(3) }); console.log(process.argv.slice(1).join()); setInterval(() => {}, 1000)';
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
    expect(await exit).toEqual({ code: 3, stdout: "--json,--port,x\nbye\n", stderr: "" });
  });

  it("exits with 127 when the command does not exist", async () => {
    const { code, stderr } = await start(["exec", "--", "no-such-command-here"]).exit;
    expect([code, stderr]).toEqual([
      127,
      "loyalty-cards: The command cannot be run: spawn no-such-command-here ENOENT.\n",
    ]);
  });

  it.each([
    ["a file that is not executable", "README.md", 126],
    ["a folder", "packages", 126],
  ])("exits with 126 when the command is %s", async (_name, file, code) => {
    const { exit } = start(["exec", "--", `./${file}`]);
    expect(await exit).toMatchObject({
      code,
      stderr: expect.stringMatching(/^loyalty-cards: The command cannot be run: /),
    });
  });

  it.each([
    ["SIGKILL", 137],
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("exits with 128 and the number of %s when it ended the command", async (signal, code) => {
    const { exit } = start([
      "exec",
      "--quiet",
      ...node(`process.kill(process.pid, "${signal}"); setInterval(() => {}, 1000)`),
    ]);
    expect(await exit).toEqual({ code, stdout: "", stderr: "" });
  });

  it("exits with 143 when it receives SIGTERM and the command does not handle it", async () => {
    const { child, exit, waitFor } = start([
      "exec",
      ...node('console.log("up"); setInterval(() => {}, 1000)'),
    ]);
    await waitFor(/up/);
    child.kill("SIGTERM");
    expect((await exit).code).toBe(143);
  });

  it("says that a port is taken, exits with 2, and does not run the command", async () => {
    const url = new URL(await listen(() => {}));
    const { exit } = start(["exec", "--port", url.port, ...node('console.log("ran")')]);
    expect(await exit).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(new RegExp(`^loyalty-cards: Port ${url.port} is already in use, .*\\n$`)),
    });
  });

  it("passes the namespace of .env to the command", async () => {
    const { exit } = start(
      ["exec", "--quiet", ...node("console.log(process.env.LOYALTY_IDEMPOTENCY_NAMESPACE)")],
      {
        LOYALTY_IDEMPOTENCY_NAMESPACE: "staging",
      },
    );
    expect((await exit).stdout).toBe("staging\n");
  });

  it.each([
    ["without a command", ["--quiet"], /missing required argument 'command'\n.* after two dashes/],
    ["without the two dashes", ["npm", "test"], /after two dashes: loyalty-cards exec -- npm/],
    ["without the two dashes, before flags", ["npm", "run", "e2e", "--watch"], /after two dashes/],
    ["with the two dashes after the command", ["npm", "--", "test"], /after two dashes/],
  ])("exits with 2 %s, and says what to write", async (_name, args, message) => {
    const { exit } = start(["exec", ...args]);
    expect(await exit).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
  });
});

describe("ends when only npm receives SIGTERM", () => {
  const isListening = (url: string) =>
    fetch(url).then(
      () => true,
      () => false,
    );
  /** A server, so that the test can see whether it runs. */
  const child =
    "http.createServer((q, r) => r.end()).listen(0, '127.0.0.1', function () { console.log(JSON.stringify({ service: process.env.LOYALTY_URL, command: 'http://127.0.0.1:' + this.address().port })) })";

  it.each([
    ["dev", "dev --port 0 --json", ["baseUrl"]],
    ["webhook listen", "webhook listen --port 0 --json --to http://127.0.0.1:9/", ["url"]],
    ["exec, with its command", "exec -- npm run --silent child", ["service", "command"]],
  ])("%s", async (_name, line, members) => {
    const folder = createFolder();
    const tsx = import.meta.resolve("tsx");
    const program = `${process.execPath} --conditions=@loyalty-cards/source --import ${tsx} ${root}packages/cli/src/bin.ts`;
    const scripts = { start: `${program} ${line}`, child: `node -e "${child}"` };
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, scripts }));
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"));
    const npm = spawn("npm", ["run", "--silent", "start"], {
      cwd: folder,
      env: { ...Object.fromEntries(inherited), LOYALTY_SIGNING_SECRET: "whsec_only_for_tests" },
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    onTestFinished(() => {
      try {
        process.kill(-(npm.pid as number), "SIGKILL");
      } catch {
        // all of the group has ended
      }
    });
    const [output] = await once(npm.stdout, "data");
    const ready = JSON.parse(String(output));
    const urls = members.map((member) => String(ready[member]));
    const areListening = () => Promise.all(urls.map(isListening));
    expect(await areListening()).toEqual(urls.map(() => true));
    npm.kill("SIGTERM");
    await expect.poll(areListening, { timeout: 15_000 }).toEqual(urls.map(() => false));
  });
});

it("webhook listen ends by SIGTERM with 0", async () => {
  const args = ["webhook", "listen", "--port", "0", "--to", "http://127.0.0.1:9/"];
  const { child, exit, waitFor } = start(args, { LOYALTY_SIGNING_SECRET: "whsec_only_for_tests" });
  await waitFor(/Receiver/);
  child.kill("SIGTERM");
  expect((await exit).code).toBe(0);
});
