/**
 * `dev`: what it prints, forwards and reports, its lines of requests and deliveries, and options
 * that cannot be used.
 */
import { parseEnv, stripVTControlCharacters } from "node:util";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import type { TrafficEvent } from "@loyalty-cards/mock-server/node";
import { createFolder, listen } from "@loyalty-cards/testing/resources";
import { describe, expect, it } from "vitest";
import { printTraffic } from "../src/traffic-line.ts";
import {
  findEndpoints,
  openPrinter,
  parseLines,
  type RunOptions,
  run,
  secret,
  start,
  startReceiver,
} from "./terminal.ts";

interface Ready {
  baseUrl: string;
  apiKeys: { website: string };
  templateId: string;
  console: string;
  forwarded?: { url: string; secret: string };
}

async function startDev(args: readonly string[], options?: RunOptions) {
  const running = start(["dev", "--port", "0", "--json", ...args], options);
  const ready = parseLines(await running.waitFor(/"ready".*\n/))[0] as unknown as Ready;
  const loyalty = createIssuingClient({
    baseUrl: ready.baseUrl,
    apiKey: ready.apiKeys.website,
    maxRetries: 0,
  });
  const issue = () =>
    loyalty.issueCard(
      ready.templateId,
      { customer: { consents: { privacy: { version: "1" } } } },
      { userId: "7" },
    );
  const stop = async () => {
    running.interrupt();
    const { code, stdout, stderr } = await running.exit;
    return { code, stderr, lines: parseLines(stdout).slice(1) };
  };
  return { ...running, ready, loyalty, issue, stop };
}

/** Starts it for a person. `text` is what it prints before the first request. */
async function startForPerson(args: readonly string[], options?: RunOptions) {
  const running = start(["dev", "--port", "0", ...args], options);
  const text = await running.waitFor(/Then issue a card.*\n\n/);
  const url = /LOYALTY_URL=(.*)/.exec(text)?.[1] ?? "";
  const loyalty = createIssuingClient({ baseUrl: url, apiKey: "mock_website_key", maxRetries: 0 });
  const stop = () => {
    running.interrupt();
    return running.exit;
  };
  return { ...running, text, url, loyalty, stop };
}

