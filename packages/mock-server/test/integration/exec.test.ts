/** `loyalty-cards-mock exec`: the service runs while the command runs, and exits with its exit code. */
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { start, startWithNpm, temporaryFile } from "./command.ts";

const node = (program: string) => ["--", process.execPath, "-e", program];

it("sets the environment of the command, and exits when it ends", async () => {
  const program = `
    const { LOYALTY_URL: url, LOYALTY_API_KEY: key, LOYALTY_TEMPLATE_ID: template, LOYALTY_SIGNING_SECRET: secret } = process.env;
    const body = JSON.stringify({ customer: { consents: { privacy: { version: "1" } } } });
    const headers = { authorization: "Bearer " + key, "content-type": "application/json" };
    fetch(url + "/api/v1/templates/" + template + "/passes", { method: "POST", headers, body })
      .then((response) => console.log(response.status, secret.slice(0, 6), process.env.LOYALTY_CONSOLE_URL === url + "/console"));`;
  const seed = temporaryFile(
    '{"templates":[{"name":"Bakery"}],"endpoints":[{"url":"http://127.0.0.1:9/","events":["ping"]}]}',
  );
  const { exit } = start("exec", "--seed", seed, ...node(program));
  expect(await exit).toEqual({
    code: 0,
    stdout: "201 whsec_ true\n", // the command's own output and nothing else
    stderr: expect.stringMatching(/^POST \/api\/v1\/templates\/tpl_\w+\/passes 201 \d+ ms card_\w+\n$/),
  });
});

describe("exec", () => {
  it("exits with the exit code of the command", async () => {
    expect((await start("exec", ...node("process.exit(7)")).exit).code).toBe(7);
  });

  it("passes arguments with dashes to the command", async () => {
    const { exit } = start("exec", ...node("console.log(process.argv.slice(1).join())"), "--", "--port", "x");
    expect((await exit).stdout).toBe("--port,x\n");
  });

  it("passes signals to the command, and exits with their code", async () => {
    const { child, firstOutput, exit } = start(
      "exec",
      ...node('console.log("up"); setInterval(() => {}, 1000)'),
    );
    expect(await firstOutput).toBe("up\n");
    child.kill("SIGTERM");
    expect((await exit).code).toBe(128 + 15);
  });

  it("exits with the exit code of a command that handles a signal", async () => {
    const program =
      'process.on("SIGTERM", () => { console.log("bye"); process.exit(3) }); console.log("up"); setInterval(() => {}, 1000)';
    const { child, firstOutput, exit } = start("exec", ...node(program));
    await firstOutput;
    child.kill("SIGTERM");
    expect(await exit).toMatchObject({ code: 3, stdout: "up\nbye\n" });
  });
});

describe("stops, with its command, when only npm receives SIGTERM", () => {
  /** A server, so that the test can see whether it runs. */
  const script = `node -e "require('http').createServer((q, r) => r.end()).listen(0, '127.0.0.1', function () { console.log(JSON.stringify({ baseUrl: process.env.LOYALTY_URL, command: 'http://127.0.0.1:' + this.address().port })) })"`;
  const runs = (url: string) =>
    fetch(url).then(
      () => true,
      () => false,
    );

  it.each([
    "npm run mock",
    "npx loyalty-cards-mock --port 0 --json",
    "npx loyalty-cards-mock exec -- npm run child",
  ])("%s", async (line) => {
    const child = startWithNpm(line, script);
    const urls: string[] = [];
    for await (const text of createInterface(child.stdout)) {
      if (!text.startsWith("{")) continue; // npm says what it runs
      const { baseUrl, command = baseUrl } = JSON.parse(text);
      urls.push(`${baseUrl}/_mock/health`, command);
      break;
    }
    expect(await Promise.all(urls.map(runs))).toEqual([true, true]);
    child.kill("SIGTERM");
    await expect.poll(() => Promise.all(urls.map(runs)), { timeout: 15_000 }).toEqual([false, false]);
  });
});

it("exits with 126 when the command is not a program", async () => {
  const { code, stderr } = await start("exec", "--", "./package.json").exit;
  expect([code, stderr]).toEqual([
    126,
    expect.stringMatching(/^loyalty-cards-mock: The command cannot be run: /),
  ]);
});

it("exits with 127 when the command does not exist", async () => {
  const { code, stderr } = await start("exec", "--", "no-such-command-here").exit;
  expect([code, stderr]).toEqual([
    127,
    "loyalty-cards-mock: The command cannot be run: spawn no-such-command-here ENOENT.\n",
  ]);
});
