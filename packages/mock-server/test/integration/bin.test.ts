/** The command `loyalty-cards-mock`: ready lines, and one line on stderr with exit code 2 for bad input. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { describe, expect, it, onTestFinished } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { start, startWithNpm, temporaryFile } from "./command.ts";

describe("loyalty-cards-mock", () => {
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

  it("prints the settings for people without --json", async () => {
    const { firstOutput } = start("--port", "0");
    const text = await firstOutput;
    for (const name of ["Base URL", "Website key", "Full key", "Template", "Console"])
      expect(text).toContain(name);
  });

  it("starts from a seed file, prints its secret, and signs with it, after a reset too", async () => {
    const secret = "whsec_only_for_development";
    const events: WebhookEvent[] = [];
    const receiver = createServer(nodeReceiver({ secret, handler: (event) => void events.push(event) }));
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void receiver.close());
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const seed = {
      defaultCountry: "DE",
      templates: [{ id: "tpl_bakery", name: "Bakery" }],
      endpoints: [
        { url, events: ["ping"], secret },
        { url: "http://127.0.0.1:3000/webhooks/loyalty", events: ["balance.changed"] },
      ],
    };
    const options = ["--port", "0", "--seed", temporaryFile(JSON.stringify(seed))];
    const text = await start(...options).firstOutput;
    expect(text).toContain("tpl_bakery");
    expect(text).toMatch(/http:\/\/127\.0\.0\.1:3000\/webhooks\/loyalty +whsec_/);

    const { baseUrl, apiKeys, templateId, endpoints } = JSON.parse(
      await start(...options, "--json").firstOutput,
    );
    expect(endpoints).toMatchObject([{ url, secret }, { secret: expect.stringMatching(/^whsec_/) }]);
    const post = (path: string, body?: string) =>
      fetch(`${baseUrl}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKeys.website}`, "content-type": "application/json" },
        ...(body && { body }),
      });
    for (const pings of [1, 2]) {
      await post(`/_mock/webhooks/endpoints/${endpoints[0].id}/test`);
      await expect.poll(() => events.length, { timeout: 10_000 }).toBe(pings);
      await post("/_mock/reset");
    }
    const issued = await post(
      `/api/v1/templates/${templateId}/passes`,
      '{"customer":{"consents":{"privacy":{"version":"1"}}}}',
    );
    expect(issued.status).toBe(201);
  });

  it.each([
    ["--store-refusals", () => ["--store-refusals"]],
    ["the seed's storeRefusals", () => ["--seed", temporaryFile('{"storeRefusals":true}')]],
  ])("stores refusals with %s, and prints warnings on stderr", async (_name, args) => {
    const { child, firstOutput, exit } = start("--port", "0", "--json", ...args());
    const { baseUrl, apiKeys, templateId } = JSON.parse(await firstOutput);
    const issue = async (customer: object) => {
      const response = await fetch(`${baseUrl}/api/v1/templates/${templateId}/passes`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${apiKeys.website}`,
          "content-type": "application/json",
          "idempotency-key": "user-1",
        },
        body: JSON.stringify({ customer: { consents: { privacy: { version: "1" } }, ...customer } }),
      });
      return response.status;
    };
    expect([await issue({ phone: "12" }), await issue({ phone: "+48600100200" })]).toEqual([422, 422]);
    child.kill("SIGTERM");
    const { stdout, stderr } = await exit;
    expect(stdout.trimEnd()).not.toContain("\n");
    expect(stderr).toMatch(/warning: An idempotency key was repeated with other content.*stored 422/);
    expect(stderr).not.toContain("48600100200");
  });

  it("accepts an endpoint in a private network only with --allow-private-endpoints", async () => {
    const seed = temporaryFile('{"endpoints":[{"url":"https://10.0.0.1/","events":["ping"]}]}');
    const { code, stderr } = await start("--port", "0", "--seed", seed).exit;
    expect([code, stderr]).toEqual([2, expect.stringMatching(/"10\.0\.0\.1".*--allow-private-endpoints/)]);
    const allowed = start("--port", "0", "--json", "--seed", seed, "--allow-private-endpoints");
    expect(JSON.parse(await allowed.firstOutput).endpoints).toMatchObject([{ url: "https://10.0.0.1/" }]);
  });

  it.each([
    ["one line on stderr per request and per delivery attempt", []],
    ["none of these lines with --quiet", ["--quiet"]],
  ])("prints %s, and stdout stays one line of JSON", async (_name, options) => {
    const receiver = createServer((_request, response) => void response.writeHead(401).end());
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void receiver.close());
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;
    const seed = temporaryFile(
      JSON.stringify({ endpoints: [{ url: `${url}?token=abc`, events: ["balance.changed"] }] }),
    );
    const { child, firstOutput, exit } = start("--port", "0", "--json", "--seed", seed, ...options);
    const { baseUrl, apiKeys, templateId } = JSON.parse(await firstOutput);
    const post = async (path: string, body: unknown) => {
      const response = await fetch(`${baseUrl}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKeys.website}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return (await response.json()) as { id: string };
    };
    const consents = { privacy: { version: "1" } };
    const passes = `/api/v1/templates/${templateId}/passes`;
    const card = await post(passes, {
      customer: { phone: "600100200", email: "anna@example.com", consents },
    });
    await post(passes, { customer: { phone: "12", email: "anna@example.com", consents } });
    await fetch(`${baseUrl}/api/v2/cards?email=anna@example.com`);
    await post(`/_mock/cards/${card.id}/purchase`, { points: 5 });
    await post("/_mock/wait", { event: { type: "balance.changed" } });
    for (let attempts = 0; attempts === 0; ) {
      const response = await fetch(`${baseUrl}/_mock/webhooks/deliveries`);
      const { items } = (await response.json()) as { items: { attempts: unknown[] }[] };
      attempts = items[0]?.attempts.length ?? 0;
    }
    child.kill("SIGTERM");
    const { stdout, stderr } = await exit;
    expect(stdout.split("\n")).toEqual([expect.stringMatching(/^\{.*\}$/), ""]);
    const lines = stderr
      .split("\n")
      .slice(0, -1)
      .map((line) => line.replace(/\b\d+ ms\b/, "N ms"));
    const expected = [
      `POST ${passes} 201 N ms ${card.id}`,
      `POST ${passes} 422 N ms customer.phone: The phone number is not valid`,
      "GET /api/v2/cards 404 N ms",
      expect.stringMatching(/^--> balance\.changed evt_\w+ {2}<-- 401 http:\S+\/webhooks next in 1 min$/),
    ];
    expect(lines).toEqual(options.length === 0 ? expected : []);
    expect(stderr).not.toMatch(/anna|600100200|token|_key|whsec/);
  });

  it.each(["npm run mock", "npx loyalty-cards-mock --port 0 --json"])(
    "stops when only npm receives SIGTERM: %s",
    async (line) => {
      const child = startWithNpm(line);
      const isRunning = (url: string) =>
        fetch(url).then(
          () => true,
          () => false,
        );
      let url = "";
      for await (const text of createInterface(child.stdout)) {
        if (!text.startsWith("{")) continue; // npm says what it runs
        url = `${JSON.parse(text).baseUrl}/_mock/health`;
        break;
      }
      expect(await isRunning(url)).toBe(true);
      child.kill("SIGTERM");
      await expect.poll(() => isRunning(url), { timeout: 15_000 }).toBe(false);
    },
  );

  it("is the only command of its package, so that npx finds it, and prints its version and its help", async () => {
    expect(packageJson.bin).toEqual({ "loyalty-cards-mock": "./bin.js" });
    expect((await start("--version").exit).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const { code, stdout } = await start("--help").exit;
    expect([code, stdout.startsWith("Usage: loyalty-cards-mock")]).toEqual([0, true]);
  });

  it("names the port that is in use, and what to do", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await start("--port", String(port)).exit;
    expect([code, stderr]).toEqual([
      2,
      `loyalty-cards-mock: Port ${port} is already in use, perhaps by another mock server. Stop that program, or select another port with --port; --port 0 selects a free one.\n`,
    ]);
  });

  it.each([
    ["an unknown flag", ["--prot", "1"], /--prot.* See --help/],
    ["an argument", ["exec", "--", "npm"], /Unexpected argument 'exec'\. .*\. See --help/],
    [
      "a data file in another format",
      ["--data", () => temporaryFile("[]")],
      /The data file .* cannot be used \(it is not of a mock server\)/,
    ],
    ["a data file in a missing folder", ["--port", "0", "--data", "/nowhere/data.json"], /ENOENT/],
    ["a port that is not a number", ["--port", "seventy"], /--port takes a number/],
    ["a port above 65535", ["--port", "65536"], /--port takes a number/],
    [
      "a missing seed file",
      ["--seed", "/nowhere/seed.json"],
      /--seed \/nowhere\/seed\.json cannot be used: ENOENT/,
    ],
  ])("prints one line on stderr and exits with 2 for %s", async (_name, args, message) => {
    await expectRefused(
      args.map((arg) => (typeof arg === "string" ? arg : arg())),
      message,
    );
  });

  const endpoint = '"url":"http://127.0.0.1:1/","events":["ping"]';
  it.each([
    ["{", /cannot be used/],
    ["[]", /it is not an object/],
    ['{"port":1}', /"port" is unknown; use defaultCountry/],
    ['{"templates":[{"name":""}]}', /cannot be used: templates\[0\]: "name"/],
    ['{"templates":{}}', /"templates" is not a list/],
    ['{"templates":[null]}', /"templates" is not a list of objects/],
    ['{"templates":[]}', /at least one/],
    [
      '\ufeff{"templates":[{"name":"Club","fields":[null]}]}',
      /templates\[0\]: "fields\.0" must be an object/,
    ],
    [`{"endpoints":[{${endpoint},"secret":""}]}`, /secret of an endpoint must be text/],
    ['{"endpoints":[{"events":"ping"}]}', /cannot be used: endpoints\[0\]: .*"events" must be a list/],
    [`{"endpoints":[{"id":5,${endpoint}}]}`, /endpoints\[0\]: "id" is not known/],
    ['{"endpoints":[{"url":"http://shop.test","events":["ping"]}]}', /https/],
  ])("prints one line on stderr and exits with 2 for the seed %s", async (seed, message) => {
    await expectRefused(["--port", "0", "--seed", temporaryFile(seed)], message);
  });
});

async function expectRefused(args: string[], message: RegExp) {
  const { code, stdout, stderr } = await start(...args).exit;
  expect([code, stdout, stderr.split("\n").length]).toEqual([2, "", 2]);
  expect(stderr).toMatch(message);
}
