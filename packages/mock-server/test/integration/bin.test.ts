/**
 * The command `loyalty-cards-mock`: ready lines, and one line on stderr with exit code 2 for bad
 * input.
 */
import { once } from "node:events";
import { toSignUp } from "@loyalty-cards/testing/mock-shop";
import { isListening, startWithNpm } from "@loyalty-cards/testing/npm-command";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { startMockServer } from "../../src/adapters/node.ts";
import { connectTo, listen, start, temporaryFile } from "./command.ts";

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

  it("starts from a seed file, prints its secret, and signs with it, after a reset too", async () => {
    const secret = "whsec_only_for_development";
    const events: WebhookEvent[] = [];
    const url = await listen(nodeReceiver({ secret, handler: (event) => void events.push(event) }));
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
    expect(text).toMatch(/^\{\n {2}"baseUrl": /); // for people
    expect(JSON.parse(text)).toMatchObject({
      apiKeys: { website: "mock_website_key", full: "mock_full_key" },
      templateId: "tpl_bakery",
      endpoints: [
        { url, secret },
        { url: "http://127.0.0.1:3000/webhooks/loyalty", secret: expect.stringMatching(/^whsec_/) },
      ],
    });

    const { endpoints, call, issue } = connectTo(await start(...options, "--json").firstOutput);
    expect(endpoints).toMatchObject([
      { url, secret },
      { secret: expect.stringMatching(/^whsec_/) },
    ]);
    for (const pings of [1, 2]) {
      await call("POST", `/_mock/webhooks/endpoints/${endpoints[0].id}/test`);
      await expect.poll(() => events.length, { timeout: 10_000 }).toBe(pings);
      await call("POST", "/_mock/reset");
    }
    expect((await issue(toSignUp({}, {}))).status).toBe(201);
  });

  it.each([
    ["one line on stderr per request, with its warnings, and per delivery attempt", []],
    ["only warnings with --quiet", ["--quiet"]],
  ])("prints %s, and stdout stays one line of JSON", async (_name, options) => {
    const url = await listen(
      (_request, response) => void response.writeHead(401).end("\u009b31m\u202e"),
    );
    const seed = temporaryFile(
      JSON.stringify({ endpoints: [{ url: `${url}?token=abc`, events: ["balance.changed"] }] }),
    );
    const { child, firstOutput, exit } = start("--port", "0", "--json", "--seed", seed, ...options);
    const { call, issue, templateId } = connectTo(await firstOutput);
    const customer = { phone: "600100200", email: "anna@example.com" };
    const { id } = (await issue(toSignUp(customer, { nmae: "600100200" }))).body;
    await issue(toSignUp({ phone: "12", email: "anna@example.com" }, {}));
    await call("GET", "/api/v2/cards?email=anna@example.com");
    await call("POST", `/_mock/cards/${id}/purchase`, { body: { points: 5 } });
    const getAttempts = async () =>
      (await call("GET", "/_mock/traffic?kind=delivery")).body.items[0]?.attempts.length;
    await expect.poll(getAttempts, { interval: 5 }).toBe(1);
    child.kill("SIGTERM");
    const { stdout, stderr } = await exit;
    expect(stdout.split("\n")).toEqual([expect.stringMatching(/^\{.*\}$/), ""]);
    const lines = stderr.split("\n").slice(0, -1);
    const path = `/api/v1/templates/${templateId}/passes`;
    const sent = { kind: "request", operation: "issueCard", method: "POST", path };
    const unknown = {
      method: "GET",
      path: "/api/v2/cards",
      reason: "There is no GET /api/v2/cards",
    };
    const delivery = {
      kind: "delivery",
      type: "balance.changed",
      eventId: expect.stringMatching(/^evt_/),
    };
    const expected = [
      { ...sent, status: 201, cardId: id, warnings: [expect.stringContaining('"nmae"')] },
      { ...sent, status: 422, reason: "customer.phone: The phone number is not valid" },
      { kind: "request", ...unknown, status: 404 },
      {
        ...delivery,
        attempt: 1,
        status: 401,
        state: "pending",
        url,
        responseStart: "\u009b31m\u202e",
        nextAttemptInMs: expect.any(Number),
      },
    ];
    if (options.length > 0) expect(lines).toEqual([expect.stringMatching(/^warning: .*"nmae"/)]);
    else expect(lines.map((line) => JSON.parse(line))).toMatchObject(expected);
    expect(stderr).not.toMatch(/anna|600100200|token|_key|whsec|[\u0080-\u009f\u202e]/);
  });

  it("stops when only npx receives SIGTERM", async () => {
    const child = startWithNpm("npx loyalty-cards-mock --port 0 --json");
    const [text] = await once(child.stdout, "data");
    const url = JSON.parse(String(text)).baseUrl;
    expect(await isListening(url)).toBe(true);
    child.kill("SIGTERM");
    await expect.poll(() => isListening(url), { timeout: 15_000 }).toBe(false);
  });

  it("is the only command of its package, so that npx finds it, and prints its version and its help", async () => {
    expect(packageJson.bin).toEqual({ "loyalty-cards-mock": "./bin.js" });
    expect((await start("--version").exit).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const { code, stdout } = await start("--help").exit;
    expect([code, stdout.startsWith("Usage: loyalty-cards-mock")]).toEqual([0, true]);
  });

  it("names the port that is in use, and what to do", async () => {
    const { port } = new URL(await listen(() => {}));
    const { code, stderr } = await start("--port", port).exit;
    expect([code, stderr]).toEqual([
      2,
      `loyalty-cards-mock: Port ${port} is already in use, perhaps by another mock server. Stop that program, or select another port with --port; --port 0 selects a free one.\n`,
    ]);
  });

  it.each([
    ["an unknown flag", ["--prot", "1"], /--prot.* See --help/],
    ["an argument", ["exec", "--", "npm"], /Unexpected argument 'exec'\. .*\. See --help/],
    ["a data file in a missing folder", ["--port", "0", "--data", "/nowhere/data.json"], /ENOENT/],
    ["a port that is not a number", ["--port", "seventy"], /--port takes a number/],
    ["a port above 65535", ["--port", "65536"], /--port takes a number/],
    [
      "a missing seed file",
      ["--seed", "/nowhere/seed.json"],
      /--seed \/nowhere\/seed\.json cannot be used: ENOENT/,
    ],
    ["a name with control characters", ["--seed", "/\u001b[31m"], /--seed \/\\u001b\[31m cannot/],
  ])("prints one line on stderr and exits with 2 for %s", async (_name, args, message) => {
    const { code, stdout, stderr } = await start(...args).exit;
    expect([code, stdout, stderr.split("\n").length]).toEqual([2, "", 2]);
    expect(stderr).toMatch(message);
  });
});

const endpoint = '"url":"http://127.0.0.1:1/","events":["ping"]';
it.each([
  ["{", /cannot be used/],
  ["[]", /it is not an object/],
  ['{"port":1}', /"port" is unknown; use defaultCountry/],
  ['{"templates":[{"name":""}]}', /cannot be used: templates\[0\]: "name"/],
  ['{"templates":{}}', /cannot be used: templates must be a list of objects/],
  ['{"templates":[null]}', /cannot be used: templates must be a list of objects/],
  ['{"templates":[]}', /at least one/],
  [
    '\ufeff{"templates":[{"name":"Club","fields":[null]}]}',
    /templates\[0\]: "fields\.0" must be of type object/,
  ],
  [`{"endpoints":[{${endpoint},"secret":""}]}`, /secret of an endpoint must be text/],
  [
    '{"endpoints":[{"events":"ping"}]}',
    /cannot be used: endpoints\[0\]: .*"events" must be of type array/,
  ],
  [`{"endpoints":[{"id":5,${endpoint}}]}`, /endpoints\[0\]: "id" is not known/],
  ['{"endpoints":[{"url":"http://shop.test","events":["ping"]}]}', /https/],
])("refuses the seed file %s with one line", async (seed, message) => {
  const starting = startMockServer({ seedFile: temporaryFile(seed) });
  await expect(starting).rejects.toThrow(message);
  await expect(starting).rejects.toThrow(/^[^\n]*$/);
});
