/** Holds the mock server against the document with tools that are not ours: respect runs the workflows, drift judges the traffic. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import openapi from "../openapi/openapi.json" with { type: "json" };
import { startMockServer } from "../packages/mock-server/src/hosts/node.ts";

const run = promisify(execFile);
const scratch = mkdtempSync(join(tmpdir(), "loyalty-cards-contract-"));
const server = await startMockServer({ strict: true });
const { url, service } = server;
const api = `${url}/api/v1`;
const failures: string[] = [];

interface Described {
  operationId: string;
  responses: Record<string, unknown>;
}
type Entry = ReturnType<typeof entryOf>;
const traffic: Entry[] = [];

try {
  await respect();
  await everyAnswer();
  await drift();
} finally {
  await server.close();
  rmSync(scratch, { recursive: true });
}
for (const failure of failures) console.log(`✗ ${failure}`);
process.exitCode = failures.length === 0 ? 0 : 1;

async function redocly(...args: string[]): Promise<string> {
  const options = { maxBuffer: 2 ** 28, env: { ...process.env, NO_COLOR: "1", REDOCLY_TELEMETRY: "off" } };
  const { stdout, stderr } = await run("npx", ["redocly", ...args], options).catch((error) => error);
  return `${stdout}${stderr}`;
}

async function respect(): Promise<void> {
  const report = join(scratch, "respect.json");
  const said = await redocly(
    "respect",
    "openapi/workflows/cards.arazzo.yaml",
    ...["--server", `service=${api}`],
    ...["--input", `apiKey=${service.apiKeys.website}`, "--input", `templateId=${service.templateId}`],
    ...["--json-output", report],
  );
  const counts = /Checks: (?:(\d+) passed)?(?:, )?(?:(\d+) failed)?.*?(\d+) total/.exec(said);
  if (counts === null || counts[2] !== undefined || counts[1] !== counts[3])
    failures.push(`respect:\n${said}`);
  else console.log(`respect: ${counts[1]} checks passed, 0 failed`);
}

/** Causes every answer that the document describes, of every operation. */
async function everyAnswer(): Promise<void> {
  for (const [path, methods] of Object.entries(openapi.paths)) {
    for (const [method, operation] of Object.entries(methods) as unknown as [string, Described][]) {
      if (operation.operationId === undefined) continue; // the path's own parameters
      for (const status of Object.keys(operation.responses)) {
        const got = await cause(operation.operationId, method.toUpperCase(), path, status);
        if (!(String(got) === status || (status === "5XX" && got >= 500)))
          failures.push(`${operation.operationId} answered ${got} where ${status} was asked for`);
      }
    }
  }
}

async function cause(operationId: string, method: string, path: string, status: string): Promise<number> {
  const card = await call("POST", `/templates/${service.templateId}/passes`, { body: signUp() });
  const { id } = JSON.parse(card.text);
  const hasBody = method !== "GET";
  const good = operationId === "issueCard" ? signUp() : '{"marketing":true,"version":"2026-01"}';
  const to = (templateId: string, cardId: string, query = "") =>
    path.replace("{templateId}", templateId).replace("{id}", cardId) + query;
  const usual = to(service.templateId, id, operationId === "listOperations" ? "?limit=5" : "");
  const headers = { "idempotency-key": `contract-${operationId}-${status}` };
  const ask = async (target: string, body: string | undefined, more: Record<string, string> = {}) => {
    const keyed = operationId === "issueCard" ? headers : {};
    return (
      await call(method, target, { ...(body !== undefined && { body }), headers: { ...keyed, ...more } })
    ).status;
  };
  const body = hasBody ? good : undefined;
  const fault = (code: number) =>
    service.faults.add({ phase: "before", kind: "status", status: code, retryAfterSeconds: 1, times: 1 });
  switch (status) {
    case "400":
      return hasBody ? ask(usual, "{") : ask(to(service.templateId, id, "?limit=0"), undefined);
    case "401":
      return ask(usual, body, { authorization: "Bearer nobody" });
    case "404":
      return ask(to("tpl_none", "card_none"), body);
    case "413":
      return ask(usual, `"${"x".repeat(1024 * 1024)}"`);
    case "415":
      return ask(usual, "marketing=true", { "content-type": "application/x-www-form-urlencoded" });
    case "422":
      return ask(usual, "{}");
    case "429":
      fault(429);
      return ask(usual, body);
    case "5XX":
      fault(503);
      return ask(usual, body);
    default:
      return ask(usual, body);
  }
}

