/** `doctor`, against the mock service and services that differ from it. */
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { stripVTControlCharacters } from "node:util";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { operations } from "@loyalty-cards/openapi/operations";
import { createFolder, listen } from "@loyalty-cards/testing/resources";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ServiceCheck } from "../src/doctor/checks.ts";
import { openMock, type RunOptions, run } from "./terminal.ts";

async function runDoctor(options: RunOptions, ...args: string[]) {
  const { code, stdout, stderr } = await run(["doctor", "--json", ...args], options);
  const checks = JSON.parse(stdout).checks as ServiceCheck[];
  const byName = Object.fromEntries(checks.map(({ name, ...check }) => [name, check]));
  return { code, stdout, stderr, byName, statuses: checks.map(({ status }) => status) };
}

/** A service that responds in its own way, and the variables for it. */
async function openService(listener: RequestListener) {
  return {
    LOYALTY_URL: await listen(listener),
    LOYALTY_API_KEY: "lk_1",
    LOYALTY_TEMPLATE_ID: "tpl_bakery",
  };
}

interface Asked {
  path: string;
  hasKey: boolean;
}

/**
 * A service with a correct document whose other responses have the status that `getStatus` returns.
 */
const openServiceWith = (
  getStatus: (request: Asked) => number,
  getHeaders: () => object = () => ({}),
) =>
  openService((request, response) => {
    const path = request.url ?? "";
    const status =
      path === "/api/docs/json"
        ? 200
        : getStatus({ path, hasKey: request.headers.authorization === "Bearer lk_1" });
    response.writeHead(status, { "content-type": "application/json", ...getHeaders() });
    response.end(JSON.stringify(status === 200 ? openapi : { status }));
  });

