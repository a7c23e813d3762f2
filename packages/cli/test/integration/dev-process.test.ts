/**
 * `dev`, `exec`, `issue` and `webhook listen` as processes of their own: signals and exit codes.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { isListening, startWithNpm } from "@loyalty-cards/testing/npm-command";
import { createFolder, createGate, listen } from "@loyalty-cards/testing/resources";
import { describe, expect, it } from "vitest";
import { findEndpoints, getProgram, run, startProcess } from "../terminal.ts";

it("dev prints, forwards, and ends by SIGINT with 0, also while the receiver does not respond", async () => {
  const arrival = createGate<unknown>();
  const url = await listen((request) => arrival.open(request.resume().headers["service-event"]));
  const { child, exit, waitFor } = startProcess(["dev", "--port", "0", "--forward", url]);
  const [, baseUrl = ""] = /LOYALTY_URL=(.*)\n/.exec(await waitFor(/LOYALTY_URL=.*\n/)) ?? [];
  const [endpoint] = await findEndpoints(baseUrl);
  await fetch(`${baseUrl}/_mock/webhooks/endpoints/${endpoint?.id}/test`, { method: "POST" });
  expect(await arrival.opened).toBe("ping");
  child.kill("SIGINT");
  const { code, stdout, stderr } = await exit;
  expect([code, stdout]).toEqual([0, expect.stringMatching(/LOYALTY_SIGNING_SECRET=whsec_\w+\n/)]);
  expect(stderr).toMatch(/Stopped\.\n$/);
});

it("says in a clone that is not built what to run", async () => {
  const [bin, manifest] = ["bin.js", "package.json"].map((name) =>
    readFileSync(new URL(`../../${name}`, import.meta.url), "utf8"),
  );
  const cwd = createFolder({ "bin.js": bin ?? "", "package.json": manifest ?? "" });
  const { status, stderr } = spawnSync(process.execPath, ["bin.js"], { cwd, encoding: "utf8" });
  expect([status, stderr]).toEqual([
    2,
    "loyalty-cards is not built in this clone: run npm run build. `npm run dev` needs no build.\n",
  ]);
});

it.skipIf(process.platform === "win32")(
  "says that its working folder was deleted, and prints its help there all the same",
  async () => {
    const before = 'rmdir "$PWD";';
    expect(await startProcess(["card", "card_1"], { before }).exit).toMatchObject({
      code: 2,
      stdout: "",
      stderr:
        "loyalty-cards: The working folder does not exist any more: change to another one (ENOENT).\n",
    });
    expect(await startProcess(["--help"], { before }).exit).toMatchObject({ code: 0, stderr: "" });
  },
);

it("issue ends by SIGINT with 130, and says that the same command is safe, while the service does not respond", async () => {
  const arrival = createGate();
  const url = await listen((request) => request.resume().on("end", arrival.open));
  const issue = ["issue", "--user-id", "7", "--privacy", "1", "--phone", "+48600100200"];
  const env = { LOYALTY_URL: url, LOYALTY_API_KEY: "lk_1", LOYALTY_TEMPLATE_ID: "tpl_1" };
  const { child, exit } = startProcess(issue, { env });
  await arrival.opened;
  child.kill("SIGINT");
  expect(await exit).toMatchObject({
    code: 130,
    stdout: "",
    stderr:
      "loyalty-cards: Interrupted before the service responded.\nA card may have been issued. Run the same command again within 24 hours: its key is the same, so there is one card.\n",
  });
});

it("webhook listen ends by SIGTERM with 0", async () => {
  const args = ["webhook", "listen", "--port", "0", "--to", "http://127.0.0.1:9/"];
  const { child, exit, waitFor } = startProcess(args, {
    env: { LOYALTY_SIGNING_SECRET: "whsec_1" },
  });
  await waitFor(/Receiver/);
  child.kill("SIGTERM");
  expect((await exit).code).toBe(0);
});

describe("exec", () => {
  const node = (code: string) => ["--", process.execPath, "-e", code];
  const forever = "setInterval(() => {}, 1000)";
  const print = (...names: string[]) =>
    `console.log(...${JSON.stringify(names)}.map((name) => process.env["LOYALTY_" + name]))`;

  it("sets the environment of the command, and exits with its exit code", async () => {
    const code = `
      const { LOYALTY_URL: url, LOYALTY_API_KEY: key, LOYALTY_TEMPLATE_ID: template, LOYALTY_SIGNING_SECRET: secret } = process.env;
      const body = JSON.stringify({ customer: { consents: { privacy: { version: "1" } } } });
      const headers = { authorization: "Bearer " + key, "content-type": "application/json" };
      fetch(url + "/api/v1/templates/" + template + "/passes", { method: "POST", headers, body })
        .then((response) => { console.log(response.status, secret.slice(0, 6)); process.exit(7); });`;
    expect(
      await startProcess(["exec", "--forward", "http://127.0.0.1:9/", ...node(code)]).exit,
    ).toMatchObject({
      code: 7,
      stdout: "201 whsec_\n", // the command's own output and nothing else
      stderr: expect.stringMatching(/201 +\d+ ms {2}← issueCard/),
    });
  });

  it("sets the keys, the address of the console, and the secret of a seed file", async () => {
    const endpoint = { url: "http://127.0.0.1:9/", events: ["ping"], secret: "whsec_seed" };
    const seed = JSON.stringify({ templates: [{ name: "Bakery" }], endpoints: [endpoint] });
    const code = `${print("API_KEY", "FULL_API_KEY", "SIGNING_SECRET")}
      console.log(process.env.LOYALTY_CONSOLE_URL === process.env.LOYALTY_URL + "/console")`;
    const { exit } = startProcess(["exec", "--seed", "seed.json", ...node(code)], {
      cwd: createFolder({ "seed.json": seed }),
    });
    expect(await exit).toMatchObject({
      code: 0,
      stdout: "mock_website_key mock_full_key whsec_seed\ntrue\n",
      stderr: "",
    });
  });

  it("sets the secret of the address of --forward, also when the data file has an older endpoint", async () => {
    const cwd = createFolder();
    const exec = async (port: number) => {
      const args = ["--data", "data.json", "--forward", `http://127.0.0.1:${port}/`];
      return (await startProcess(["exec", ...args, ...node(print("SIGNING_SECRET"))], { cwd }).exit)
        .stdout;
    };
    const first = await exec(9);
    const second = await exec(10);
    expect([first, second]).toEqual([
      expect.stringMatching(/^whsec_/),
      expect.stringMatching(/^whsec_/),
    ]);
    expect([second === first, await exec(9)]).toEqual([false, first]);
  });

  it("passes options after the dashes to the command, and SIGTERM too", async () => {
    const code = `process.on("SIGTERM", () => { console.log("bye"); process.exit(3) }); console.log(process.argv.slice(1).join()); ${forever}`;
    const given = ["--json", "--port", "two words", "a&b", 'say "hi"', "%PATH%"]; // not for a shell
    const args = ["exec", "--quiet", ...node(code), "--", ...given];
    const { child, exit, waitFor } = startProcess(args);
    await waitFor(/--json,/);
    child.kill("SIGTERM");
    expect(await exit).toMatchObject({ code: 3, stdout: `${given}\nbye\n`, stderr: "" });
  });

  const cannotRun = /The command cannot be run: spawn \S+ E\w+/;
  it.each([
    ["does not exist", "no-such-command", 127, /"no-such-command" was not found/],
    ["is not executable", "./file", 126, cannotRun],
    ["is a folder", ".", 126, cannotRun],
  ])("exits as a shell does when the command %s", async (_name, command, code, problem) => {
    const { exit } = startProcess(["exec", "--", command], { cwd: createFolder({ file: "x" }) });
    const stderr = expect.stringMatching(`^loyalty-cards: ${problem.source}\\.\n$`);
    expect(await exit).toMatchObject({ code, stdout: "", stderr });
  });

  it.each([
    ["SIGKILL", 137],
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)(
    "exits with 128 and the number of %s when it ended the command",
    async (signal, code) => {
      const args = [
        "exec",
        "--quiet",
        ...node(`process.kill(process.pid, "${signal}"); ${forever}`),
      ];
      expect(await startProcess(args).exit).toMatchObject({ code, stdout: "", stderr: "" });
    },
  );

  it("exits with 143 when it receives SIGTERM and the command does not handle it", async () => {
    const { child, exit, waitFor } = startProcess([
      "exec",
      ...node(`console.log("up"); ${forever}`),
    ]);
    await waitFor(/up/);
    child.kill("SIGTERM");
    expect((await exit).code).toBe(143);
  });

  it("says that a port is taken, exits with 2, and does not run the command", async () => {
    const { port } = new URL(await listen(() => {}));
    const { exit } = startProcess(["exec", "--port", port, ...node('console.log("ran")')]);
    const stderr = expect.stringMatching(`^loyalty-cards: Port ${port} is already in use, .*\\n$`);
    expect(await exit).toMatchObject({ code: 2, stdout: "", stderr });
  });

  it.each([
    ["without a command", ["--quiet"], /after two dashes/],
    ["without the two dashes", ["npm", "test"], /after two dashes: loyalty-cards exec -- npm/],
    ["without the two dashes, before flags", ["npm", "run", "e2e", "--watch"], /after two dashes/],
    ["with the two dashes after the command", ["npm", "--", "test"], /after two dashes/],
  ])("exits with 2 %s, and says what to write", async (_name, args, message) => {
    const stderr = expect.stringMatching(message);
    expect(await run(["exec", ...args])).toEqual({ code: 2, stdout: "", stderr });
  });
});

describe("ends when only npm receives SIGTERM", () => {
  /** A server, so that the test can see whether it runs. */
  const server =
    "http.createServer((q, r) => r.end()).listen(0, '127.0.0.1', function () { console.log(JSON.stringify({ service: process.env.LOYALTY_URL, command: 'http://127.0.0.1:' + this.address().port })) })";

  it.each([
    ["dev", "dev --port 0 --json", ["baseUrl"]],
    ["exec, with its command", "exec -- npm run --silent server", ["service", "command"]],
  ])("%s", async (_name, line, members) => {
    const scripts = { start: `${getProgram().join(" ")} ${line}`, server: `node -e "${server}"` };
    const npm = startWithNpm("npm run --silent start", scripts);
    const [output] = await once(npm.stdout, "data");
    const ready = JSON.parse(String(output));
    const areListening = () => Promise.all(members.map((member) => isListening(ready[member])));
    expect(await areListening()).toEqual(members.map(() => true));
    npm.kill("SIGTERM");
    await expect.poll(areListening, { timeout: 15_000 }).toEqual(members.map(() => false));
  });
});
