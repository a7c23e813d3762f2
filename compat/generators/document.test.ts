/** The OpenAPI document and the mock server in Redocly: lint, the workflows (respect), and the recorded traffic (drift). */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { afterAll, beforeAll, expect, it } from "vitest";
import { type MockServer, startMockServer } from "../../packages/mock-server/src/adapters/node.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const command = fileURLToPath(new URL("../node_modules/.bin/redocly", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-document-"));
const signUp = {
  fieldValues: { name: "Anna" },
  customer: {
    phone: "+48600100200",
    email: "anna@example.com",
    name: "Anna",
    consents: { privacy: { version: "2026-01" }, marketing: { version: "2026-01" } },
  },
};

let server: MockServer;
let api = "";
beforeAll(async () => {
  server = await startMockServer();
  api = `${server.url}/api/v1`;
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** @returns the output, also of a command that fails: its report says why. */
async function redocly(...args: string[]): Promise<string> {
  const env = { ...process.env, NO_COLOR: "1", REDOCLY_TELEMETRY: "off" };
  const options = { cwd: root, maxBuffer: 2 ** 28, env };
  const { stdout, stderr } = await run(command, args, options).catch((error) => error);
  return `${stdout}${stderr}`;
}

it("follows every recommended rule", async () => {
  const args = ["lint", "openapi/openapi.yaml", "--config", "openapi/redocly.yaml", "--max-problems", "50"];
  expect(await redocly(...args)).toMatch(/Your API description is valid/);
});

it("passes the workflows", async () => {
  const { apiKeys, templateId } = server.service;
  const output = await redocly(
    "respect",
    "openapi/workflows/cards.arazzo.yaml",
    ...["--server", `service=${api}`],
    ...["--input", `apiKey=${apiKeys.website}`, "--input", `templateId=${templateId}`],
  );
  const [, passed, failed, total] =
    /Checks: (?:(\d+) passed)?(?:, )?(?:(\d+) failed)?.*?(\d+) total/.exec(output) ?? [];
  expect(failed, output).toBeUndefined();
  expect(Number(passed), output).toBeGreaterThan(0);
  expect(passed).toBe(total);
});

it("sends every response that the document describes, without drift", async () => {
  const traffic: object[] = [];
  for (const [path, methods] of Object.entries(openapi.paths)) {
    for (const [method, operation] of Object.entries(methods) as unknown as [string, Operation][]) {
      if (operation.operationId === undefined) continue; // the path's own parameters
      for (const status of Object.keys(operation.responses)) {
        const sent = await cause(operation.operationId, method.toUpperCase(), path, status, traffic);
        const isAsked = status === "5XX" ? sent >= 500 : String(sent) === status;
        expect(isAsked, `${operation.operationId} responded ${sent} instead of ${status}`).toBe(true);
      }
    }
  }

  const file = (name: string) => join(folder, name);
  const log = { version: "1.2", creator: { name: "test", version: "1" }, entries: traffic };
  writeFileSync(file("traffic.har"), JSON.stringify({ log }));
  await redocly(
    "drift",
    file("traffic.har"),
    ...["--api", "openapi/openapi.yaml", "--server", api, "--format", "json", "--output", file("drift.json")],
    ...["--coverage", "--coverage-output", file("coverage.json")],
  );
  const { run: found, problems } = JSON.parse(readFileSync(file("drift.json"), "utf8"));
  expect(problems).toEqual([]);
  expect(found).toMatchObject({ totalProblems: 0, undocumentedExchanges: 0 });
  const { totals } = JSON.parse(readFileSync(file("coverage.json"), "utf8"));
  for (const what of ["operations", "parameters", "responses"]) {
    const { covered, total } = totals[what];
    expect(covered, `covered ${what}`).toBe(total);
    expect(total).toBeGreaterThan(0);
  }
});

interface Operation {
  operationId: string;
  responses: Record<string, unknown>;
}

/** Causes a response with this status, and records the exchanges. @returns its status. */
async function cause(
  operationId: string,
  method: string,
  path: string,
  status: string,
  traffic: object[],
): Promise<number> {
  const { service } = server;
  const isIssuing = operationId === "issueCard";
  const issued = await call(
    traffic,
    "POST",
    `/templates/${service.templateId}/passes`,
    JSON.stringify(signUp),
  );
  const toPath = (templateId: string, cardId: string) =>
    path.replace("{templateId}", templateId).replace("{id}", cardId);
  const target = toPath(service.templateId, JSON.parse(issued.text).id);
  const query = operationId === "listOperations" ? "?limit=5" : "";
  const valid = JSON.stringify(isIssuing ? signUp : { marketing: true, version: "2026-01" });
  const body = method === "GET" ? undefined : valid;
  const keyed: Record<string, string> = isIssuing ? { "idempotency-key": `contract-${status}` } : {};
  const send = async (to: string, content: string | undefined, headers: Record<string, string> = {}) =>
    (await call(traffic, method, to, content, { ...keyed, ...headers })).status;
  const injectFault = (code: number) =>
    service.faults.add({ phase: "before", kind: "status", status: code, retryAfterSeconds: 1, times: 1 });
  switch (status) {
    case "400":
      return body === undefined ? send(`${target}?limit=0`, undefined) : send(target + query, "{");
    case "401":
      return send(target + query, body, { authorization: "Bearer unknown" });
    case "404":
      return send(toPath("tpl_none", "card_none"), body);
    case "413":
      return send(target + query, `"${"x".repeat(1024 * 1024)}"`);
    case "415":
      return send(target + query, "marketing=true", { "content-type": "application/x-www-form-urlencoded" });
    case "422":
      return send(target + query, "{}");
    case "429":
    case "5XX":
      injectFault(status === "429" ? 429 : 503);
      return send(target + query, body);
    default:
      return send(target + query, body);
  }
}

/** Sends a request, and adds the exchange to the traffic as a HAR entry. */
async function call(
  traffic: object[],
  method: string,
  path: string,
  body: string | undefined,
  more: Record<string, string> = {},
) {
  const headers: Record<string, string> = {
    authorization: `Bearer ${server.service.apiKeys.website}`,
    ...(body !== undefined && { "content-type": "application/json" }),
    ...more,
  };
  const url = api + path;
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
  const text = await response.text();
  const toList = (pairs: Iterable<[string, string]>) =>
    Array.from(pairs, ([name, value]) => ({ name, value }));
  const shared = { httpVersion: "HTTP/1.1", cookies: [], headersSize: -1 };
  traffic.push({
    startedDateTime: new Date().toISOString(),
    time: 0,
    request: {
      ...shared,
      method,
      url,
      headers: toList(Object.entries(headers)),
      queryString: toList(new URL(url).searchParams),
      bodySize: body?.length ?? 0,
      ...(body !== undefined && { postData: { mimeType: headers["content-type"] ?? "", text: body } }),
    },
    response: {
      ...shared,
      status: response.status,
      statusText: response.statusText,
      headers: toList(response.headers),
      content: { size: text.length, mimeType: response.headers.get("content-type") ?? "", text },
      redirectURL: "",
      bodySize: text.length,
    },
    cache: {},
    timings: { send: 0, wait: 0, receive: 0 },
  });
  return { status: response.status, text };
}