describe("doctor", () => {
  it("aligns what does not fit on a line of the terminal with its subject", async () => {
    const env = { LOYALTY_URL: "127.0.0.1:4010", LOYALTY_API_KEY: "lk_1" };
    const { stdout } = await run(["doctor"], { env, isTTY: true, columns: 60 });
    const lines = stripVTControlCharacters(stdout).trimEnd().split("\n");
    expect(lines[0]).toMatch(/^✗ address {3}The address has no scheme/);
    expect(lines.slice(1).filter((line) => !/^(?: {12}\S|[✓–] )/.test(line))).toEqual([]);
  });

  it("passes for a correct configuration, and changes nothing", async () => {
    const { env, service } = await openMock();
    const before = JSON.stringify(service.snapshot());
    const { code, statuses, byName, stderr } = await runDoctor({ env });
    expect([code, stderr]).toEqual([0, ""]);
    expect(statuses).toEqual(Array(7).fill("passed"));
    expect(byName["template"]?.detail).toBe("tpl_bakery exists");
    expect(JSON.stringify(service.snapshot())).toBe(before);
    const traffic = await fetch(`${service.baseUrl}/_mock/traffic`);
    expect(await traffic.json()).toMatchObject({ total: 4, problems: 0 }); // refused as expected
  });

  it("prints a line per check for people, and the fix below", async () => {
    const { env, service } = await openMock();
    const right = await run(["doctor"], { env });
    const more = "To check a webhook receiver: loyalty-cards webhook doctor URL\n";
    expect([right.code, right.stderr]).toEqual([0, more]);
    const { code, stdout, stderr } = await run(["doctor", "--template", "tpl_none"], { env });
    expect([code, stderr]).toEqual([1, ""]); // what failed is corrected first
    expect(stdout).toMatch(/^✓ address +http:\/\/127/);
    const missing =
      /\n✗ template +"tpl_\w+" does not exist or is archived\n +Copy the id of a template/;
    expect(stdout).toMatch(missing);
    service.templates.archive("tpl_bakery");
    expect((await run(["doctor"], { env })).stdout).toMatch(missing);
  });

  it("says what to set when nothing is configured", async () => {
    const { code, byName } = await runDoctor({});
    expect(code).toBe(1);
    expect(byName).toMatchObject({
      address: { status: "failed", fix: expect.stringContaining("Use --base-url") },
      "API key": { status: "failed", fix: expect.stringContaining("Set LOYALTY_API_KEY") },
      service: { status: "skipped", detail: "needs an address" },
    });
  });

  it("names the source of each value", async () => {
    const { env, url } = await openMock();
    const cwd = createFolder({ ".env": `LOYALTY_API_KEY=${env.LOYALTY_API_KEY}\n` });
    const { byName } = await runDoctor({ cwd }, "--base-url", url);
    expect(byName).toMatchObject({
      address: { detail: `${url} (--base-url)` },
      "API key": { detail: "present (LOYALTY_API_KEY in .env)" },
      template: { status: "skipped", detail: expect.stringContaining("--template") },
    });
  });

  it("names the error of a service that is away", async () => {
    const { env, close } = await openMock();
    await close();
    const { code, byName } = await runDoctor({ env });
    expect(code).toBe(1);
    const fix = expect.stringContaining("Is it running");
    expect(byName).toMatchObject({
      service: { status: "failed", detail: "does not respond (ECONNREFUSED)", fix },
      access: { status: "skipped" },
    });
  });

  it("says that Node.js does not use the proxy of the environment, and only when that can be the cause", async () => {
    const proxy = { LOYALTY_API_KEY: "k", HTTPS_PROXY: "http://127.0.0.1:9" };
    const unknown = { ...proxy, LOYALTY_URL: "https://cards.test" };
    const getFix = async (env: Record<string, string>) =>
      (await runDoctor({ env })).byName["service"]?.fix;
    expect(await getFix(unknown)).toMatch(
      /HTTPS_PROXY is set, but Node.js does not use this proxy: set NODE_USE_ENV_PROXY=1/,
    );
    for (const env of [
      { ...unknown, NODE_USE_ENV_PROXY: "1" },
      { ...unknown, HTTPS_PROXY: "" },
      { ...proxy, LOYALTY_URL: "https://127.0.0.1:9" },
    ])
      expect(await getFix(env)).not.toContain("PROXY");
  });

  it("exits with 4 when the service refuses the key, and prints the key nowhere", async () => {
    const { env: own } = await openMock();
    const env = { ...own, LOYALTY_API_KEY: "lk_wrong" };
    const { code, byName, stdout, stderr } = await runDoctor({ env });
    expect(code).toBe(4);
    expect(byName).toMatchObject({
      access: {
        status: "failed",
        detail: "the key is not accepted (401)",
        fix: expect.stringContaining("The console creates others: API & webhooks (mock: Setup)"),
      },
      template: { status: "skipped", detail: "needs a key that is accepted" },
    });
    expect(stdout + stderr).not.toContain("lk_wrong");
  });

  it("reports a key that cannot be sent, and prints it nowhere", async () => {
    const { env } = await openMock();
    const { code, byName, stdout } = await runDoctor({
      env: { ...env, LOYALTY_API_KEY: "my key" },
    });
    expect(code).toBe(1);
    const detail = expect.stringContaining("character that a key cannot have");
    expect(byName).toMatchObject({
      "API key": { status: "failed", detail },
      template: { status: "skipped" },
    });
    expect(stdout).not.toContain("my key");
  });

  it.each([
    [0, "passed", "agrees with the Date header of the service"],
    [33, "failed", /this machine is 3[1-5] s behind/],
    [-33, "failed", /this machine is 3[1-5] s ahead of/],
    [-400, "failed", /this machine is (39[89]|40[0-2]) s ahead of/],
  ])("finds a clock of the service that differs by %d s: %s", async (seconds, status, detail) => {
    const getHeaders = () => ({ date: new Date(Date.now() + seconds * 1000).toUTCString() });
    const env = await openServiceWith(({ hasKey }) => (hasKey ? 404 : 401), getHeaders);
    expect((await runDoctor({ env })).byName["clock"]).toMatchObject({
      status,
      detail: typeof detail === "string" ? detail : expect.stringMatching(detail),
    });
  });

  it.each<[string, (asked: Asked) => number, string, object]>([
    [
      "always responds 500",
      () => 500,
      "access",
      {
        status: "failed",
        detail: "not checked: the service responded 500",
        fix: "Run doctor again later.",
      },
    ],
    [
      "responds 429 to requests with the key",
      ({ hasKey }) => (hasKey ? 429 : 401),
      "access",
      { status: "failed", detail: "not checked: the service responded 429" },
    ],
    [
      "responds 503 for the template",
      ({ path, hasKey }) => (!hasKey ? 401 : path.includes("tpl_bakery") ? 503 : 404),
      "template",
      { status: "failed", detail: "not checked: the service responded 503" },
    ],
    [
      "responds 429 for an unknown template",
      ({ path, hasKey }) => (!hasKey ? 401 : path.includes("templates/doctor-") ? 429 : 422),
      "template",
      { status: "failed", detail: "not checked: the service responded 429" },
    ],
    [
      "responds the same with and without the key",
      () => 404,
      "access",
      {
        status: "warning",
        detail: "not checked: the service responds 404 with and without the key",
      },
    ],
    [
      "validates the customer before the template",
      ({ path, hasKey }) => (!hasKey ? 401 : path.endsWith("/passes") ? 422 : 404),
      "template",
      { status: "warning", detail: "the service responds 422 for an unknown template too" },
    ],
  ])(
    "says what it cannot find out when the service %s",
    async (_name, getStatus, check, result) => {
      const env = await openServiceWith(getStatus);
      expect((await runDoctor({ env })).byName[check]).toMatchObject(result);
    },
  );

  it("says when the service stops responding in the middle", async () => {
    const env = await openService((request, response) => {
      if (request.url === "/api/docs/json") response.end(JSON.stringify(openapi));
      else if (request.headers.authorization !== undefined) request.socket.destroy();
      else response.writeHead(401).end();
    });
    const { code, byName } = await runDoctor({ env });
    const detail = expect.stringMatching(/^The connection to http\S+ failed \(\w+\)\.$/);
    expect([code, byName["access"]?.detail]).toEqual([1, detail]);
  });

  it("sends nothing to the template when the service accepts an unknown one", async () => {
    const paths: string[] = [];
    const env = await openServiceWith(({ path, hasKey }) => {
      paths.push(path);
      return !hasKey ? 401 : path.endsWith("/passes") ? 201 : 404;
    });
    expect((await runDoctor({ env })).byName["template"]?.status).toBe("warning");
    expect(paths.filter((path) => path.includes("tpl_bakery"))).toEqual([]);
  });

  it("names a redirect as the cause, with the origin of its target and nothing else of it", async () => {
    const keys: unknown[] = [];
    const env = await openService((request, response) => {
      keys.push(request.headers.authorization);
      response.writeHead(301, { location: "https://www.example.com/login?token=secret" }).end();
    });
    const { code, byName, stdout } = await runDoctor({ env });
    expect(code).toBe(1);
    expect(byName["service"]).toEqual({
      status: "failed",
      detail: "it redirects (301) to https://www.example.com",
      fix: expect.stringContaining("set the address to the final one"),
    });
    expect(byName["access"]?.status).toBe("skipped");
    expect(stdout).not.toContain("token");
    expect(keys).toEqual([undefined, undefined]);
  });

  it("asks about a login when the target of a redirect has the same origin, but not when only the document needs one", async () => {
    const redirect: RequestListener = (_, response) =>
      response.writeHead(302, { location: "/login" }).end();
    const env = await openService(redirect);
    expect((await runDoctor({ env })).byName["service"]).toMatchObject({
      detail: `it redirects (302) to ${env.LOYALTY_URL}`,
      fix: expect.stringContaining("Does a proxy ask for a login?"),
    });
    // The reference alone can require a login.
    const other = await openService((request, response) => {
      if (request.url === "/api/docs/json") return void redirect(request, response);
      const status = request.headers.authorization === undefined ? 401 : 404;
      response
        .writeHead(status, { "content-type": "application/problem+json" })
        .end(`{"status":${status}}`);
    });
    const { byName } = await runDoctor({ env: other });
    expect([byName["service"]?.status, byName["access"]?.status]).toEqual(["passed", "passed"]);
  });

  it.each([
    ["everywhere", () => true],
    ["at the paths of the API only", (path: string) => path !== "/api/docs/json"],
  ])(
    "says that another server responded for a 404 without problem details %s",
    async (_place, isMissing) => {
      const env = await openService((request, response) => {
        if (isMissing(request.url ?? ""))
          response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not Found</h1>");
        else
          response
            .writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify(openapi));
      });
      const { code, byName } = await runDoctor({ env });
      expect(code).toBe(1);
      expect(Object.values(byName).filter(({ status }) => status === "failed")).toEqual([
        {
          status: "failed",
          detail: "another server responded at this address (404 without problem details)",
          fix: "Correct the address: it is the one before /api/v1.",
        },
      ]);
    },
  );

  it("names a port that closes the connection, or does not speak http", async () => {
    const closing = await openService((request) => request.socket.destroy());
    expect((await runDoctor({ env: closing })).byName["service"]).toEqual({
      status: "failed",
      detail: "does not respond (UND_ERR_SOCKET)",
      fix: "It closed the connection without a response: see its log.",
    });

    const ssh = createTcpServer((socket) =>
      socket.on("error", () => {}).end("SSH-2.0-OpenSSH_9.2\r\n"),
    );
    await once(ssh.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void ssh.close());
    const { port } = ssh.address() as AddressInfo;
    const { code, byName } = await runDoctor({
      env: { ...closing, LOYALTY_URL: `http://127.0.0.1:${port}` },
    });
    const isCoded = Number.parseInt(process.versions.node, 10) < 24; // later the error has only its name
    const name = isCoded ? "HPE_INVALID_CONSTANT" : "HTTPParserError";
    expect([code, byName["service"]]).toEqual([
      1,
      {
        status: "failed",
        detail: `does not respond (${name})`,
        fix: "That port does not seem to speak http: correct it, or use https://.",
      },
    ]);
  });

  it.each([
    [
      "other prefixes and names of parameters",
      (path: string) => `/shop/api/v1${path.replaceAll("{id}", "{card}")}`,
      [],
    ],
    [
      "one operation less",
      (path: string) => path.replace("/operations", ""),
      ["GET /passes/{id}/operations"],
    ],
    [
      "braces",
      () => `/${"{".repeat(200_000)}`,
      Object.values(operations).map(({ method, path }) => `${method} ${path}`),
    ],
  ])(
    "names the operations that a document with %s does not have",
    async (_name, rename, missing) => {
      const paths = Object.fromEntries(
        Object.entries(openapi.paths).map(([path, item]) => [rename(path), item]),
      );
      const env = await openService((_request, response) =>
        response.end(JSON.stringify({ ...openapi, paths })),
      );
      expect((await runDoctor({ env })).byName["contract"]).toMatchObject(
        missing.length === 0
          ? { status: "passed", detail: "has every operation" }
          : { status: "failed", detail: `the service's document has no ${missing.join(", ")}` },
      );
    },
  );

  it.each([[null], ["text"], [5]])("goes on when the items of a document are %j", async (item) => {
    const paths = Object.fromEntries(Object.keys(openapi.paths).map((path) => [path, item]));
    const env = await openService((_request, response) => response.end(JSON.stringify({ paths })));
    const { byName } = await runDoctor({ env });
    expect(byName["contract"]).toMatchObject({
      status: "failed",
      detail: expect.stringContaining("has no POST /templates/{templateId}/passes, GET"),
    });
    expect(byName["access"]).toBeDefined();
  });

  it("warns about a service without a document", async () => {
    const { env, service } = await openMock();
    const { byName } = await runDoctor({
      env: { ...env, LOYALTY_URL: `${env["LOYALTY_URL"]}/below` },
    });
    expect(byName["contract"]).toEqual({
      status: "warning",
      detail: `${env["LOYALTY_URL"]}/below/api/docs/json is not an OpenAPI document (404)`,
      fix: "Is this the address of the service, without /api/v1?",
    });
    expect(byName["address"]?.detail).toContain(
      "/below (LOYALTY_URL); it has the path /below, which must be one of the service, not of its console",
    );
    expect(service.requests().flatMap(({ warnings }) => warnings)).toEqual([]);
  });

  it.each([
    ["a page", "<html>", "is not an OpenAPI document (200)"],
    ["half a document", '{"paths":', "is not an OpenAPI document (200)"],
    ["one without paths", '{"paths":null}', "is not an OpenAPI document (200)"],
    ["more than 4 MiB", " ".repeat(2 ** 22 + 1), "is not an OpenAPI document (200)"],
  ])("warns when the document is %s", async (_name, body, problem) => {
    const env = await openService((_request, response) => response.end(body));
    expect((await runDoctor({ env })).byName["contract"]).toMatchObject({
      status: "warning",
      detail: `${env.LOYALTY_URL}/api/docs/json ${problem}`,
    });
  });
});
