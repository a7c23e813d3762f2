/**
 * Other versions of Node.js. Every entry point of the built packages, and the command, on one that
 * is too old: an error with both versions. The built inbox: SQLite with the driver of each runtime,
 * and pg-boss 11 and 12 where they run. Rejected uploads over HTTP/2, with the tests of the
 * receiver: each major version closes streams in its own way. The proxy of the environment.
 */
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { entryPoints } from "../../tools/packages.ts";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const tooOld = { "18.20.8": "18", "20.10.0": "20-10" };
const toNode = (version) => here(`../node_modules/node-${version}/bin/node`);
const run = promisify(execFile);
const root = here("../..");

/**
 * What is refused: the name, the exit code, the beginning of the message, and the arguments of
 * Node.
 */
const programs = entryPoints
  .filter(({ specifier }) => !specifier.endsWith("/links")) // it runs in browsers too
  .flatMap(({ name, specifier }) => {
    const refusal = [specifier, 1, `Error: @loyalty-cards/${name}`];
    return [
      [...refusal, "--input-type=module", "--eval", `import("${specifier}")`],
      [...refusal, "--input-type=commonjs", "--eval", `require("${specifier}")`],
    ];
  });
programs.push(["the command cli", 2, "", "packages/cli/bin.js", "--version"]);
programs.push(["the command mock-server", 1, "", "packages/mock-server/bin.js", "--version"]);

describe.each(Object.entries(tooOld))("Node %s", (version, name) => {
  it.each(programs)("is refused by %s", async (_name, code, start, ...args) => {
    const message = `${start} needs Node.js 20.19 or newer, and this process runs ${version}: upgrade Node.js.`;
    const stderr = expect.stringContaining(message);
    await expect(run(toNode(name), args, { cwd: root })).rejects.toMatchObject({ code, stderr });
  });
});

const file = "packages/webhook-verify/test/integration/robustness.test.ts";

it.each([22, 24, 26])("gets its response, and its stream is closed: Node %i", async (version) => {
  const node = toNode(version);
  const { stdout } = await run(
    node,
    [
      "node_modules/vitest/vitest.mjs",
      "run",
      "--project",
      "integration",
      file,
      "-t",
      "closes the stream",
    ],
    {
      cwd: root,
      env: { PATH: `${dirname(node)}:${process.env.PATH}`, NO_COLOR: "1" },
      timeout: 100_000,
    },
  );
  expect(stdout).toMatch(/Tests +25 passed/);
});

it.each([
  ["20", "libsql"],
  ["22", "node:sqlite, pg-boss 11, pg-boss 12"],
  ["24", "node:sqlite, pg-boss 11, pg-boss 12"],
])("stores, processes and deduplicates events on Node %s with %s", async (version, expected) => {
  const { stdout } = await run(toNode(version), [here("inbox-program.mjs")], { timeout: 80_000 });
  expect(stdout.trim()).toBe(expected);
});

it.each([
  ["24", "1", true],
  ["24", "0", false],
  ["26", "1", true],
])(
  "issues a card over https on Node %s, with NODE_USE_ENV_PROXY=%s through the proxy: %s",
  async (version, isUsed, isProxied) => {
    const certificate = here("../../testing/localhost.pem");
    const pem = readFileSync(certificate);
    const card = JSON.stringify({ id: "card_1", publicUrl: "https://cards.test/cards/1" });
    const service = createTlsServer({ key: pem, cert: pem }, (_request, response) =>
      response.writeHead(201, { "content-type": "application/json" }).end(card),
    );
    const targets = [];
    const proxy = createServer().on("connect", ({ url }, socket) => {
      targets.push(url);
      const upstream = connect(service.address().port, "127.0.0.1", () =>
        socket.write("HTTP/1.1 200 OK\r\n\r\n"),
      );
      upstream.on("error", () => socket.destroy()).pipe(socket);
      socket.on("error", () => upstream.destroy()).pipe(upstream);
    });
    for (const server of [service, proxy]) {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      onTestFinished(() => void server.close());
    }
    const program = `
    import { createIssuingClient } from "@loyalty-cards/issuing-client";
    const request = { customer: { consents: { privacy: { version: "1" } } } };
    const card = await createIssuingClient().issueCard("tpl_1", request, { userId: 1 });
    console.log(card.id);`;
    const env = {
      LOYALTY_URL: `https://localhost:${service.address().port}`,
      LOYALTY_API_KEY: "k",
      HTTPS_PROXY: `http://127.0.0.1:${proxy.address().port}`,
      NODE_USE_ENV_PROXY: isUsed,
      NODE_EXTRA_CA_CERTS: certificate,
    };
    const options = ["--input-type=module", "--eval", program];
    const { stdout } = await run(toNode(version), options, { cwd: root, env });
    expect(stdout).toBe("card_1\n");
    expect(targets).toEqual(isProxied ? [`localhost:${service.address().port}`] : []);
  },
);

it("compiles the README's program with pg-boss 11", () => {
  const snippet = readFileSync(here("../../examples/snippets/inbox/several-machines.ts"), "utf8");
  const importLines = /^\/\/ pg-boss 11: (.+)\nimport type \{ PgBoss \} from "pg-boss";$/m;
  expect(snippet).toMatch(importLines);
  const text = snippet
    .replace(importLines, "$1")
    .replace('"pg-boss"', '"pg-boss-11"')
    .replaceAll('from "./', 'from "../examples/snippets/inbox/');
  expect(text).toContain('"pg-boss-11"');
  // Beside the folder that has this version.
  const [program, config] = [here("../pg-boss-11.ts"), here("../pg-boss-11.json")];
  onTestFinished(() => {
    for (const file of [program, config]) rmSync(file, { force: true });
  });
  writeFileSync(program, text);
  writeFileSync(
    config,
    JSON.stringify({ extends: "../tsconfig.json", files: ["pg-boss-11.ts"], include: [] }),
  );
  const compiler = here("../../node_modules/typescript/bin/tsc");
  expect(
    spawnSync(process.execPath, [compiler, "--project", config], { encoding: "utf8" }).stdout,
  ).toBe("");
});
