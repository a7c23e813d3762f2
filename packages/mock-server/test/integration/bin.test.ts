/** The command `mock-server`: ready lines, and one line on stderr with exit code 2 for bad input. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { start, temporaryFile } from "./command.ts";

describe("mock-server", () => {
  it("prints one JSON line when ready, serves, and stops at SIGTERM with 0", async () => {
    const { child, firstOutput, exit } = start("--port", "0", "--json");
    const line = await firstOutput;
    expect(line.endsWith("}\n") && !line.slice(0, -1).includes("\n")).toBe(true);
    const ready = JSON.parse(line);
    expect(ready).toEqual({
      baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      apiKeys: { website: expect.any(String), full: expect.any(String) },
      templateId: expect.any(String),
      console: `${ready.baseUrl}/console`,
    });
    const health = await fetch(`${ready.baseUrl}/_mock/health`);
    expect(await health.json()).toEqual({ status: "ok" });
    child.kill("SIGTERM");
    expect(await exit).toMatchObject({ code: 0, stderr: "" });
  });

  it("prints what a person needs otherwise", async () => {
    const { firstOutput } = start("--port", "0");
    const text = await firstOutput;
    for (const name of ["Base URL", "Website key", "Full key", "Template", "Console"])
      expect(text).toContain(name);
  });

  it("starts from a seed file", async () => {
    const seed = {
      defaultCountry: "DE",
      templates: [
        { id: "tpl_bakery", name: "Bakery", fields: [{ key: "name", type: "name", required: true }] },
      ],
      endpoints: [{ url: "http://127.0.0.1:3000/webhooks", events: ["ping"] }],
    };
    const { firstOutput } = start("--port", "0", "--seed", temporaryFile(JSON.stringify(seed)));
    const text = await firstOutput;
    expect(text).toContain("tpl_bakery");
    expect(text).toMatch(/http:\/\/127\.0\.0\.1:3000\/webhooks +whsec_/);
  });

  it("tells the secrets of seeded endpoints in JSON too, and keeps them over a reset", async () => {
    const seed = {
      templates: [{ name: "Bakery" }],
      endpoints: [{ url: "http://127.0.0.1:3000/webhooks", events: ["ping"] }],
    };
    const { firstOutput } = start("--port", "0", "--json", "--seed", temporaryFile(JSON.stringify(seed)));
    const { baseUrl, apiKeys, templateId, endpoints } = JSON.parse(await firstOutput);
    expect(endpoints).toEqual([
      {
        id: expect.any(String),
        url: "http://127.0.0.1:3000/webhooks",
        secret: expect.stringMatching(/^whsec_/),
      },
    ]);
    await fetch(`${baseUrl}/_mock/reset`, { method: "POST" });
    const issued = await fetch(`${baseUrl}/api/v1/templates/${templateId}/passes`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKeys.website}`, "content-type": "application/json" },
      body: '{"customer":{"consents":{"privacy":{"version":"1"}}}}',
    });
    expect(issued.status).toBe(201);
  });

  it("prints its version", async () => {
    expect((await start("--version").exit).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("prints its help", async () => {
    const { code, stdout } = await start("--help").exit;
    expect([code, stdout.startsWith("Usage: mock-server")]).toEqual([0, true]);
  });

  it("says that a port is taken", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { code, stderr } = await start("--port", String((server.address() as AddressInfo).port)).exit;
    expect([code, stderr]).toEqual([
      2,
      "mock-server: The port is taken; choose another with --port, or 0 for any free one.\n",
    ]);
  });

  it.each([
    ["an unknown flag", ["--prot", "1"], /--prot.* See --help/],
    ["exec without a command", ["exec", "--strict"], /exec needs a command/],
    ["exec with a flag of its command", ["exec", "npm", "--", "test"], /npm.* See --help/],
    ["a data file that is none", ["--data", () => temporaryFile("[]")], /--data .* it is not a file that/],
    ["a data file that is not JSON", ["--data", () => temporaryFile("{")], /--data .* it is not JSON/],
    ["a data file in no folder", ["--port", "0", "--data", "/nowhere/data.json"], /ENOENT/],
    ["a port that is none", ["--port", "seventy"], /--port takes a number/],
    ["a port beyond all ports", ["--port", "65536"], /--port takes a number/],
    [
      "a seed file that is not there",
      ["--seed", "/nowhere/seed.json"],
      /--seed \/nowhere\/seed\.json cannot be used: ENOENT/,
    ],
    ["a seed file that is not JSON", ["--seed", () => temporaryFile("{")], /cannot be used/],
    ["a seed file that is a list", ["--seed", () => temporaryFile("[]")], /it is not an object/],
    [
      "a seed with a bad template",
      ["--port", "0", "--seed", () => temporaryFile('{"templates":[{"name":""}]}')],
      /template\.name/,
    ],
    [
      "a seed with a member that is none",
      ["--seed", () => temporaryFile('{"port":1}')],
      /it has "port"; there are defaultCountry/,
    ],
    [
      "a seed whose templates are no list",
      ["--seed", () => temporaryFile('{"templates":{}}')],
      /"templates" is not a list/,
    ],
    [
      "a seed with a template of null",
      ["--seed", () => temporaryFile('{"templates":[null]}')],
      /"templates" is not a list of objects/,
    ],
    [
      "a seed without templates",
      ["--port", "0", "--seed", () => temporaryFile('{"templates":[]}')],
      /at least one/,
    ],
    [
      "a seed whose events are a word",
      ["--seed", () => temporaryFile('{"endpoints":[{"events":"ping"}]}')],
      /"events" in "endpoints"/,
    ],
    [
      "a seed with a bad endpoint",
      [
        "--port",
        "0",
        "--seed",
        () => temporaryFile('{"endpoints":[{"url":"http://shop.test","events":["ping"]}]}'),
      ],
      /https/,
    ],
  ])("answers %s with one line on stderr and exit code 2", async (_name, args, message) => {
    const { code, stdout, stderr } = await start(
      ...args.map((arg) => (typeof arg === "string" ? arg : arg())),
    ).exit;
    expect([code, stdout, stderr.split("\n").length]).toEqual([2, "", 2]);
    expect(stderr).toMatch(message);
  });
});