function signUp(): string {
  const consents = { privacy: { version: "2026-01" }, marketing: { version: "2026-01" } };
  const customer = { phone: "+48600100200", email: "anna@example.com", name: "Anna", consents };
  return JSON.stringify({ fieldValues: { name: "Anna" }, customer });
}

interface Sent {
  body?: string;
  headers?: Record<string, string>;
}

async function call(method: string, path: string, { body, headers = {} }: Sent) {
  const sent: Record<string, string> = {
    authorization: `Bearer ${service.apiKeys.website}`,
    ...(body !== undefined && { "content-type": "application/json" }),
    ...headers,
  };
  const response = await fetch(api + path, { method, headers: sent, ...(body !== undefined && { body }) });
  const text = await response.text();
  traffic.push(
    entryOf({ method, url: api + path, headers: sent, ...(body !== undefined && { body }) }, response, text),
  );
  return { status: response.status, text };
}

function entryOf(
  { method, url: address, headers, body }: Sent & { method: string; url: string },
  response: Response,
  text: string,
) {
  const listed = (pairs: Iterable<[string, string]>) =>
    Array.from(pairs, ([name, value]) => ({ name, value }));
  const shared = { httpVersion: "HTTP/1.1", cookies: [], headersSize: -1 };
  return {
    startedDateTime: new Date().toISOString(),
    time: 0,
    request: {
      ...shared,
      method,
      url: address,
      headers: listed(Object.entries(headers ?? {})),
      queryString: listed(new URL(address).searchParams),
      bodySize: body?.length ?? 0,
      ...(body !== undefined && { postData: { mimeType: headers?.["content-type"] ?? "", text: body } }),
    },
    response: {
      ...shared,
      status: response.status,
      statusText: response.statusText,
      headers: listed(response.headers),
      content: { size: text.length, mimeType: response.headers.get("content-type") ?? "", text },
      redirectURL: "",
      bodySize: text.length,
    },
    cache: {},
    timings: { send: 0, wait: 0, receive: 0 },
  };
}

/** Another's judgement of the same traffic. */
async function drift(): Promise<void> {
  const har = join(scratch, "traffic.har");
  const coverage = join(scratch, "coverage.json");
  const report = join(scratch, "drift.json");
  const log = { version: "1.2", creator: { name: "contract", version: "1" }, entries: traffic };
  writeFileSync(har, JSON.stringify({ log }));
  const said = await redocly(
    "drift",
    har,
    ...["--api", "openapi/openapi.yaml", "--server", api, "--format", "json", "--output", report],
    ...["--coverage", "--coverage-output", coverage],
  );
  if (!existsSync(report) || !existsSync(coverage)) {
    failures.push(`drift:\n${said}`);
    return;
  }
  const { run: found, problems } = JSON.parse(readFileSync(report, "utf8")) as {
    run: { totalProblems: number; undocumentedExchanges: number };
    problems: unknown[];
  };
  console.log(`drift: ${traffic.length} exchanges, ${found.totalProblems} findings`);
  if (found.totalProblems + found.undocumentedExchanges > 0) failures.push(JSON.stringify(problems, null, 2));
  const { totals } = JSON.parse(readFileSync(coverage, "utf8")) as {
    totals: Record<"operations" | "parameters" | "responses", { covered: number; total: number }>;
  };
  for (const what of ["operations", "parameters", "responses"] as const) {
    const { covered, total } = totals[what];
    console.log(`covered ${what}: ${covered} of ${total}`);
    if (covered !== total || total === 0) failures.push(`${total - covered} ${what} were not seen`);
  }
}