const act = (url: string, path: string, body = {}) =>
  fetch(`${url}/_mock/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const getWidth = (lines: readonly string[]) => Math.max(...lines.map((line) => line.length));
const consents = { privacy: { version: "1" } };

describe("dev", () => {
  it.each([
    [
      "my-shop",
      ["# Paste into .env", "\nLOYALTY_URL=", "npx loyalty-cards issue --user-id 7 --privacy 1"],
    ],
    [
      "loyalty-cards",
      ["# Paste into another terminal", "export LOYALTY_URL=", "npm run first-card"],
    ],
  ])("prints what to do next in the package %s", async (npm_package_name, parts) => {
    const { text, stop } = await startForPerson([], { env: { npm_package_name } });
    for (const part of parts) expect(`\n${text}`).toContain(part);
    await stop();
  });

  it("says in its help which key it has, what it reads from .env, and which events it forwards", async () => {
    const { stdout } = await run(["dev", "--help"], { columns: 1_000 });
    expect(stdout).toContain("Its API key is mock_website_key,");
    expect(stdout).toContain("LOYALTY_SIGNING_SECRET of the environment or of .env");
    expect(stdout).toContain("send the webhooks of every event to this address");
  });

  it("prints on stdout what to paste into .env, and on stderr the console; Ctrl-C ends it with 0", async () => {
    const { url, stop } = await startForPerson([]);
    expect((await fetch(`${url}/console`)).status).toBe(200);
    const { code, stdout, stderr } = await stop();
    expect(code).toBe(0);
    expect(parseEnv(stdout)).toEqual({
      LOYALTY_URL: url,
      LOYALTY_API_KEY: "mock_website_key",
      LOYALTY_TEMPLATE_ID: "tpl_mock",
    });
    expect(stderr).toContain(`Console    ${url}/console\n`);
    expect(stderr.match(/--data/g)).toHaveLength(1); // what keeps the cards for the next start
    expect(stderr).toMatch(/\nStopped\.\n$/);
    await expect(fetch(url)).rejects.toThrow();
  });

  it("forwards signed webhooks, with a secret for .env", async () => {
    const types: string[] = [];
    const url = await listen((request, response) => {
      types.push(
        `${request.headers["service-event"]} ${request.headers["service-signature"] !== undefined}`,
      );
      request.resume().on("end", () => response.writeHead(204).end());
    });
    const { ready, issue, waitFor, stop } = await startDev(["--forward", url]);
    expect(ready.forwarded).toEqual({ url, secret: expect.stringMatching(/^whsec_/) });
    const { id } = await issue();
    await act(ready.baseUrl, `cards/${id}/purchase`, { points: 150 });
    await waitFor(/"delivered".*"delivered"/s);
    const { lines } = await stop();
    expect(types.sort()).toEqual(["balance.changed true", "tier.changed true"]);
    expect(lines[0]).toMatchObject({ kind: "request", method: "POST", status: 201, cardId: id });
  });

  it("warns of a misspelt field key and of a key that is repeated with other field values, without the values", async () => {
    const seed = {
      templates: [{ id: "tpl_club", name: "Club", fields: [{ key: "name", type: "name" }] }],
    };
    const cwd = createFolder({ "seed.json": JSON.stringify(seed) });
    const { loyalty, waitFor, stop } = await startForPerson(["--seed", "seed.json"], { cwd });
    const issue = (fieldValues: Record<string, string>) =>
      loyalty.issueCard("tpl_club", { fieldValues, customer: { consents } }, { userId: 7 });
    for (let count = 0; count < 3; count++) await issue({ nmae: "Anna Secret" });
    await issue({ name: "Piotr Secret" });
    const { id } = await issue({ nmae: "Anna Secret" });
    await waitFor(/Other content/);
    const { stdout, stderr } = await stop();
    // Below the line of its request, in the column of what it says.
    const words = stderr.replaceAll(/\n {24}(?!warning:)/g, " ");
    const unknown =
      'warning: fieldValues has keys that template tpl_club does not have: "nmae" (did you mean "name"?). Its fields are "name".';
    const repeated = expect.stringMatching(
      `^warning: Other content under the same key: "nmae", "name"\\. Two people may share a key: set idempotencyNamespace \\(LOYALTY_.* The response is card ${id} of `,
    );
    expect(words.match(/(?<=← issueCard .*\n {24})warning: .*$/gm)).toEqual([unknown, repeated]);
    expect(words.match(/warning/g)).toHaveLength(2);
    expect(stdout + stderr).not.toContain("Secret");
  });

  it("signs with the secret of .env, so that the receiver stays as it is, and does not print it", async () => {
    const { url, env, accepted } = await startReceiver();
    const running = await startForPerson(["--forward", url], { env });
    expect(running.text).toContain(`LOYALTY_WEBHOOK_URL=${url}\n`);
    expect(running.text).toContain(`Webhooks   ${url}\n`);
    expect(running.text).toContain("is the one that you have set.\n");
    expect(running.text).not.toContain(secret);
    const [endpoint] = await findEndpoints(running.url);
    await act(running.url, `webhooks/endpoints/${endpoint?.id}/test`);
    expect(await running.waitFor(/→ ping/)).toMatch(
      /\n\d\d:\d\d:\d\d {2}204 +\d+ ms {2}→ ping {2}evt_\w+\n/,
    );
    expect(accepted).toHaveLength(1);
  });

  it("shows requests and failed attempts in lines of at most 80 columns", async () => {
    const receiver = await listen((request, response) => {
      request
        .resume()
        .on("end", () => response.writeHead(401).end("signature\u001b[2J\n mismatch\n"));
    });
    const { url, loyalty, waitFor } = await startForPerson(["--forward", receiver], {
      isTTY: true,
    });
    const card = await loyalty.issueCard("tpl_mock", { customer: { consents } }, { userId: 1 });
    await act(url, `cards/${card.id}/purchase`, { points: 5 });
    const text = await waitFor(/attempt 1, next in 1 min.*mismatch/s);
    expect(text).toMatch(/attempt 1, next in 1 min: signature\\u001b\[2J mismatch\n/);
    expect(text).not.toContain(`${receiver}/attempt`);
    const lines = text.split("\n");
    expect(lines.filter((line) => line.includes("← "))).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d {2}201 +\d+ ms {2}← issueCard {2}card_\w+$/),
    ]);
    expect(getWidth(lines)).toBeLessThanOrEqual(80);
  });

  it("names the receiver of each delivery when there are several", async () => {
    const respond = (status: number) =>
      listen((request, response) => {
        request.resume().on("end", () => response.writeHead(status).end());
      });
    const urls = [`${await respond(500)}/a?token=abc`, `${await respond(204)}/b`];
    const seed = { endpoints: urls.map((url) => ({ url, events: ["balance.changed"] })) };
    const cwd = createFolder({ "seed.json": JSON.stringify(seed) });
    const { url, loyalty, waitFor, stop } = await startForPerson(["--seed", "seed.json"], { cwd });
    const { id } = await loyalty.issueCard("tpl_mock", { customer: { consents } }, { userId: 1 });
    await act(url, `cards/${id}/purchase`, { points: 5 });
    await waitFor(/→ balance.*→ balance.*\n/s);
    const { stderr } = await stop();
    const [first, second] = urls.map((each) => `:${new URL(each).port}`);
    const receivers = stderr.match(/(?<=→ balance\.changed {2})\S+/g);
    expect(receivers?.sort()).toEqual([`${first}/a`, `${second}/b`].sort());
  });

  it("prints one line for each request, in order, with the reason at its end, and none for the control API", async () => {
    const { url, stop } = await startForPerson(["--forward", "http://127.0.0.1:9/"]);
    const send = (key: string, body: unknown) =>
      fetch(`${url}/api/v1/templates/tpl_mock/passes`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          "idempotency-key": "a",
        },
        body: JSON.stringify(body),
      });
    await send("mock_website_key", { customer: { phone: "600100200" } });
    await send("other", {});
    for (let count = 0; count < 3; count++)
      await send("mock_website_key", { customer: { consents } });
    expect((await fetch(`${url}/_mock/cards/none`)).status).toBe(404);
    const { stderr } = await stop();
    const unwrapped = stderr.replaceAll(/\n {24}/g, "  ");
    expect(unwrapped.split("\n").filter((line) => line.includes("← "))).toEqual([
      expect.stringMatching(/ 422 +\d+ ms {2}← issueCard {2}customer\.consents is missing$/),
      expect.stringMatching(/ 401 +\d+ ms {2}← issueCard {2}unknown key$/),
      expect.stringMatching(/ 201 +\d+ ms {2}← issueCard {2}card_\w+$/),
      expect.stringMatching(/← issueCard {2}card_\w+ {2}same key: the first card again$/),
      expect.stringMatching(/← issueCard {2}card_\w+ {2}same key: the first card again$/),
    ]);
    expect(stderr).not.toContain("600100200");
  });

  it.each(["http://web:3000/", "http://host.docker.internal/", "http://192.168.1.5:3000/hooks"])(
    "forwards to %s, which is in the network of this machine",
    async (url) => {
      const args = ["--data", "shop.data", "--forward", url];
      const cwd = createFolder();
      await (await startDev(args.slice(0, 2), { cwd })).stop();
      const { ready, stop } = await startDev(args, { cwd });
      expect(ready.forwarded).toMatchObject({ url });
      await stop();
    },
  );

  it("keeps cards, keys, endpoint and secret with --data, and adds an endpoint that the file does not have", async () => {
    const { url, env } = await startReceiver();
    const cwd = createFolder();
    const args = ["--data", "shop.data"];
    const first = await startDev(args, { cwd });
    const { id } = await first.issue();
    expect(first.ready.forwarded).toBeUndefined();
    await act(first.ready.baseUrl, "api-keys", { kind: "website" });
    await fetch(`${first.ready.baseUrl}/_mock/api-keys/mock_website_key`, { method: "DELETE" });
    await act(first.ready.baseUrl, "templates", { id: "tpl_second", name: "Second" });
    await act(first.ready.baseUrl, "templates/tpl_mock/archive");
    await first.stop();
    const second = await startDev([...args, "--forward", url], { cwd });
    expect((await second.loyalty.getCard(id)).id).toBe(id); // with the key that it prints
    expect(second.ready).toMatchObject({ templateId: "tpl_second", forwarded: { url } });
    await second.stop();
    const third = await startDev(args, { cwd });
    expect(third.ready.forwarded).toEqual(second.ready.forwarded);
    const keyPath = `_mock/api-keys/${third.ready.apiKeys.website}`;
    await fetch(`${third.ready.baseUrl}/${keyPath}`, { method: "DELETE" });
    await third.stop();
    const forPerson = await startForPerson(args, { cwd });
    expect(forPerson.text).not.toContain("LOYALTY_API_KEY="); // it has no website key
    await forPerson.stop();
    const fourth = await startDev([...args, "--forward", url], { cwd, env });
    expect(fourth.ready.forwarded).toEqual({ url, secret: env.LOYALTY_SIGNING_SECRET });
    expect(fourth.ready.apiKeys).toEqual({ full: "mock_full_key" });
    await act(fourth.ready.baseUrl, "reset");
    expect(await findEndpoints(fourth.ready.baseUrl)).toMatchObject([fourth.ready.forwarded]);
  });

  it("shows the address of an endpoint of the seed file", async () => {
    const endpoint = { url: "http://127.0.0.1:9/", events: ["ping"], secret: "whsec_seed" };
    const cwd = createFolder({ "seed.json": JSON.stringify({ endpoints: [endpoint] }) });
    const { text, stop } = await startForPerson(["--seed", "seed.json"], { cwd });
    expect(text).toContain("Webhooks   http://127.0.0.1:9/\n");
    expect(text).toContain("LOYALTY_SIGNING_SECRET=whsec_seed\n");
    await stop();
  });

  it.each([
    [
      "an address without a scheme",
      ["--forward", "localhost:3000/x"],
      /has no scheme\. Write https:\/\/ before the host, or http:/,
    ],
    ["http to the internet", ["--forward", "http://shop.example.com/"], /must be https/],
    ["a missing seed", ["--seed", "nowhere.json"], /nowhere\.json cannot be used: ENOENT/],
    ["a port that is none", ["--port", "70000"], /from 0 to 65535/],
  ])("exits with 2 for %s", async (_name, args, message) => {
    const { code, stdout, stderr } = await run(["dev", "--port", "0", ...args]);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(message)]);
  });
});

describe("the line of a request, a delivery or a moved clock", () => {
  const request: TrafficEvent = {
    kind: "request",
    method: "POST",
    path: "/api/v1/templates/tpl_mock/passes",
    operation: "issueCard",
    durationMs: 3,
  };
  const last: TrafficEvent = {
    kind: "delivery",
    type: "balance.changed",
    eventId: "evt_1",
    deliveryId: "dlv_1",
    url: "http://localhost:3000/webhooks",
    attempt: 6,
    durationMs: 3,
    state: "failed",
  };
  const failed: TrafficEvent = { ...last, attempt: 1, state: "pending", nextAttemptInMs: 60_000 };
  const below = " ".repeat(24);
  const invalid = "customer.phone: The phone number is not valid";
  const unknown =
    "fieldValues has a key that template tpl_mock does not have: nmae (did you mean name?)";

  it.each<[string, TrafficEvent, string[], number?]>([
    [
      "has the fault of a broken connection",
      { ...request, reason: "response lost; the card exists" },
      ["---     3 ms  ← issueCard  response lost; the card exists"],
    ],
    [
      "names a path that is no operation",
      { kind: "request", method: "GET", path: "/api/v1/passs", status: 404, durationMs: 3 },
      ["404     3 ms  ← GET /passs"],
    ],
    [
      "says how far the clock is moved, and to what time",
      { kind: "clock", movedMs: 21_600_000, now: new Date(2026, 10, 8, 20, 44, 9).toISOString() },
      [`${" ".repeat(14)}clock +6 h → Nov 8 20:44`],
    ],
    [
      "says when the next attempt is, and what the response says",
      { ...failed, status: 401, responseStart: "signature mismatch" },
      ["401     3 ms  → balance.changed  evt_1  attempt 1, next in 1 min: signature mismatch"],
    ],
    [
      "says that the receiver has no such route, and not what its framework shows",
      { ...failed, status: 404, responseStart: "<!DOCTYPE html><title>Error</title>" },
      [
        "404     3 ms  → balance.changed  evt_1  attempt 1, next in 1 min: no such route, POST /webhooks: mount the receiver there",
      ],
    ],
    [
      "says that there was no response",
      { ...failed, error: "no response within 10 s" },
      ["---     3 ms  → balance.changed  evt_1  attempt 1, next in 1 min: no response within 10 s"],
    ],
    [
      "says what to check when nothing listens",
      { ...failed, error: "ECONNREFUSED" },
      [
        "---     3 ms  → balance.changed  evt_1  attempt 1, next in 1 min: ECONNREFUSED: Nothing listens there. Is it running, and is the port correct?",
      ],
    ],
    [
      "says that there is no other attempt",
      { ...last, status: 401 },
      ["401     3 ms  → balance.changed  evt_1  attempt 6, no more"],
    ],
    [
      "has warnings, and what does not fit in 80 columns, aligned below",
      { ...request, status: 422, reason: invalid, warnings: [unknown] },
      [
        "422     3 ms  ← issueCard",
        `${below}${invalid}`,
        `${below}warning: fieldValues has a key that template tpl_mock`,
        `${below}does not have: nmae (did you mean name?)`,
      ],
      80,
    ],
  ])("%s", (_name, event, lines, columns = 200) => {
    const { print, output } = openPrinter({}, {}, true, columns);
    printTraffic(print, event, false);
    // Without the time of day, which depends on the time zone.
    const printed = stripVTControlCharacters(output.stderr).replace(/^\d\d:\d\d:\d\d {2}/, "");
    expect(printed).toBe(`${lines.join("\n")}\n`);
  });

  it.each([
    ["doctor", []],
    ["console", ["31", "33"]],
  ] as const)("says that the %s sent it; a probe has no color", (sentBy, expected) => {
    const { print, output } = openPrinter({}, {}, true, 200);
    const failure = { cardId: "card_1", status: 401, reason: "no API key", sentBy };
    printTraffic(print, { ...request, ...failure }, false);
    expect(stripVTControlCharacters(output.stderr)).toMatch(
      / 401 .*← issueCard {2}card_1 {2}by the \w+ {2}no API key\n$/,
    );
    const colors = output.stderr.match(/(?<=\[)3[1-7](?=m)/g) ?? []; // red and yellow
    expect(colors).toEqual(expected);
  });

  it.each([
    ["http://127.0.0.1:3000/webhooks", ":3000/webhooks"],
    ["http://localhost/", "/"],
    ["https://shop.example/webhooks", "shop.example/webhooks"],
    ["(deleted endpoint)", "(deleted endpoint)"],
  ])("names the receiver %s among several", (url, shown) => {
    const { print, output } = openPrinter({}, {}, false);
    printTraffic(print, { ...last, url, state: "delivered", status: 204 }, true);
    expect(output.stderr).toContain(` → balance.changed  ${shown}\n`);
  });

  it("has its reason at its end in a file, so that a search finds both", () => {
    const { print, output } = openPrinter({}, {}, false);
    printTraffic(print, { ...failed, error: "ECONNREFUSED" }, false);
    expect(output.stderr).toMatch(/ → balance\.changed .* is the port correct\?\n$/);
  });
});
